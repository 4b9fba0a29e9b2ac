"""What a frozen encoder sees in pictures, made once: training then reads it and never runs the encoder."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from data.caption_set import Encoder
from data.mapped_rows import Chunk, MappedRows, RowMaker, mapped_rows
from data.picture_files import PictureFiles
from zoo.image import as_float

_CHUNK = 32
"""Pictures that are encoded together."""


def stored_features(pictures: PictureFiles, encoder: Encoder, cache_dir: Path, name: str) -> MappedRows:
    """`(N, D, h, w)` in half precision, in a folder that encoder, weights, pictures and their size name.

    The encoder reads its published weights first, and runs on the GPU if there is one.

    Args:
        pictures: all of a data set.
        encoder: frozen.
        cache_dir: where features are kept.
        name: of the data set.

    Raises:
        ValueError: the encoder gives other grids than it says, or numbers beyond half precision.
        RuntimeError: the folder cannot be written, or the disk is too full.
    """
    encoder.load_published()
    key = hashlib.sha256(
        "\n".join((encoder.name, weights_hash(encoder), pictures.fingerprint())).encode()
    ).hexdigest()[:20]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if isinstance(encoder, nn.Module):
        encoder.to(device).eval()
    spec = pictures.spec
    blank = _encoded(encoder, torch.zeros(1, spec.channels, spec.height, spec.width, device=device))
    if blank.ndim != 4 or blank.shape[1] != encoder.feature_size:
        raise ValueError(
            f"encoder {encoder.name} must give grids (B, {encoder.feature_size}, h, w),"
            f" gave {tuple(blank.shape)}"
        )

    def chunks(first: int) -> Iterator[Chunk]:
        for pixels, broken in pictures.chunks(first, _CHUNK):
            features = _encoded(encoder, as_float(torch.from_numpy(pixels).to(device)))
            if not features.isfinite().all():
                raise ValueError(f"encoder {encoder.name} gives numbers that half precision cannot hold")
            yield Chunk(features.cpu().numpy(), broken)

    shape = tuple(blank.shape[1:])
    what = f"encoding {len(pictures):,} pictures of {name} to {' x '.join(map(str, shape))} by {encoder.name}"
    maker = RowMaker(len(pictures), shape, np.dtype(np.float16), chunks, what)
    return mapped_rows(cache_dir.expanduser() / "features" / f"{name}-{encoder.name}-{key}", maker)


def weights_hash(encoder: Encoder) -> str:
    """sha256 over all parameters and buffers with their names; of what has none, of nothing."""
    digest = hashlib.sha256()
    if isinstance(encoder, nn.Module):
        for key, value in sorted(encoder.state_dict().items()):
            content = value.detach().cpu().contiguous()
            digest.update(repr((key, content.dtype, tuple(content.shape))).encode())
            digest.update(content.view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@torch.no_grad()
def _encoded(encoder: Encoder, images: Tensor) -> Tensor:
    return encoder(images).to(torch.float16)
