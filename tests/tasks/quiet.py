"""A trainer that says and keeps nothing."""

from pathlib import Path
from typing import Any

import lightning.pytorch as pl


def quiet_trainer(folder: Path, **options: Any) -> pl.Trainer:
    """On the CPU."""
    return pl.Trainer(
        default_root_dir=folder,
        accelerator="cpu",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **{"logger": False, **options},
    )
