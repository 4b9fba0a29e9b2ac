"""GPT fine-tuned to classify a text, or a pair of texts (Radford et al. 2018, sections 3.2 and 3.3).

A text becomes `Start text Extract`, a pair `Start a Delimiter b Extract`; a layer over what the last block
says at Extract gives the class. Of pairs whose order says nothing both orders are read, and what is read at
Extract is added. Training adds `lambda L_1`, the loss of the language model on the same texts.

Where this leaves the paper: Start, Delimiter and Extract are no words of the vocabulary, so the language
model reads them and does not predict them.

Shapes: B texts, T tokens with Start, Delimiter and Extract, D features, V vocabulary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.kernels import Dropout, Linear
from zoo.networks.checks import require_one_vocabulary
from zoo.networks.gpt import Gpt
from zoo.networks.lstm_attention import Classified, require_texts
from zoo.networks.positions import Positions

_DEVIATION = 0.02
"""Of new weights as they begin (section 4.1)."""

_START, _DELIMITER, _EXTRACT = range(3)


class GptClassifier(nn.Module):
    """Says the class, or the degree, of a text or a pair; see the module.

    Attributes:
        embed: the vectors of tokens.
        pretrained: the run whose weights it begins with; None: all begins at random.
        pretrained_part: the part of the network that is the run's.
        mark_names: of Start, Delimiter and Extract, whose ids follow those of the vocabulary.

    Args:
        spec: the field `text`, or `left` and `right`; and a label or a degree.
        language_model_weight: lambda, 0.5 in the paper; 0 leaves the language model out.
        both_orders: reads pairs in both orders.
        pretrained: see above; whoever trains the network reads them.
        others: see `Gpt`.

    Raises:
        ValueError: see `Gpt`; or the data has documents, other tokens on the right than on the left, or no
            pairs for both orders; the weight is negative; or positions end before the longest sequence.
    """

    pretrained_part = "gpt."
    mark_names = ("<start>", "<delimiter>", "<extract>")

    def __init__(
        self,
        *,
        spec: DataSpec,
        attention: Mapping[str, Callable[..., nn.Module]],
        positions: Callable[..., Positions],
        model_size: int,
        feed_forward_size: int,
        heads: int,
        layers: int,
        dropout: float,
        attention_dropout: float,
        activation_dropout: float = 0.0,
        activation: Callable[[], nn.Module] = nn.GELU,
        pre_norm: bool = True,
        window: int | None = None,
        language_model_weight: float = 0.5,
        both_orders: bool = False,
        pretrained: str | None = None,
    ) -> None:
        super().__init__()
        if not language_model_weight >= 0:
            raise ValueError(f"language_model_weight must be at least 0, got {language_model_weight}")
        pair = "left" in spec.fields
        text = spec.text("left" if pair else "text")
        require_texts(text)
        longest = text.maximum_length - text.added + 2
        if pair:
            right = spec.text("right")
            require_one_vocabulary(text, right)
            longest += right.maximum_length - right.added + 1
        elif both_orders:
            raise ValueError("both_orders=true asks for pairs of texts, and the data has single ones")
        self.gpt = Gpt(
            spec=DataSpec(spec.name, {"text": replace(text, maximum_length=longest)}),
            attention=attention,
            positions=positions,
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            layers=layers,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            activation=activation,
            pre_norm=pre_norm,
            window=window,
        )
        self.marks = nn.Embedding(3, model_size)
        self.dropout, self.classify = Dropout(dropout), Linear(model_size, spec.outputs())
        for part in (self.marks, self.classify):
            nn.init.normal_(part.weight, std=_DEVIATION)
        nn.init.zeros_(self.classify.bias)
        self.pretrained, self.both_orders = pretrained, both_orders
        self.language_model_weight = language_model_weight
        self._text = text

    @property
    def embed(self) -> nn.Embedding:
        """See the class."""
        return self.gpt.embed

    def forward(self, text: Padded, right: Padded | None = None) -> Classified:
        """Classifies texts `(B, T)`, or pairs of them."""
        orders = [[text]] if right is None else [[text, right]]
        if right is not None and self.both_orders:
            orders.append([right, text])
        read = [self._read(parts) for parts in orders]
        extracted = torch.stack([features for features, _ in read]).sum(0)
        logits: Tensor = self.classify(self.dropout(extracted))
        losses = [loss for _, loss in read if loss is not None]
        if not losses:
            return Classified(logits)
        return Classified(logits, further_loss=self.language_model_weight * torch.stack(losses).mean(0))

    def attention_maps(
        self, text: Padded, right: Padded | None = None
    ) -> tuple[dict[str, list[Tensor]], Tensor]:
        """The weights `(B, h, T, T)` of every head of each layer, and the ids `(B, T)` that they are of.

        Of a network that reads pairs in both orders, those of the given order.
        """
        read = self.sequences([text] if right is None else [text, right])
        return {"heads": self.gpt.decoder(self._embedded(read.ids), weights=True).own}, read.ids

    def sequences(self, parts: Sequence[Padded]) -> Padded:
        """`Start a Extract` or `Start a Delimiter b Extract`; the ids of these are V, V + 1 and V + 2."""
        added, before = self._text.added, int("cls" in self._text.special)
        size = sum(part.ids.shape[1] - added for part in parts) + len(parts) + 1
        lengths = [part.lengths - added for part in parts]
        place = torch.arange(size, device=lengths[0].device)[None]
        ids = torch.full((len(lengths[0]), size), self._text.pad, device=place.device)
        begin = torch.zeros_like(lengths[0])[:, None]
        for number, (part, length) in enumerate(zip(parts, lengths, strict=True)):
            mark = self._text.size + (_DELIMITER if number else _START)
            ids = torch.where(place == begin, mark, ids)
            begin = begin + 1
            end = begin + length[:, None]
            tokens = part.ids.gather(1, (place - begin + before).clamp(0, part.ids.shape[1] - 1))
            ids = torch.where((place >= begin) & (place < end), tokens, ids)
            begin = end
        ids = torch.where(place == begin, self._text.size + _EXTRACT, ids)
        return Padded(ids, begin[:, 0] + 1)

    def _read(self, parts: Sequence[Padded]) -> tuple[Tensor, Tensor | None]:
        """What the last block says at Extract `(B, D)`, and the language model's loss of each text `(B,)`."""
        read = self.sequences(parts)
        marked = read.ids >= self._text.size
        features = self.gpt.decoder(self._embedded(read.ids)).features
        last = (read.lengths - 1)[:, None, None].expand(-1, 1, features.shape[-1])
        extracted = features.gather(1, last)[:, 0]
        if not (self.training and self.language_model_weight):
            return extracted, None
        targets = read.ids[:, 1:].masked_fill((marked | ~read.keep_mask)[:, 1:], -100)
        scores = self.gpt.output(features[:, :-1]).float()
        # Over another axis than the last it takes several times as long.
        nll = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-100, reduction="none")
        return extracted, nll.view_as(targets).sum(1) / (targets >= 0).sum(1).clamp(min=1)

    def _embedded(self, ids: Tensor) -> Tensor:
        """The vectors `(B, T, D)` of words and marks, with their positions."""
        marked = ids >= self._text.size
        words = self.gpt.embed(ids.masked_fill(marked, self._text.pad))
        marks = self.marks((ids - self._text.size).clamp(min=0))
        embedded = torch.where(marked[..., None], marks, words)
        vectors: Tensor = self.gpt.dropout(self.gpt.positions(embedded))
        return vectors
