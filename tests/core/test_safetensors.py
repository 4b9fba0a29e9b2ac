"""Files of weights hold what was written, and what is something else is refused before it is used."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.core.reading import Unreadable
from zoo.core.safetensors import read_tensors, write_tensors

TENSORS = {
    "numbers": torch.arange(6.0).reshape(2, 3),
    "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
    "fine": torch.tensor(0.1, dtype=torch.float64),
    "count": torch.tensor(3),
    "none": torch.zeros(0, 4),
    "transposed": torch.arange(6.0).reshape(2, 3).T,
    "names may be words: ü": torch.ones(1, dtype=torch.float16),
}


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a.safetensors", TENSORS)
    read = read_tensors(tmp_path / "a.safetensors")
    assert read.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert read[name].dtype == tensor.dtype
        assert read[name].shape == tensor.shape
        assert torch.equal(read[name], tensor)
    read["numbers"].add_(1)  # the memory is its own, and may be written
    assert torch.equal(read["half"], TENSORS["half"])


def test_only_kinds_that_weights_have_are_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mask holds torch\.bool"):
        write_tensors(tmp_path / "a.safetensors", {"mask": torch.ones(1, dtype=torch.bool)})
    assert not list(tmp_path.iterdir())


def _file(header: Any, body: bytes = bytes(8), *, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + body


def _one(**changes: Any) -> dict[str, Any]:
    return {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


@pytest.mark.hostile("checkpoint")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x02",
        pickle.dumps({"w": [0.0] * 9}),
        _file(_one(), length=2**63),
        _file(b"{" * 100_000),
        _file(b"[" * 100_000),
        _file(b"\xff\xfe"),
        _file([1, 2]),
        _file({"w": 3}),
        _file(_one(dtype="O")),
        _file(_one(dtype="BOOL", shape=[8])),
        _file(_one(dtype=["F32"])),
        _file(_one(shape=[3])),
        _file(_one(shape=[2**62, 2**62])),
        _file(_one(shape=[9] * 100_000)),
        _file(_one(shape=[-2])),
        _file(_one(shape="2")),
        _file(_one(data_offsets=[8, 0])),
        _file(_one(data_offsets=[0, 4, 8])),
        _file(_one(data_offsets=[8, 16]), bytes(16)),
        _file(_one(), bytes(4)),
        _file(_one(), bytes(12)),
        _file({**_one(), "v": _one()["w"]}),
        _file(b'{"w":1,"w":2}'),
    ],
    ids=range(24),
)
def test_what_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(Unreadable, match=r"a\.safetensors is not a readable file of weights: .") as caught:
        read_tensors(tmp_path / "a.safetensors")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.hostile("no file")
@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_file_is_not_opened(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.safetensors")
    with pytest.raises(Unreadable, match="where a regular file is needed"):
        read_tensors(tmp_path / "a.safetensors")
