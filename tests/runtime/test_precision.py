"""bf16-mixed is computed in float32 where a CPU would take many times as long."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch

from tests.test_train import TINY, only_run
from zoo.kernels.precision import multiplies_bfloat16
from zoo.runs.results import config_hash
from zoo.runtime import precision
from zoo.runtime.precision import prepare_precision, usable_precision


def test_a_run_computes_in_float32_where_its_cpu_has_no_bfloat16(
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
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    assert start(*TINY, "test=false", "trainer.precision=bf16-mixed") == 0
    assert seen == ["32-true"]
    assert "no instructions for bfloat16" in capsys.readouterr().err
    results = json.loads((only_run(runs) / "results.json").read_text(encoding="utf-8"))
    assert results["machine"]["bfloat16"] is torch.cuda.is_available()


def test_only_a_cpu_s_bfloat16_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda device: device != "cpu")
    asked = (("32-true", "cpu"), ("64-true", "cpu"), ("bf16-mixed", "cuda"), ("16-mixed", "gpu"))
    assert [usable_precision(*each) for each in asked] == [precision for precision, _ in asked]
    assert usable_precision("bf16-mixed", "cpu") == "32-true"
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda device: True)
    assert usable_precision("bf16-mixed", "cpu") == "bf16-mixed"


def test_without_onednn_a_cpu_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    assert multiplies_bfloat16("cpu")
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert not multiplies_bfloat16("cpu")
    assert multiplies_bfloat16("cuda")


def test_products_of_float32_are_as_exact_as_asked(
    start: Callable[..., int], runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(torch, "set_float32_matmul_precision", seen.append)
    assert start(*TINY, "test=false", "matmul_precision=hihg", "check=true") == 2
    assert not seen
    prepare_precision({"matmul_precision": "high", "trainer": {"precision": "32-true"}})
    prepare_precision({"trainer": {"precision": "32-true"}})
    assert seen == ["high", "highest"]


def test_less_exact_products_are_another_configuration(configure: Callable[..., Any]) -> None:
    assert config_hash(configure()) == config_hash(configure("matmul_precision=highest"))
    assert config_hash(configure()) != config_hash(configure("matmul_precision=high"))
    older = {key: value for key, value in configure().items() if key != "matmul_precision"}
    assert config_hash(configure()) == config_hash(older)
