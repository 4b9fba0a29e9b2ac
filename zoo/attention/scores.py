"""Scores: how alike are query and key?

Every score splits into a part that needs only the keys, computed once by `project_keys`, and a part that
needs the query, computed at every step of a decoder. `zoo.attention.memory` explains the shapes.

`s` is the query (a decoder's state), `h_i` the i-th key (an encoder's annotation), `n` their size.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo.attention.projection import Projection
from zoo.kernels import additive_score
from zoo.kernels.precision import at_least_float32


class Score(nn.Module, ABC):
    """How alike each query and each key are.

    Args:
        query_size: Dq.
        key_size: Dk.
        heads: H; the last leading axis of queries and keys is then H, and each head has parameters of its
            own. None: one set of parameters for all leading axes.

    Attributes:
        is_product: whether the score is `query @ projected.mT`, which fused kernels support.
        uses_query: whether the score depends on the query.
        uses_keys: whether the score depends on the content of keys.
        counts_positions: whether the score depends on a key's position in the memory, so that a slice of the
            memory gives other scores.
        key_factor: the number by which `project_keys` multiplies; None: it does something else.

    Raises:
        ValueError: if a size is below 1.
    """

    is_product: ClassVar[bool] = False
    uses_query: ClassVar[bool] = True
    uses_keys: ClassVar[bool] = True
    counts_positions: ClassVar[bool] = False

    def __init__(self, *, query_size: int, key_size: int, heads: int | None = None) -> None:
        super().__init__()
        for name, number in {"query_size": query_size, "key_size": key_size, "heads": heads}.items():
            if number is not None and number < 1:
                raise ValueError(f"{type(self).__name__}: {name}={number}, must be at least 1")
        self.query_size, self.key_size, self.heads = query_size, key_size, heads

    @property
    def key_factor(self) -> float | None:
        """See `Score`."""
        return None

    def project_keys(self, keys: Tensor) -> Tensor:
        """The part of the score that needs only the keys: `(*lead, K, Dk)` to `(*lead, K, A)`."""
        return keys

    @abstractmethod
    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """Scores `(*lead, Q, K)` of queries `(*lead, Q, Dq)` with projected keys `(*lead, K, A)`."""

    def _require_equal_sizes(self) -> None:
        if self.query_size != self.key_size:
            raise ValueError(
                f"{type(self).__name__} compares query and key number by number, so both need one size; "
                f"given query_size={self.query_size} and key_size={self.key_size} (General has no such limit)"
            )

    def extra_repr(self) -> str:
        """The sizes, for `print(model)`."""
        heads = "" if self.heads is None else f", heads={self.heads}"
        return f"query_size={self.query_size}, key_size={self.key_size}{heads}"


class Dot(Score):
    """Dot product: `sᵀ h_i` (Luong et al. 2015, section 3.1).

    No parameters: encoder and decoder must learn one common space, so query and key need equal sizes.

    Fails: for large n. If the entries of s and h_i have unit variance, the score has variance n, the softmax
    saturates and its gradient vanishes (see `ScaledDot`). Keys with a large norm also get large scores.
    `reverse`: solved, once the state has learned to resemble the annotation to be read next.
    """

    is_product: ClassVar[bool] = True

    def __init__(self, *, query_size: int, key_size: int, heads: int | None = None) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        self._require_equal_sizes()

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`; A = Dk."""
        return query @ projected.mT


class ScaledDot(Dot):
    """Scaled dot product: `sᵀ h_i / sqrt(n)` (Vaswani et al. 2017, section 3.2.1).

    `Dot` whose scores keep unit variance at any size n, so that training starts with soft weights. The keys
    are scaled once, instead of the scores at every step.

    Fails: as `Dot` it needs equal sizes; and bounded states (the tanh of a recurrent network: entries below
    1) reach scores of sqrt(n) at most, so weights stay soft at a small n. `reverse`: solved, a little later
    than with `Dot`.
    """

    @property
    def key_factor(self) -> float:
        """`1 / sqrt(n)`; see `Score`."""
        return 1 / math.sqrt(self.key_size)

    def project_keys(self, keys: Tensor) -> Tensor:
        """`h_i / sqrt(n)`; see `Score`."""
        return keys / math.sqrt(self.key_size)


class General(Score):
    """Multiplicative or bilinear: `sᵀ W h_i` (Luong et al. 2015, section 3.1).

    W maps the space of keys to that of queries, which may have another size. `W h_i` is computed once, so a
    step costs as much as `Dot`.

    Fails: where the match is not bilinear (a distance, or one of two features), and like `Dot` when the norms
    of states grow. `reverse`: solved.
    """

    is_product: ClassVar[bool] = True

    def __init__(self, *, query_size: int, key_size: int, heads: int | None = None) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        self.W = Projection(input_size=key_size, output_size=query_size, heads=heads)

    def project_keys(self, keys: Tensor) -> Tensor:
        """`W h_i`; see `Score`, A = Dq."""
        projected: Tensor = self.W(keys)
        return projected

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        return query @ projected.mT


