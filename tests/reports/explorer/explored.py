"""Servers of explorations, for tests."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from serving import serving

from zoo.reports.explorer.forms import Form
from zoo.reports.explorer.page import page
from zoo.reports.explorer.server import Server
from zoo.tasks.exploration import Answer, Exploration


def echo(asked: Any, **options: int) -> dict[str, Exploration]:
    """What was asked, as an answer."""
    if asked == "wrong":
        raise ValueError("that is\nwrong")
    if asked == "broken":
        raise RuntimeError("a bug")
    return {"run": Exploration([Answer(repr(asked), note=str(options))])}


@contextmanager
def served(
    form: Form,
    change: Callable[[str], str] = str,
    explore: Callable[..., Mapping[str, Exploration]] = echo,
) -> Iterator[Server]:
    """A server, with its page changed."""
    server = Server(page=change(page("", {}, form)), form=form, explore=explore)
    with serving(server):
        yield server
