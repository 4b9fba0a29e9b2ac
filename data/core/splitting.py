"""Which split a sentence belongs to: decided by the sentence alone, whatever stands around it in the file."""

import hashlib
import re

from zoo.core.text import normalise


def sentence_key(sentence: str) -> str:
    """What sentences that differ in case, punctuation and white space alone have in common."""
    return " ".join(re.findall(r"\w+", normalise(sentence).casefold())) or sentence


def position(sentence: str) -> float:
    """A place in [0, 1], evenly spread over sentences, the same for sentences of one `sentence_key`."""
    digest = hashlib.blake2b(sentence_key(sentence).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
