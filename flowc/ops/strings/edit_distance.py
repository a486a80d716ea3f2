"""How many insertions, deletions and replacements make one sequence of labels another.

In: sequences as two sparse tensors, whose last dim is the position. Out: the distance of each pair
of sequences, dense, by default as a share of the true sequence's length. Invariant: elements stand
in the order of their places, so that a sequence is one run of values; a sequence without elements
is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import as_dim, maximum, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.arrays.sets import numbered_texts
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value
    from flowc.ir.dims import Dim

    # Globals that the compiler gives to kernels.
    f32: Any = None
    as_i64_pointer: Any = None

Array = np.ndarray[Any, Any]
OUTSIDE = (
    "Got an inner product {a} which would require writing to outside of the buffer for the output"
    " tensor (max elements {b})"
)
TYPES = "T: {f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, bool}"

# Whether the distance is a share of the true length (`Native.constants`).
NORMALIZE = 0


def run_end(places: Any, begin: int, count: int) -> int:
    """Inlined: where the run of equal places ends that begins at `begin`."""
    end = begin
    while end < count and places[end] == places[begin]:
        end += 1
    return end


def levenshtein(
    row: Any, hypothesis: Any, truth: Any, first: int, size: int, start: int, length: int
) -> int:
    """Inlined: the distance of hypothesis[first:][:size] and truth[start:][:length].
    `row` has room for one number more than the truth is long."""
    for j in range(length + 1):
        row[j] = j
    for i in range(size):
        corner = row[0]
        row[0] = i + 1
        for j in range(length):
            best = corner if hypothesis[first + i] == truth[start + j] else corner + 1
            corner = row[j + 1]
            best = corner + 1 if corner + 1 < best else best
            row[j + 1] = row[j] + 1 if row[j] + 1 < best else best
    found = row[length]
    return found


def edit_distances_kernel(
    places: Any, hypothesis: Any, true_places: Any, truth: Any, groups: Any, output: Any,
    scratch: Any, status: Any, count: int, true_count: int, cells: int, begin: int, end: int,
) -> None:  # fmt: skip
    row = as_i64_pointer(scratch)
    for i in range(cells):
        output[i] = 0
    i = 0
    j = 0
    while i < count or j < true_count:
        cell = places[i] if i < count else true_places[j]
        if j < true_count and true_places[j] < cell:
            cell = true_places[j]
        if cell < 0 or cell >= cells:
            fail(status, 1, cell, cells, 0)
            return
        size = 0
        length = 0
        first = i
        start = j
        if i < count and places[i] == cell:
            i = run_end(places, first, count)
            size = i - first
        if j < true_count and true_places[j] == cell:
            j = run_end(true_places, start, true_count)
            length = j - start
        found = levenshtein(row, hypothesis, truth, first, size, start, length)
        if NORMALIZE:
            output[cell] = f32(found) / f32(length)
        else:
            output[cell] = found


def _infer_cells(c: Inference) -> Dims:
    return (as_dim(c.need(4)[0]),)


def _lower_cells(node: Node) -> Native:
    count, true_count = node.inputs[0].dims[0], node.inputs[2].dims[0]
    return Native(
        edit_distances_kernel,
        arguments=(count, true_count, node.output.dims[0]),
        scratch=8 * (true_count + 1),
        errors=(OUTSIDE,),
        constants={"NORMALIZE": int(node.attrs["normalize"])},
    )


def _distance(hypothesis: Array, truth: Array) -> int:
    row = list(range(len(truth) + 1))
    for i, x in enumerate(hypothesis):
        corner, row[0] = row[0], i + 1
        for j, y in enumerate(truth):
            best = min(corner + int(x != y), row[j + 1] + 1, row[j] + 1)
            corner, row[j + 1] = row[j + 1], best
    return row[-1]


def _cells(
    places: Array, hypothesis: Array, true_places: Array, truth: Array, groups: Array,
    *, normalize: bool,
) -> Array:  # fmt: skip
    found = np.zeros(int(groups[0]), np.float32)
    for cell in np.union1d(places, true_places).tolist():
        if not 0 <= cell < len(found):
            raise InvalidArgumentError(OUTSIDE.format(a=cell, b=len(found)))
        wanted = truth[true_places == cell]
        distance = np.float32(_distance(hypothesis[places == cell], wanted))
        with np.errstate(divide="ignore"):
            found[cell] = distance / np.float32(len(wanted)) if normalize else distance
    return found


edit_distances = define(
    "edit_distances",
    "_EditDistances(places: i64, hypothesis: T, true_places: i64, truth: T, groups: i64;"
    f" normalize: bool, {TYPES}) -> output: f32",
    infer=_infer_cells,
    lowering=_lower_cells,
    reference=_cells,
    examples=(
        "i64[5]=[0,0,2,2,2] T[5]~small i64[4]=[0,1,2,2] T[4]~small i64[1]=[4]; normalize=True",
        "i64[3]=[0,0,2] i32[3]=[1,2,3] i64[3]=[0,0,1] i32[3]=[1,3,3] i64[1]=[4]; normalize=False",
    ),
)


# -- TensorFlow's op


def _infer(c: Inference) -> Dims:
    for i, name in ((0, "hypothesis_indices"), (3, "truth_indices")):
        c.need_rank(i, 2, f"{name} should be a matrix, but got shape: {c.inputs[i]}")
        if c.rank(i + 1) != 1 or c.rank(i + 2) != 1:
            raise c.fail("values and shapes of sparse tensors are vectors")
        c.equal(c.dims(i)[0], c.dims(i + 1)[0])
    (rank,), (true_rank,) = c.dims(2), c.dims(5)
    if isinstance(true_rank, int) and true_rank < 2:
        raise c.fail(
            f"Input SparseTensors must have rank at least 2, but truth_shape rank is: {true_rank}"
        )
    c.equal(rank, true_rank)
    return tuple(
        maximum(as_dim(x), as_dim(y)) for x, y in zip(c.need(2)[:-1], c.need(5)[:-1], strict=True)
    )


def _places(b: Builder, indices: Value, dims: Dims) -> Value:
    """Row-major places of sequences by the indices of their elements."""
    count = indices.dims[0]
    found = b.const(np.zeros(1, np.int64))
    for i, dim in enumerate(dims):
        column = b.reshape(b.slice(indices, (0, i), (count, 1)), (count,))
        found = b.add(b.mul(found, b.sizes((dim,), dtypes.i64)), column)
    return found


def _build(b: Builder, node: Node) -> Value:
    indices, values, _, true_indices, true_values, _ = node.inputs
    if values.type.dtype is dtypes.string:
        values, true_values = numbered_texts(b, values, true_values)
    dims = node.output.dims
    cells: Dim = product(dims)
    found = b.edit_distances(
        _places(b, indices, dims),
        values,
        _places(b, true_indices, dims),
        true_values,
        b.sizes((cells,), dtypes.i64),
        normalize=node.attrs["normalize"],
    )
    return b.reshape(found, dims)


def _reference(
    hypothesis_indices: Array,
    hypothesis_values: Array,
    hypothesis_shape: Array,
    truth_indices: Array,
    truth_values: Array,
    truth_shape: Array,
    *,
    normalize: bool,
) -> Array:
    dims = np.maximum(hypothesis_shape, truth_shape)[:-1]
    strides = np.append(np.cumprod(dims[:0:-1])[::-1], 1).astype(np.int64)
    found = _cells(
        hypothesis_indices[:, :-1] @ strides,
        hypothesis_values,
        truth_indices[:, :-1] @ strides,
        truth_values,
        np.array([dims.prod()]),
        normalize=normalize,
    )
    return found.reshape(dims)


edit_distance = define(
    "edit_distance",
    "EditDistance(hypothesis_indices: i64, hypothesis_values: T, hypothesis_shape: i64,"
    " truth_indices: i64, truth_values: T, truth_shape: i64; normalize: bool = True,"
    f" {TYPES[:-1]}, string}}) -> output: f32",
    infer=_infer,
    lowering=Decompose(_build),
    reference=_reference,
    examples=(
        "i64[3,2]=[0,0,0,1,2,0] T[3]~small i64[2]=[3,2] i64[3,2]=[0,0,0,1,1,0] T[3]~small"
        " i64[2]=[4,3]",
        "i64[3,2]=[0,0,0,1,2,0] i32[3]=[1,2,3] i64[2]=[3,2] i64[3,2]=[0,0,0,1,1,0]"
        " i32[3]=[1,3,3] i64[2]=[4,3]; normalize=False",
        "i64[5,3]=[0,0,0,0,1,0,0,1,1,1,0,0,1,0,1] i64[5]=[1,2,3,4,5] i64[3]=[2,2,2]"
        " i64[6,3]=[0,0,0,0,1,0,0,1,1,1,2,0,1,2,1,1,2,2] i64[6]=[1,3,2,4,4,5] i64[3]=[2,3,3]",
        "i64[0,2] f32[0] i64[2]=[2,0] i64[0,2] f32[0] i64[2]=[3,4]",
    ),
)
