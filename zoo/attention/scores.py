"""Scores: how alike are query and key?

Every score splits into a part that only needs the keys, done once by `project_keys`, and a part that needs
the query, done at every step of a decoder. `zoo.attention.memory` explains the shapes.

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
        is_product: True where the score is `query @ projected.mT`, which fused kernels know.
        uses_query: False where the score is the same for every query.
        uses_keys: False where the score is the same for all keys at a position.
        counts_positions: True where a key's number in the memory counts, so that no part of it will do.

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

    def project_keys(self, keys: Tensor) -> Tensor:
        """Whatever of the score needs the keys alone: `(*lead, K, Dk)` to `(*lead, K, A)`."""
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
    saturates and its gradient vanishes (`ScaledDot` is the answer). Long keys also win merely by being long.
    `reverse`: solved, once the state has learned to look like the annotation that it wants next.
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

    `Dot` whose scores keep unit variance at any size n, so that training starts with a soft reading. The keys
    are scaled, once, rather than the scores at every step.

    Fails: as `Dot` it needs equal sizes; and where attention must become sharp, states of bounded size (the
    tanh of a recurrent network: entries below 1) reach scores of sqrt(n) at most, so a small n stays soft.
    `reverse`: solved, a little later than with `Dot`.
    """

    def project_keys(self, keys: Tensor) -> Tensor:
        """`h_i / sqrt(n)`; see `Score`."""
        return keys / math.sqrt(self.key_size)


class General(Score):
    """Multiplicative or bilinear: `sᵀ W h_i` (Luong et al. 2015, section 3.1).

    W translates between the spaces of queries and keys, which may have different sizes. `W h_i` is the part
    that is done once, so a step costs as much as `Dot`.

    Fails: where the match is not bilinear (is s far from h_i? is either of two features there?), and like
    `Dot` when the sizes of states grow. `reverse`: solved.
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

    A network with one hidden layer that looks at query and key together. Written `vᵀ tanh(W' [s; h_i])` it is
    the "concat" of Luong et al. 2015, section 3.1: the matrix W' is W and U side by side. This form needs
    `U h_i` once instead of at every step.

    Fails: without biases, as the papers have it, the score is odd, `e(-s, -h) = -e(s, h)`, so it cannot say
    how near s and h are (states whose mean is not zero give it the bias that it lacks). It costs Q K A tanhs
    in time and memory, where products cost a matrix product. `reverse`: solved.

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

    `Additive` without the tanh, and a lesson: `w_sᵀ s` is the same for every key, and a softmax does not see
    what is added to all its scores. The weights depend on the keys alone: each query reads the same thing.

    Fails: wherever attention should move. It is a learned average of the source, computed once, and `w_s`
    gets no gradient. `reverse`: not solved by attention; what is learned is learned through the decoder's
    first state, as without any attention. (A local selection still moves its window.)
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

    Only directions count; the key strength β > 0 says how sharply to look. It starts near sqrt(n), where the
    scores of random directions have unit variance, as those of `ScaledDot` do. A vector without a direction
    (shorter than 1e-6, such as an unwritten memory row) has cosine 0 with everything, and no gradient.

    Fails: needs equal sizes; a cosine lies in [-1, 1], so a sharp reading needs a large β, and where all keys
    point almost the same way (as raw recurrent states do) a very large one. `reverse`: solved, slowly.

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
        strength = self.b if self.w is None else self.w(query) + self.b
        return (functional.softplus(strength) * _direction(query)) @ projected.mT


class Location(Score):
    """Location-based: `(W s)_i`, from the target state alone (Luong et al. 2015, section 3.1).

    One output per position: the state says where to look without seeing what is there. The softmax is over
    the source's own positions. Of a source that is longer than W the paper ignores the end; here it is
    refused (data cuts sources at `data.maximum_length`).

    Fails: on keys beyond `maximum_length` (refused), at positions that are rare in training (their rows of W
    learn little), and wherever the content decides: two sources are read alike unless the state itself
    differs already. `reverse`: solved within the trained lengths, if the state knows the source's length (the
    encoder must have counted it) and counts its own steps.

    Args:
        query_size: Dq.
        key_size: Dk, not used: keys are not seen.
        heads: H, or None.
        maximum_length: the largest K. Our networks give what they know, see `covering`.

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
        """Nothing but the number of keys: `(*lead, K, 0)`."""
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

    No equation of a paper but the control of all of them: without parameters, it reads the mean of what may
    be attended to. What a learned score gains over it is what knowing where to look is worth; what it gains
    itself over no attention (`model/decoder=none`) is what a wider door to the source is worth.

    Fails: wherever attention should move; each query reads the same thing. (A local selection still moves its
    window.) `reverse`: not solved by attention.

    Args:
        query_size: Dq, not used.
        key_size: Dk, not used.
        heads: not used.
    """

    uses_query: ClassVar[bool] = False
    uses_keys: ClassVar[bool] = False

    def project_keys(self, keys: Tensor) -> Tensor:
        """Nothing but the number of keys: `(*lead, K, 0)`."""
        return keys[..., :0]

    def forward(self, query: Tensor, projected: Tensor) -> Tensor:
        """See `Score`."""
        return query.new_zeros(*query.shape[:-1], projected.shape[-2])


def covering(score: Callable[..., Score], longest: int | None) -> Callable[..., Score]:
    """A score with weights for as many keys as a network knows that there can be.

    A score whose constructor takes a `maximum_length`, as that of `Location` does, gets it here unless it is
    given; any other is returned as it is.

    Args:
        score: is completed with its sizes later.
        longest: the largest K; None or 0: it is not known.

    Raises:
        ValueError: a smaller `maximum_length` is given.
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
    """Unit vectors; zeros, also in the gradient, for what is too short to have a direction.

    Squares of numbers above 1e19 overflow in float32, so the largest number of a vector is made 1 first.
    """
    vectors, dtype = vectors.to(at_least_float32(vectors)), vectors.dtype
    detached = vectors.detach()
    largest = torch.maximum(detached.amax(-1, keepdim=True), -detached.amin(-1, keepdim=True))
    # The length then lies between 1 and sqrt(n). A zero vector stays one.
    scaled = vectors / largest.masked_fill(largest == 0, math.inf)
    length: Tensor = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    directions = scaled / length.masked_fill(largest * length < 1e-6, math.inf)
    return directions.to(dtype)
