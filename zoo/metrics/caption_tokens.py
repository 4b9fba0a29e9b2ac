"""The tokens that captions are scored by: lower case, without punctuation, as the tools of COCO make them.

Those tools (Chen et al. 2015, "Microsoft COCO Captions: Data Collection and Evaluation Server", section 4.1)
call the Penn Treebank tokeniser of Stanford CoreNLP 3.4.1, a program in Java, and drop punctuation. The rules
here were found by watching what it does to captions, and agree with it on each of Flickr8k's 40,460. They are
known to differ at emoticons, telephone numbers, HTML entities other than `&amp;`, abbreviations that hardly
occur in captions, and scripts and accents that are written with combining characters.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

MAX_ORDER = 4
"""Of n-grams."""

_DROPPED = re.compile(r"[-–—.…]+|['`\"“”«»,:;?!]")
_SPELLED = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"} | {
    "£": "#",
    "€": "$",
    "¢": "cents",
}
_READ_AS = {
    **{"&amp;": "&", "\u00ad": "", "\u200b": " "},  # a soft hyphen, a blank without width
    **{"½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3"},
    **dict.fromkeys("’‘‛‹›", "'"),
}
_REPLACED = re.compile("|".join(_READ_AS))
_ABBREVIATIONS = (
    "mrs?|ms|mme|messrs|drs?|profs?|revd?|pres|hon|gen|maj|capt|col|lieut|lt|sgt|cpl|sens?|reps?|govs?|jr|sr"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thur?s?|fri"
    "|ste?|ave|blvd|rd|rt|mt|ft|sq|tel|dept|univ|est|etc|al|vs|ext|bros|inc|co|corp|ltd|alex|jos|wm"
)
_TOKEN = re.compile(
    rf"""
      </?[a-z][\w:.-]*[ ]?/?>                              # <b>
    | (?:[^\W\d_]\.)+[^\W\d_]\b\.?                         # u.s.
    | (?<!\w)[^\W\d_]\.                                    # an initial
    | (?<!\w)(?:{_ABBREVIATIONS})\.(?!\w) | (?<!\w)(?:nos?|figs?|pp?)\.(?=\s?\d)
    | https?://\S+ | [\w.+-]+@\w+(?:[.-]\w+)* | [@#][a-z]\w*
    | can(?=not\b) | gon(?=na\b) | got(?=ta\b) | wan(?=na\b) | lem(?=me\b) | gim(?=me\b)
    | 't(?=is\b|was\b)
    | 'n'(?!t) | '(?:n|em|til|cause|[2-9]0s|\d\d)(?!\w) | ol'(?!\w) | s'mores
    | '(?:s|m|d|re|ve|ll)(?![^\W\d_])                      # 's, wherever it stands
    | (?-i:[A-Z]+&[A-Z]+)(?!\w)                            # AT&T
    | n't(?!\w) | y'(?=[^\W\d_])
    | [^\W_]+?(?=n't(?!\w))                                # do|n't
    | [dol]'[^\W\d_]{{3,}} | c'mon | [^\W\d_]*[aeiouy]'[aeiou]+[^\W\d_]*      # o'clock, ma'am
    | [-+]?\d+(?:[.,:/]\d+)+(?:-[^\W_]+)* | [-+]\d+(?:-[^\W_]+)* | \.\d+
    | [^\W_]+(?:[-_./][^\W_]+)*
    | [-–—]+ | [.…]+ | [!?]+ | \*+
    | [\u0021-\uffff]                                      # beyond, as emoji are: left out
    """,
    re.VERBOSE | re.IGNORECASE,
)


@lru_cache(maxsize=2**17)  # references come back at every validation
def caption_tokens(caption: str) -> tuple[str, ...]:
    """The words of a caption, as it is scored.

    Args:
        caption: raw or tokenised text.

    Returns:
        The tokens: `("a", "man", "'s", "hat")` of `A man's hat.`
    """
    text = _REPLACED.sub(lambda found: _READ_AS[found[0]], caption)
    tokens = (token.lower() for token in _TOKEN.findall(text))
    return tuple(_SPELLED.get(token, token) for token in tokens if not _DROPPED.fullmatch(token))


def ngram_counts(tokens: Sequence[str]) -> list[Counter[str]]:
    """How often each n-gram occurs, for n = 1 to 4; one is written with blanks between its tokens."""
    # text, not tuples: a hundred thousand tuples keep Python's garbage collector busy
    return [
        Counter(map(" ".join, zip(*(tokens[start:] for start in range(order)), strict=False)))
        for order in range(1, MAX_ORDER + 1)
    ]
