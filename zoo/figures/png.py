"""Figures as bytes, ready for a file or a logger."""

from io import BytesIO

from matplotlib.figure import Figure

from zoo.figures.labels import any_script


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


def png(figure: Figure) -> bytes:
    """The figure as the content of a PNG file."""
    return render(figure, "png")
