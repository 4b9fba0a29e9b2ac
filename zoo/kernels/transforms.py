"""Whether a hand-written gradient must give way to the plain formula.

A kernel here is an `autograd.Function` whose backward pass is written for one use: reverse mode, once.
`torch.func` (`grad`, `vmap`, `jvp`, ...) and forward-mode gradients need more of a function, and a second
derivative needs a backward pass that has a gradient itself. In both cases kernels do what their plain twin
does: `transformed` tells in the forward pass, `torch.is_grad_enabled` in the backward pass.
"""

import torch
from torch.autograd import forward_ad


def transformed() -> bool:
    """Whether a transformation of `torch.func`, or forward-mode automatic differentiation, is at work."""
    # Compiled, torch derives gradients itself, and these questions would break the graph.
    if torch.compiler.is_compiling():
        return False
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
