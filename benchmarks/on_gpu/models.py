"""The recipes' own networks and losses, on batches that are made on the spot."""

from collections.abc import Callable, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn

from data.text.vocabulary import Words
from on_gpu.setting import Setting
from zoo.config import resolvers
from zoo.config.compose import compose_jobs
from zoo.config.instantiate import instantiate
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec, ImageSpec, LabelSpec, TextSpec
from zoo.core.text import text_spec
from zoo.runtime.compiling import compile_in_place
from zoo.tasks.captioning.batch import CaptionBatch
from zoo.tasks.recognition.batch import ImageBatch
from zoo.tasks.translation.batch import TranslationBatch

CONF = Path(__file__).resolve().parents[2] / "conf"
BATCHES = 8
"""Different ones, over and over: what a network can learn by heart, so that losses fall."""


class Model(NamedTuple):
    """A task on its device, with batches and what they are counted in.

    Attributes:
        task: of the recipe, with its network.
        batches: on the device.
        item: what `items` counts.
        items: in each batch.
        clip: what the recipe clips gradients to.
    """

    task: Any
    batches: Sequence[Any]
    item: str
    items: int
    clip: float | None

    def step(self, setting: Setting, precision: str) -> Callable[[int], Tensor]:
        """A whole step of training with the batch of a number: loss, gradients, optimiser."""
        weights = [weight for weight in self.task.parameters() if weight.requires_grad]
        optimizer = self.task.optimizer(weights)

        def step(number: int) -> Tensor:
            with setting.autocast(precision):
                loss: Tensor = self.task.training_step(self.batches[number % len(self.batches)], 0)
            loss.backward()
            if self.clip is not None:
                nn.utils.clip_grad_norm_(weights, self.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return loss.detach()

        return step


def built(
    setting: Setting,
    line: Sequence[str],
    spec: DataSpec,
    batches: Sequence[Any],
    item: str,
    *,
    compiled: bool,
) -> Model:
    """The task that a command line describes, for data of a specification."""
    resolvers.register()
    (job,) = compose_jobs(CONF, line, False)
    torch.manual_seed(1)
    network = instantiate(job.config["model"], "model")(spec=spec)
    task = instantiate(job.config["task"], "task")(network=network, spec=spec)
    task.to(setting.device).train()
    if compiled:
        compile_in_place(task.network)
    items = int(next(iter(batches[0].throughput_counts.values())))
    return Model(task, batches, item, items, job.config["trainer"]["gradient_clip_val"])


def vocabulary(size: int, longest: int) -> TextSpec:
    """So many words, the special ones included."""
    return text_spec(
        Words().train([f"w{number}" for number in range(size - 4)]), maximum_length=longest, language=""
    )


def sentences(setting: Setting, count: int, length: int, words: int) -> Padded:
    """Random words, as many in each."""
    ids = torch.randint(4, words, (count, length), device=setting.device)
    return Padded(ids, torch.full((count,), length, device=setting.device))


def transformer_base(setting: Setting, count: int, length: int, *, compiled: bool) -> Model:
    """`experiment=wmt14_transformer_base`, vocabulary 37,000."""
    sizes = [
        "model.model_size=32",
        "model.feed_forward_size=64",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
    ]
    return _translation(
        setting,
        ["experiment=wmt14_transformer_base", "optimizer.lr=2.0e-4", *(sizes if setting.tiny else [])],
        words=setting.size(37_000, 100),
        count=count,
        length=length,
        compiled=compiled,
    )


def luong(setting: Setting, count: int, length: int, *, compiled: bool) -> Model:
    """`experiment=luong2015_5_feeding` at the size of the paper: four layers of 1,000, 50,000 words."""
    units = setting.size(1000, 16)
    return _translation(
        setting,
        [
            *("experiment=luong2015_5_feeding", "attention=general", "model.layers=4", "optimizer.lr=5.0e-4"),
            *(f"model.embedding_size={units}", f"model.hidden_size={units}", "model.dropout=0.2"),
        ],
        words=setting.size(50_000, 100),
        count=count,
        length=length,
        compiled=compiled,
    )


def _translation(
    setting: Setting, line: Sequence[str], *, words: int, count: int, length: int, compiled: bool
) -> Model:
    text = vocabulary(words, length + 1)
    spec = DataSpec("random", {"source": text, "target": text})
    torch.manual_seed(1)
    batches = []
    for number in range(BATCHES):
        source, target = (sentences(setting, count, length + more, words) for more in (0, 1))
        index = torch.arange(count, device=setting.device) + count * number
        batches.append(TranslationBatch(index, source, target, [""] * count, [""] * count))
    return built(setting, line, spec, batches, "tokens", compiled=compiled)


def captioner(setting: Setting, *, compiled: bool) -> Model:
    """`experiment=flickr8k_soft`: captions of 20 words over stored grids of 14 x 14 places."""
    count, places, words = setting.size(64, 4), setting.size(14, 3), setting.size(8000, 100)
    text = vocabulary(words, 25)
    picture = ImageSpec(channels=3, height=16 * places, width=16 * places)
    spec = DataSpec("random", {"image": picture, "target": text})
    torch.manual_seed(1)
    batches = [
        CaptionBatch(
            index=torch.arange(count, device=setting.device) + count * number,
            images=None,
            features=torch.randn(count, 512, places, places, device=setting.device),
            captions=sentences(setting, count, 21, words),
            references=[[""]] * count,
            names=[""] * count,
        )
        for number in range(BATCHES)
    ]
    line = ["experiment=flickr8k_soft", *([] if not setting.tiny else ["model.hidden_size=32"])]
    return built(setting, line, spec, batches, "tokens", compiled=compiled)


def glimpses(setting: Setting, *, compiled: bool) -> Model:
    """`experiment=ram_translated_8`, with 512 images in a batch."""
    count, side = setting.size(512, 4), 60
    spec = DataSpec("random", {"image": ImageSpec(1, side, side), "label": LabelSpec(tuple("0123456789"))})
    torch.manual_seed(1)
    batches = [
        ImageBatch(
            torch.arange(count, device=setting.device) + count * number,
            torch.rand(count, 1, side, side, device=setting.device),
            torch.randint(10, (count,), device=setting.device),
            [""] * count,
        )
        for number in range(BATCHES)
    ]
    return built(setting, ["experiment=ram_translated_8"], spec, batches, "images", compiled=compiled)


WITH_BUILT_IN_DATA = {
    "lstm attention": ("model=lstm_attention", "data=needle"),
    "hierarchical": ("model=hierarchical", "data=needle_documents"),
    "convolutional text": ("model=convolutional_text", "data=needle"),
    "abcnn3": ("model=abcnn3", "data=counterparts"),
    "attentive matching": ("model=attentive_matching", "data=counterparts"),
    "gpt": ("experiment=stdlib_gpt",),
    "bert": ("model=bert", "data=stdlib_masked"),
    "lstm language model": ("model=lstm_language_model", "data=stdlib"),
    "lstmn": ("model=lstmn", "data=stdlib", "data.maximum_length=64"),
    "neural turing machine": ("experiment=copy_ntm", "data.batch_size=16"),
}
"""The other networks of the zoo, with the sizes of their recipes or their own."""


def with_built_in_data(setting: Setting, line: Sequence[str], *, compiled: bool) -> Model:
    """A network on the first batches of data that the zoo makes itself."""
    resolvers.register()
    (job,) = compose_jobs(CONF, line, False)
    data = instantiate(job.config["data"], "data")
    data.prepare_data()
    data.setup()
    epochs = chain.from_iterable(repeat(data.train_dataloader()))
    batches = [move_data_to_device(batch, setting.device) for batch in islice(epochs, BATCHES)]
    item = next(iter(batches[0].throughput_counts))
    return built(setting, line, data.spec, batches, item, compiled=compiled)
