"""Uses a trained model from its checkpoint alone: no data set, no configuration files, any folder."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure

from zoo.core.files import write_where_asked
from zoo.decoding import Beam, Hypothesis, Sample
from zoo.figures import render
from zoo.kernels.noise import keyed
from zoo.runtime.half_precision import usable_precision
from zoo.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from zoo.tasks.task import Task

PRECISIONS = ("32-true", "bf16-mixed")


class Predictor:
    """A trained model, ready to be used.

    A derived class that has a `predict` decorates it with `zoo.tasks.inputs.takes`, which checks its input.

    Attributes:
        checkpoint: the weights in use: which file, from which step, with which validation metrics.
        precision: of its products.
        task: the model, in evaluation mode.

    Raises:
        TypeError: while a derived class is made, whose `predict` does not say what it takes.
    """

    task: "Task"

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        predict = vars(cls).get("predict")
        if predict is not None and not hasattr(predict, "takes"):
            raise TypeError(
                f"{cls.__name__}.predict does not say what it takes: put @takes(SENTENCES), @takes(PICTURES)"
                " or @takes(Inputs(...)) of zoo.tasks.inputs before it"
            )

    def __init__(self, checkpoint: Checkpoint, task: "Task", *, device: str | None, precision: str) -> None:
        """Puts the model on its device.

        Args:
            checkpoint: what `read_checkpoint` gave.
            task: what `trained_task` made of it.
            device: where to run, e.g. `cpu` or `cuda:1`; None = the GPU when there is one.
            precision: `32-true`, or `bf16-mixed`, which does the matrix products in bfloat16.

        Raises:
            ValueError: there is no such device or precision.
        """
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be {' or '.join(PRECISIONS)}, got {precision!r}")
        self.checkpoint = checkpoint
        self.task: Task = task.eval().to(choose_device(device))
        self.precision = usable_precision(precision, self.task.device.type)

    def autocast(self) -> torch.autocast:
        """The context of its products."""
        return torch.autocast(self.task.device.type, torch.bfloat16, enabled=self.precision == "bf16-mixed")


def searching(configured: Callable[..., list[list[Hypothesis]]], nbest: int) -> Beam | None:
    """What finds so many texts; None: what is configured, which finds enough.

    Args:
        configured: the search that a run was tested with.
        nbest: how many texts; where that search finds fewer, beam search does.
    """
    if isinstance(configured, Beam):
        size, penalty = max(configured.beam_size, nbest), configured.length_penalty
        return Beam(beam_size=size, length_penalty=penalty, n_best=nbest)
    finds = configured.samples if isinstance(configured, Sample) else 1
    return None if nbest <= finds else Beam(beam_size=nbest, length_penalty=0.0, n_best=nbest)


def run_name(checkpoint: Path) -> str:
    """How a run is called: by its folder, or by the file where that lies elsewhere."""
    folder = checkpoint.resolve().parent
    return folder.parent.name if folder.name == "checkpoints" else checkpoint.stem


def check_picture(path: str | Path, *inputs: str | Path) -> None:
    """Says before the long work whether a picture could be written.

    Args:
        path: of the drawing.
        inputs: files that it must not take the place of.

    Raises:
        ValueError: the folder does not exist, the ending names no format, or it is a folder or an input.
    """
    path = Path(path)
    for file in map(Path, inputs):
        if path.exists() and file.exists() and path.samefile(file):
            raise ValueError(f"cannot draw {path}: the picture to look at would be lost; name another file")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot draw {path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise ValueError(f"cannot draw {path}: it is a folder; name a file in it")
    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise ValueError(f"cannot draw {path}: its ending must be one of {', '.join(sorted(formats))}")


def draw(path: str | Path, sheet: Callable[[], Figure]) -> None:
    """Writes a drawing.

    Args:
        path: its ending says the format, see `check_picture`.
        sheet: makes it.

    Raises:
        ValueError: it cannot be made, or the file cannot be written.
    """
    path = Path(path)
    try:
        figure = sheet()
    except ValueError as error:  # such as models that do not look alike
        raise ValueError(f"cannot draw {path}: {error}") from error
    write_where_asked(path, render(figure, path.suffix[1:].lower()))


def same_places(items: int, device: torch.device, seed: int = 1) -> AbstractContextManager[None]:
    """A context in which a policy that looks anywhere looks at the same places of each item.

    So answers repeat, drawings show theirs, and what is asked together changes nothing.

    Args:
        items: pictures or games in a batch.
        device: of the model.
        seed: says which places.
    """
    return keyed(torch.zeros(items, dtype=torch.int64, device=device), seed)


def choose_device(name: str | None) -> torch.device:
    """The device of that name; None = the GPU when there is one.

    Raises:
        ValueError: there is no such device; the message names those that are.
    """
    available = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    if name is None:
        return torch.device(available[1] if len(available) > 1 else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or not any(found in (str(device), f"{device}:0") for found in available):
        raise ValueError(f"there is no device {name!r} here; available: {', '.join(available)}")
    return device
