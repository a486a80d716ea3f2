"""What gradients of ops are written against: once, for every form of program that has gradients.

In: a GradientBuilder, a node, the gradients of its outputs. Out: the gradients of its inputs.
Invariant: a record's gradient reads of a value nothing but its `dtype`; dims and constant elements
it asks the builder for, which may not know them. So it serves Computations, whose dims are always
known (if only as symbols), as in tests, and Graphs, where ops on shapes take their place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.ir.dims import Dim
from flowc.ir.op import Attrs, Op, op_named

Dims = tuple[Dim | None, ...] | None  # None: an unknown size, or rank
Gradient = Callable[..., Any]


class Forward(Protocol):
    """The node whose outputs are differentiated, in either form of program."""

    @property
    def op(self) -> Op: ...
    @property
    def name(self) -> str: ...
    @property
    def output(self) -> Any: ...

    inputs: Any
    outputs: Any
    attrs: Any


class GradientBuilder(ABC):
    """Names of ops are methods, as they are of a `Builder`: `b.mul(x, y)`, `b.cast(x, DstT=t)`.
    Numbers among the inputs take the dtype of the first value, tuples of sizes are i32."""

    @abstractmethod
    def apply(self, op: Op, inputs: Sequence[Any], attrs: Attrs) -> Any:
        """The output of a new node, or all of them where there are several."""

    @abstractmethod
    def const(self, value: Any, dtype: DType | None = None) -> Any: ...

    @abstractmethod
    def sizes(self, dims: Sequence[Dim], dtype: DType = dtypes.i32) -> Any:
        """A vector of known sizes."""

    @abstractmethod
    def dims_of(self, x: Any) -> Dims: ...

    @abstractmethod
    def elements_of(self, x: Any) -> np.ndarray | None:
        """The elements of a constant, or of what follows from constants; None for data."""

    def is_zero(self, x: Any) -> bool:
        """Whether a gradient is known to be zeros, such as those for an output that nothing
        reads."""
        elements = self.elements_of(x)
        return elements is not None and not elements.any()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            op = op_named(name)
        except KeyError:
            raise AttributeError(f"no op is named {name!r}") from None
        return lambda *inputs, **attrs: self.apply(op, inputs, attrs)

    def with_attrs_of(self, node: Forward, name: str, *inputs: Any) -> Any:
        """The op `name` of `inputs`, with those attrs of a node that it has too."""
        op = op_named(name)
        own = op.signature.attrs.keys() - op.signature.inferred_attrs
        return self.apply(op, inputs, {n: v for n, v in node.attrs.items() if n in own})

    def rank_of(self, x: Any) -> int:
        dims = self.dims_of(x)
        if dims is None:
            raise UnimplementedError(f"a gradient needs the rank of {x}, which is unknown")
        return len(dims)

    def shape_of(
        self, x: Any, start: int = 0, stop: int | None = None, dtype: DType = dtypes.i32
    ) -> Any:
        """The sizes of the axes from `start` to before `stop`, as a vector."""
        dims = self.dims_of(x)
        known = None if dims is None else [d for d in dims[start:stop] if d is not None]
        if dims is not None and known is not None and len(known) == len(dims[start:stop]):
            return self.sizes(known, dtype)
        counted = dtype if dtype is dtypes.i64 else dtypes.i32  # what Shape gives
        shape = self.shape(x, out_type=counted)
        shape = shape if counted is dtype else self.cast(shape, DstT=dtype)
        if (start, stop) == (0, None):
            return shape
        return self.slice(shape, (start,), (-1 if stop is None else stop - start,))

    def size_of(self, x: Any, axis: int) -> Any:
        """The size of an axis as a scalar."""
        return self.reshape(self.shape_of(x, axis, axis + 1), ())

    def count_of(self, x: Any) -> Any:
        """The number of elements, as an i64."""
        dims = self.dims_of(x)
        known = [d for d in dims or () if isinstance(d, int)]
        if dims is None or len(known) < len(dims):
            return self.size(x, out_type=dtypes.i64)
        return self.const(np.int64(math.prod(known)))

    def axes_of(self, x: Any) -> Any:
        """All axes, to reduce over."""
        dims = self.dims_of(x)
        return self.range(0, self.rank(x), 1) if dims is None else np.arange(len(dims), dtype="i4")

    def sum_rows(self, rows: Any, indices: Any, x: Any) -> Any:
        """What is zero in the dims of `x`, save for `rows` at `indices`; rows at one index add
        up."""
        return self.unsorted_segment_sum(rows, indices, self.size_of(x, 0))

    def sum_to_shape_of(self, dy: Any, x: Any) -> Any:
        """`dy` summed over the axes along which `x` was broadcast, so that it has the dims of `x`.
        A size of 1 is taken to be one where only the run knows the other."""
        have, want = self.dims_of(dy), self.dims_of(x)
        if have is None or want is None or any(d is None for d in (*have, *want)):
            shape = self.shape_of(x)
            axes, _ = self.broadcast_gradient_args(shape, self.shape_of(dy))
            return self.reshape(self.sum(dy, axes), shape)
        if have == want:
            return dy
        extra = len(have) - len(want)
        aligned = (1,) * extra + want[max(-extra, 0) :]
        axes = [i for i, (h, w) in enumerate(zip(have, aligned)) if i < extra or w == 1 != h]
        total = self.sum(dy, np.array(axes, np.int32), keep_dims=False) if axes else dy
        return total if self.dims_of(total) == want else self.reshape(total, self.shape_of(x))

    def sum_to_operands(self, x: Any, y: Any, dx: Any, dy: Any) -> tuple[Any, Any]:
        """Both gradients of an op that broadcasts x and y, at their shapes; None stays None."""
        return (
            None if dx is None else self.sum_to_shape_of(dx, x),
            None if dy is None else self.sum_to_shape_of(dy, y),
        )

    def after(self, dy: Any) -> AbstractContextManager[Any]:
        """What is made in this block is computed after `dy`, where an order can be said."""
        return nullcontext()


def input_gradients(b: GradientBuilder, node: Forward, *dys: Any) -> list[Any]:
    """The gradient of each input of a node, None where nothing flows back. A record's gradient
    leaves out those at the end, and gives one alone as it is."""
    assert node.op.gradient is not None
    found = node.op.gradient(b, node, *dys)
    listed = list(found) if isinstance(found, (tuple, list)) else [found]
    return listed + [None] * (len(node.inputs) - len(listed))


def conjugate(b: GradientBuilder, x: Any) -> Any:
    """The complex conjugate, or x itself where it is real: TensorFlow's gradients conjugate the
    derivative."""
    return b.conj(x) if x.dtype.is_complex else x


def constant_int(b: GradientBuilder, node: Forward, i: int) -> int:
    """The one element of a node's input i. Raises `UnimplementedError` where it is no constant."""
    found = b.elements_of(node.inputs[i])
    if found is None:
        raise UnimplementedError(
            f"the gradient of {node.op.tf_name} needs a constant as its input {i}", node=node.name
        )
    return int(found.reshape(-1)[0])


def unary_gradient(derivative: Callable[[GradientBuilder, Any, Any], Any]) -> Gradient:
    """dy * conj(derivative(b, x, y)) for y = f(x)."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        with b.after(dy):
            slope = conjugate(b, derivative(b, node.inputs[0], node.output))
        return b.mul(dy, slope)

    return gradient


def binary_gradient(
    product: Callable[..., Sequence[Any]],
) -> Gradient:
    """`product(b, x, y, z, dy)` gives both inputs' gradients at the output's shape (z is the
    output); here they are summed to the inputs' shapes."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Sequence[Any]:
        found = product(b, *node.inputs, node.output, dy)
        return b.sum_to_operands(*node.inputs, *found)

    return gradient


def same_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of an op whose output is its first input."""
    return dy


def no_gradient(b: GradientBuilder, node: Forward, *dys: Any) -> Sequence[Any]:
    """The gradient of an op that is piecewise constant: none."""
    return ()
