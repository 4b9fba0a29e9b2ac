"""Cuts a text into sentences by a few rules."""

import re

_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n\s*\n")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text: they end at `.`, `!`, `?` or `…` before a blank, and at an empty line."""
    return [sentence.strip() for sentence in _END.split(text) if sentence.strip()]
