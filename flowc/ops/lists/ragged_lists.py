"""Ragged lists: elements of different sizes, one after another, and a table of where each is.

In: `flat`, the numbers of all elements, `T[total]`; `table`, `i64[rows, 1 + rank]`, for each
element 1 + the place of its first number (0: none was put there), then its dims. Out: elements, or
both with a change: ops that change one are `updates` kernels, as in dense_lists.py. Invariant: no
two elements share numbers, and every place in a table lies in its `flat`. An element that is set
anew keeps its place where it is as large as the one before; where not, it comes to stand at the
end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, as_dim, product
from flowc.ir.lowering import Lowering, Native, View
from flowc.ir.op import define
from flowc.ir.types import MOST_BYTES, Dims
from flowc.ops.arrays.shapes import size_scalar
from flowc.ops.kernels.status import fail
from flowc.ops.lists.list_faults import numbered

# Globals that the compiler gives to kernels: whether elements add up, and the most numbers that one
# list can hold.
ADD = 0
MOST = 0

# -- new tables


def ragged_pieces_kernel(lengths, shape, out, status, count, rank, begin, end):
    used = 0
    for i in range(count):
        if lengths[i] < 0 or lengths[i] > MOST - used:
            used = -1
            break
        used += lengths[i]
    if used != shape[0]:
        fail(status, 1, used, shape[0], 0)
        return
    width = 1
    for j in range(1, rank):
        width *= shape[j]
    used = 0
    for i in range(count):
        out[i * (rank + 1)] = 1 + used * width
        out[i * (rank + 1) + 1] = lengths[i]
        for j in range(1, rank):
            out[i * (rank + 1) + 1 + j] = shape[j]
        used += lengths[i]


def _pieces(lengths: np.ndarray, shape: np.ndarray, *, message: str) -> np.ndarray:
    total, *rest = (int(d) for d in shape)
    found = sum(int(n) for n in lengths)
    if found != total or (lengths < 0).any():
        raise InvalidArgumentError(message.format(value=found, extent=total))
    table = np.zeros((len(lengths), len(shape) + 1), np.int64)
    table[:, 0] = 1 + (np.cumsum(lengths) - lengths) * int(np.prod(rest))
    table[:, 1] = lengths
    table[:, 2:] = rest
    return table


# The table of a tensor of a shape, cut into pieces of some lengths along its first axis.
ragged_pieces = define(
    "ragged_pieces",
    "_RaggedPieces(lengths: i64, shape: i64; message: string) -> table: i64",
    infer=lambda c: (c.dims(0)[0], c.dims(1)[0] + 1),
    reference=_pieces,
    lowering=lambda node: Native(
        ragged_pieces_kernel,
        arguments=(node.inputs[0].dims[0], node.inputs[1].dims[0]),
        errors=(numbered(node.attrs["message"]),),
        constants={"MOST": MOST_BYTES},
    ),
    examples=(
        'i64[3]=[1,0,3] i64[2]=[4,5]; message="{value} of {extent}"',
        'i64[2]=[2,2] i64[1]=[4]; message="{value} of {extent}"',
        'i64[0]=[] i64[2]=[0,3]; message="{value} of {extent}"',
    ),
)

# -- elements put in


def ragged_append_kernel(flat, value, out, total, count, begin, end):
    for j in range(count):
        out[total + j] = value[j]


ragged_append = define(
    "ragged_append",
    "_RaggedAppend(flat: T, value: T; T: type) -> output: T",
    infer=lambda c: (c.dims(0)[0] + c.inputs[1].size,),
    reference=lambda flat, value: np.concatenate([flat, value.reshape(-1)]),
    lowering=lambda node: Native(
        ragged_append_kernel,
        arguments=(node.inputs[0].dims[0], node.inputs[1].type.size),
        updates=0,
        moves=True,
    ),
    examples=("T[5] T[2,3]", "f32[0] f32[]", "f32[4] f32[0,2]"),
)


def ragged_place_kernel(table, index, shape, out, total, status, rows, rank, count, begin, end):
    total[0] = shape[0]
    width = 1
    for j in range(rank):
        width *= shape[1 + j]
    for i in range(count):
        at = index[i]
        if at < 0 or at >= rows:
            fail(status, 1, at, rows, 0)
            return
        row = at * (rank + 1)
        held = 1
        for j in range(rank):
            held *= out[row + 1 + j]
            if ADD == 1 and out[row] != 0 and out[row + 1 + j] != shape[1 + j]:
                fail(status, 2 + j, out[row + 1 + j], shape[1 + j], at)
                return
        if out[row] == 0 or held != width:
            out[row] = 1 + total[0]
            total[0] += width
        for j in range(rank):
            out[row + 1 + j] = shape[1 + j]


def _place(
    table: np.ndarray,
    index: np.ndarray,
    shape: np.ndarray,
    *,
    message: str,
    faults: tuple[str, ...],
) -> tuple[np.ndarray, np.ndarray]:
    result, total = table.copy(), int(shape[0])
    width = int(np.prod(shape[1:]))
    for at in index.reshape(-1):
        if not 0 <= at < len(table):
            raise InvalidArgumentError(message.format(value=at, extent=len(table)))
        row = result[at]
        held = int(np.prod(row[1:]))
        for axis in np.flatnonzero(row[1:] != shape[1:]) if faults and row[0] else ():
            text = faults[axis].format(a=row[1 + axis], b=shape[1 + axis], c=at)
            raise InvalidArgumentError(text)
        if row[0] == 0 or held != width:
            row[0] = 1 + total
            total += width
        row[1:] = shape[1:]
    return result, np.array([total])


# The table with room for elements at some indices, and how long `flat` must be for it. `shape`: how
# long it is, then the dims of these elements. `faults`, where elements add up: a message for each
# axis along which the new one differs.
ragged_place = define(
    "ragged_place",
    "_RaggedPlace(table: i64, index: Tindex, shape: i64; message: string,"
    " faults: list(string) = [], Tindex: {i32, i64}) -> (output: i64, total: i64)",
    infer=lambda c: [c.dims(0), (1,)],
    reference=_place,
    lowering=lambda node: Native(
        ragged_place_kernel,
        arguments=(
            node.inputs[0].dims[0],
            node.inputs[0].dims[1] - 1,
            node.inputs[1].type.size,
        ),
        errors=(numbered(node.attrs["message"]), *node.attrs["faults"]),
        constants={"ADD": int(bool(node.attrs["faults"]))},
        updates=0,
    ),
    examples=(
        'i64[2,2]=[1,3,4,2] i32[]=1 i64[2]=[5,2]; message="out"',
        'i64[2,2]=[1,3,4,2] i32[]=0 i64[2]=[5,4]; message="out"',
        'i64[3,2]=[1,3,0,0,4,2] i64[2]=[1,2] i64[2]=[5,1]; message="out"',
        'i64[2,2]=[1,3,0,0] i32[]=0 i64[2]=[3,3]; message="out", faults=("no",)',
    ),
)


def ragged_fill_kernel(
    flat, table, index, value, shape, out, old, new, columns, count, width, begin, end
):
    for i in range(old, new):
        out[i] = 0
    for i in range(count):
        at = table[index[i] * columns] - 1
        for j in range(width):
            if ADD == 1:
                out[at + j] += value[i * width + j]
            else:
                out[at + j] = value[i * width + j]


def _fill(
    flat: np.ndarray,
    table: np.ndarray,
    index: np.ndarray,
    value: np.ndarray,
    shape: np.ndarray,
    *,
    add: bool,
) -> np.ndarray:
    result = np.zeros(int(shape[0]), flat.dtype)
    result[: len(flat)] = flat
    for place in np.ndindex(index.shape):
        start = int(table[index[place], 0]) - 1
        part, new = result[start : start + value[place].size], value[place].reshape(-1)
        part[:] = part + new if add else new
    return result


# `flat` with elements where a table that has room for them says. `shape`: how long it becomes.
ragged_fill = define(
    "ragged_fill",
    "_RaggedFill(flat: T, table: i64, index: Tindex, value: T, shape: i64; add: bool = False,"
    " T: type, Tindex: {i32, i64}) -> output: T",
    infer=lambda c: (as_dim(c.need(4)[0]),),
    reference=_fill,
    lowering=lambda node: Native(
        ragged_fill_kernel,
        arguments=(
            node.inputs[0].dims[0],
            node.output.dims[0],
            node.inputs[1].dims[1],
            node.inputs[2].type.size,
            product(node.inputs[3].dims[node.inputs[2].type.rank :]),
        ),
        constants={"ADD": int(node.attrs["add"])},
        updates=0,
        moves=not node.attrs["add"],
    ),
    examples=(
        "T[5] i64[2,2]=[1,3,4,2] i32[]=1 T[2] i64[1]=[5]",
        "f32[5] i64[2,2]=[6,4,4,2] i64[]=0 f32[4] i64[1]=[9]",
        "f32[3] i64[3,3]=[1,1,3,4,1,2,6,1,2] i32[2]=[2,1] f32[2,1,2] i64[1]=[7]",
        "i32[5] i64[2,2]=[1,3,4,2] i32[]=0 i32[3] i64[1]=[5]; add=True",
    ),
)

# -- elements taken out


def ragged_find_kernel(table, index, shape, out, status, rows, rank, begin, end):
    for j in range(rank + 2):
        out[j] = 0
    at = index[0]
    if at < 0 or at >= rows:
        fail(status, 1, at, rows, 0)
        return
    row = at * (rank + 1)
    out[0] = table[row]
    out[1] = shape[0]
    width = 1
    for j in range(rank):
        wanted = shape[1 + j]
        held = table[row + 1 + j]
        if out[0] == 0:
            if wanted < 0:
                fail(status, 2, at, 0, 0)
                return
            held = wanted
        elif wanted >= 0 and wanted != held:
            fail(status, 3, held, wanted, j)
            return
        out[2 + j] = held
        width *= held
    if out[0] > 0 and out[0] - 1 + width == shape[0]:
        out[1] = out[0] - 1


MISMATCH = (
    "Incompatible shapes during merge: an element has size {a} along axis {c}, where {b} is asked"
    " for"
)


def _find(
    table: np.ndarray, index: np.ndarray, shape: np.ndarray, *, message: str, unset: str
) -> np.ndarray:
    at = int(index)
    if not 0 <= at < len(table):
        raise InvalidArgumentError(message.format(value=at, extent=len(table)))
    start, *dims = (int(d) for d in table[at])
    total, *wanted = (int(d) for d in shape)
    for axis, (held, asked) in enumerate(zip(dims, wanted)):
        if start == 0 and asked < 0:
            raise InvalidArgumentError(unset.format(value=at))
        if start and asked not in (-1, held):
            raise InvalidArgumentError(MISMATCH.format(a=held, b=asked, c=axis))
    dims = dims if start else wanted
    is_last = start and start - 1 + int(np.prod(dims)) == total
    return np.array([start, start - 1 if is_last else total, *dims])


# Where an element is: 1 + its place (0: zeros), how long `flat` is without it where it stands last,
# its dims. `shape`: how long `flat` is, then the dims that are asked for, -1 for any.
ragged_find = define(
    "ragged_find",
    "_RaggedFind(table: i64, index: Tindex, shape: i64; message: string, unset: string,"
    " Tindex: {i32, i64}) -> place: i64",
    infer=lambda c: (c.dims(2)[0] + 1,),
    reference=_find,
    lowering=lambda node: Native(
        ragged_find_kernel,
        arguments=(node.inputs[0].dims[0], node.inputs[0].dims[1] - 1),
        errors=(numbered(node.attrs["message"]), numbered(node.attrs["unset"]), MISMATCH),
    ),
    examples=(
        'i64[2,2]=[1,3,4,2] i32[]=1 i64[2]=[5,-1]; message="out", unset="none"',
        'i64[2,2]=[1,3,4,2] i64[]=0 i64[2]=[5,3]; message="out", unset="none"',
        'i64[2,3]=[0,0,0,1,2,2] i64[]=0 i64[3]=[4,2,1]; message="out", unset="none"',
        'i64[2,1]=[1,2] i32[]=0 i64[1]=[2]; message="out", unset="none"',
    ),
)


def linear(index: tuple[Dim, ...], dims: Dims) -> Dim:
    place: Dim = 0
    for i, size in zip(index, dims, strict=True):
        place = place * size + i
    return place


def _lower_get(node: Node) -> Lowering:
    flat, start, _ = node.inputs
    dims = node.output.dims

    def read(k: Any, at: tuple[Dim, ...]) -> Any:
        first = size_scalar(k, start, 1, 0, flat.dims[0] + 1)
        zero = k.const(np.zeros((), flat.type.dtype.numpy), flat.type.dtype)
        is_set = k.in_range(first, 1, flat.dims[0] + 1)
        return k.load_if(is_set, 0, (first - 1 + linear(at, dims),), zero)

    return View(read)


def element_at(flat: np.ndarray, start: np.ndarray, shape: np.ndarray) -> np.ndarray:
    dims, first = tuple(int(d) for d in shape), int(start[0])
    if first == 0:
        return np.zeros(dims, flat.dtype)
    return flat[first - 1 : first - 1 + int(np.prod(dims))].reshape(dims).copy()


# An element of some dims, whose first number is the one at start - 1; zeros where start is 0.
ragged_get = define(
    "ragged_get",
    "_RaggedGet(flat: T, start: i64, shape: i64; T: type) -> output: T",
    infer=lambda c: c.need_sizes(2),
    reference=element_at,
    lowering=_lower_get,
    examples=(
        "T[7] i64[1]=[2] i64[2]=[2,3]",
        "f32[5] i64[1]=[0] i64[1]=[4]",
        "f32[5] i64[1]=[5] i64[0]=[]",
        "f32[5] i64[1]=[3] i64[2]=[0,4]",
    ),
)
