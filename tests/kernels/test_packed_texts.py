"""What is computed for words alone, against torch's own layers over padded texts."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from zoo.kernels import skip_padding, wide_convolution
from zoo.kernels.packed_recurrent import PackedReader, Weights, packed_gru, packed_lstm, packing_pays

LENGTHS = torch.tensor([2, 7, 1, 4])


def texts(size: int = 3) -> Tensor:
    """Of LENGTHS, in float64, with NaN behind the ends."""
    torch.manual_seed(0)
    given = torch.randn(4, 7, size, dtype=torch.float64)
    given[torch.arange(7) >= LENGTHS[:, None]] = torch.nan
    return given.requires_grad_()


def gradients(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Of a sum of the outputs with weights."""
    torch.manual_seed(1)
    return torch.autograd.grad(
        sum((one * torch.randn_like(one)).sum() for one in outputs), inputs, retain_graph=True
    )


@pytest.mark.parametrize(("kind", "packed"), [(nn.LSTM, packed_lstm), (nn.GRU, packed_gru)])
@pytest.mark.parametrize("from_end", [[False], [True], [False, True]])
def test_recurrent_layers_read_each_text_as_torch_reads_it_alone(
    kind: type[nn.RNNBase], packed: PackedReader, from_end: list[bool]
) -> None:
    given = texts()
    layers = [kind(3, 2, batch_first=True).double() for _ in from_end]
    states, last = packed(given, LENGTHS, [Weights(*one.parameters()) for one in layers], from_end)
    expected, final = torch.zeros_like(states), torch.zeros_like(last)
    for row, length in enumerate(LENGTHS.tolist()):
        for number, (layer, backward) in enumerate(zip(layers, from_end, strict=True)):
            text = given[row : row + 1, :length]
            read = layer(text.flip(1) if backward else text)[0][0]
            columns = slice(2 * number, 2 * number + 2)
            expected[row, :length, columns] = read.flip(0) if backward else read
            final[row, columns] = read[-1]
    torch.testing.assert_close((states, last), (expected, final))
    inputs = [given, *(parameter for layer in layers for parameter in layer.parameters())]
    for used in (slice(2), slice(1), slice(1, 2)):  # states and last ones, or either alone
        found = gradients((states, last)[used], inputs)
        torch.testing.assert_close(found, gradients((expected, final)[used], inputs))


def test_packing_is_for_padded_batches_of_a_cpu() -> None:
    given = torch.zeros(4, 7, 3)
    assert packing_pays(given, LENGTHS)
    assert not packing_pays(given, torch.full((4,), 7))  # no padding: torch's layers are as fast
    assert not packing_pays(given, torch.tensor([0, 2, 1, 4]))
    assert not packing_pays(given.to("meta"), LENGTHS)
    with torch.autocast("cpu", torch.bfloat16):
        assert not packing_pays(given, LENGTHS)


def test_convolutions_are_those_of_each_text_alone() -> None:
    given = texts()
    filters = [nn.Conv1d(3, 2, width, padding=width - 1).double() for width in (3, 1, 4)]
    found = wide_convolution.wide_convolutions(given, LENGTHS, filters)
    expected = []
    for one, convolution in zip(found, filters, strict=True):
        width = convolution.kernel_size[0]
        assert one.shape == (4, 7 + width - 1, 2)
        rows = [convolution(text[:length].T[None])[0].T for text, length in zip(given, LENGTHS, strict=True)]
        expected.append(
            torch.stack([nn.functional.pad(row, (0, 0, 0, 7 + width - 1 - len(row))) for row in rows])
        )
    torch.testing.assert_close(found, expected)
    inputs = [given, *(parameter for one in filters for parameter in one.parameters())]
    torch.testing.assert_close(gradients(found, inputs), gradients(expected, inputs))


def test_convolutions_are_the_same_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    given = texts()
    filters = [nn.Conv1d(3, 2, width, padding=width - 1).double() for width in (3, 2)]
    here = wide_convolution.wide_convolutions(given, LENGTHS, filters)
    monkeypatch.setattr(wide_convolution, "_is_faster", lambda words: False)
    torch.testing.assert_close(here, wide_convolution.wide_convolutions(given, LENGTHS, filters))


def test_a_function_of_words_sees_words_alone() -> None:
    given = texts()
    there = torch.arange(7) < LENGTHS[:, None]
    weight = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    seen: list[int] = []

    def function(rows: Tensor) -> Tensor:
        seen.append(rows[..., 0].numel())
        return (rows @ weight.T).tanh()

    found = skip_padding.of_each_word(function, given, there)
    assert seen == [14]
    kept = torch.where(there.unsqueeze(-1), given, 0)
    expected = (kept @ weight.T).tanh()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients([found], [given, weight]), gradients([expected], [given, weight]))
    assert torch.autograd.gradgradcheck(
        lambda rows: skip_padding.of_each_word(torch.tanh, rows, there), kept.detach().requires_grad_()
    )
