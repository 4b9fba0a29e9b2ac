"""What parts of a configuration ask of each other. A rule yields the problems it sees; RULES lists all."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch

from zoo.attention import Location
from zoo.config.allowed import locate
from zoo.config.frozen import Config
from zoo.config.instantiate import instantiate
from zoo.config.problems import Problem, unknown
from zoo.metrics import METRICS

Rule = Callable[[Config, Collection[str]], Iterator[Problem]]


def _target(node: Any) -> type | None:
    return locate(node["_target_"]) if isinstance(node, dict) and "_target_" in node else None


def uses_attention(node: Any, part: str = "score") -> bool:
    """True when `attention.<part>` stands anywhere below the node, so that it reads by attention."""
    if not isinstance(node, dict):
        return False
    attention = node.get("attention")
    return (isinstance(attention, dict) and part in attention) or any(
        uses_attention(value, part) for value in node.values()
    )


def location_covers_the_data(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A location score has one weight vector per source position, so there is a last position."""
    longest = config["data"].get("maximum_length")
    covered = config["attention"].get("maximum_length")
    if _target(config["attention"]) is Location and longest and covered and covered < longest:
        yield Problem(
            "attention.maximum_length",
            f"{covered} positions are scored, but data.maximum_length={longest}: "
            "leave attention.maximum_length alone, or shorten the data",
        )


def sampling_needs_reinforce(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """No gradient flows through a sample."""
    selection = _target(config["selection"])
    if getattr(selection, "samples", False) and not config["task"].get("reinforce"):
        yield Problem(
            "selection",
            f"{selection.__name__} samples what it reads, which only task.reinforce can train; "  # type: ignore[union-attr]
            "give task.reinforce, or take selection=soft or selection=gumbel_hard",
        )


def attention_is_read(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Asking for an attention that the model does not read would compare equal things by two names."""
    for group, part in (("attention", "score"), ("selection", "selection")):
        asked = [text for text in given if text.partition("=")[0].split(".")[0] == group]
        if asked and not uses_attention(config["model"], part):
            yield Problem(group, f"{asked[0]} changes nothing: the model has no attention; leave it out")


def monitor_is_measured(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """What no validation measures can pick no checkpoint; that would be noticed after the first one."""
    monitor = config["task"]["monitor"]
    corpus = instantiate(config["data"]["corpus"], "data.corpus")
    missing = {}
    if not corpus.languages[1]:
        missing["val/bleu_tok_lc"] = "the target text has no language"
    if not uses_attention(config["model"]):
        missing["val/alignment_accuracy"] = "the model has no attention"
    if not corpus.aligned:
        missing["val/alignment_accuracy"] = "the data does not know the true alignment"
    allowed = [name for name in (f"val/{metric}" for metric in METRICS) if name not in missing]
    if monitor not in allowed:
        reason = missing.get(monitor, "there is no such metric")
        yield Problem("task.monitor", f"{monitor} is not measured: {reason}{unknown(monitor, allowed)}")


def budget_ends(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """A training must end by itself."""
    trainer = config["trainer"]
    limits = {name: trainer.get(name) for name in ("max_epochs", "max_steps", "max_time")}
    if all(limit in (None, -1) for limit in limits.values()):
        yield Problem("trainer", f"training would never end: give one of {', '.join(limits)}")


def device_is_there(config: Config, given: Collection[str]) -> Iterator[Problem]:
    """Says what to type instead of what is missing."""
    trainer = config["trainer"]
    elsewhere = "hydra/launcher=slurm" in given
    if elsewhere and not any(text.partition("=")[0] == "trainer" for text in given):
        yield Problem("trainer", "what a SLURM node has is not known here: say trainer=gpu or trainer=cpu")
    wants_gpu = trainer.get("accelerator") in ("gpu", "cuda")
    if wants_gpu and not elsewhere and not torch.cuda.is_available():
        yield Problem("trainer.accelerator", "torch finds no GPU on this machine; take trainer=cpu")
    together = trainer.get("strategy") == "ddp" and trainer.get("use_distributed_sampler") is False
    if (trainer.get("devices", 1) != 1 and not together) or trainer.get("num_nodes", 1) != 1:
        yield Problem("trainer.devices", "a run trains on one device; start a sweep to use several at once")


RULES: tuple[Rule, ...] = (
    location_covers_the_data,
    sampling_needs_reinforce,
    attention_is_read,
    monitor_is_measured,
    budget_ends,
    device_is_there,
)