class Additive(Score):
    """Additive, perceptron or concat: `vᵀ tanh(W s + U h_i)` (Bahdanau et al. 2015, A.1.2).

    A network with one hidden layer over query and key. Written `vᵀ tanh(W' [s; h_i])` it is the "concat" of
    Luong et al. 2015, section 3.1, with W' = [W U]. This form needs `U h_i` once instead of at every step.

    Fails: without biases, as in the papers, the score is odd, `e(-s, -h) = -e(s, h)`, so it cannot express a
    distance between s and h (states whose mean is not zero act as a bias). It costs Q K A tanhs in time and
    memory, where products cost a matrix product. `reverse`: solved.

    Args:
        query_size: Dq.
        key_size: Dk.
        heads: H, or None.
        hidden_size: A, hidden units; None: as many as the query has features.
    """

    def __init__(
        self, *, query_size: int, key_size: int, heads: int | None = None, hidden_size: int | None = None
    ) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        hidden_size = query_size if hidden_size is None else hidden_size
        if hidden_size < 1:
            raise ValueError(f"Additive: hidden_size={hidden_size}, must be at least 1")
        self.W = Projection(input_size=query_size, output_size=hidden_size, heads=heads)
        self.U = Projection(input_size=key_size, output_size=hidden_size, heads=heads)
        self.v = Projection(input_size=hidden_size, output_size=1, heads=heads)

    def project_keys(self, keys: Tensor) -> Tensor:
        """`U h_i`; see `Score`."""
        projected: Tensor = self.U(keys)
        # A CPU takes three times as long for a tanh in bfloat16 as for one in float32.
        return projected.to(at_least_float32(projected))

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        dtype = projected.dtype
        return additive_score(self.W(query).to(dtype), projected, self.v.weight.to(dtype))


class LinearConcat(Score):
    """Linear in the concatenation: `W [s; h_i] = w_sᵀ s + w_hᵀ h_i`.

    `Additive` without the tanh. `w_sᵀ s` is the same for every key, and a softmax ignores what is added to
    all scores. So the weights depend on the keys alone: every query reads the same context.

    Fails: wherever attention should move. It is a learned average of the source, and `w_s` gets no gradient.
    `reverse`: not solved by attention; the network learns through the decoder's first state, as without any
    attention. (A local selection still moves its window.)
    """

    def __init__(self, *, query_size: int, key_size: int, heads: int | None = None) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        self.w_s = Projection(input_size=query_size, output_size=1, heads=heads)
        self.w_h = Projection(input_size=key_size, output_size=1, heads=heads)

    def project_keys(self, keys: Tensor) -> Tensor:
        """`w_hᵀ h_i`; see `Score`, A = 1."""
        projected: Tensor = self.w_h(keys)
        return projected

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        scores: Tensor = self.w_s(query) + projected.mT
        return scores


class Cosine(Score):
    """Content-based: `β cos(s, h_i)`, β = softplus(w·s + b) (Graves et al. 2014, section 3.3.1).

    Only directions count; the key strength β > 0 sets the sharpness. It starts near sqrt(n), where scores of
    random directions have unit variance, as those of `ScaledDot`. A vector shorter than 1e-6, such as an
    unwritten memory row, has cosine 0 with everything, and no gradient.

    Fails: needs equal sizes; a cosine lies in [-1, 1], so sharp weights need a large β, and a very large one
    where all keys have almost the same direction (as raw recurrent states do). `reverse`: solved, slowly.

    Args:
        query_size: n.
        key_size: n.
        heads: H, or None.
        strength_from_query: False makes β one learned number, softplus(b).
    """

    def __init__(
        self, *, query_size: int, key_size: int, heads: int | None = None, strength_from_query: bool = True
    ) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        self._require_equal_sizes()
        self.w = (
            Projection(input_size=query_size, output_size=1, heads=heads) if strength_from_query else None
        )
        start = math.log(math.expm1(math.sqrt(key_size)))  # softplus of it is sqrt(n)
        self.b = nn.Parameter(torch.full((1,) if heads is None else (heads, 1, 1), start))

    def project_keys(self, keys: Tensor) -> Tensor:
        """`h_i / |h_i|`; see `Score`."""
        return _direction(keys)

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        return (self.strength(query) * _direction(query)) @ projected.mT

    def strength(self, query: Tensor) -> Tensor:
        """β, `(*lead, Q, 1)` or one number."""
        return functional.softplus(self.b if self.w is None else self.w(query) + self.b)


