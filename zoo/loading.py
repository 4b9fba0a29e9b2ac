"""The door to trained models: `zoo.load(run)`."""

from pathlib import Path

from zoo.captioner import Captioner
from zoo.player import Player
from zoo.predictor import trained_task
from zoo.recogniser import Recogniser
from zoo.runs.checkpoint import CheckpointError, read_checkpoint
from zoo.tasks.captioning import CaptioningTask
from zoo.tasks.recognition import RecognitionTask
from zoo.tasks.tracking import TrackingTask
from zoo.tasks.translation import TranslationTask
from zoo.translator import Translator


def load(
    run: str | Path, *, device: str | None = None, precision: str = "32-true"
) -> Translator | Recogniser | Captioner | Player:
    """Loads a trained model.

    Args:
        run: a run's folder, meaning its best checkpoint, or a checkpoint file.
        device: where to run, e.g. `cpu` or `cuda:1`; None = the GPU when there is one.
        precision: `32-true`, or `bf16-mixed`, which does the matrix products in bfloat16.

    Returns:
        What translates sentences, recognises pictures, writes captions or plays, as the model was trained to.

    Raises:
        CheckpointError: the checkpoint is missing or cannot be used.
        ValueError: there is no such device or precision.
    """
    checkpoint = read_checkpoint(run)
    match trained_task(checkpoint):
        case TranslationTask() as task:
            return Translator(checkpoint, task, device=device, precision=precision)
        case RecognitionTask() as task:
            return Recogniser(checkpoint, task, device=device, precision=precision)
        case CaptioningTask() as task:
            return Captioner(checkpoint, task, device=device, precision=precision)
        case TrackingTask() as task:
            return Player(checkpoint, task, device=device, precision=precision)
        case task:
            raise CheckpointError(
                f"{checkpoint.path} holds a model of {type(task).__name__}, which predicts nothing; "
                "take one that was trained to translate, to recognise, to write captions or to play"
            )
