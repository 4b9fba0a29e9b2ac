"""Texts are cut into sentences."""

import pytest

from zoo.core.sentences import split_sentences

CASES = [
    ("It was good. I liked it! Did you? Yes.", ["It was good.", "I liked it!", "Did you?", "Yes."]),
    ("Mr. Smith met Dr. J. K. Jones. They left.", ["Mr. Smith met Dr. J. K. Jones.", "They left."]),
    ("He lives in the U.S. today. So what?", ["He lives in the U.S. today.", "So what?"]),
    ('"Really?" he said. "Yes." She left.', ['"Really?" he said.', '"Yes."', "She left."]),
    ("It costs 3.50 dollars... or more. 10 of 10.", ["It costs 3.50 dollars... or more.", "10 of 10."]),
    ("Wait... What? (No.) Well", ["Wait...", "What?", "(No.)", "Well"]),
    ("what 's the deal ? watch it . . . it works .", ["what 's the deal ?", "watch it . . .", "it works ."]),
    ('he said " stop ! " and left .', ['he said " stop ! "', "and left ."]),
    ('the " film " is good . yes', ['the " film " is good .', "yes"]),
    ("A title\n\nand a\nparagraph\n \n\nEnd", ["A title", "and a paragraph", "End"]),
    ("  \n ", []),
    ("no end at all", ["no end at all"]),
    ("e.g. This one, etc. And more.", ["e.g. This one, etc.", "And more."]),
    ("Das ist gut. Österreich auch. äh", ["Das ist gut.", "Österreich auch. äh"]),
]


@pytest.mark.parametrize(("text", "sentences"), CASES)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@pytest.mark.parametrize("text", [text for text, _ in CASES])
def test_no_word_is_lost(text: str) -> None:
    assert " ".join(split_sentences(text)) == " ".join(text.split())
