"""Linear maps with weights of eight bits, for answering on a CPU."""

import torch
from torch import Tensor, nn

from zoo.kernels.onednn import Linear

_LEVELS = 127
"""The largest whole number; levels are symmetric around zero."""
_ZERO = 128
"""The unsigned level of an input that is zero."""


def multiplies_int8() -> bool:
    """Whether torch and this CPU multiply eight bits well: without VNNI, sums could overflow."""
    found = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    vnni = found.get("avx512_vnni") or found.get("avx_vnni")
    return (
        bool(vnni) and torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_prepack")
    )


def use_int8(network: nn.Module) -> None:
    """Puts an `Int8Linear` in the place of every linear map of a network, which then has no gradients.

    Maps inside of recurrent cells, and those that a kernel multiplies itself, keep their precision.
    """
    for part in list(network.modules()):
        for name, child in part.named_children():
            if isinstance(child, nn.Linear) and type(child) in (nn.Linear, Linear):
                setattr(part, name, Int8Linear(child))


class Int8Linear(Linear):
    """A linear map by products of eight bits: `W` has a scale for each output, the input one for each call.

    The largest input of a call sets its scale, so an output depends a little on what else is in its batch.
    Products are summed in 32 bits; the output is float32. The float weights stay, for code that reads them.

    Args:
        exact: the map; its weights are shared.
    """

    def __init__(self, exact: nn.Linear) -> None:
        super().__init__(exact.in_features, exact.out_features, bias=False, device="meta")
        self.weight, self.bias = exact.weight, exact.bias
        weight = exact.weight.detach().float()
        self._scales = _scale(weight.abs().amax(1))
        levels = (weight / self._scales[:, None]).round_().to(torch.int8)
        self._packed = torch.ops.onednn.qlinear_prepack(levels, None)
        self._zeros = torch.zeros(len(weight), dtype=torch.int32)

    def forward(self, input: Tensor) -> Tensor:
        """Maps `(*, in_features)` to `(*, out_features)`."""
        if not input.numel():
            return super().forward(input)
        rows = input.flatten(0, -2).float()
        scale = _scale(rows.abs().amax())
        # Without AMX oneDNN multiplies signed inputs hundreds of times slower than unsigned ones.
        levels = (rows / scale).round_().add_(_ZERO).to(torch.uint8)
        bias = None if self.bias is None else self.bias.float()
        output: Tensor = torch.ops.onednn.qlinear_pointwise(
            levels,
            float(scale),
            _ZERO,
            self._packed,
            self._scales,
            self._zeros,
            bias,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return output.view(*input.shape[:-1], self.out_features)


def _scale(largest: Tensor) -> Tensor:
    """What a level is worth; of zeros alone something that can divide."""
    return (largest / _LEVELS).clamp_min(torch.finfo(torch.float32).tiny)
