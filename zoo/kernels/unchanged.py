"""Whether a part of a network may be computed without being called."""

from torch import nn


def unchanged(part: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether a call of `part` runs the `forward` of `kind`, and nothing before or after it.

    Args:
        part: of a network; it may be of a class of one's own that leaves `forward` as it was, and may have
            hooks.
        kind: whose `forward` is known.
    """
    around = (part._forward_pre_hooks, part._forward_hooks, part._backward_pre_hooks, part._backward_hooks)
    return getattr(part.forward, "__func__", None) is kind.forward and not any(around)
