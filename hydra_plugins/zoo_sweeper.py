"""Hydra's sweeper of the zoo: `hydra/sweeper=union`, which files in conf/sweep choose.

Hydra finds it because it lies in its namespace package, which therefore has no __init__.py.
"""

from collections.abc import Sequence

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from zoo.config.union import union


class UnionSweeper(BasicSweeper):
    """Runs what each line asks for, with everything that was typed.

    Args:
        lines: overrides; commas are alternatives, and every combination within a line is a job.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(max_batch_size=None)
        self._lines = lines

    def split_arguments(  # type: ignore[override]  # Hydra's is static
        self, overrides: list[Override], max_batch_size: int | None
    ) -> list[list[list[str]]]:
        """All jobs, in one batch."""
        assert self.hydra_context is not None, "setup comes first"
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        return [union(self._lines, overrides, parser.parse_overrides)]
