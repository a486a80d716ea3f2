"""ArgMax and ArgMin: where along an axis the largest or smallest element stands.

In: a tensor and a constant axis. Out: the index of the first such element. Invariant: a NaN is
never chosen over a number, and 0 is the answer where nothing beats the dtype's worst finite number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import LANES, MANY, SHORT, ByThreads, Native, on_gpu
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.math.elementwise import widened
from flowc.ops.reductions.folds import carried, constant_axes, highest, lowest

if TYPE_CHECKING:
    from flowc.ir.computation import Node

    # Globals that the compiler gives to kernels.
    elem: Any = None
    barrier: Any = None
    offset: Any = None
    as_elem_pointer: Any = None
    as_i32_pointer: Any = None
    as_i64_pointer: Any = None


def _infer_arg(c: Inference) -> Dims:
    rank = c.rank(0)
    axis = c.need_int(1, shapes=[(None,) * max(rank - 1, 0)])
    if not -rank <= axis < rank:
        raise c.fail(f"Expected dimension in the range [{-rank}, {rank}), but got {axis}")
    shape = ",".join(str(d) for d in c.dims(0))
    c.at_least(c.dims(0)[axis], 1, f"Reduction axis {axis % rank} is empty in shape [{shape}]")
    return tuple(d for i, d in enumerate(c.dims(0)) if i != axis % rank)


# Set through `Native.constants`: what an element must beat to be chosen at all, and how.
LIMIT: Any = 0.0


LARGEST = False

# Of `arg_by_columns`: how many of them are done at a time, and whether they have 2**31 elements.
BLOCK, IS_LONG = 128, False


def arg_by_lanes(x, axis, output, scratch, count, inner, begin, end, lane, lanes):
    """`arg_kernel` by the lanes of a GPU, each of which takes every `lanes`-th element."""
    values = as_elem_pointer(scratch)
    places = as_i64_pointer(offset(scratch, lanes * 8))
    for position in range(begin, end):
        start = position // inner * count * inner + position % inner
        best = elem(LIMIT)
        chosen = -1
        for i in range(lane, count, lanes):
            element = x[start + i * inner]
            if element > best if LARGEST else element < best:
                best = element
                chosen = i
        values[lane] = best
        places[lane] = chosen
        barrier()
        for i in range(lanes):
            element = values[i]
            place = places[i]
            better = element > best if LARGEST else element < best
            if place >= 0 and (chosen < 0 or better or (element == best and place < chosen)):
                best = element
                chosen = place
        barrier()
        if lane == 0:
            output[position] = chosen if chosen >= 0 else 0


def _by_lanes(native: Native) -> Native | None:
    """Where rows are long, or few; else a thread finds one element."""
    count, inner = native.arguments
    is_short = isinstance(count, int) and count <= SHORT
    is_many = isinstance(native.parallel, int) and native.parallel >= MANY
    if is_short or (is_many and inner != 1):
        return replace(native, kernel=arg_kernel, scratch=0)
    return replace(native, kernel=arg_by_lanes, scratch=2 * LANES * 8)


@on_gpu(ByThreads(_by_lanes, LANES))
def arg_kernel(x, axis, output, count, inner, begin, end):
    """One output element a step: the first index of the largest (or smallest) element beyond LIMIT,
    else 0. Of a row, every fourth element by itself: no comparison waits for the one before."""
    for position in range(begin, end if inner == 1 else begin):
        start = position * count
        best0 = x[start]
        beyond = best0 > LIMIT if LARGEST else best0 < LIMIT
        if not beyond:
            best0 = LIMIT
        best1 = best0
        best2 = best0
        best3 = best0
        place0 = 0
        place1 = 0
        place2 = 0
        place3 = 0
        for i in range(0, count - 3, 4):
            element = x[start + i]
            if element > best0 if LARGEST else element < best0:
                best0 = element
                place0 = i
            element = x[start + i + 1]
            if element > best1 if LARGEST else element < best1:
                best1 = element
                place1 = i + 1
            element = x[start + i + 2]
            if element > best2 if LARGEST else element < best2:
                best2 = element
                place2 = i + 2
            element = x[start + i + 3]
            if element > best3 if LARGEST else element < best3:
                best3 = element
                place3 = i + 3
        for i in range(count // 4 * 4, count):
            element = x[start + i]
            if element > best0 if LARGEST else element < best0:
                best0 = element
                place0 = i
        # Of equals the first counts.
        if best1 > best0 if LARGEST else best1 < best0:
            best0 = best1
            place0 = place1
        elif best1 == best0 and place1 < place0:
            place0 = place1
        if best3 > best2 if LARGEST else best3 < best2:
            best2 = best3
            place2 = place3
        elif best3 == best2 and place3 < place2:
            place2 = place3
        if best2 > best0 if LARGEST else best2 < best0:
            best0 = best2
            place0 = place2
        elif best2 == best0 and place2 < place0:
            place0 = place2
        output[position] = place0
    for position in range(end if inner == 1 else begin, end):
        start = position // inner * count * inner + position % inner
        best = x[start]
        chosen = 0
        beyond = best > LIMIT if LARGEST else best < LIMIT
        if not beyond:
            best = LIMIT
        for i in range(count):
            element = x[start + i * inner]
            if element > best if LARGEST else element < best:
                best = element
                chosen = i
        output[position] = chosen


COLUMNS = 128  # side by side: what is known of them stays in the first cache
FEW_COLUMNS = 16  # fill no vectors


@on_gpu(ByThreads(_by_lanes, LANES))
def arg_by_columns(x, axis, output, scratch, count, inner, begin, end):
    """The same where elements of an axis are `inner` apart: for many neighbours at a time."""
    best = as_elem_pointer(scratch)
    chosen = offset(scratch, BLOCK * 8)
    places = as_i64_pointer(chosen) if IS_LONG else as_i32_pointer(chosen)
    position = begin
    while position < end:
        column = position % inner
        columns = BLOCK if inner - column > BLOCK else inner - column
        columns = columns if columns < end - position else end - position
        start = position // inner * count * inner + column
        for c in range(columns):
            element = x[start + c]
            beyond = element > LIMIT if LARGEST else element < LIMIT
            best[c] = element if beyond else elem(LIMIT)
            places[c] = 0
        for i in range(1, count):
            for c in range(columns):
                element = x[start + i * inner + c]
                held = best[c]
                better = element > held if LARGEST else element < held
                best[c] = element if better else held
                places[c] = i if better else places[c]
        for c in range(columns):
            output[position + c] = places[c]
        position += columns


def _lower_arg(largest: bool) -> Callable[[Node], Native]:
    def lower(node: Node) -> Native:
        (axis,) = constant_axes(node)
        dtype, dims = node.inputs[0].type.dtype, node.inputs[0].dims
        limit = lowest(dtype) if largest else highest(dtype)
        count, inner = dims[axis], product(dims[axis + 1 :])
        single = Native(
            arg_kernel,
            arguments=(count, inner),
            parallel=node.output.type.size,
            constants={"LIMIT": carried(limit, dtype), "LARGEST": largest},
        )
        if not isinstance(inner, int) or inner < FEW_COLUMNS:
            return single
        is_long = not isinstance(count, int) or count >= 1 << 31
        constants = {**single.constants, "BLOCK": COLUMNS, "IS_LONG": is_long}
        return replace(single, kernel=arg_by_columns, scratch=COLUMNS * 16, constants=constants)

    return lower


def _arg(largest: bool) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, axis: np.ndarray, *, output_type: DType) -> np.ndarray:
        dtype = dtypes.as_dtype(x.dtype)
        limit = lowest(dtype) if largest else highest(dtype)
        wide = widened(x)
        # A NaN beats nothing, and no infinity on the wrong side does: both count as the limit.
        wide = np.where(wide > limit if largest else wide < limit, wide, limit)
        found = np.argmax(wide, int(axis)) if largest else np.argmin(wide, int(axis))
        return np.asarray(found).astype(output_type.numpy)

    return reference


_ARG_EXAMPLES = (
    "T[2,3] i32[]=1",
    "T[3,2,5] i32[]=0; output_type=i32",
    "T[2,3,4] i64[]=-2; Tidx=i64",
    "T[17] i32[]=0",
    "T[3,0] i32[]=0",
    "T[2,1] i32[]=-1",
)

arg_max = define(
    "arg_max",
    "ArgMax(input: T, dimension: Tidx; T: {f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16,"
    " u32, u64, bool}, Tidx: {i16, i32, i64} = i32, output_type: {i16, u16, i32, i64} = i64)"
    " -> output: output_type",
    infer=_infer_arg,
    lowering=_lower_arg(largest=True),
    reference=_arg(largest=True),
    examples=_ARG_EXAMPLES,
)
arg_min = define(
    "arg_min",
    "ArgMin(input: T, dimension: Tidx; T: {f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16,"
    " u32, u64, bool}, Tidx: INDEX = i32, output_type: INDEX = i64) -> output: output_type",
    infer=_infer_arg,
    lowering=_lower_arg(largest=False),
    reference=_arg(largest=False),
    examples=_ARG_EXAMPLES,
)
