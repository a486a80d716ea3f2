"""`tf.distributions.Categorical`.

In: logarithms or probabilities of classes. Out: distributions of their numbers.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones, ones_like, sequence_mask, zeros_like
from flowc.api.arrays.selection import where_v2
from flowc.api.arrays.shaping import rank as rank_of
from flowc.api.arrays.shaping import reshape, transpose
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.distributions.distribution import NOT_REPARAMETERIZED, BroadcastDistribution
from flowc.api.distributions.parameters import logits_and_probs, whole_numbers_of
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import argmax, reduce_sum
from flowc.api.nn.activations import log_softmax, softmax
from flowc.api.nn.losses import sparse_softmax_cross_entropy_with_logits
from flowc.api.random.random_ops import multinomial
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


class Categorical(BroadcastDistribution):
    """Distributions of class numbers, of `dtype`, of unnormalised logarithms `logits` or of
    probabilities `probs`: floats [..., classes], one of the two. Raises `ValueError` where both or
    none are given and for scalars, `TypeError` for what is no float."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.i32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args, scope, classes=True
            )
            shape = self._logits.shape.with_rank_at_least(1)
            rank = None if shape.ndims is None else shape.ndims - 1
            self._batch_rank = (
                rank_of(self._logits) - 1 if rank is None else as_tensor(rank, name="batch_rank")
            )
            sizes = shape_of(self._logits, name="logits_shape")
            known = None if rank is None else shape[-1].value
            self._event_size = (
                sizes[-1] if known is None else as_tensor(known, dtypes.i32, "event_size")
            )
            is_known = rank is not None and shape[:-1].is_fully_defined()
            self._batch_sizes = (
                as_tensor(shape[:-1].as_list(), dtypes.i32, "batch_shape")
                if is_known
                else sizes[:-1]
            )
        super().__init__(
            dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._logits, self._probs], scope,
        )  # fmt: skip

    @property
    def event_size(self) -> Tensor:
        """How many classes: an int32."""
        return self._event_size

    @property
    def logits(self) -> Tensor:
        """The unnormalised logarithms of probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs

    def _batch_shape(self) -> Any:
        return self.logits.shape[:-1] if self.logits.shape.ndims is not None else None

    def _batch_shape_tensor(self) -> Tensor:
        return identity(self._batch_sizes)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        logits = self.logits
        if logits.shape.ndims != 2:
            logits = reshape(logits, [-1, self.event_size])
        kind = dtypes.i64 if self.dtype.size > 4 else dtypes.i32
        drawn = transpose(multinomial(logits, n, seed, output_dtype=kind))
        return cast(reshape(drawn, self._sample_shape(n)), self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        k, probs = self._broadcast(x, self.probs)
        flat = reshape(probs, [-1, self.event_size])
        below = sequence_mask(reshape(k, [-1]), self.event_size)
        return reshape(reduce_sum(where_v2(below, flat, zeros_like(flat)), axis=-1), shape_of(k))

    def _log_prob(self, x: Tensor) -> Tensor:
        k, logits = self._broadcast(x, self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _broadcast(self, x: Tensor, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """Class numbers, and for each a row of `parameter`."""
        if self.validate_args:
            x = whole_numbers_of(x, dtypes.i32)
        if x.dtype is not None and x.dtype.is_floating:
            x = cast(x, dtypes.i32)
        elif x.dtype is None or not x.dtype.is_integer:
            raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({self.dtype!r})")
        known = parameter.shape
        if x.shape.is_fully_defined() and known.is_fully_defined() and known[:-1] == x.shape:
            return x, parameter
        rows = parameter * ones_like(x[..., None], parameter.dtype)
        k = x * ones(shape_of(rows)[:-1], x.dtype)
        if rows.shape.ndims is not None:
            k.set_shape(rows.shape[:-1])
        return k, rows

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, axis=-1)

    def _mode(self) -> Tensor:
        found = cast(argmax(self.logits, axis=self._batch_rank), self.dtype)
        found.set_shape(self.batch_shape)
        return found

    @staticmethod
    def _divergence(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
        with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
            apart = log_softmax(a.logits) - log_softmax(b.logits)
            return reduce_sum(softmax(a.logits) * apart, axis=-1)
