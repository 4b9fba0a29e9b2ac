"""Tables of speeds beside other implementations."""

from typing import Any

from zoo.reports.speed_sentences import speed_sentences
from zoo.reports.speeds import speed_tables

MACHINE = {"processor": "A Processor", "threads": 1}


def _side(
    speeds: list[float], ratios: list[float], counted: list[int], others: float = 0.0
) -> dict[str, Any]:
    return {
        "tokens_per_second": speeds,
        "peak_memory_mib": [1024.0] * len(speeds),
        "other_cores": [others] * len(speeds),
        "ratio": ratios,
        "counted_rounds": counted,
    }


def test_a_row_for_each_side_has_medians_of_the_rounds_that_count() -> None:
    figures = {
        "machine": MACHINE,
        "ours": _side([1000.0, 1, 3000], [1, 1, 1], [1, 3]),
        "theirs": _side([500, 500.0, 1000], [2, 0.002, 3], [1, 3]),
    }
    table = speed_tables(figures, "results/x.json")
    assert "| | tokens/s | ours / this row | most memory |" in table
    assert "| ours | 2,000 |  | 1.0 GiB |" in table
    assert "| theirs | 750 | 2.50 (2.00 to 3.00) | 1.0 GiB |" in table
    quiet = "3 rounds, of which at least 2 had a quiet machine and count"
    assert f"A Processor, 1 thread; {quiet} (`results/x.json`)." in table


def test_a_row_for_each_pair() -> None:
    figures = {
        "1_at_a_time": {"ours": _side([12.34], [1], [1]), "peer": _side([6.17], [2.0], [1])},
        "gpt": {"ours": _side([300.0], [1], [1]), "another": _side([100.0], [3.0], [1], others=1.5)},
    }
    table = speed_tables(figures, "results/x.json")
    assert "| | ours, tokens/s | beside | tokens/s | faster by | most memory of each |" in table
    assert "| 1 at a time | 12.3 | peer | 6.17 | 2.00 | 1.0 GiB, 1.0 GiB |" in table
    assert "| gpt | 300 | another | 100 | 3.00 | 1.0 GiB, 1.0 GiB |" in table
    restless = "no round of gpt had a quiet machine, and all count; other processes used up to 1.5 cores"
    assert f"1 round; {restless} (`results/x.json`)." in table


def test_rounds_are_quiet_where_no_side_was_disturbed() -> None:
    """A restless pair has all its rounds, and says nothing of those that other pairs left out."""
    disturbed = _side([300.0] * 3, [1.0] * 3, [1, 2, 3]) | {"other_cores": [0.0, 0.0, 1.0]}
    other = _side([100.0] * 3, [3.0] * 3, [1, 2, 3]) | {"other_cores": [0.5, 0.5, 0.0]}
    pairs = {
        "gpt": {"ours": disturbed, "theirs": other},
        "bert": {"ours": _side([1.0] * 3, [1.0] * 3, [1, 2]), "theirs": _side([1.0] * 3, [1.0] * 3, [1, 2])},
    }
    said = speed_tables(pairs, "x.json").splitlines()[-2]
    assert "at least 2 had a quiet machine" in said
    assert "no round of gpt had a quiet machine" in said
    quieter = pairs | {"gpt": {"ours": disturbed, "theirs": _side([1.0] * 3, [1.0] * 3, [1, 2, 3])}}
    assert "no round" not in speed_tables(quieter, "x.json")


def test_two_sentences_have_the_medians_of_what_was_measured() -> None:
    marian = {
        "attention-zoo, bf16": _side([1.0], [1], [1]),
        "Marian as shipped, fp32": _side([1.0] * 3, [9.0, 3.14, 4.1], [2, 3]),
        "Marian, bf16, our allocator setting": _side([1.0], [1.26], [1]),
    }
    machine = {"1_at_a_time": {"ours": _side([1.0], [1], [1]), "pytorch-ntm": _side([1.0], [5.96], [1])}}
    said = speed_sentences({"transformer_training_a": marian, "neural_turing_machine": machine, "other": {}})
    first, second = said.splitlines()[0].split(". ", 1)
    assert "a small Transformer 3.6 times as fast as Hugging Face's Marian, each as it is shipped" in first
    assert "a small Transformer 1.3 times as fast as Hugging Face's Marian and" in second
    assert "a Neural Turing Machine 6.0 times as fast as pytorch-ntm" in second, "it had our allocator"
    assert speed_sentences({"other": {}}) == ""
