"""bf16-mixed is computed in float32 where a CPU would take many times as long."""

import json
from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch

from tests.test_train import TINY, only_run
from zoo import half_precision
from zoo.half_precision import usable_precision
from zoo.kernels.precision import multiplies_bfloat16


@pytest.mark.parametrize("able", [True, False])
def test_a_run_computes_in_what_its_cpu_can(
    able: bool,
    start: Callable[..., int],
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    seen: list[str] = []
    fit = pl.Trainer.fit
    monkeypatch.setattr(
        pl.Trainer,
        "fit",
        lambda self, *given, **named: seen.append(self.precision) or fit(self, *given, **named),
    )
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: able)
    assert start(*TINY, "test=false", "trainer.precision=bf16-mixed") == 0
    assert seen == ["bf16-mixed" if able else "32-true"]
    assert ("no instructions for bfloat16" in capsys.readouterr().err) is not able
    results = json.loads((only_run(runs) / "results.json").read_text(encoding="utf-8"))
    assert results["machine"]["bfloat16"] is (able or torch.cuda.is_available())


def test_only_a_cpu_s_bfloat16_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_precision, "multiplies_bfloat16", lambda device: device != "cpu")
    asked = (("32-true", "cpu"), ("64-true", "cpu"), ("bf16-mixed", "cuda"), ("16-mixed", "gpu"))
    assert [usable_precision(*each) for each in asked] == [precision for precision, _ in asked]
    assert usable_precision("bf16-mixed", "cpu") == "32-true"


def test_without_onednn_a_cpu_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert multiplies_bfloat16("cpu")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not multiplies_bfloat16("cpu")
    assert multiplies_bfloat16("cuda")
