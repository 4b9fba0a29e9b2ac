"""Images per second of the data modules: `python benchmarks/image_data.py`.

Epochs of training batches of each set on one core, without training; also images per second of processor
time, which hardly depends on other programs. MNIST is used from `$ZOO_DATA_DIR`.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data.captions.captions import CaptionData
from data.captions.shapes import Shapes
from data.core.data_module import DataModule
from data.images.canvas import Canvas, Cluttered, Translated
from data.images.digits import Digits
from data.images.image_set import ImageSet
from data.images.images import ImageData
from data.images.mnist import MNIST
from data.text.vocabulary import Words
from zoo.runs.results import machine
from zoo.runtime.memory_allocator import keep_freed_memory

BATCH_SIZE = 128


def labelled(images: ImageSet, canvas: Canvas | None = None) -> ImageData:
    """Images with classes."""
    return ImageData(images=images, canvas=canvas, batch_size=BATCH_SIZE, seed=1)


def scenes(size: int) -> CaptionData:
    """Scenes with captions, in batches of the recipes' size."""
    return CaptionData(
        captions=Shapes(),
        tokenizer=Words(),
        image_size=size,
        batch_size=64,
        maximum_length=12,
        seed=1,
        cache_dir=Path("unused"),
    )


def images_per_second(data: DataModule, seconds: float) -> dict[str, float]:
    """Measures whole epochs after a first one, for a minimum time."""
    data.setup("fit")
    loader = data.train_dataloader()
    made, wall, processor = 0, 0.0, 0.0
    epoch = 0
    while wall < seconds:
        loader.batches.set_epoch(epoch)
        start = time.perf_counter(), time.process_time()
        count = sum(len(batch.index) for batch in loader)
        if epoch:
            made += count
            wall += time.perf_counter() - start[0]
            processor += time.process_time() - start[1]
        epoch += 1
    return {"images_per_second": made / wall, "images_per_processor_second": made / processor}


def main(
    data_dir: Annotated[Path, typer.Option(envvar="ZOO_DATA_DIR", help="where MNIST/raw lies")] = Path("."),
    seconds: Annotated[float, typer.Option(help="to measure each at least")] = 5.0,
    output: Annotated[Path | None, typer.Option(help="JSON file for the figures")] = None,
) -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    mnist = MNIST(data_dir=data_dir)
    sets: dict[str, DataModule] = {
        "digits, 8 x 8": labelled(Digits()),
        "digits on 24 x 24": labelled(Digits(), Translated(size=24)),
        "mnist, 28 x 28": labelled(mnist),
        "translated_mnist, 60 x 60": labelled(mnist, Translated(size=60)),
        "cluttered_mnist, 60 x 60, 4 pieces": labelled(mnist, Cluttered(size=60, pieces=4)),
        "cluttered_mnist, 100 x 100, 8 pieces": labelled(mnist, Cluttered(size=100, pieces=8)),
        "shapes with captions, 48 x 48, batches of 64": scenes(48),
        "shapes with captions, 64 x 64, batches of 64": scenes(64),
    }
    table = Table("images", "per second", "per second of processor time", title=f"batches of {BATCH_SIZE}")
    figures: dict[str, Any] = {"benchmark": "benchmarks/image_data.py", "batch_size": BATCH_SIZE, "sets": {}}
    for name, data in sets.items():
        figures["sets"][name] = measured = images_per_second(data, seconds)
        table.add_row(name, *(f"{value:,.0f}" for value in measured.values()))
    Console().print(table)
    figures |= {"machine": machine(), "load_average": os.getloadavg()[0]}
    if output:
        output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    keep_freed_memory()
    typer.run(main)
