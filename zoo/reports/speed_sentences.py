"""How much faster trainings are than other implementations, in two sentences for the front page."""

import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from zoo.reports.speeds import counted


class _Claim(NamedTuple):
    """What a file of results/benchmarks says.

    Attributes:
        trained: what both sides train.
        peer: the other side, in words.
        shipped: its row as it is shipped; empty where it was not measured so.
        tuned: its row with this project's precision and memory settings; empty where there is none.
        group: the comparison that holds the rows, where a file has several.
    """

    trained: str
    peer: str
    shipped: str = ""
    tuned: str = ""
    group: str = ""


CLAIMS = {
    "transformer_training_a": _Claim(
        "a small Transformer",
        "Hugging Face's Marian",
        "Marian as shipped, fp32",
        "Marian, bf16, our allocator setting",
    ),
    "seq2seq_training": _Claim("a recurrent network", "JoeyNMT", "joeynmt"),
    "ram_training": _Claim(
        "a glimpse network",
        "a loop over the images",
        "as mostly written",
        "as mostly written, our allocator setting",
    ),
    "neural_turing_machine": _Claim(
        "a Neural Turing Machine", "pytorch-ntm", tuned="pytorch-ntm", group="1_at_a_time"
    ),
}
"""By the names of the files, without ending."""


def speed_sentences(kept: Mapping[str, Any]) -> str:
    """Markdown of the claims that were measured; empty without any.

    Args:
        kept: what the file of each of `CLAIMS` holds; None where it is not there.
    """
    found = [(claim, kept.get(name)) for name, claim in CLAIMS.items()]
    claims = [(claim, held[claim.group] if claim.group else held) for claim, held in found if held]
    if not claims:
        return ""
    shipped = [_said(one, sides[one.shipped]) for one, sides in claims if one.shipped in sides]
    tuned = [_said(one, sides[one.tuned]) for one, sides in claims if one.tuned in sides]
    said = []
    if shipped:
        said.append(f"On a CPU it trains {_listed(shipped)}, each as it is shipped")
    if tuned:
        begin = "Where these have" if shipped else "On a CPU, where others have"
        said.append(f"{begin} this project's settings of precision and memory, it trains {_listed(tuned)}")
    return f"{'. '.join(said)} ([all measurements](docs/speed.md)).\n"


def _said(claim: _Claim, side: Mapping[str, Any]) -> str:
    times = statistics.median(counted(side, "ratio"))
    return f"{claim.trained} {times:.1f} times as fast as {claim.peer}"


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
