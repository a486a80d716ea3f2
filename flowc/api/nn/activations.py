"""`tf.nn`: activations and softmax.

In: tensors. Out: tensors of the same shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays import filling
from flowc.api.arrays import shaping as arrays
from flowc.api.arrays.selection import where
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.elementwise import unary
from flowc.api.math.reductions import one_of
from flowc.errors import InvalidArgumentError
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.shape_inference import constant_elements

relu = unary("Relu", "features")
elu = unary("Elu", "features")
selu = unary("Selu", "features")
softplus = unary("Softplus", "features")
softsign = unary("Softsign", "features")
relu6 = unary("Relu6", "features")
sigmoid = elementwise.sigmoid
tanh = elementwise.tanh
log_sigmoid = elementwise.log_sigmoid


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`alpha * x` for negative elements, `x` for the others, in their dtype; integers become
    float32. Raises `TypeError` for other dtypes."""
    with name_scope(name, "LeakyRelu", [features]) as scope:
        x = as_tensor(features, name="features")
        if x.dtype is not None and x.dtype.is_integer:
            x = cast(x, dtypes.f32)
        return output("LeakyRelu", x, alpha=alpha, name=scope)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """relu of `x` and of `-x`, joined along `axis`, which doubles. Floats. Raises `TypeError` for
    other dtypes, `ValueError` for an axis out of range."""
    with name_scope(name, "CRelu", [features]) as scope:
        x = as_tensor(features, name="features")
        return relu(arrays.concat([x, -x], axis, name=scope))


def swish(features: Any, beta: Any = 1.0, name: str | None = None) -> Tensor:
    """`x * sigmoid(beta * x)`. Floats of any shape. Raises `TypeError` for other dtypes."""
    x = as_tensor(features, name="features")
    steep = x if isinstance(beta, float) and beta == 1.0 else x * beta
    return elementwise.multiply(x, elementwise.sigmoid(steep), name=name)


silu = swish


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """`x * P(X <= x)` of floats, for a standard normal X; `approximate` with tanh. Raises
    `TypeError` for other dtypes."""
    with name_scope(name, "Gelu", [features]):
        x = as_tensor(features, name="features")
        if approximate:
            inner = 0.7978845608028654 * (x + 0.044715 * elementwise.pow(x, 3))
            return 0.5 * x * (1.0 + elementwise.tanh(inner))
        return 0.5 * x * (1.0 + elementwise.erf(x / 1.4142135623730951))


def _over_axis(op_type: str, logits: Any, axis: Any, name: str | None) -> Tensor:
    """Softmax along any axis: moved to the end and back, in TensorFlow's nodes. Raises
    `InvalidArgumentError` for an axis outside the rank."""
    x = as_tensor(logits, name="logits")
    count = x.shape.ndims
    given = axis if isinstance(axis, Tensor) else int(axis)
    known = constant_elements(given) if isinstance(given, Tensor) else given
    place = None if known is None else int(known)
    if place == -1 or (count is not None and place == count - 1):
        return output(op_type, x, name=name)
    if count is None:
        raise ValueError(f"{op_type} over the axis {axis} needs a tensor of known rank")
    if place is not None and not -count <= place < count:
        raise InvalidArgumentError(
            f"`axis` must be in the range [{-count}, {count}) where {count} is the number of "
            f"dimensions in the input. Received: axis={axis}"
        )
    rank = arrays.rank(x)
    if isinstance(given, Tensor):
        given = where(elementwise.less(given, 0), given + rank, given)
    elif given < 0:
        given = given + rank
    rank = arrays.rank(x)
    given %= count

    def swapped(tensor: Tensor, name: str | None = None) -> Tensor:
        last = elementwise.subtract(rank, 1)
        order = [filling.range(given), [last], filling.range(given + 1, last), [given]]
        return arrays.transpose(tensor, arrays.concat(order, 0), name=name)

    found = swapped(output(op_type, swapped(x)), name)
    found.set_shape(x.shape)
    return found


def _softmax(op_type: str, function_name: str, doc: str) -> Callable[..., Tensor]:
    def function(
        logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
    ) -> Tensor:
        chosen = one_of(axis, "axis", dim, "dim")
        return _over_axis(op_type, logits, -1 if chosen is None else chosen, name)

    return named(function, function_name, doc)


_ERRORS = (
    "in the shape and dtype of the logits. Raises `TypeError` for dtypes other than floats, "
    "`ValueError` for a scalar and an axis out of range."
)
softmax = _softmax(
    "Softmax", "softmax", f"exp(x) divided by its sum along `axis` (the last), {_ERRORS}"
)
log_softmax = _softmax(
    "LogSoftmax", "log_softmax", f"log(softmax(x)) along `axis` (the last), {_ERRORS}"
)
