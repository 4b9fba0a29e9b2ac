"""How Lightning writes and reads checkpoint files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO

from zoo.core.files import whole_file


class AtomicIO(TorchCheckpointIO):
    """Writes whole checkpoints or none, and reads them without running code.

    Lightning's own writer uses the system's temporary folder: where that lies on another disk, a kill can
    leave half a checkpoint.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Writes beside the target, flushes to the disk, and renames.

        Raises:
            DiskFull: there is no space; the previous checkpoint is still there.
        """
        if storage_options is not None:
            raise TypeError("storage_options are not supported: checkpoints are local files")
        with whole_file(Path(path)) as file:
            torch.save(checkpoint, file)

    def remove_checkpoint(self, path: str | Path) -> None:
        """Removes one file; Lightning's own would also remove a folder, or something on another machine.

        Raises:
            ValueError: it is no local file.
        """
        file = Path(path)
        if file.is_file() and not file.is_symlink():
            file.unlink()
        elif os.path.lexists(file):
            raise ValueError(f"{file} is no checkpoint: it is left as it is")

    def load_checkpoint(
        self,
        path: str | Path,
        map_location: Callable[..., Any] | None = lambda storage, location: storage,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Reads tensors and plain containers only, whatever the caller asks for."""
        loaded: dict[str, Any] = super().load_checkpoint(path, map_location, weights_only=True)
        return loaded
