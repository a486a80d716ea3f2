"""Ops that read a box of their input: slice and strided_slice.

In: a tensor, and bounds that are constants, sizes, or computed by the run. Out: what lies inside.
Invariant: a bound that only the run knows is read by the kernel; the output's dims never hide it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import (
    Dim,
    Expr,
    as_dim,
    floordiv,
    is_nonnegative,
    maximum,
)
from flowc.ir.host_run import held
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, View
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import known_dims
from flowc.ops.arrays.slice_bounds import AxisSlice, KernelBounds, axis_slices, range_bounds
from flowc.ops.control.structure import may_be_rest
from flowc.ops.gradients import Forward, GradientBuilder

if TYPE_CHECKING:
    from flowc.ir.computation import Node

# -- slice


def _infer_slice(c: Inference) -> Dims:
    dims = c.dims(0)
    for i, name in ((1, "begin"), (2, "size")):
        fault = f"{name} must be a vector of {len(dims)} elements, one a dimension"
        if c.rank(i) != 1:
            raise c.fail(fault)
        c.match_dims((len(dims),), c.dims(i), fault)
    begins = c.content(1)
    shapes = [(None,) * len(dims)]
    sizes = list(c.need_sizes(2, below=1, shapes=shapes))
    if begins is None and any(s == -1 or may_be_rest(s) for s in sizes):
        begins = c.need(1, shapes=shapes)
    result: list[Dim] = []
    for axis, (dim, size) in enumerate(zip(dims, sizes)):
        begin = None if begins is None else as_dim(begins.reshape(-1)[axis])
        result.append(_slice_size(c, axis, dim, begin, size))
    return tuple(result)


def _slice_size(c: Inference, axis: int, dim: Dim, begin: Dim | None, size: Dim) -> Dim:
    if isinstance(begin, int) and (begin < 0 or (isinstance(dim, int) and begin > dim)):
        raise c.fail(f"Expected begin[{axis}] in [0, {dim}], but got {begin}")
    if size == -1:
        assert begin is not None
        return maximum(dim - begin, 0) if begin != 0 else dim
    if may_be_rest(size):
        assert begin is not None
        return maximum(size, 0) + maximum(-size, 0) * maximum(dim - begin, 0)
    room = dim if begin is None else dim - begin
    if isinstance(size, int) and (size < 0 or (isinstance(room, int) and size > room)):
        raise c.fail(f"Expected size[{axis}] in [0, {room}], but got {size}")
    return size


def _lower_slice(node: Node) -> Lowering:
    dims, sizes = node.inputs[0].dims, node.output.dims
    known = known_dims(node.inputs[1])

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        places: list[Dim] = []
        fits, zero = k.const(True, dtypes.bool_), k.const(0, dtypes.i64)
        for axis, (i, size, dim) in enumerate(zip(index, sizes, dims)):
            begin, room = None if known is None else known[axis], dim - size
            if begin is not None and is_nonnegative(room - begin) and is_nonnegative(begin):
                places.append(begin + i)
                continue
            if begin is None:
                first = k.cast(k.load(1, (axis,)), dtypes.i64)
            else:
                first = k.index_value(begin, dtypes.i64)
            most = k.index_value(room, dtypes.i64)
            inside = k.logical_and(k.ge(first, 0), k.le(first, most))
            k.check(inside, f"Expected size[{axis}] in [0, {dim}] - begin[{axis}]")
            # One beside the input reads from its start, if there is as much there.
            places.append(k.as_index(k.select(inside, first, zero), room + 1) + i)
            if not is_nonnegative(room):
                fits = k.logical_and(fits, inside)
        return k.load_if(fits, 0, tuple(places), k.const(0, node.output.type.dtype))

    return View(read)


def _slice(x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> np.ndarray:
    box = []
    for axis, (first, count) in enumerate(zip(begin, size)):
        first, count, dim = int(first), int(count), x.shape[axis]
        count = dim - first if count == -1 else count
        if not 0 <= first <= dim:
            raise InvalidArgumentError(f"Expected begin[{axis}] in [0, {dim}], but got {first}")
        if not 0 <= count <= dim - first:
            raise InvalidArgumentError(
                f"Expected size[{axis}] in [0, {dim - first}], but got {count}"
            )
        box.append(slice(first, first + count))
    return np.asarray(x[tuple(box)])


def _slice_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, begin, _ = node.inputs
    room = b.sub(b.shape_of(x, dtype=begin.dtype), b.shape_of(dy, dtype=begin.dtype))
    return b.pad(dy, b.pack(begin, b.sub(room, begin), axis=1))


def _strided_slice_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, *bounds = node.inputs
    shape = b.shape_of(x, dtype=bounds[0].dtype)
    return b.with_attrs_of(node, "strided_slice_grad", shape, *bounds, dy)


# -- strided_slice


def _specification(c: Inference, rank: int) -> tuple[list[AxisSlice], tuple[int, ...]]:
    fault = "Expected begin, end, and strides to be 1D equal size tensors"
    if any(c.rank(i) != 1 for i in (1, 2, 3)):
        raise c.fail(fault)
    for i in (2, 3):
        c.need_dims(i, c.dims(1), fault)
    count, *_ = (c.need_number(c.dims(i)[0], "the number of slices") for i in (1, 2, 3))
    strides = c.need_ints(3)
    try:
        parts = axis_slices(rank, count, c.attrs)
    except ValueError as error:
        raise c.fail(str(error)) from error
    for part in parts:
        stride = 1 if part.entry is None else strides[part.entry]
        if part.kind != "new" and stride == 0:
            raise c.fail(f"strides[{part.entry}] must be non-zero")
        if part.kind == "shrink" and stride < 0:
            raise c.fail("only stride 1 allowed on non-range indexing.")
    return parts, strides


def _infer_strided_slice(c: Inference) -> Dims:
    return sliced_dims(c, c.dims(0))


def sliced_dims(c: Inference, dims: Dims) -> Dims:
    """What a strided_slice with the inputs 1 to 3 makes of `dims`."""
    parts, strides = _specification(c, len(dims))
    result: list[Dim] = []
    for part in parts:
        if part.axis is None:
            result.append(1)
        elif part.kind == "shrink":
            _check_shrink(c, part, dims[part.axis])
        elif part.entry is None:
            result.append(dims[part.axis])
        else:
            begin = None if part.from_begin else as_dim(c.need(1)[part.entry])
            end = None if part.to_end else as_dim(c.need(2)[part.entry])
            _, size = range_bounds(dims[part.axis], begin, end, strides[part.entry])
            result.append(size)
    return tuple(result)


def _check_shrink(c: Inference, part: AxisSlice, dim: Dim) -> None:
    begins = c.content(1)
    if begins is None or part.from_begin:
        return
    value = begins[part.entry]
    if isinstance(value, Expr) or isinstance(dim, Expr):
        return
    if not -dim <= value < dim:
        raise c.fail(f"slice index {value} of dimension {part.axis} out of bounds.")


def _lower_strided_slice(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    parts = axis_slices(len(dims), int(node.inputs[1].dims[0]), node.attrs)
    bounds = KernelBounds(node)

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        found: list[Dim] = []
        at = 0
        for part in parts:
            if part.axis is None:
                at += 1
                continue
            dim = dims[part.axis]
            if part.kind == "shrink":
                found.append(bounds.only(k, part, dim))
                continue
            if part.entry is None:
                found.append(index[at])
            else:
                stride = bounds.strides[part.entry]
                found.append(bounds.first(k, part, dim, stride) + index[at] * stride)
            at += 1
        return k.load(0, tuple(found))

    return View(read)


def _infer_strided_slice_grad(c: Inference) -> Dims:
    dims = c.need_sizes(0)
    given, expected = c.dims(4), sliced_dims(c, dims)
    fault = f"shape of dy was {list(given)} instead of {list(expected)}"
    c.match_dims(given, expected, fault)
    return dims


def _lower_strided_slice_grad(node: Node) -> Lowering:
    dims, given = node.output.dims, node.inputs[4].dims
    parts = axis_slices(len(dims), int(node.inputs[1].dims[0]), node.attrs)
    bounds = KernelBounds(node)

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        inside = k.const(True, dtypes.bool_)
        place: list[Dim] = []
        for part in parts:
            if part.axis is None:
                place.append(0)
                continue
            at, dim = index[part.axis], dims[part.axis]
            if part.kind == "shrink":
                only = bounds.only(k, part, dim)
                inside = k.logical_and(inside, k.in_range(at - only, 0, 1))
            elif part.entry is None:
                place.append(at)
            else:
                stride = bounds.strides[part.entry]
                first = bounds.first(k, part, dim, stride)
                step = at - first if stride > 0 else first - at
                number = floordiv(step, abs(stride))
                inside = k.logical_and(inside, k.in_range(number, 0, given[len(place)]))
                inside = k.logical_and(inside, k.in_range(step - number * abs(stride), 0, 1))
                place.append(number)
        return k.load_if(inside, 4, tuple(place), k.const(0, node.output.type.dtype))

    return View(read)


def _strided_slice_grad(
    shape: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    dy: np.ndarray,
    **masks: Any,
) -> np.ndarray:
    found = np.zeros(tuple(shape), dy.dtype)
    found[array_index(found, begin, end, strides, masks)] = dy
    return found


def array_index(
    x: np.ndarray, begin: np.ndarray, end: np.ndarray, strides: np.ndarray, attrs: Attrs
) -> tuple[Any, ...]:
    """The index that NumPy takes for a strided_slice."""
    index: list[Any] = []
    for part in axis_slices(x.ndim, len(begin), attrs):
        i = part.entry
        if part.axis is None:
            index.append(None)
        elif i is None:
            index.append(slice(None))
        elif part.kind == "shrink":
            value = 0 if part.from_begin else int(begin[i])
            if not -x.shape[part.axis] <= value < x.shape[part.axis]:
                raise InvalidArgumentError(
                    f"slice index {value} of dimension {part.axis} out of bounds."
                )
            index.append(value)
        else:
            first = None if part.from_begin else int(begin[i])
            last = None if part.to_end else int(end[i])
            index.append(slice(first, last, int(strides[i])))
    return tuple(index)


def _strided_slice(
    x: np.ndarray, begin: np.ndarray, end: np.ndarray, strides: np.ndarray, **masks: Any
) -> np.ndarray:
    return held(x[array_index(x, begin, end, strides, masks)])


slice_ = define(
    "slice",
    "Slice(input: T, begin: Index, size: Index; T: type, Index: {i32, i64}) -> output: T",
    infer=_infer_slice,
    reference=_slice,
    lowering=_lower_slice,
    gradient=_slice_gradient,
    examples=(
        "T[4,3] i32[2]=[1,0] i32[2]=[2,3]",
        "f32[5] i64[1]=[2] i64[1]=[-1]",
        "f32[3,1,7] i32[3]=[0,0,6] i32[3]=[-1,1,1]",
        "f32[4] i32[1]=[4] i32[1]=[0]",
        "f32[] i32[0] i32[0]",
    ),
    content=True,
)

strided_slice = define(
    "strided_slice",
    "StridedSlice(input: T, begin: Index, end: Index, strides: Index; T: type,"
    " Index: {i16, i32, i64}, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,"
    " new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> output: T",
    infer=_infer_strided_slice,
    reference=_strided_slice,
    lowering=_lower_strided_slice,
    gradient=_strided_slice_gradient,
    examples=(
        "T[4,5] i32[2]=[1,0] i32[2]=[3,5] i32[2]=[1,2]",
        "f32[7] i32[1]=[-1] i32[1]=[0] i32[1]=[-2]; begin_mask=1, end_mask=1",
        "f32[4,5] i32[1]=[-2] i32[1]=[0] i32[1]=[1]; shrink_axis_mask=1",
        "f32[4,5] i64[3]=[0,0,1] i64[3]=[0,0,9] i64[3]=[1,1,1]; new_axis_mask=1, ellipsis_mask=2",
        "f32[2,3,4] i32[2]=[0,1] i32[2]=[0,2] i32[2]=[1,1]; ellipsis_mask=1, shrink_axis_mask=2",
        "f32[5] i32[1]=[3] i32[1]=[2] i32[1]=[1]",
        "f32[5] i32[1]=[10] i32[1]=[-10] i32[1]=[-1]",
    ),
    content=True,
)

strided_slice_grad = define(
    "strided_slice_grad",
    "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T; T: type,"
    " Index: {i32, i64}, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,"
    " new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> output: T",
    infer=_infer_strided_slice_grad,
    reference=_strided_slice_grad,
    lowering=_lower_strided_slice_grad,
    gradient=lambda b, node, dx: (
        *[None] * 4,
        b.with_attrs_of(node, "strided_slice", dx, *node.inputs[1:4]),
    ),
    examples=(
        "i32[2]=[4,5] i32[2]=[1,0] i32[2]=[3,5] i32[2]=[1,2] T[2,3]",
        "i32[1]=[7] i32[1]=[-1] i32[1]=[0] i32[1]=[-2] f32[4]; begin_mask=1, end_mask=1",
        "i32[2]=[4,5] i32[1]=[-2] i32[1]=[0] i32[1]=[1] f32[5]; shrink_axis_mask=1",
        "i64[2]=[4,5] i64[3]=[0,0,1] i64[3]=[0,0,9] i64[3]=[1,1,1] f32[1,4,4];"
        " new_axis_mask=1, ellipsis_mask=2",
        "i32[3]=[2,3,4] i32[2]=[0,1] i32[2]=[0,2] i32[2]=[1,1] f32[2,3]; ellipsis_mask=1,"
        " shrink_axis_mask=2",
        "i32[1]=[5] i32[1]=[3] i32[1]=[2] i32[1]=[1] f32[0]",
    ),
)
