"""Language models as mostly written: padded scores of all tokens, and loops over the steps of a window.

python torch_languages.py NETWORK SECONDS
"""

import torch
from languages import DROPOUT, Loss, Network, measure
from torch import Tensor, nn
from torch.nn import functional


class Recurrent(nn.Module):
    """An LSTM, with attention to its past states one step at a time where some are remembered."""

    def __init__(self, sizes: Network) -> None:
        super().__init__()
        size, self.remembered = sizes.size, sizes.remembered
        self.embed = nn.Embedding(sizes.vocabulary, size)
        self.dropout = nn.Dropout(DROPOUT)
        self.recurrent = nn.LSTM(size, size, sizes.layers)
        if self.remembered:
            self.match, self.combine = nn.Linear(size, size, bias=False), nn.Linear(2 * size, size)
        self.output = nn.Linear(size, sizes.vocabulary)
        self.output.weight = self.embed.weight
        self.state: tuple[Tensor, Tensor] | None = None
        self.past: list[Tensor] = []

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores `(T, B, V)` of `(T, B)`."""
        states, new = self.recurrent(self.dropout(self.embed(tokens)), self.state)
        self.state = (new[0].detach(), new[1].detach())
        if self.remembered:
            states = torch.stack([self.attend(state) for state in states])
            self.past = [state.detach() for state in self.past]
        return self.output(self.dropout(states))

    def attend(self, state: Tensor) -> Tensor:
        """What predicts behind a state `(B, H)`, which is remembered."""
        context = torch.zeros_like(state)
        if self.past:
            past = torch.stack(self.past, 1)
            scores = torch.bmm(self.match(past), state.unsqueeze(2)).squeeze(2)
            context = torch.bmm(functional.softmax(scores, 1).unsqueeze(1), past).squeeze(1)
        self.past = [*self.past, state][-self.remembered :]
        return torch.tanh(self.combine(torch.cat([context, state], 1)))


class Tapes(nn.Module):
    """Cheng et al. 2016, section 3.2: at each step all states of the tape are projected anew."""

    def __init__(self, sizes: Network) -> None:
        super().__init__()
        size, self.remembered = sizes.size, sizes.remembered
        self.embed = nn.Embedding(sizes.vocabulary, size)
        self.dropout = nn.Dropout(DROPOUT)
        self.of_state, self.of_input = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.of_read, self.v = nn.Linear(size, size, bias=False), nn.Linear(size, 1, bias=False)
        self.gates = nn.Linear(2 * size, 4 * size)
        self.output = nn.Linear(size, sizes.vocabulary)
        self.output.weight = self.embed.weight
        self.states: list[Tensor] = []
        self.cells: list[Tensor] = []
        self.read: Tensor | None = None

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores `(T, B, V)` of `(T, B)`."""
        hidden = [self.step(step) for step in self.dropout(self.embed(tokens))]
        self.states, self.cells = [one.detach() for one in self.states], [one.detach() for one in self.cells]
        self.read = None if self.read is None else self.read.detach()
        return self.output(self.dropout(torch.stack(hidden)))

    def step(self, inputs: Tensor) -> Tensor:
        """The state `(B, H)` behind an input."""
        read = cell = torch.zeros_like(inputs)
        if self.states:
            states, cells = torch.stack(self.states, 1), torch.stack(self.cells, 1)
            before = read if self.read is None else self.read
            query = (self.of_input(inputs) + self.of_read(before)).unsqueeze(1)
            weights = functional.softmax(self.v(torch.tanh(self.of_state(states) + query)), 1)
            read, cell = (weights * states).sum(1), (weights * cells).sum(1)
        self.read = read
        add, keep, show, new = self.gates(torch.cat([read, inputs], 1)).chunk(4, 1)
        cell = torch.sigmoid(keep) * cell + torch.sigmoid(add) * torch.tanh(new)
        hidden = torch.sigmoid(show) * torch.tanh(cell)
        self.states = [*self.states, hidden][-self.remembered :]
        self.cells = [*self.cells, cell][-self.remembered :]
        return hidden


class Masked(nn.Module):
    """BERT with the scores of all tokens, masked or not."""

    def __init__(self, sizes: Network) -> None:
        super().__init__()
        size = sizes.size
        self.tokens, self.places = nn.Embedding(sizes.vocabulary, size), nn.Embedding(sizes.steps, size)
        self.segments, self.norm = nn.Embedding(2, size), nn.LayerNorm(size)
        self.dropout = nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(
            size, sizes.heads, 4 * size, 0.1, activation="gelu", batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, sizes.layers, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.LayerNorm(size))
        self.output = nn.Linear(size, sizes.vocabulary)
        self.output.weight = self.tokens.weight
        for weight in self.tokens.weight, self.places.weight, self.segments.weight:
            nn.init.normal_(weight, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores `(B, T, V)`."""
        places, segments = torch.arange(tokens.shape[1]), torch.zeros_like(tokens)
        embedded = self.tokens(tokens) + self.places(places) + self.segments(segments)
        padding = torch.zeros(tokens.shape, dtype=torch.bool)
        features = self.encoder(self.dropout(self.norm(embedded)), src_key_padding_mask=padding)
        return self.output(self.head(features))


def build(name: str, sizes: Network) -> tuple[nn.Module, Loss]:
    """The network of that name and its loss."""
    if name == "bert":
        bert = Masked(sizes)
        return bert, lambda tokens, stood: functional.cross_entropy(
            bert(tokens).flatten(0, 1), stood.flatten(), ignore_index=-1
        )
    network = Tapes(sizes) if name == "lstmn" else Recurrent(sizes)
    nn.init.uniform_(network.embed.weight, -0.1, 0.1)
    return network, lambda tokens, behind: functional.cross_entropy(
        network(tokens.t()).flatten(0, 1), behind.t().flatten()
    )


if __name__ == "__main__":
    measure(build, fused=False)
