"""Uses a trained model from its checkpoint alone: no data set, no configuration files, any folder."""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure
from rich.console import RenderableType

from zoo.core.files import write_where_asked
from zoo.decoding import Beam, Hypothesis, Sample
from zoo.figures import render
from zoo.kernels.int8 import use_int8
from zoo.kernels.noise import keyed
from zoo.runtime.precision import usable_precision
from zoo.tasks.exploration import ANSWERS, Answer, Exploration
from zoo.tasks.inputs import Inputs
from zoo.training.checkpoint import Checkpoint
from zoo.training.exported import WEIGHTS

if TYPE_CHECKING:
    from zoo.tasks.task import Task

PRECISIONS = ("32-true", "bf16-mixed", "int8")


class Predictor:
    """A trained model in evaluation mode, on its device.

    `zoo predict` serves every class whose `predict` takes SENTENCES, PAIRS or PICTURES. A `predict` with an
    argument `nbest` returns a list of answers to each input, the best first; one without returns one answer
    to each. It may also have the arguments `weights` (whether answers keep attention weights) and `progress`
    (called after each batch with its number of inputs), and those that continue texts: `length`,
    `temperature`, `top_k`, `top_p` and `seed`. A class that writes piece by piece also has
    `stream(text, **these)`, an iterator of strings, and one that gives texts a probability `score(texts)`,
    see `zoo.cli.score_texts`; both have `remarks_on(text)`, warnings about a text. For `--plot` a class has
    `draw`, see `TextPredictor` (of a pair, too) and `PicturePredictor`. `zoo explore` shows what `explore`
    returns.

    Attributes:
        without_input: True of a class that answers without input, see `Player`; any other has a `predict`
            that is decorated with `zoo.tasks.inputs.takes`.
        doing: what it does, for a progress bar, such as `translating`.
        reads_blanks: whether blanks around a text belong to it; else `zoo predict` leaves them out.
        checkpoint: the weights in use.
        precision: of matrix products.
        task: the model.

    Args:
        checkpoint: what `read_checkpoint` returned.
        task: the model with the checkpoint's weights.
        device: such as `cpu` or `cuda:1`; None for the GPU where there is one.
        precision: `32-true`, `bf16-mixed` for matrix products in bfloat16, or `int8` for linear maps with
            weights of eight bits, on a CPU.

    Raises:
        TypeError: a derived class says neither, raised when it is made.
        ValueError: there is no such device or precision.
    """

    task: "Task"
    without_input: ClassVar[bool] = False
    doing: ClassVar[str] = "predicting"
    reads_blanks: ClassVar[bool] = False

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if not cls.without_input and not hasattr(getattr(cls, "predict", None), "takes"):
            raise TypeError(
                f"{cls.__name__} does not say what its predict takes: put @takes(SENTENCES), @takes(PAIRS),"
                " @takes(PICTURES) or @takes(Inputs(...)) of zoo.tasks.inputs before it, or set"
                " without_input = True"
            )

    def __init__(self, checkpoint: Checkpoint, task: "Task", *, device: str | None, precision: str) -> None:
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
        self.checkpoint = checkpoint
        self.task: Task = task.eval().to(choose_device(device))
        self.precision = usable_precision(precision, self.task.device.type)
        if self.precision == "int8":
            use_int8(self.task)

    @classmethod
    def inputs(cls) -> Inputs | None:
        """What `predict` takes; None where there is no input."""
        return None if cls.without_input else cls.predict.takes  # type: ignore[attr-defined]  # see `takes`

    def columns(self, answer: Any, nbest: int) -> list[str]:
        """One of the `nbest` answers as columns of a table."""
        return [str(answer)]

    def remarks(self, answers: Sequence[Any]) -> Iterator[str]:
        """Warnings beside the answers to one input."""
        yield from ()

    def render(self, answer: Any) -> RenderableType | None:
        """More of the best answer, for a terminal that shows colours; None where its columns say all."""
        return None

    def explore(self, given: Any) -> Exploration:
        """What there is to see of the answer to one input: here the answers alone.

        Args:
            given: one element of what `predict` takes, see `inputs`.

        Raises:
            TypeError: it is something else.
            ValueError: it cannot be answered.
        """
        predict = self.predict  # type: ignore[attr-defined]  # every class with an input has it
        several = "nbest" in inspect.signature(predict).parameters
        found = predict([given], nbest=ANSWERS)[0] if several else predict([given])
        answers = [Answer(" · ".join(self.columns(one, len(found)))) for one in found]
        return Exploration(answers, notes=[*self.remarks(found), "nothing to see of what this model read"])

    @property
    def name(self) -> str:
        """The run's name, for drawings."""
        return run_name(self.checkpoint.path)

    def autocast(self) -> torch.autocast:
        """The context in which matrix products have the predictor's precision."""
        return torch.autocast(self.task.device.type, torch.bfloat16, enabled=self.precision == "bf16-mixed")


