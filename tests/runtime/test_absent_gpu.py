"""What a process remembers of a GPU that is not there."""

import os

import pytest
import torch

from zoo.runtime.absent_gpu import remember_absence


@pytest.mark.parametrize(
    ("present", "before", "after"), [(False, None, ""), (False, "1", "1"), (True, None, None)]
)
def test_absence_is_set_unless_the_variable_is_set(
    monkeypatch: pytest.MonkeyPatch, present: bool, before: str | None, after: str | None
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", before or "")
    if before is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    remember_absence()
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == after
