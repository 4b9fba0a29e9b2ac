"""Linear maps in eight bits stay near the exact ones, and replace them in a network."""

import logging
import timeit

import pytest
import torch
from torch import nn

import zoo
from zoo.kernels import Linear
from zoo.kernels.int8 import Int8Linear, multiplies_int8, use_int8
from zoo.runtime import precision
from zoo.runtime.precision import usable_precision

needs_int8 = pytest.mark.skipif(not multiplies_int8(), reason="this CPU has no products of eight bits")


@needs_int8
@pytest.mark.parametrize("bias", [True, False])
def test_an_output_is_within_the_rounding_of_weights_and_input(bias: bool) -> None:
    torch.manual_seed(1)
    exact = Linear(48, 96, bias=bias)
    input = torch.randn(2, 5, 48)
    found, expected = Int8Linear(exact)(input), exact(input)
    assert found.shape == expected.shape
    # Half a level of each factor, times the other factor, summed over 48 products.
    steps = exact.weight.abs().amax(1) / 127, input.abs().amax() / 127
    bound = steps[0] / 2 * input.abs().sum(-1, keepdim=True) + steps[1] / 2 * (
        exact.weight.abs().sum(1) + 48 * steps[0] / 2
    )
    assert ((found - expected).abs() <= bound + 1e-5).all()
    assert not torch.equal(found, expected)


@needs_int8
def test_no_processor_falls_back_to_a_slow_product() -> None:
    """Of signed inputs oneDNN has only a reference without AMX, which takes hundreds of times as long."""
    exact, input = Linear(256, 512), torch.randn(64, 256)
    small = Int8Linear(exact)
    with torch.no_grad():
        float32 = min(timeit.repeat(lambda: exact(input), number=1, repeat=5))
        assert min(timeit.repeat(lambda: small(input), number=1, repeat=5)) < 30 * float32


@needs_int8
def test_zeros_and_no_rows_at_all_have_outputs() -> None:
    exact = nn.Linear(4, 3)
    exact.weight.data[1] = 0
    small = Int8Linear(exact)
    assert torch.allclose(small(torch.zeros(2, 4)), exact.bias.expand(2, 3))
    assert torch.allclose(small(torch.ones(2, 4))[:, 1], exact.bias[1].expand(2))
    assert small(torch.zeros(0, 4)).shape == (0, 3)
    with torch.autocast("cpu", torch.bfloat16):
        assert small(torch.ones(2, 4).bfloat16()).dtype is torch.float32


@needs_int8
def test_every_linear_map_is_replaced_and_tied_weights_stay_one() -> None:
    embed, output = nn.Embedding(7, 4), Linear(4, 7, bias=False)
    output.weight = embed.weight
    network = nn.ModuleDict(
        {"embed": embed, "inner": nn.Sequential(nn.Linear(4, 4), nn.ReLU()), "output": output}
    )
    names = set(network.state_dict())
    use_int8(network)
    replaced = [name for name, part in network.named_modules() if isinstance(part, Int8Linear)]
    assert replaced == ["inner.0", "output"]
    assert set(network.state_dict()) == names
    assert network["output"].weight is embed.weight


@needs_int8
def test_a_trained_model_answers_alike() -> None:
    days = [f"{day}. März 20{year}" for day, year in zip(range(1, 29), range(10, 38), strict=True)]
    exact, small = zoo.load("dates", device="cpu"), zoo.load("dates", device="cpu", precision="int8")
    pairs = zip(exact.predict(days), small.predict(days), strict=True)
    scores = [(first[0].score, second[0].score) for first, second in pairs if first[0].text == second[0].text]
    assert len(scores) >= 27
    assert any(first != second for first, second in scores)


def test_where_a_cpu_has_no_such_products_float32_is_computed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(precision, "multiplies_int8", lambda: False)
    with caplog.at_level(logging.WARNING):
        assert usable_precision("int8", "cpu") == "32-true"
    assert "int8 is computed in float32" in caplog.text
    monkeypatch.setattr(precision, "multiplies_int8", lambda: True)
    assert usable_precision("int8", "cpu") == "int8"
    with pytest.raises(ValueError, match="int8 is for a CPU, and the device is cuda"):
        usable_precision("int8", "cuda")
