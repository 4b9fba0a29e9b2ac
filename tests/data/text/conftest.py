"""What several of the tests of sets of `datasets` share."""

from pathlib import Path

import pytest


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what `datasets` caches in the test's own folder, and its progress bars quiet."""
    import datasets  # here, because it takes long

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    datasets.disable_progress_bars()
