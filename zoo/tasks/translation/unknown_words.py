"""Unknown words of a translation, copied from the source (Luong et al. 2015, section 4.1)."""

from collections.abc import Sequence

from torch import Tensor


def copied_words(ids: Sequence[int], unknown: int, weights: Tensor, words: Sequence[str]) -> dict[int, str]:
    """For each `<unk>` of a translation the source word that its step looked at most.

    The papers (Jean et al. 2015, section 3.3; Luong et al. 2015b) look the word up in a dictionary of
    aligned words first and copy only what is not in there. Here every word is copied as it stands: right for
    names and numbers, and a foreign word where a translation was wanted.

    A position that is no word (EOS) is passed over for the next best. A step that looked at no word at all
    (a local window outside of the sentence, a hard choice of EOS) copies nothing. Each step stands for
    itself: two that look at one word copy it twice.

    Args:
        ids: `T` generated tokens.
        unknown: the id of `<unk>`.
        weights: `(T, K)` attention weights, row t read while token t was being written.
        words: of the first source positions, at most K; empty = no word.

    Returns:
        Words by position in `ids`.
    """
    places = [place for place, word in enumerate(words) if word]
    copied = {}
    for step, token in enumerate(ids):
        if token == unknown and places:
            row = weights[step, places]
            best = int(row.argmax())
            if row[best] > 0:
                copied[step] = words[places[best]]
    return copied
