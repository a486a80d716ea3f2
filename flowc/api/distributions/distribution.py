"""`tf.distributions.Distribution`: what every distribution answers.

In: a subclass's methods of a leading underscore, those that it has. Out: samples, probabilities and
statistics as tensors. Invariant: everything is computed in the name scope of the distribution, and
what a subclass does not say follows from what it does (`prob` from `log_prob` and so on).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import concat, reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.arrays.static_values import broadcast_dynamic_shape, broadcast_static_shape
from flowc.api.distributions import divergences
from flowc.api.framework.basics import constant
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_prod
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


class ReparameterizationType:
    """Whether gradients flow through samples to the parameters of a distribution: compare with
    `FULLY_REPARAMETERIZED` and `NOT_REPARAMETERIZED`. `rep_type`: a string. Raises nothing."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Distribution:
    """A batch of distributions of one kind over events of one shape, of `dtype`.

    A sample has the shape `sample_shape + batch_shape + event_shape`; `prob` and its like give one
    number for each event, of the shape that the value's and the batch's broadcast to. A subclass
    gives `_sample_n(n, seed)`, `_log_prob(x)` or `_prob(x)`, `_batch_shape()`,
    `_batch_shape_tensor()`, `_event_shape()`, `_event_shape_tensor()` and the statistics it has
    (`_mean()`, `_entropy()`, ...). `validate_args`: whether runs check parameters and values;
    `allow_nan_stats`: whether undefined statistics are NaN or a fault of the run.

    Raises `ValueError` for `graph_parents` that are no tensors; methods raise
    `NotImplementedError` for what the subclass does not have."""

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = list(graph_parents or ())
        for i, parent in enumerate(self._graph_parents):
            if not isinstance(parent, Tensor) and not hasattr(parent, "_as_tensor"):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as name:
                pass
        self._name = name
        self._dtype = dtypes.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = parameters or {}

    # -- what it is

    @property
    def name(self) -> str:
        """The scope of its operations, with a `/` at the end."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Of its samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {
            name: value
            for name, value in self._parameters.items()
            if name != "self" and not name.startswith("__")
        }

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether gradients flow through samples."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether undefined statistics are NaN."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether runs check parameters and values."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Another one, made with its arguments but for those that are given."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    def __str__(self) -> str:
        shapes = "".join(
            f", {what}={shape}"
            for what, shape in (
                ("batch_shape", self.batch_shape),
                ("event_shape", self.event_shape),
            )
            if shape.ndims is not None
        )
        kind = type(self).__name__
        return f'tfp.distributions.{kind}("{self.name}"{shapes}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )

    # -- shapes

    @classmethod
    def param_shapes(
        cls, sample_shape: Any, name: str = "DistributionParamShapes"
    ) -> dict[str, Tensor]:
        """Of what shapes (int32 vectors) parameters are whose samples have `sample_shape`."""
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """As `param_shapes`, of a known shape. Raises `ValueError` for an unknown one."""
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found: dict[str, TensorShape] = {}
        for name, sizes in cls.param_shapes(sample_shape).items():
            known = constant_elements(sizes)
            if known is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = TensorShape([int(size) for size in known])
        return found

    @property
    def batch_shape(self) -> TensorShape:
        """How many distributions, as far as it is known."""
        return TensorShape(self._batch_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """How many distributions, an int32 vector."""
        return self._sizes(name, self.batch_shape, self._batch_shape_tensor, "batch_shape")

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one event, as far as it is known."""
        return TensorShape(self._event_shape())

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one event, an int32 vector."""
        return self._sizes(name, self.event_shape, self._event_shape_tensor, "event_shape")

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether an event is a number: a bool."""
        return self._is_scalar(name, self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether it is one distribution: a bool."""
        return self._is_scalar(name, self.batch_shape, self.batch_shape_tensor)

    def _sizes(
        self, name: str, known: TensorShape, computed: Callable[[], Tensor], label: str
    ) -> Tensor:
        with self._name_scope(name):
            if known.is_fully_defined():
                return as_tensor(known.as_list(), dtypes.i32, label)
            return computed()

    def _is_scalar(self, name: str, known: TensorShape, computed: Callable[[], Tensor]) -> Tensor:
        with self._name_scope(name):
            if known.ndims is not None:
                return as_tensor(known.ndims == 0, name=name)
            return m.equal(shape_of(computed())[0], 0)

    # -- samples

    def sample(
        self, sample_shape: Any = (), seed: int | None = None, name: str = "sample"
    ) -> Tensor:
        """Samples of the shape `sample_shape + batch_shape + event_shape`. A `seed` gives the same
        ones in every session."""
        with self._name_scope(name, [sample_shape]):
            sizes = as_tensor(sample_shape, dtypes.i32, "sample_shape")
            known = constant_elements(sizes)
            count: Any
            if known is not None:
                plain = [int(size) for size in known.reshape(-1)]
                sizes = as_tensor(plain, dtypes.i32) if known.ndim == 0 else sizes
                count = math.prod(plain)
            else:
                plain = None
                sizes = sizes if sizes.shape.ndims == 1 else reshape(sizes, [-1])
                count = reduce_prod(sizes)
            drawn = self._sample_n(count, seed)
            found = reshape(drawn, concat([sizes, shape_of(drawn)[1:]], 0))
            found.set_shape(
                TensorShape(plain).concatenate(self.batch_shape).concatenate(self.event_shape)
            )
            return found

    # -- probabilities of values

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The logarithm of the probability (or of its density) of each event of `value`."""
        return self._of_value(
            name, value, self._log_prob, lambda x: m.log(self._prob(x))
        )  # fmt: skip

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The probability (or its density) of each event of `value`."""
        return self._of_value(name, value, self._prob, lambda x: m.exp(self._log_prob(x)))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """The logarithm of the probability of an event that is at most `value`."""
        return self._of_value(name, value, self._log_cdf, lambda x: m.log(self._cdf(x)))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """The probability of an event that is at most `value`."""
        return self._of_value(name, value, self._cdf, lambda x: m.exp(self._log_cdf(x)))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """The logarithm of the probability of an event above `value`."""
        return self._of_value(
            name, value, self._log_survival_function, lambda x: m.log1p(-self.cdf(x))
        )

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """The probability of an event above `value`."""
        return self._of_value(name, value, self._survival_function, lambda x: 1.0 - self.cdf(x))

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """The event whose `cdf` is `value`."""
        return self._of_value(name, value, self._quantile)

    def _of_value(self, name: str, value: Any, *ways: Callable[[Tensor], Tensor]) -> Tensor:
        with self._name_scope(name, [value]):
            x = as_tensor(value, name="value", preferred=self.dtype)
            return _first_of([lambda way=way: way(x) for way in ways])

    # -- statistics

    def entropy(self, name: str = "entropy") -> Tensor:
        """Shannon's entropy in nats, of the batch's shape."""
        return self._statistic(name, self._entropy)

    def mean(self, name: str = "mean") -> Tensor:
        """The mean, of the shape `batch_shape + event_shape`, as all statistics but the entropy."""
        return self._statistic(name, self._mean)

    def variance(self, name: str = "variance") -> Tensor:
        """The variance of each element of an event."""
        return self._statistic(name, self._variance, lambda: m.square(self._stddev()))

    def stddev(self, name: str = "stddev") -> Tensor:
        """The standard deviation of each element of an event."""
        return self._statistic(name, self._stddev, lambda: m.sqrt(self._variance()))

    def covariance(self, name: str = "covariance") -> Tensor:
        """The covariance of the elements of an event: one more dimension."""
        return self._statistic(name, self._covariance)

    def mode(self, name: str = "mode") -> Tensor:
        """The likeliest event."""
        return self._statistic(name, self._mode)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Shannon's cross entropy with another distribution, of the batches' shape."""
        return self._statistic(
            name, lambda: divergences.cross_entropy(self, other, self.allow_nan_stats)
        )

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """The Kullback-Leibler divergence from another distribution, of the batches' shape."""
        return self._statistic(
            name, lambda: divergences.kl_divergence(self, other, self.allow_nan_stats)
        )

    def _statistic(self, name: str, *ways: Callable[[], Tensor]) -> Tensor:
        with self._name_scope(name):
            return _first_of(ways)

    @contextmanager
    def _name_scope(self, name: str, values: Sequence[Any] = ()) -> Iterator[str]:
        """The scope of one method, inside that of the distribution."""
        with (
            name_scope(self.name),
            name_scope(name, values=[*values, *self._graph_parents]) as scope,
        ):
            yield scope

    # -- what a subclass gives

    def _lacks(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{what} is not implemented: {type(self).__name__}")

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    def _batch_shape(self) -> Any:
        return None

    def _batch_shape_tensor(self) -> Tensor:
        raise self._lacks("batch_shape_tensor")

    def _event_shape(self) -> Any:
        return None

    def _event_shape_tensor(self) -> Tensor:
        raise self._lacks("event_shape_tensor")

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        raise self._lacks("sample_n")

    def _log_prob(self, x: Tensor) -> Tensor:
        raise self._lacks("log_prob")

    def _prob(self, x: Tensor) -> Tensor:
        raise self._lacks("prob")

    def _log_cdf(self, x: Tensor) -> Tensor:
        raise self._lacks("log_cdf")

    def _cdf(self, x: Tensor) -> Tensor:
        raise self._lacks("cdf")

    def _log_survival_function(self, x: Tensor) -> Tensor:
        raise self._lacks("log_survival_function")

    def _survival_function(self, x: Tensor) -> Tensor:
        raise self._lacks("survival_function")

    def _quantile(self, x: Tensor) -> Tensor:
        raise self._lacks("quantile")

    def _entropy(self) -> Tensor:
        raise self._lacks("entropy")

    def _mean(self) -> Tensor:
        raise self._lacks("mean")

    def _variance(self) -> Tensor:
        raise self._lacks("variance")

    def _stddev(self) -> Tensor:
        raise self._lacks("stddev")

    def _covariance(self) -> Tensor:
        raise self._lacks("covariance")

    def _mode(self) -> Tensor:
        raise self._lacks("mode")


def _first_of(ways: Sequence[Callable[[], Tensor]]) -> Tensor:
    """By the first way that there is; the error of the first one where there is none."""
    first: NotImplementedError | None = None
    for way in ways:
        try:
            return way()
        except NotImplementedError as error:
            first = first or error
    assert first is not None
    raise first


class BroadcastDistribution(Distribution):
    """Distributions of numbers whose batch has the shape that their parameters broadcast to."""

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _batch_shape(self) -> Any:
        first, *others = self._batch_parameters()
        found = first.shape
        for other in others:
            found = broadcast_static_shape(found, other.shape)
        return found

    def _batch_shape_tensor(self) -> Tensor:
        first, *others = self._batch_parameters()
        found = shape_of(first)
        for other in others:
            found = broadcast_dynamic_shape(found, shape_of(other))
        return found

    def _event_shape(self) -> Any:
        return []

    def _event_shape_tensor(self) -> Tensor:
        return constant([], dtypes.i32)

    def _sample_shape(self, n: Any) -> Tensor:
        return concat([[n], self.batch_shape_tensor()], 0)


def equal_param_shapes(names: Sequence[str], sample_shape: Any) -> dict[str, Tensor]:
    """Each parameter of the samples' shape."""
    return dict.fromkeys(names, as_tensor(sample_shape, dtypes.i32))
