"""The decoder as it is mostly written: every step projects all annotations, and scores all words, anew."""

import torch
import torch.nn.functional as F
from captions import SIZE, VOCABULARY, Grid, Loss, measure
from common import PAD
from torch import Tensor, nn


class Decoder(nn.Module):
    """An LSTM cell that attends by a perceptron, its context gated."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.of_places, self.of_state = nn.Linear(features, SIZE), nn.Linear(SIZE, SIZE)
        self.score = nn.Linear(SIZE, 1)
        self.gate = nn.Linear(SIZE, features)
        self.embedding = nn.Embedding(VOCABULARY, SIZE)
        self.cell = nn.LSTMCell(SIZE + features, SIZE)
        self.first_hidden, self.first_cell = nn.Linear(features, SIZE), nn.Linear(features, SIZE)
        self.output, self.dropout = nn.Linear(SIZE, VOCABULARY), nn.Dropout(0.5)

    def forward(self, grid: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Scores `(B, T, V)` and weights `(B, T, L)`."""
        places = grid.flatten(2).mT.contiguous()
        mean = places.mean(1)
        hidden, cell = self.first_hidden(mean), self.first_cell(mean)
        words, scores, weights = self.embedding(inputs), [], []
        for step in range(inputs.shape[1]):
            energy = self.score((self.of_places(places) + self.of_state(hidden)[:, None]).relu()).squeeze(-1)
            alpha = energy.softmax(-1)
            context = (places * alpha[..., None]).sum(1)
            context = self.gate(hidden).sigmoid() * context
            hidden, cell = self.cell(torch.cat([words[:, step], context], -1), (hidden, cell))
            scores.append(self.output(self.dropout(hidden)))
            weights.append(alpha)
        return torch.stack(scores, 1), torch.stack(weights, 1)


def build(grid: Grid) -> tuple[nn.Module, Loss]:
    """The decoder, and cross-entropy and doubly stochastic penalty."""
    decoder = Decoder(grid.features)

    def loss(annotations: Tensor, captions: Tensor) -> Tensor:
        scores, weights = decoder(annotations, captions[:, :-1])
        cross_entropy = F.cross_entropy(scores.flatten(0, 1), captions[:, 1:].flatten(), ignore_index=PAD)
        return cross_entropy + (1 - weights.sum(1)).square().mean()

    return decoder, loss


if __name__ == "__main__":
    measure(build, fused=False)
