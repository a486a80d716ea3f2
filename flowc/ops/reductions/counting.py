"""Ops that count, and that search sorted rows: bincount, dense_bincount, lower_bound, upper_bound.

In: integers to count, or sorted rows and values. Out: counts, or positions. Invariant: values at or
above the number of bins are not counted; negative ones end the run with InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import ByThreads, Lowering, Native, by_owners, on_gpu
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims

# Globals that the compiler gives to the kernels: whether each element has a weight, whether bins
# only say that something fell into them, and whether equal elements stand before the bound.
WEIGHTED = 0
BINARY = 0
UPPER = 0


def owned_bins(values, _size, weights, out, status, rows, columns, bins, band, begin, end):
    """`band` neighbouring bins of a row a step."""
    for step in range(begin, end):
        row = step % rows
        first = step // rows * band
        last = first + band if first + band < bins else bins
        for i in range(first, last):
            out[row * bins + i] = 0
        for i in range(columns):
            value = values[row * columns + i]
            if value < 0:
                status[0] = 1
                return
            if value >= first and value < last:
                if BINARY == 1:
                    out[row * bins + value] = 1
                elif WEIGHTED == 1:
                    out[row * bins + value] += weights[row * columns + i]
                else:
                    out[row * bins + value] += 1


def _by_owners(native: Native) -> Native:
    rows, _, bins = native.arguments
    return by_owners(native, owned_bins, bins, 1, rows)


@on_gpu(ByThreads(_by_owners))
def bincount_kernel(values, _size, weights, out, status, rows, columns, bins, begin, end):
    for i in range(rows * bins):
        out[i] = 0
    for row in range(rows):
        for i in range(columns):
            value = values[row * columns + i]
            if value < 0:
                status[0] = 1
                return
            if value < bins:
                if BINARY == 1:
                    out[row * bins + value] = 1
                elif WEIGHTED == 1:
                    out[row * bins + value] += weights[row * columns + i]
                else:
                    out[row * bins + value] += 1


def bound_kernel(sorted_rows, values, out, length, count, begin, end):
    for row in range(begin, end):
        for i in range(count):
            value = values[row * count + i]
            low = 0
            high = length
            while low < high:
                middle = (low + high) // 2
                element = sorted_rows[row * length + middle]
                before = not (element > value) if UPPER == 1 else element < value
                if before:
                    low = middle + 1
                else:
                    high = middle
            out[row * count + i] = low


def _infer_bincount(c: Inference) -> Dims:
    size = c.need_size(1, "size ({size}) must be non-negative")
    flat = c.op.tf_name == "Bincount"
    if not flat and c.rank(0) not in (1, 2):
        raise c.fail(f"Shape must be at most rank 2 but is rank {c.rank(0)}")
    dims = (size,) if flat else (*c.dims(0)[:-1], size)
    if c.inputs[2].size == 0 or c.dims(2) == c.dims(0):
        return dims
    # Weights of no elements count as 1 each, so how many there are decides what is computed.
    c.need_number(c.inputs[2].size, "the number of weights", [dims])
    fault = "Input indices and weights must have the same size."
    if not flat:
        fault = (
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it "
            f"acts as all weights equal to 1. Received {shown_dims(c.dims(2))}"
        )
    c.need_dims(2, c.dims(0), fault)
    return dims


def _lower_bincount(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    flat = node.op.tf_name == "Bincount"
    rows, columns = (1, product(dims)) if flat else (product(dims[:-1]), dims[-1])
    return Native(
        bincount_kernel,
        arguments=(rows, columns, node.output.dims[-1]),
        errors=("Input arr must be non-negative!",),
        constants={
            "WEIGHTED": int(node.inputs[2].type.size != 0),
            "BINARY": int(node.attrs.get("binary_output", False)),
        },
    )


def _count(
    values: np.ndarray, size: np.ndarray, weights: np.ndarray, binary: bool = False
) -> np.ndarray:
    bins = int(size)
    if (values < 0).any():
        raise InvalidArgumentError("Input arr must be non-negative!")
    rows = values if values.ndim == 2 else values.reshape(1, -1)
    result = np.zeros((len(rows), bins), weights.dtype)
    each = weights.reshape(rows.shape) if weights.size else np.ones(rows.shape, weights.dtype)
    inside = rows < bins
    places = (np.nonzero(inside)[0], rows[inside])
    if binary:
        result[places] = 1
    else:
        np.add.at(result, places, each[inside])
    return result if values.ndim == 2 else result[0]


def _infer_bound(c: Inference) -> Dims:
    if c.rank(0) != 2 or c.rank(1) != 2:
        raise c.fail("sorted input and values must be matrices")
    rows = c.equal(c.dims(0)[0], c.dims(1)[0])
    return (rows, c.dims(1)[1])


def _lower_bound(upper: int) -> Callable[[Node], Lowering]:
    return lambda node: Native(
        bound_kernel,
        arguments=(node.inputs[0].dims[1], node.inputs[1].dims[1]),
        parallel=node.output.dims[0],
        constants={"UPPER": upper},
    )


def _search(side: Any) -> Callable[..., np.ndarray]:
    def reference(rows: np.ndarray, values: np.ndarray, *, out_type: DType) -> np.ndarray:
        result = np.empty(values.shape, out_type.numpy)
        for i, (row, wanted) in enumerate(zip(rows, values)):
            result[i] = np.searchsorted(row, wanted, side)
        return result

    return reference


_BOUND = "{f32, f64, i8, i16, i32, i64, u8, u16, f16, bf16, bool}"
_BOUND_EXAMPLES = (
    "i32[1,5]=[1,2,2,4,9] i32[1,4]=[0,2,3,10]",
    "f32[2,3]=[1,2,3,4,5,6] f32[2,2]=[2,9,1,5]; out_type=i64",
    "f32[1,0] f32[1,2]",
)

bincount = define(
    "bincount",
    "Bincount(arr: i32, size: i32, weights: T; T: {i32, i64, f32, f64}) -> bins: T",
    infer=_infer_bincount,
    reference=lambda arr, size, weights: _count(arr.reshape(-1), size, weights.reshape(-1)),
    lowering=_lower_bincount,
    examples=("i32[7]~small i32[]=5 T[0]", "i32[2,3]~small i32[]=7 T[2,3]"),
)

dense_bincount = define(
    "dense_bincount",
    "DenseBincount(input: Tidx, size: Tidx, weights: T; Tidx: {i32, i64},"
    " T: {i32, i64, f32, f64}, binary_output: bool = False) -> output: T",
    infer=_infer_bincount,
    reference=lambda values, size, weights, *, binary_output: _count(
        values, size, weights, binary_output
    ),
    lowering=_lower_bincount,
    examples=(
        "Tidx[7]~small Tidx[]=5 T[0]",
        "i32[2,3]~small i32[]=7 f32[2,3]",
        "i64[2,3]~small i64[]=7 f32[0]; binary_output=True",
    ),
)

lower_bound = define(
    "lower_bound",
    f"LowerBound(sorted_inputs: T, values: T; T: {_BOUND}, out_type: {{i32, i64}} = i32)"
    " -> output: out_type",
    infer=_infer_bound,
    reference=_search("left"),
    lowering=_lower_bound(0),
    examples=_BOUND_EXAMPLES,
)

upper_bound = define(
    "upper_bound",
    f"UpperBound(sorted_inputs: T, values: T; T: {_BOUND}, out_type: {{i32, i64}} = i32)"
    " -> output: out_type",
    infer=_infer_bound,
    reference=_search("right"),
    lowering=_lower_bound(1),
    examples=_BOUND_EXAMPLES,
)
