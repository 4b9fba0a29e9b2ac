"""Says before a training which limit ends it, where that may not be what was meant."""

import logging
import math

import lightning.pytorch as pl

log = logging.getLogger(__name__)

_FEW = 20
"""Batches of an epoch; with fewer a usual number of epochs is a handful of steps."""
_SIZES = ("batch_tokens", "batch_size")
"""What data modules call the size of a batch."""


def warn_of_short_epochs(trainer: pl.Trainer) -> None:
    """Warns where epochs end a training before `max_steps`, or where an epoch has few batches.

    Args:
        trainer: at the start of a training; one that was told to use a part of the data is left alone.
    """
    batches = trainer.num_training_batches
    overfits = trainer.overfit_batches  # type: ignore[attr-defined]
    is_part = overfits or trainer.limit_train_batches not in (None, 1.0)
    if is_part or not math.isfinite(batches) or not trainer.is_global_zero:
        return
    number = "1 batch" if batches == 1 else f"{batches:.0f} batches"
    epochs, steps = trainer.max_epochs, trainer.max_steps
    more = _more_batches(trainer) if batches < _FEW else ""
    ends = None
    if epochs is not None and epochs >= 0:
        ends = epochs * math.ceil(batches / trainer.accumulate_grad_batches)
    if ends is not None and ends < steps:
        log.warning(
            "trainer.max_epochs=%d ends this training at step %d, before trainer.max_steps=%d: an epoch has "
            "%s; trainer.max_epochs=null leaves the end to max_steps%s",
            *(epochs, ends, steps, number, more and f", {more}"),
        )
    elif ends is not None and more:
        log.warning(
            "an epoch has %s, so this training has %d steps: %s, a larger trainer.max_epochs more epochs",
            *(number, ends, more),
        )


def _more_batches(trainer: pl.Trainer) -> str:
    """What makes more batches of the same data."""
    data = getattr(trainer, "datamodule", None)
    size = next((f"data.{name}" for name in _SIZES if hasattr(data, name)), "the batch size")
    recipe = getattr(data, "recipe_for_few", None)
    return f"a smaller {size} makes more batches" + (f", as experiment={recipe} has it" if recipe else "")
