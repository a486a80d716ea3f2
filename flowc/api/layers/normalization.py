"""`tf.layers.batch_normalization`.

In: a batch. Out: the batch with mean 0 and variance 1 along an axis of features, scaled and moved.
Invariant: with `training`, the statistics are the batch's, and operations of the collection
`update_ops` move the kept ones towards them; without it, the kept ones are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import reshape
from flowc.api.framework.basics import constant
from flowc.api.layers.input_spec import InputSpec
from flowc.api.layers.layer import Layer, as_function, smart_cond
from flowc.api.nn.normalization import batch_normalization as normalized
from flowc.api.nn.normalization import fused_batch_norm, moments
from flowc.api.variables.initializers import Ones, Zeros
from flowc.api.variables.scope_state import VariableAggregation, VariableSynchronization
from flowc.errors import UnimplementedError
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


class BatchNormalization(Layer):
    """Batch normalisation by Ioffe and Szegedy, 2015 (arXiv:1502.03167).

    `axis`: that of the features. `momentum`: how much of the kept statistics a step keeps. `fused`:
    one op for images (the default where it fits). Raises `ValueError` for an axis outside the rank
    and an unknown number of features, `UnimplementedError` for `renorm`, `virtual_batch_size` and
    `adjustment`.
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
        for what, given in (
            ("renorm", renorm),
            ("virtual_batch_size", virtual_batch_size),
            ("adjustment", adjustment),
        ):
            if given:
                raise UnimplementedError(f"batch_normalization does not take {what} in flowc")
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.center, self.scale, self.fused = center, scale, fused
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.gamma: Any = None
        self.beta: Any = None

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
        fits = rank == 4 and self._feature_axis in (1, 3)
        self.fused = fits if self.fused in (None, True) else False
        self.input_spec = InputSpec(ndim=rank, axes={self._feature_axis: features})
        self._dtype_of_statistics = self.dtype
        if self.dtype in (dtypes.f16, dtypes.bf16):
            self._dtype_of_statistics = dtypes.f32
        if self.scale:
            self.gamma = self._weight("gamma", features, *self.given_for("gamma"))
        if self.center:
            self.beta = self._weight("beta", features, *self.given_for("beta"))
        self.moving_mean, self.moving_variance = (
            self.add_weight(
                name,
                [features],
                self._dtype_of_statistics,
                initializer,
                trainable=False,
                synchronization=VariableSynchronization.ON_READ,
                aggregation=VariableAggregation.MEAN,
            )
            for name, initializer in (
                ("moving_mean", self.moving_mean_initializer),
                ("moving_variance", self.moving_variance_initializer),
            )
        )

    def _weight(
        self, name: str, features: int, initializer: Any, regularizer: Any, constraint: Any
    ) -> Any:
        dtype = self._dtype_of_statistics
        return self.add_weight(
            name, [features], dtype, initializer, regularizer, constraint=constraint
        )

    def call(self, inputs: Tensor, training: Any = False) -> Tensor:
        return (self._fused if self.fused else self._plain)(inputs, training)

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
        if _may_hold(training):
            axes = [a for a in range(inputs.shape.ndims or 0) if a != self._feature_axis]
            batch_mean, batch_variance = moments(inputs, axes)
            mean = smart_cond(training, lambda: batch_mean, self.moving_mean.value)
            variance = smart_cond(training, lambda: batch_variance, self.moving_variance.value)
            self.add_update(self._moved_if(training, self.moving_mean, batch_mean))
            self.add_update(self._moved_if(training, self.moving_variance, batch_variance))
        beta, gamma = self.beta, self.gamma
        if self._feature_axis != (inputs.shape.ndims or 0) - 1:
            sizes = [1] * (inputs.shape.ndims or 0)
            sizes[self._feature_axis] = -1
            mean, variance, beta, gamma = (
                None if v is None else reshape(v, sizes) for v in (mean, variance, beta, gamma)
            )
        found = normalized(inputs, mean, variance, beta, gamma, self.epsilon)
        found.set_shape(inputs.shape)
        return found

    def _moved_if(self, training: Any, kept: Any, new: Tensor) -> Any:
        def moved() -> Tensor:
            return as_tensor(self._moved(kept, new, self.momentum))

        return smart_cond(training, moved, kept.value)

    def _moved(self, kept: Any, new: Tensor, momentum: Any) -> Any:
        """`kept` after a step towards `new`."""
        graph = new.graph
        with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(kept.op):
            if isinstance(momentum, Tensor):
                decay = output("Sub", 1.0, momentum, name="sub")
            else:
                decay = as_tensor(1.0 - momentum, name="decay")
            decay = decay if decay.dtype is new.dtype else output("Cast", decay, DstT=new.dtype)
            return kept.assign_sub((kept - new) * decay, name=scope)


def _may_hold(training: Any) -> bool:
    """Whether a run may train: it does, or only the run says."""
    return bool(smart_cond(training, lambda: True, lambda: False)) if _is_known(training) else True


def _is_known(training: Any) -> bool:
    return not isinstance(training, Tensor) and not hasattr(training, "_as_tensor")


batch_normalization = as_function(BatchNormalization, "training")
