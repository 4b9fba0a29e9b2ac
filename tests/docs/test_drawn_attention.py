"""The pictures of docs/attention.md are drawn from the library as it is."""

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "draw_attention.py"


def test_every_selection_is_drawn(tmp_path: Path) -> None:
    drawing = runpy.run_path(str(SCRIPT))
    drawing["save"].__globals__["FOLDER"] = tmp_path
    drawing["draw_selections"]()
    drawn = {picture.stem for picture in tmp_path.iterdir()}
    assert {"soft", "hard", "gumbel_hard", "local_monotonic", "local_predictive"} <= drawn
    assert drawn <= {picture.stem for picture in (SCRIPT.parent / "pictures").iterdir()}