class Euclidean(Score):
    """By distance: `1 / (1 + |s - h_i|)` (Yin et al. 2016, section 4.1, the match score of ABCNN).

    1 where query and key are equal, and towards 0 the farther apart they are. Where they are equal the
    distance has no derivative, and passes a gradient of 0.

    Fails: needs equal sizes; a score lies in (0, 1], so a softmax over K keys weighs none more than e times
    as much as another, and reads little else than their mean. ABCNN reads the scores themselves, without a
    softmax.
    """

    def __init__(self, *, query_size: int, key_size: int, heads: int | None = None) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        self._require_equal_sizes()

    def project_keys(self, keys: Tensor) -> Tensor:
        """See `Score`; A = Dk, in at least float32, as squares of small differences need."""
        return keys.to(at_least_float32(keys))

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        # By products of matrices, which torch takes for many keys, equal vectors would lie apart.
        exact = "donot_use_mm_for_euclid_dist"
        distance = torch.cdist(query.to(projected.dtype), projected, compute_mode=exact)
        return 1 / (1 + distance)


class Location(Score):
    """Location-based: `(W s)_i`, from the target state alone (Luong et al. 2015, section 3.1).

    One output per position: the score depends on the state, not on the content of keys. The softmax is over
    the source's own positions. The paper ignores the end of a source that is longer than W; here such a
    source is refused (data cuts sources at `data.maximum_length`).

    Fails: on keys beyond `maximum_length` (refused), at positions that are rare in training (their rows of W
    learn little), and wherever the content decides. `reverse`: solved within the trained lengths, if the
    state holds the source's length and counts its own steps.

    Args:
        query_size: Dq.
        key_size: Dk, not used.
        heads: H, or None.
        maximum_length: the largest K; the shipped networks set it, see `covering`.

    Raises:
        ValueError: `maximum_length` is missing or below 1.
    """

    uses_keys: ClassVar[bool] = False
    counts_positions: ClassVar[bool] = True

    def __init__(
        self, *, query_size: int, key_size: int, heads: int | None = None, maximum_length: int | None = None
    ) -> None:
        super().__init__(query_size=query_size, key_size=key_size, heads=heads)
        if maximum_length is None:
            raise ValueError("Location: maximum_length is missing: it has weights for each position up to it")
        if maximum_length < 1:
            raise ValueError(f"Location: maximum_length={maximum_length}, must be at least 1")
        self.maximum_length = maximum_length
        self.W = Projection(input_size=query_size, output_size=maximum_length, heads=heads)

    def project_keys(self, keys: Tensor) -> Tensor:
        """`(*lead, K, 0)`: only the number of keys."""
        return keys[..., :0]

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`.

        Raises:
            ValueError: if there are more keys than `maximum_length`.
        """
        keys = projected.shape[-2]
        if keys > self.maximum_length:
            raise ValueError(
                f"Location has weights for maximum_length={self.maximum_length} positions, given {keys} keys"
            )
        rows: Tensor = self.W.weight[..., :keys, :]
        return query @ rows.mT


class Uniform(Score):
    """The same for every key: `0`, so a softmax weighs each of K keys with `1/K`.

    A control without parameters, in no paper: it reads the mean of the keys that may be attended to. The gain
    of a learned score over it is the value of choosing keys; its own gain over no attention
    (`model/decoder=none`) is the value of access to the source at every step.

    Fails: wherever attention should move; every query reads the same context. (A local selection still moves
    its window.) `reverse`: not solved by attention.

    Args:
        query_size: Dq, not used.
        key_size: Dk, not used.
        heads: not used.
    """

    uses_query: ClassVar[bool] = False
    uses_keys: ClassVar[bool] = False

    def project_keys(self, keys: Tensor) -> Tensor:
        """`(*lead, K, 0)`: only the number of keys."""
        return keys[..., :0]

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        return query.new_zeros(*query.shape[:-1], projected.shape[-2])


def covering(score: Callable[..., Score], longest: int | None) -> Callable[..., Score]:
    """Sets the `maximum_length` of a score that takes one, as `Location` does, unless it is set already.

    Args:
        score: a constructor; its sizes are given later.
        longest: the largest K; None or 0: unknown.

    Raises:
        ValueError: a smaller `maximum_length` is set.
    """
    parameter = inspect.signature(score).parameters.get("maximum_length")
    if parameter is None or not longest:
        return score
    given: Any = parameter.default
    if given is None or given is inspect.Parameter.empty:
        return partial(score, maximum_length=longest)
    if given < longest:
        name = getattr(score, "func", score).__name__
        raise ValueError(
            f"{name}: maximum_length={given} is less than the {longest} positions that the model reads; "
            "leave it out, since the model knows them"
        )
    return score


def _direction(vectors: Tensor) -> Tensor:
    """Unit vectors; zeros, also in the gradient, for vectors shorter than 1e-6."""
    # Squares of numbers above 1e19 overflow in float32, so the largest number of a vector is made 1 first.
    vectors, dtype = vectors.to(at_least_float32(vectors)), vectors.dtype
    detached = vectors.detach()
    largest = torch.maximum(detached.amax(-1, keepdim=True), -detached.amin(-1, keepdim=True))
    # The length then lies between 1 and sqrt(n). A zero vector stays one.
    scaled = vectors / largest.masked_fill(largest == 0, math.inf)
    length: Tensor = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    directions = scaled / length.masked_fill(largest * length < 1e-6, math.inf)
    return directions.to(dtype)