def search_for(configured: Callable[..., list[list[Hypothesis]]], nbest: int) -> Beam | None:
    """A search that finds `nbest` texts: beam search, or None where the configured search finds enough."""
    if isinstance(configured, Beam):
        size, penalty = max(configured.beam_size, nbest), configured.length_penalty
        return Beam(beam_size=size, length_penalty=penalty, n_best=nbest)
    found = configured.samples if isinstance(configured, Sample) else 1
    return None if nbest <= found else Beam(beam_size=nbest, length_penalty=0.0, n_best=nbest)


def run_name(checkpoint: Path) -> str:
    """A run's name: that of its folder, or of the checkpoint file where it lies elsewhere."""
    folder = checkpoint.resolve().parent
    if checkpoint.name == WEIGHTS:
        return folder.name
    return folder.parent.name if folder.name == "checkpoints" else checkpoint.stem


def check_picture(path: str | Path, *inputs: str | Path) -> None:
    """Checks, before the model runs, that a drawing can be written.

    Args:
        path: the drawing.
        inputs: files that it must not overwrite.

    Raises:
        ValueError: the folder does not exist or cannot be written to, the ending names no format, or it is a
            folder or an input.
    """
    path = Path(path)
    for file in map(Path, inputs):
        if path.exists() and file.exists() and path.samefile(file):
            raise ValueError(f"cannot draw {path}: the picture to look at would be lost; name another file")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot draw {path}: the folder {path.parent} does not exist")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise ValueError(f"cannot draw {path}: it cannot be written there")
    if path.is_dir():
        raise ValueError(f"cannot draw {path}: it is a folder; name a file in it")
    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise ValueError(f"cannot draw {path}: its ending must be one of {', '.join(sorted(formats))}")


def draw(path: str | Path, sheet: Callable[[], Figure]) -> None:
    """Makes a figure and writes it in the format of the path's ending.

    Raises:
        ValueError: the figure cannot be made, or the file cannot be written.
    """
    path = Path(path)
    try:
        figure = sheet()
    except ValueError as error:  # such as models whose glimpses have different shapes
        raise ValueError(f"cannot draw {path}: {error}") from error
    write_drawings({path: figure})


def write_drawings(figures: Mapping[Path, Figure]) -> list[Path]:
    """Writes figures in the formats of their files' endings; a figure that fails leaves no file.

    Returns:
        The files.
    """
    contents = {file: render(figure, file.suffix[1:].lower()) for file, figure in figures.items()}
    for file, content in contents.items():
        write_where_asked(file, content)
    return list(contents)


def same_places(items: int, device: torch.device, seed: int = 1) -> AbstractContextManager[None]:
    """A context in which a random policy looks at the same places of each of `items`, whatever the batch."""
    return keyed(torch.zeros(items, dtype=torch.int64, device=device), seed)


def choose_device(name: str | None) -> torch.device:
    """The device of that name; for None the GPU where there is one.

    Raises:
        ValueError: there is no such device; the message lists those that exist.
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
    if device is None or not {str(device), f"{device}:0"} & set(available):
        raise ValueError(f"there is no device {name!r} here; available: {', '.join(available)}")
    return device
