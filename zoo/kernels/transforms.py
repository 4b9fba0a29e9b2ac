"""Whether a hand-written gradient must give way to the plain formula.

The kernels are `autograd.Function`s whose backward passes support first derivatives in reverse mode. For
`torch.func` (`grad`, `vmap`, `jvp`, ...), forward-mode gradients and second derivatives they compute the
plain formula: `transformed` tells in the forward pass, `torch.is_grad_enabled` in the backward pass.
"""

import torch
from torch.autograd import forward_ad


def transformed() -> bool:
    """Whether a transformation of `torch.func`, or forward-mode differentiation, is active."""
    # Compiled, torch derives gradients itself, and the calls below would break the graph.
    if torch.compiler.is_compiling():
        return False
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
