"""BERT fine-tuned to classify a text, or a pair of texts (Devlin et al. 2019, section 3.2 and figure 4)."""

from collections.abc import Callable, Mapping

from torch import Tensor, nn

from zoo.attention import Attended
from zoo.core.batch import Padded
from zoo.core.spec import DataSpec
from zoo.kernels import Dropout, Linear
from zoo.networks.bert import Bert, begin, joined
from zoo.networks.checks import require_one_vocabulary
from zoo.networks.lstm_attention import Classified, require_texts
from zoo.networks.pooling import Reading
from zoo.networks.positions import Positions


class BertClassifier(nn.Module):
    """A layer over the pooled vector of CLS says the class, or the degree, of a text or a pair.

    Attributes:
        embed: the vectors of tokens.
        pretrained: the run whose weights it begins with; None: all begins at random.

    Args:
        spec: the field `text`, or `left` and `right`; and a label or a degree.
        pretrained: see above; whoever trains the network reads them.
        others: see `Bert`.

    Raises:
        ValueError: see `Bert`; or the data has documents, or other tokens on the right than on the left.
    """

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
        activation: Callable[[], nn.Module] = nn.GELU,
        pre_norm: bool = False,
        window: int | None = None,
        pretrained: str | None = None,
    ) -> None:
        super().__init__()
        pair = "left" in spec.fields
        text = spec.text("left" if pair else "text")
        require_texts(text)
        longest = text.maximum_length
        if pair:
            right = spec.text("right")
            require_one_vocabulary(text, right)
            longest += right.maximum_length - 1
        self.pretrained, self._pad = pretrained, text.pad
        self.bert = Bert(
            text=text,
            longest=longest,
            attention=attention,
            positions=positions,
            model_size=model_size,
            feed_forward_size=feed_forward_size,
            heads=heads,
            layers=layers,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            pre_norm=pre_norm,
            window=window,
        )
        self.dropout = Dropout(dropout)
        self.output = Linear(model_size, spec.outputs())
        begin(self.output)

    @property
    def embed(self) -> nn.Embedding:
        """See the class."""
        return self.bert.tokens

    def forward(self, text: Padded, right: Padded | None = None) -> Classified:
        """Classifies texts `(B, T)`, or pairs of them.

        Outside of training, the readings of a text are what the heads of the last layer read for CLS.
        """
        segments: Tensor | None = None
        if right is not None:
            text, segments = joined(text, right, self._pad)
        reads = right is None and not self.training
        encoded = self.bert(text, segments, weights=reads)
        logits: Tensor = self.output(self.dropout(encoded.pooled))
        weights = encoded.weights[-1]
        if weights is None:
            return Classified(logits)
        of_cls = weights[:, :, 0]  # (B, h, T): a hop for each head
        queries = encoded.features[:, :1].expand(-1, of_cls.shape[1], -1)
        return Classified(logits, (Reading(Attended(queries, of_cls), queries),))

    def attention_maps(
        self, text: Padded, right: Padded | None = None
    ) -> tuple[dict[str, list[Tensor]], Tensor]:
        """The weights `(B, h, T, T)` of every head of each layer, and the ids `(B, T)` that they are of."""
        segments: Tensor | None = None
        if right is not None:
            text, segments = joined(text, right, self._pad)
        read = self.bert(text, segments, weights=True).weights
        return {"heads": [layer for layer in read if layer is not None]}, text.ids
