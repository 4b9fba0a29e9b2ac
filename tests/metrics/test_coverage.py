"""What is asked for, and what is found, sentence by sentence and over a corpus."""

import pytest

from zoo.metrics import NameCoverage, NumberCoverage


def counted(
    metric: NumberCoverage | NameCoverage, source: str, references: list[str], prediction: str
) -> tuple[int, int]:
    metric.update([prediction], [references], [source])
    return int(metric.hits), int(metric.items)


@pytest.mark.parametrize(
    ("source", "references", "prediction", "expected"),
    [
        ("2 dogs and 13 cats", ["2 Hunde, 13 Katzen"], "2 Hunde und 3 Katzen", (1, 2)),
        ("2 dogs", ["zwei Hunde"], "2 Hunde", (0, 0)),  # the reference has it not: asked of nobody
        ("2 dogs", ["zwei Hunde", "2 Hunde"], "zwei Hunde", (0, 1)),  # one of the references has it
        ("2 and 2 are 4", ["2 und 2 sind 4"], "2 und 4 sind 4", (2, 3)),  # as often as it is there
        ("2 dogs", ["2 Hunde"], "2 2 2", (1, 1)),  # more often earns nothing
        ("12", ["12"], "1 2 123", (0, 1)),  # whole numbers
        ("3.5 and 1,000.", ["3,5 und 1,000."], "1,000", (1, 1)),  # as they are written; no point at the end
        ("3 March 2021", ["2021-03-03"], "2021-03-04", (1, 1)),
        ("", [""], "", (0, 0)),
    ],
)
def test_numbers(source: str, references: list[str], prediction: str, expected: tuple[int, int]) -> None:
    assert counted(NumberCoverage(), source, references, prediction) == expected


@pytest.mark.parametrize(
    ("source", "references", "prediction", "expected"),
    [
        ("We saw Anna in Berlin.", ["Wir sahen Anna in Berlin."], "Wir sahen eine Frau in Berlin.", (1, 2)),
        ("Anna slept.", ["Anna schlief."], "Anna schlief.", (0, 0)),  # perhaps only the first word
        ("It rains. Anna sleeps.", ["Es regnet. Anna schläft."], "Anna", (0, 0)),
        ("We saw Rome.", ["Wir sahen Rom."], "Wir sahen Rome.", (0, 0)),
        ("We met Jean-Luc, and O'Neill.", ["Jean-Luc und O'Neill"], "Jean und O'Neill", (1, 2)),
        ("in Köln", ["in Köln"], "in Kölnisch", (0, 1)),  # whole words
        ("we saw Anna", ["wir sahen Anna"], "wir sahen anna", (0, 1)),
        ("于 北京", ["于 北京"], "", (0, 0)),
    ],
)
def test_names(source: str, references: list[str], prediction: str, expected: tuple[int, int]) -> None:
    assert counted(NameCoverage(), source, references, prediction) == expected


def test_items_are_summed_over_batches_and_processes() -> None:
    """Two of five over the corpus, whatever the sentences' own shares are."""
    sources = ["1 2 3", "4", "none", "5"]
    predictions = ["1", "", "", "5"]
    together, first, second = NumberCoverage(), NumberCoverage(), NumberCoverage()
    together.update(predictions, [[source] for source in sources], sources)
    first.update(predictions[:1], [sources[:1]], sources[:1])
    second.update([], [], [])
    second.update(predictions[1:], [[source] for source in sources[1:]], sources[1:])
    first.merge_state(second)
    assert float(together.compute()) == float(first.compute()) == pytest.approx(2 / 5)


def test_nothing_to_cover_is_nan_and_other_counts_are_refused() -> None:
    metric = NameCoverage()
    metric.update(["a"], [["b"]], ["c"])
    assert metric.compute().isnan()
    with pytest.raises(ValueError, match="2 sources but 1 predictions"):
        metric.update(["a"], [["a"]], ["a", "b"])
    with pytest.raises(TypeError, match="number 0 is a string"):
        metric.update(["a"], ["a"], ["a"])


def test_the_signature_says_of_how_many_items_the_share_is() -> None:
    metric = NumberCoverage()
    metric.update(["1", ""], [["1 2"], ["3"]], ["1 2", "3"])
    assert float(metric.compute()) == pytest.approx(1 / 3)
    metric.reset()
    assert metric.signature == "items:3"
