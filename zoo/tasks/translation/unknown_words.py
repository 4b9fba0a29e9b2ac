"""Unknown words of a translation, copied from the source (Luong et al. 2015, section 4.1)."""

from collections.abc import Sequence

from torch import Tensor


def copied_words(ids: Sequence[int], unknown: int, weights: Tensor, words: Sequence[str]) -> dict[int, str]:
    """For each `<unk>` of a translation, the source word with the largest attention weight in its step.

    The papers (Jean et al. 2015, section 3.3; Luong et al. 2015b) look the word up in a dictionary first and
    copy only what it lacks. Here every word is copied, which is right for names and numbers.

    Positions without a word (EOS) do not count. A step that attends to no word (a local window outside of the
    sentence, a hard choice of EOS) copies nothing.

    Args:
        ids: T generated tokens.
        unknown: the id of `<unk>`.
        weights: `(T, K)` attention weights.
        words: of the first source positions, at most K; an empty one is no word.

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
