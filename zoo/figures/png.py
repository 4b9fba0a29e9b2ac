"""Figures as bytes, ready for a file or a logger."""

from io import BytesIO

from matplotlib.figure import Figure
from PIL import Image

from zoo.figures.labels import any_script, padded_width, text_style

_FONT = 9.0
_HEADING, _MARGIN = 0.3, 0.12
"""Height of the line above a figure, and what is left free beside it, in inches."""


def render(figure: Figure, file_format: str) -> bytes:
    """The figure as the content of a file.

    Args:
        figure: any.
        file_format: what matplotlib knows, e.g. `png`, `pdf` or `svg`.

    Raises:
        ValueError: matplotlib does not know the format.
    """
    content = BytesIO()
    with any_script():
        figure.savefig(content, format=file_format)
    return content.getvalue()


def png(figure: Figure, *, heading: str = "") -> bytes:
    """The figure as the content of a PNG file.

    Args:
        figure: any.
        heading: a line above it, such as the name of a run; where it is longer than the figure is wide, the
            picture becomes wider.
    """
    drawn = render(figure, "png")
    return _headed(drawn, heading, figure.dpi) if heading else drawn


def _headed(drawn: bytes, heading: str, dpi: float) -> bytes:
    """A picture below a line of text."""
    with Image.open(BytesIO(drawn)) as picture:
        across = max(picture.width / dpi, padded_width(heading, _FONT) + 2 * _MARGIN)
        line = Figure(figsize=(across, _HEADING), dpi=dpi, facecolor="white")
        line.text(_MARGIN / across, 0.4, heading, va="center", **text_style(fontsize=_FONT))
        with Image.open(BytesIO(render(line, "png"))) as above:
            whole = Image.new("RGB", (above.width, above.height + picture.height), "white")
            whole.paste(above, (0, 0))
            whole.paste(picture, (0, above.height))
    content = BytesIO()
    whole.save(content, format="png")
    return content.getvalue()
