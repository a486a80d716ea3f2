"""What gradients of several ops share.

In: a Builder, the gradient of an op's output, and the input it is for. Out: values of the input's
dtype and shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value


def reduce_to_shape_of(b: Builder, dy: Value, x: Value) -> Value:
    """`dy` summed over the axes along which `x` was broadcast, so that it has the dims of `x`."""
    if dy.dims == x.dims:
        return dy
    leading = dy.type.rank - x.type.rank
    axes = tuple(range(leading)) + tuple(
        leading + i for i, d in enumerate(x.dims) if d == 1 and dy.dims[leading + i] != 1
    )
    if not axes:
        return dy
    total = b.sum(dy, axes, keep_dims=False)
    return total if total.dims == x.dims else b.reshape(total, x.dims)


def conjugate(b: Builder, x: Value) -> Value:
    """The complex conjugate, or x itself where it is real: TensorFlow's gradients conjugate the
    derivative."""
    return b.conj(x) if x.type.dtype.is_complex else x


Gradient = Callable[..., Sequence[Value | None]]


def unary_gradient(derivative: Callable[[Builder, Value, Value], Value]) -> Gradient:
    """dy * conj(derivative(b, x, y)) for y = f(x)."""

    def gradient(b: Builder, node: Node, dy: Value) -> Sequence[Value | None]:
        found = derivative(b, node.inputs[0], node.output)
        return (b.mul(dy, conjugate(b, found)),)

    return gradient


def binary_gradient(
    product: Callable[[Builder, Value, Value, Value, Value], Sequence[Value | None]],
) -> Gradient:
    """`product(b, x, y, z, dy)` gives both inputs' gradients at the output's shape (z is the
    output); here they are summed to the inputs' shapes."""

    def gradient(b: Builder, node: Node, dy: Value) -> Sequence[Value | None]:
        x, y = node.inputs
        found = product(b, x, y, node.output, dy)
        return tuple(
            None if g is None else reduce_to_shape_of(b, g, v) for g, v in zip(found, (x, y))
        )

    return gradient


def no_gradient(b: Builder, node: Node, *dys: Value) -> Sequence[Value | None]:
    """Piecewise constant ops: nothing flows back."""
    return (None,) * len(node.inputs)
