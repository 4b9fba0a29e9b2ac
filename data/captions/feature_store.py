"""What a frozen encoder sees in pictures, made once: training then reads it and never runs the encoder."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from data.captions.caption_set import Encoder
from data.captions.picture_files import PictureFiles
from data.core.mapped_rows import Chunk, MappedRows, RowMaker, mapped_rows, opened_rows
from zoo.core.image import as_float

_CHUNK = 32
"""Pictures that are encoded together."""


def stored_features(pictures: PictureFiles, encoder: Encoder, cache_dir: Path, name: str) -> MappedRows:
    """`(N, D, h, w)` in half precision, in a folder that encoder, weights, pictures and their size name.

    Where it is not there yet the encoder reads its weights, and runs on the GPU if there is one.

    Args:
        pictures: all of a data set.
        encoder: frozen.
        cache_dir: where features are kept.
        name: of the data set.

    Raises:
        FileNotFoundError: the weights are needed, missing, and cannot be downloaded.
        ValueError: the encoder gives other grids than it says, or numbers beyond half precision.
        RuntimeError: the folder cannot be written, or the disk is too full.
    """
    encoder.identify()
    key = hashlib.sha256(f"{encoder.name}\n{pictures.fingerprint()}".encode()).hexdigest()[:20]
    shape = (encoder.feature_size, *encoder.grid_size(pictures.spec.height, pictures.spec.width))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def chunks(first: int) -> Iterator[Chunk]:
        for pixels, broken in pictures.chunks(first, _CHUNK):
            features = _encoded(encoder, as_float(torch.from_numpy(pixels).to(device)))
            if features.shape[1:] != shape:
                gave = tuple(features.shape[1:])
                raise ValueError(f"encoder {encoder.name} must give grids {shape}, gave {gave}")
            if not features.isfinite().all():
                raise ValueError(f"encoder {encoder.name} gives numbers that half precision cannot hold")
            yield Chunk(features.cpu().numpy(), broken)

    what = f"encoding {len(pictures):,} pictures of {name} to {' x '.join(map(str, shape))} by {encoder.name}"
    maker = RowMaker(len(pictures), shape, np.dtype(np.float16), chunks, what)
    folder = cache_dir.expanduser() / "features" / f"{name}-{encoder.name}-{key}"
    if (found := opened_rows(folder, maker)) is not None:
        return found
    encoder.load_published()
    if isinstance(encoder, nn.Module):
        encoder.to(device).eval()
    return mapped_rows(folder, maker)


@torch.no_grad()
def _encoded(encoder: Encoder, images: Tensor) -> Tensor:
    return encoder(images).to(torch.float16)
