"""Whether attention looks at what a caption's words name."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from zoo.batch import Box, TrueCaptions


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
    words: list[Tensor]
    peaks: list[Tensor]
    inside: list[Tensor]
    hits: list[Tensor]
    centred: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        for name in ("hypotheses", "counted"):
            self.add_state(name, torch.tensor(0), dist_reduce_fx="sum")
        # A row for each image, summed over its words: the number of cells is not known before the first.
        for name in ("words", "peaks", "inside", "hits", "centred"):
            self.add_state(name, [], dist_reduce_fx="cat")

    def update(self, words: Sequence[str], weights: Tensor, truth: TrueCaptions) -> None:
        """Adds an image.

        Args:
            words: what was said of it.
            weights: `(T, h, w)`, for each word, and maybe for an end of sentence, what was looked at.
            truth: what is true of the image.

        Raises:
            ValueError: there are fewer maps than words.
        """
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
        centred = sum(_inside(box, torch.tensor(0.5), torch.tensor(0.5)) for _, box in named)
        self.words.append(torch.tensor([len(named)], device=self.device))
        self.hits.append((peaks * inside).sum()[None])
        self.centred.append(torch.as_tensor(centred, device=self.device)[None])
        self.peaks.append(peaks.sum(dim=0)[None])
        self.inside.append(inside.sum(dim=0)[None])

    def compute(self) -> dict[str, Tensor]:
        """Shares, 0 to 1; NaN where nothing was asked for.

        Returns:
            `pointing_accuracy`, its controls `pointing_uniform`, `pointing_centre` and `pointing_random` (NaN
            of a single image), and `pointing_counted`: the share of hypotheses that are true captions.
        """
        names = ("accuracy", "uniform", "centre", "random")
        values = dict.fromkeys(names, torch.tensor(torch.nan, device=self.device))
        if len(self.words):
            words = dim_zero_cat(self.words)
            peaks, inside = dim_zero_cat(self.peaks), dim_zero_cat(self.inside)  # (images, cells)
            # Each word with the map of each, less those of its own image: one product instead of all pairs.
            pairs = peaks.sum(dim=0) @ inside.sum(dim=0) - (peaks * inside).sum()
            values = {
                "accuracy": dim_zero_cat(self.hits).sum() / words.sum(),
                "uniform": inside.mean(dim=1).sum() / words.sum(),
                "centre": dim_zero_cat(self.centred).sum() / words.sum(),
                "random": pairs / (words.sum() ** 2 - (words**2).sum()),
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
