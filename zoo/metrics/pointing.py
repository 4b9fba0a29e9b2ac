"""Whether attention looks at what a caption's words name."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from zoo.core.batch import Box, TrueCaptions


class Pointing(Metric):
    """Share of words whose map peaks inside the box of the thing that the word names.

    The centre of the cell with the largest weight must lie in the box. Of cells that tie, each counts its
    part; a map without any weight is wrong. Only words that name something are asked for, and only of a
    hypothesis that is a true caption of its image: what another one names is not known.

    The same words by maps that know nothing of the image say how easy the boxes are to hit:

    - uniform: all cells tie, which is what a cell drawn at random hits on average;
    - centre: the middle of the image;
    - random: the map of a word of another image, the mean over all words of all others.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    hypotheses: Tensor
    counted: Tensor
    words: Tensor
    own_pairs: Tensor
    hits: Tensor
    centred: Tensor
    own_hits: Tensor
    cells: Tensor
    peaks: list[Tensor]
    inside: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        for name in ("hypotheses", "counted", "words", "own_pairs", "centred"):
            self.add_state(name, torch.tensor(0), dist_reduce_fx="sum")
        for name in ("hits", "own_hits"):
            self.add_state(name, torch.tensor(0.0), dist_reduce_fx="sum")
        # How many cells there are is not known before the first map, and a process may see none: sums over
        # the words of each image lie one after another, as even an empty state can be gathered.
        self.add_state("cells", torch.tensor(0), dist_reduce_fx="max")
        for name in ("peaks", "inside"):
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(self, words: Sequence[str], weights: Tensor | None, truth: TrueCaptions | None) -> None:
        """Adds an image.

        Args:
            words: what was said of it.
            weights: `(T, h, w)`, for each word, and maybe for an end of sentence, what was looked at; None
                without attention, when nothing counts.
            truth: what is true of the image; None when unknown, the same.

        Raises:
            ValueError: there are fewer maps than words.
        """
        if weights is None or truth is None:
            return
        if len(weights) < len(words):
            raise ValueError(f"{len(words)} words but maps of {len(weights)}")
        self.hypotheses += 1
        boxes = truth.boxes.get(" ".join(words))
        if boxes is None:
            return
        self.counted += 1
        named = [(place, box) for place, box in enumerate(boxes) if box is not None]
        if not named:
            return
        maps = weights[[place for place, _ in named]].to(self.device, torch.float32)
        inside = torch.stack([_cells_inside(box, *maps.shape[1:]) for _, box in named]).to(self.device)
        peaks, inside = _peaks(maps.flatten(1)), inside.flatten(1)
        self.words += len(named)
        self.own_pairs += len(named) ** 2
        self.hits += (peaks * inside).sum()
        self.own_hits += peaks.sum(dim=0) @ inside.sum(dim=0)
        self.centred += sum(int(_inside(box, torch.tensor(0.5), torch.tensor(0.5))) for _, box in named)
        self.cells.fill_(peaks.shape[1])
        self.peaks.append(peaks.sum(dim=0))
        self.inside.append(inside.sum(dim=0))

    def compute(self) -> dict[str, Tensor]:
        """Shares, 0 to 1; NaN where nothing was asked for.

        Returns:
            `pointing_accuracy`, its controls `pointing_uniform`, `pointing_centre` and `pointing_random` (NaN
            of a single image), and `pointing_counted`: the share of hypotheses that are true captions.
        """
        names = ("accuracy", "uniform", "centre", "random")
        values = dict.fromkeys(names, torch.tensor(torch.nan, device=self.device))
        if self.words:
            cells = int(self.cells)
            peaks, inside = (
                dim_zero_cat(state).view(-1, cells).sum(dim=0) for state in (self.peaks, self.inside)
            )
            # Each word with the map of each, less those of its own image: one product instead of all pairs.
            values = {
                "accuracy": self.hits / self.words,
                "uniform": inside.sum() / cells / self.words,
                "centre": self.centred / self.words,
                "random": (peaks @ inside - self.own_hits) / (self.words**2 - self.own_pairs),
            }
        values["counted"] = self.counted / self.hypotheses
        return {f"pointing_{name}": value for name, value in values.items()}


def _cells_inside(box: Box, height: int, width: int) -> Tensor:
    """`(h, w)`, 1 at the cells whose centres lie in a box."""
    x = (torch.arange(width) + 0.5) / width
    y = (torch.arange(height) + 0.5) / height
    return _inside(box, x, y[:, None]).float()


def _inside(box: Box, x: Tensor, y: Tensor) -> Tensor:
    left, top, right, bottom = box
    return (left <= x) & (x <= right) & (top <= y) & (y <= bottom)


def _peaks(maps: Tensor) -> Tensor:
    """`(N, cells)`: 1 at the peak of each map, divided among those that tie; 0 where there is no weight."""
    highest = maps.amax(dim=1, keepdim=True)
    tied = ((maps == highest) & (highest > 0)).float()
    return tied / tied.sum(dim=1, keepdim=True).clamp_min(1)
