"""Cuts a text into sentences by rules of thumb, for English and languages that are punctuated like it."""

import re

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
"""An empty line ends a sentence, whatever stands before it."""

_CLOSING = "\"'”’»)]}"

_ALONE = re.compile(rf"[.!?…]+[{re.escape(_CLOSING)}]*|[{re.escape(_CLOSING)}]+")
"""Punctuation between blanks, as in texts that are cut into words: it ends a sentence, or follows its end."""

_LAST = frozenset(f".!?…{_CLOSING}")
"""What the last word of a sentence can end with."""

_END = re.compile(rf"(?P<sign>[.!?…]+)[{re.escape(_CLOSING)}]*$")

_ABBREVIATIONS = re.compile(
    "mrs?|ms|dr|prof|rev|st|sen|rep|gov|gen|col|sgt|lt|capt|jr|sr|messrs|mt|ft|vs|eg|ie|cf|al|approx|dept|est"
    "|inc|ltd|co|corp|bros|vol|fig|pp|eds?|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec",
    re.IGNORECASE,
)

_SHORT = re.compile(r"(?:[^\W\d_]\.)+")
"""Initials and the like: J. K., U.S., e.g."""


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with single blanks between its words; together they are all of its words.

    A sentence ends with punctuation that stands between blanks, or at the end of a word if the next word
    does not begin small and the word is no abbreviation; and with an empty line.

    Returns:
        none for a blank text.
    """
    return [sentence for part in _PARAGRAPH.split(text) for sentence in _split(part.split())]


def _split(words: list[str]) -> list[str]:
    sentences: list[str] = []
    begin = 0
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else None
        if following is None or (word[-1] in _LAST and _ends(words[begin : place + 1], word, following)):
            sentences.append(" ".join(words[begin : place + 1]))
            begin = place + 1
    return sentences


def _ends(sentence: list[str], word: str, following: str) -> bool:
    """Whether a word is the last one of its sentence."""
    if _ALONE.fullmatch(following):  # what closes a sentence belongs to it
        return False
    if _ALONE.fullmatch(word):
        return any(_is_sign(one) for one in _closing_words(sentence))
    end = _END.search(word)
    if end is None or _begins_small(following):
        return False
    return end["sign"] != "." or not _is_abbreviation(word[: end.start()])


def _closing_words(sentence: list[str]) -> list[str]:
    """The punctuation between blanks at the end of a sentence."""
    first = len(sentence)
    while first and _ALONE.fullmatch(sentence[first - 1]):
        first -= 1
    return sentence[first:]


def _begins_small(word: str) -> bool:
    return next((sign.islower() for sign in word if sign.isalnum()), False)


def _is_sign(word: str) -> bool:
    return word[0] in ".!?…"


def _is_abbreviation(word: str) -> bool:
    bare = word.lstrip("\"'“‘«([{")
    return any(kind.fullmatch(one) for kind, one in ((_ABBREVIATIONS, bare), (_SHORT, f"{bare}.")))
