"""Uses a trained model from its checkpoint alone: no data set, no configuration files, any folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from matplotlib.backend_bases import FigureCanvasBase

from zoo.config import ConfigError
from zoo.config.instantiate import instantiate
from zoo.decoding import Beam, Sample
from zoo.figures import alignment_sheet, head_grids, render
from zoo.runs.checkpoint import Checkpoint, CheckpointError, read_checkpoint
from zoo.runs.files import write_bytes
from zoo.tasks.translation import Translation, TranslationTask

PRECISIONS = ("32-true", "bf16-mixed")


class Predictor:
    """A trained model, ready to translate.

    Attributes:
        checkpoint: the weights in use: which file, from which step, with which validation metrics.
        precision: of its products.
        task: the model, in evaluation mode.
    """

    def __init__(
        self, checkpoint: Checkpoint, *, device: str | None = None, precision: str = "32-true"
    ) -> None:
        """Builds the model that the checkpoint describes.

        Args:
            checkpoint: what `read_checkpoint` gave.
            device: where to run, e.g. `cpu` or `cuda:1`; None = the GPU when there is one.
            precision: `32-true`, or `bf16-mixed`, which does the matrix products in bfloat16.

        Raises:
            CheckpointError: the weights do not fit the model that the configuration describes.
            ValueError: there is no such device or precision.
        """
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be {' or '.join(PRECISIONS)}, got {precision!r}")
        self.checkpoint = checkpoint
        self.precision = precision
        target = choose_device(device)
        try:
            network = instantiate(checkpoint.config["model"], "model")(spec=checkpoint.spec)
            task = instantiate(checkpoint.config["task"], "task")(network=network, spec=checkpoint.spec)
            if not isinstance(task, TranslationTask):
                raise TypeError(f"{type(task).__name__} does not translate")
        except Exception as error:  # whatever constructors raise when they are given nonsense
            raise CheckpointError(
                f"{checkpoint.path} describes a model that cannot be built: {_one_line(error)}"
            ) from error
        try:
            task.load_state_dict(checkpoint.state_dict)
        except RuntimeError as error:
            raise CheckpointError(
                f"{checkpoint.path} does not fit the model that its configuration describes: "
                f"{_one_line(error)}"
            ) from error
        self.task = task.eval().to(target)

    def __call__(self, text: str) -> str:
        """The best translation of one sentence."""
        return self.predict([text])[0][0].text

    def predict(
        self,
        texts: Sequence[str],
        nbest: int = 1,
        *,
        weights: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> list[list[Translation]]:
        """Translates sentences with the search that the run was tested with.

        Args:
            texts: raw sentences.
            nbest: how many translations of each; a run whose search finds fewer gets them by beam search.
            weights: whether translations keep what was attended to, which for many sentences is a lot.
            progress: is told after each batch how many sentences that were.

        Returns:
            Each sentence's translations, best first.
        """
        if nbest < 1:
            raise ValueError(f"nbest must be at least 1, got {nbest}")
        with torch.autocast(self.task.device.type, torch.bfloat16, enabled=self.precision == "bf16-mixed"):
            found = self.task.translate(list(texts), self._search(nbest), weights=weights, progress=progress)
        return [translations[:nbest] for translations in found]

    def plot(self, text: str, path: str | Path) -> list[Path]:
        """Draws what the model attends to while it translates a sentence.

        Args:
            text: a raw sentence.
            path: the picture; its ending says the format.

        Returns:
            The pictures: that one, and beside it those of all heads where the model has several.

        Raises:
            ValueError: the model has no attention, or the format is unknown.
        """
        return plot_side_by_side({run_name(self.checkpoint.path): self}, text, path)

    def _search(self, nbest: int) -> Beam | None:
        """What finds as many; None: what is configured."""
        configured = self.task.decoding
        if isinstance(configured, Beam):
            size, penalty = max(configured.beam_size, nbest), configured.length_penalty
            return Beam(beam_size=size, length_penalty=penalty, n_best=nbest)
        finds = configured.samples if isinstance(configured, Sample) else 1
        return None if nbest <= finds else Beam(beam_size=nbest, length_penalty=0.0, n_best=nbest)


def load(run: str | Path, *, device: str | None = None, precision: str = "32-true") -> Predictor:
    """Loads a trained model.

    Args:
        run: a run's folder, meaning its best checkpoint, or a checkpoint file.
        device: where to run, e.g. `cpu` or `cuda:1`; None = the GPU when there is one.
        precision: `32-true`, or `bf16-mixed`, which does the matrix products in bfloat16.

    Raises:
        CheckpointError: the checkpoint is missing or cannot be used.
        ValueError: there is no such device or precision.
    """
    return Predictor(read_checkpoint(run), device=device, precision=precision)


def plot_side_by_side(predictors: Mapping[str, Predictor], text: str, path: str | Path) -> list[Path]:
    """Draws what several models attend to in the same sentence.

    Args:
        predictors: the models by the names that stand over their panels.
        text: a raw sentence.
        path: the picture; its ending says the format.

    Returns:
        The pictures: that one, and those of all heads of a model that has several. These lie beside it, for
        out.png in out_encoder.png, out_decoder.png and out_cross.png; of several models with a number, as
        out_2_encoder.png.

    Raises:
        ValueError: a model has no attention, or the picture cannot be written there.
    """
    check_picture(path)
    best = [predictor.predict([text])[0][0] for predictor in predictors.values()]
    for name, translation in zip(predictors, best, strict=True):
        if translation.weights is None:
            raise ValueError(f"cannot draw {path}: the model of {name} has no attention")
    path = Path(path)
    figures = {path: alignment_sheet(best, list(predictors))}
    for number, (name, translation) in enumerate(zip(predictors, best, strict=True), start=1):
        (maps,) = predictors[name].task.attention_maps([text], [translation])
        which = f"{number}_" if len(predictors) > 1 else ""
        for kind, figure in head_grids(maps, title=name).items():
            figures[path.with_stem(f"{path.stem}_{which}{kind}")] = figure
    # All are drawn before the first is written: an error leaves none of them.
    contents = {file: render(figure, file.suffix[1:].lower()) for file, figure in figures.items()}
    for file, content in contents.items():
        write_bytes(file, content)
    return list(contents)


def _one_line(error: Exception) -> str:
    """What an error says; of one that says only a key or nothing, its kind as well."""
    if isinstance(error, ConfigError):
        return "; ".join(map(str, error.problems))
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError | RuntimeError) else f"{type(error).__name__}: {text}"


def run_name(checkpoint: Path) -> str:
    """How a run is called: by its folder, or by the file where that lies elsewhere."""
    folder = checkpoint.resolve().parent
    return folder.parent.name if folder.name == "checkpoints" else checkpoint.stem


def check_picture(path: str | Path) -> None:
    """Says before the long work whether a picture could be written.

    Raises:
        ValueError: the folder does not exist, or the ending names no format.
    """
    path = Path(path)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"cannot draw {path}: the folder {path.parent} does not exist")
    formats = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise ValueError(f"cannot draw {path}: its ending must be one of {', '.join(sorted(formats))}")


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
