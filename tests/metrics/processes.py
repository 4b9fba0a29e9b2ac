"""Two processes that meet, without those."""

from torch import Tensor
from torchmetrics import Metric


def meet(mine: Metric, other: Metric) -> None:
    """Gives a metric the state that torchmetrics would gather from its process and another.

    What both send must have one type and one number of axes: else a gather aborts.
    """
    sent: list[list[Tensor]] = [[], []]
    for states, metric in zip(sent, (other, mine), strict=True):

        def gather(state: Tensor, group: object, states: list[Tensor] = states) -> list[Tensor]:
            states.append(state)
            return [state, sent[0][len(states) - 1]]

        metric.sync(dist_sync_fn=gather, distributed_available=lambda: True)
    assert [(state.dtype, state.ndim) for state in sent[0]] == [
        (state.dtype, state.ndim) for state in sent[1]
    ]
    mine._to_sync = False  # it has met already
