"""Pictures of what recipes measured."""

from published_runs import read, results

from zoo.reports.drawings import by_size


def sequences(seed: int, *overrides: str, **test: float) -> dict[str, object]:
    """What a run left behind whose sequences were also measured beyond the sizes of training."""
    return results("copy", seed, *overrides, bits_per_sequence=1.0, wrong_bits=0.1, **test) | {
        "task": "zoo.tasks.memory.MemoryTask"
    }


def test_each_seed_has_a_curve_over_the_sizes_beyond_training() -> None:
    runs = read(
        [
            sequences(1, wrong_bits_30=0.25, wrong_bits_120=0.5, bits_per_sequence_30=7.0),
            sequences(2, wrong_bits_30=0.0, wrong_bits_120=0.125),
            sequences(3),  # it was measured at no other size
            sequences(1, "selection=soft", wrong_bits_30=0.5),
        ]
    )
    figure = by_size(runs)
    assert figure is not None
    (axes,) = figure.axes
    curves = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert curves == {
        "copy, seed 1": [[30, 0.25], [120, 0.5]],
        "copy, seed 2": [[30, 0.0], [120, 0.125]],
    }
    assert axes.get_ylabel() == "wrong_bits"


def test_nothing_is_drawn_without_sizes() -> None:
    assert by_size(read([sequences(1), results("toy", 1, exact_match=0.5)])) is None
