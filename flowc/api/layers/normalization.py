"""`tf.layers.batch_normalization`.

In: a batch. Out: the batch with mean 0 and variance 1 along an axis of features, scaled and moved.
Invariant: with `training`, the statistics are the batch's, and operations of the collection
`update_ops` move the kept ones towards them; without it, the kept ones are used. Renormalisation
moves the kept ones of its own while it computes: what it gives comes from before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros_like
from flowc.api.arrays.shaping import concat, reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import constant, identity, stop_gradient
from flowc.api.framework.scopes import control_dependencies
from flowc.api.layers.input_spec import InputSpec
from flowc.api.layers.layer import Layer, as_function, smart_cond
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_mean
from flowc.api.nn.activations import relu
from flowc.api.nn.normalization import batch_normalization as normalized
from flowc.api.nn.normalization import fused_batch_norm, moments
from flowc.api.variables.initializers import Ones, Zeros
from flowc.api.variables.scope_state import VariableAggregation, VariableSynchronization
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


class BatchNormalization(Layer):
    """Batch normalisation by Ioffe and Szegedy, 2015 (arXiv:1502.03167).

    `axis`: that of the features. `momentum`: how much of the kept statistics a step keeps. `fused`:
    one op for images (the default where it fits). `renorm`: batch renormalisation by Ioffe, 2017
    (arXiv:1702.03275), whose corrections `renorm_clipping` bounds by `rmin`, `rmax` and `dmax`.
    `virtual_batch_size`: as many parts of a batch, each with its own statistics. `adjustment`: of
    the batch's sizes, the scale and offset of a step that trains. Raises `ValueError` for an axis
    outside the rank, an unknown number of features, other keys of `renorm_clipping`, a
    `virtual_batch_size` below 1 and arguments that exclude each other.
    """

    unstated = frozenset(
        [
            "renorm",
            "renorm_clipping",
            "renorm_momentum",
            "fused",
            "virtual_batch_size",
            "adjustment",
        ]
    )

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros,
        gamma_initializer: Any = Ones,
        moving_mean_initializer: Any = Zeros,
        moving_variance_initializer: Any = Ones,
        beta_regularizer: Callable[[Any], Any] | None = None,
        gamma_regularizer: Callable[[Any], Any] | None = None,
        beta_constraint: Callable[..., Any] | None = None,
        gamma_constraint: Callable[..., Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        renorm: bool = False,
        renorm_clipping: Mapping[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        virtual_batch_size: int | None = None,
        adjustment: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, **kwargs)
        self.renorm, self.renorm_momentum = renorm, renorm_momentum
        self.renorm_clipping = dict(renorm_clipping or {})
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self._check_arguments(fused)
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.center, self.scale, self.fused = center, scale, fused
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.gamma: Any = None
        self.beta: Any = None

    def _check_arguments(self, fused: bool | None) -> None:
        keys = ["rmax", "rmin", "dmax"]
        if self.renorm and set(self.renorm_clipping) - set(keys):
            raise ValueError(
                "Received invalid keys for `renorm_clipping` argument: "
                f"{self.renorm_clipping}. Supported values: {keys}."
            )
        if fused and self.renorm:
            raise ValueError("Passing both `fused=True` and `renorm=True` is not supported")
        for what in ("virtual_batch_size", "adjustment"):
            if fused and getattr(self, what) is not None:
                raise ValueError(
                    f"Passing `fused=True` is not supported when `{what}` is specified."
                )
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "`virtual_batch_size` must be a positive integer that divides the true batch size "
                f"of the input tensor. Received: virtual_batch_size={self.virtual_batch_size}"
            )
        if self.adjustment is not None:
            raise ValueError("When using `virtual_batch_size`, adjustment cannot be specified")

    def get_config(self) -> dict[str, Any]:
        """As a layer's, with the arguments of renormalisation and virtual batches where given."""
        config = super().get_config()
        given = ["renorm", "renorm_clipping", "renorm_momentum"] if self.renorm else []
        given += [] if self.virtual_batch_size is None else ["virtual_batch_size"]
        return {**config, **{name: getattr(self, name) for name in given}}

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape)
        rank = shape.ndims
        if rank is None:
            raise ValueError(f"Input has undefined rank. Received: input_shape={input_shape}")
        axis = self.axis[0] if isinstance(self.axis, list | tuple) else self.axis
        if not -rank <= axis < rank:
            raise ValueError(
                "Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with "
                f"inputs.rank={rank}). Received: axis={(axis,)}"
            )
        self._feature_axis = axis % rank
        features = shape[self._feature_axis].value
        if features is None:
            raise ValueError(
                f"Input has undefined `axis` dimension. Received input with shape "
                f"{tuple(shape.as_list())}. Axis value: {[axis]}"
            )
        self._sizes = [features]
        is_plain = not self.renorm and self.adjustment is None
        if self.virtual_batch_size is not None:
            if self._feature_axis == 0:
                raise ValueError(
                    "When using `virtual_batch_size`, the batch dimension must be 0 and thus axis "
                    f"cannot include 0. Received axis={[0]}"
                )
            is_plain = False
            # Statistics have one more dimension, of the parts of the batch.
            self._feature_axis += 1
            self._sizes = [1] * (rank + 1)
            self._sizes[self._feature_axis] = features
        fits = is_plain and rank == 4 and self._feature_axis in (1, 3)
        self.fused = fits if self.fused in (None, True) else False
        self.input_spec = InputSpec(ndim=rank, axes={axis % rank: features})
        self._dtype_of_statistics = self.dtype
        if self.dtype in (dtypes.f16, dtypes.bf16):
            self._dtype_of_statistics = dtypes.f32
        if self.scale:
            self.gamma = self._weight("gamma", *self.given_for("gamma"))
        if self.center:
            self.beta = self._weight("beta", *self.given_for("beta"))
        self.moving_mean = self._statistic("moving_mean", self.moving_mean_initializer)
        variance = self.moving_variance_initializer
        self.moving_variance = self._statistic("moving_variance", variance)
        if self.renorm:

            def deviation(*args: Any, **kwargs: Any) -> Tensor:
                made = variance() if isinstance(variance, type) else variance
                return m.sqrt(made(*args, **kwargs))

            self.moving_stddev = self._statistic("moving_stddev", deviation)
            self.renorm_mean = self._statistic("renorm_mean", self.moving_mean_initializer)
            self.renorm_stddev = self._statistic("renorm_stddev", deviation)

    def _weight(self, name: str, initializer: Any, regularizer: Any, constraint: Any) -> Any:
        dtype = self._dtype_of_statistics
        return self.add_weight(
            name, self._sizes, dtype, initializer, regularizer, constraint=constraint
        )

    def _statistic(self, name: str, initializer: Any) -> Any:
        return self.add_weight(
            name,
            self._sizes,
            self._dtype_of_statistics,
            initializer,
            trainable=False,
            synchronization=VariableSynchronization.ON_READ,
            aggregation=VariableAggregation.MEAN,
        )

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._plain(inputs, training)
        sizes = shape_of(inputs)[1:]
        parts = reshape(inputs, concat([[self.virtual_batch_size, -1], sizes], 0))
        return reshape(self._plain(parts, training), concat([[-1], sizes], 0))

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        features = [self.moving_mean.shape.num_elements()]
        dtype = self._dtype_of_statistics
        beta = self.beta if self.center else constant(0.0, dtype, features)
        gamma = self.gamma if self.scale else constant(1.0, dtype, features)
        layout = "NCHW" if self._feature_axis == 1 else "NHWC"

        def computed(is_training: bool) -> tuple[Tensor, Tensor, Tensor]:
            return fused_batch_norm(
                inputs,
                gamma,
                beta,
                self.moving_mean,
                self.moving_variance,
                self.epsilon,
                layout,
                is_training,
            )

        train, infer = partial(computed, True), partial(computed, False)
        found, mean, variance = smart_cond(training, train, infer)
        if _may_hold(training):
            momentum = smart_cond(training, lambda: constant(self.momentum), lambda: constant(1.0))
            self.add_update(self._moved(self.moving_mean, mean, momentum))
            self.add_update(self._moved(self.moving_variance, variance, momentum))
        return found

    def _plain(self, inputs: Tensor, training: Any) -> Tensor:
        mean, variance = self.moving_mean, self.moving_variance
        rank = inputs.shape.ndims or 0
        scale, offset = self._broadcast(self.gamma, rank), self._broadcast(self.beta, rank)
        if _may_hold(training):
            if self.adjustment is not None:
                adjusted = self._adjustment(inputs, training)
                scale, offset = _composed(*adjusted, scale, offset)
            is_virtual = self.virtual_batch_size is not None
            axes = [a for a in range(rank) if a != self._feature_axis]
            if is_virtual:
                axes.remove(1)
            batch_mean, batch_variance = moments(inputs, axes, keepdims=is_virtual)
            mean = smart_cond(training, lambda: batch_mean, self.moving_mean.value)
            variance = smart_cond(training, lambda: batch_variance, self.moving_variance.value)
            new_mean, new_variance = batch_mean, batch_variance
            if is_virtual:
                new_mean, new_variance = (
                    reduce_mean(v, 1, keepdims=True) for v in (mean, variance)
                )
            if self.renorm:
                r, d, new_mean, new_variance = self._renormed(new_mean, new_variance, training)
                r, d = (self._broadcast(stop_gradient(v), rank) for v in (r, d))
                scale, offset = _composed(r, d, scale, offset)
            self.add_update(self._moved_if(training, self.moving_mean, new_mean))
            move = self._moved_deviation if self.renorm else self._moved_if
            self.add_update(move(training, self.moving_variance, new_variance))
        mean, variance = self._broadcast(mean, rank), self._broadcast(variance, rank)
        found = normalized(inputs, mean, variance, offset, scale, self.epsilon)
        found.set_shape(inputs.shape)
        return found

    def _broadcast(self, value: Any, rank: int) -> Any:
        """A tensor of one size, of the features, as one that broadcasts with the batch."""
        if value is None or value.shape.ndims != 1 or self._feature_axis == rank - 1:
            return value
        sizes = [1] * rank
        sizes[self._feature_axis] = -1
        return reshape(value, sizes)

    def _adjustment(self, inputs: Tensor, training: Any) -> tuple[Tensor, Tensor]:
        assert self.adjustment is not None
        scale, offset = self.adjustment(shape_of(inputs))
        return (
            smart_cond(training, lambda: scale, lambda: ones_like(scale)),
            smart_cond(training, lambda: offset, lambda: zeros_like(offset)),
        )

    def _renormed(
        self, mean: Tensor, variance: Tensor, training: Any
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(the correction's scale, its offset, mean, variance): the latter wait until the kept ones
        have moved, and those wait for the corrections, which are of the ones before."""
        deviation = m.sqrt(variance + self.epsilon)
        least = m.sqrt(as_tensor(self.epsilon, deviation.dtype))
        kept = m.maximum(self.renorm_stddev, least)
        r, d = deviation / kept, (mean - self.renorm_mean) / kept
        with control_dependencies([r, d]):
            mean, deviation = identity(mean), identity(deviation)
        low, high, most = (self.renorm_clipping.get(key) for key in ("rmin", "rmax", "dmax"))
        r = r if low is None else m.maximum(r, low)
        r = r if high is None else m.minimum(r, high)
        d = d if most is None else m.minimum(m.maximum(d, -most), most)
        r = smart_cond(training, lambda: r, lambda: ones_like(r))
        d = smart_cond(training, lambda: d, lambda: zeros_like(d))
        moved = [
            self._moved_if(training, kept, new, self.renorm_momentum)
            for kept, new in ((self.renorm_mean, mean), (self.renorm_stddev, deviation))
        ]
        with control_dependencies(moved):
            return r, d, identity(mean), identity(variance)

    def _moved_deviation(self, training: Any, kept: Any, new: Tensor) -> Any:
        """The variance of the deviation that is kept, after a step of that."""

        def moved() -> Tensor:
            deviation = m.sqrt(new + self.epsilon)
            moved = as_tensor(self._moved(self.moving_stddev, deviation, self.momentum))
            # Rounding may leave less than the 0 that a variance has.
            return as_tensor(kept.assign(relu(moved * moved - self.epsilon)))

        return smart_cond(training, moved, kept.value)

    def _moved_if(
        self, training: Any, kept: Any, new: Tensor, momentum: float | None = None
    ) -> Any:
        def moved() -> Tensor:
            return as_tensor(
                self._moved(kept, new, self.momentum if momentum is None else momentum)
            )

        return smart_cond(training, moved, kept.value)

    def _moved(self, kept: Any, new: Tensor, momentum: Any) -> Any:
        """`kept` after a step towards `new`."""
        graph = new.graph
        with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(kept.op):
            if isinstance(momentum, Tensor):
                decay = 1.0 - momentum
            else:
                decay = as_tensor(1.0 - momentum, name="decay")
            decay = decay if decay.dtype is new.dtype else output("Cast", decay, DstT=new.dtype)
            return kept.assign_sub((kept - new) * decay, name=scope)


def _composed(scale: Tensor, offset: Tensor, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """The scale and offset of two of them, one after the other."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


def _may_hold(training: Any) -> bool:
    """Whether a run may train: it does, or only the run says."""
    return bool(smart_cond(training, lambda: True, lambda: False)) if _is_known(training) else True


def _is_known(training: Any) -> bool:
    return not isinstance(training, Tensor) and not hasattr(training, "_as_tensor")


batch_normalization = as_function(BatchNormalization, "training")
