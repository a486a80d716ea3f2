"""Ragged lists as a whole: stacked, joined, added.

In: lists as in ragged_lists.py. Out: one tensor of all elements, or a list of sums. Invariant:
elements that do not go together end the run before memory is touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import Dim
from flowc.ir.lowering import Lowering, Native, View
from flowc.ir.op import define
from flowc.ops.kernels.status import fail
from flowc.ops.lists.ragged_lists import element_at, linear

# Globals that the compiler gives to kernels: the first axis along which elements must be alike, and
# whether a table knows which elements were never set.
FROM = 0
SURE = 1

# -- elements that were never set


def ragged_lengths_kernel(table, leading, first, out, status, rows, columns, count, begin, end):
    common = first[0]
    for i in range(rows):
        if table[i * columns] == 0:
            continue
        held = table[i * columns + 1]
        if first[0] >= 0 and held != first[0]:
            fail(status, 1, i, first[0], held)
            return
        if SURE == 0 and i < count and leading[i] != held:
            fail(status, 4, i, leading[i], held)
            return
        if common == -1:
            common = held
        elif common != held:
            common = -2
    for i in range(rows):
        if table[i * columns] != 0:
            continue
        if i < count:
            if leading[i] < 0:
                fail(status, 3, i, leading[i], 0)
                return
            out[i * columns + 1] = leading[i]
        elif common >= 0:
            out[i * columns + 1] = common
        else:
            fail(status, 2, i, count, 0)
            return


def _lengths(
    table: np.ndarray,
    leading: np.ndarray,
    first: np.ndarray,
    *,
    faults: tuple[str, ...],
    sure: bool,
) -> np.ndarray:
    result, asked = table.copy(), int(first[0])
    held = {int(row[1]) for row in table if row[0]} | ({asked} if asked >= 0 else set())
    for i, (start, length, *_) in enumerate(table):
        given = int(leading[i]) if i < len(leading) else None
        if start and asked not in (-1, length):
            raise InvalidArgumentError(faults[0].format(a=i, b=asked, c=length))
        if start and not sure and given not in (None, length):
            raise InvalidArgumentError(faults[3].format(a=i, b=given, c=length))
        if start:
            continue
        if given is None and len(held) != 1:
            raise InvalidArgumentError(faults[1].format(a=i, b=len(leading), c=0))
        if given is not None and given < 0:
            raise InvalidArgumentError(faults[2].format(a=i, b=given, c=0))
        result[i, 1] = min(held) if given is None else given
    return result


# The table with a length for each element that was never set: that of `leading`, where it has one,
# else `first` (-1: not stated) or that of all others. `sure`: the table knows which were never set.
# `faults`: for element {a} of length {c} instead of {b}; without a length; of negative length {b};
# of length {c} for which `leading` has {b}, where it is not sure.
ragged_lengths = define(
    "ragged_lengths",
    "_RaggedLengths(table: i64, leading: i64, first: i64; faults: list(string), sure: bool = True)"
    " -> output: i64",
    infer=lambda c: c.dims(0),
    reference=_lengths,
    lowering=lambda node: Native(
        ragged_lengths_kernel,
        arguments=(*node.inputs[0].dims, node.inputs[1].dims[0]),
        errors=tuple(node.attrs["faults"]),
        constants={"SURE": int(node.attrs["sure"])},
        updates=0,
    ),
    examples=(
        'i64[3,3]=[1,2,2,0,0,0,5,2,2] i64[0]=[] i64[1]=[-1]; faults=("a","b","c","d")',
        'i64[3,2]=[1,2,0,0,3,4] i64[2]=[7,5] i64[1]=[-1]; faults=("a","b","c","d")',
        'i64[2,2]=[0,0,0,0] i64[1]=[3] i64[1]=[4]; faults=("a","b","c","d")',
        'i64[2,2]=[1,4,5,4] i64[1]=[4] i64[1]=[-1]; faults=("a","b","c","d"), sure=False',
    ),
)

# -- one tensor


def ragged_alike_kernel(table, asked, whole, out, status, rows, rank, begin, end):
    for j in range(rank):
        out[j] = asked[j]
    for i in range(rows):
        row = i * (rank + 1)
        if table[row] == 0:
            continue
        for j in range(rank):
            held = table[row + 1 + j]
            if out[j] < 0:
                out[j] = held
            elif j >= FROM and out[j] != held:
                fail(status, 1 + j, out[j], held, i)
                for axis in range(rank):
                    out[axis] = 0
                return
    if FROM == 1:
        out[0] = 0
        for i in range(rows):
            out[0] += table[i * (rank + 1) + 1]
    for j in range(rank):
        if out[j] < 0:
            status[0] = 1 + rank
            out[j] = 0


def _alike(
    table: np.ndarray, shape: np.ndarray, *, faults: tuple[str, ...], joined: bool
) -> tuple[np.ndarray, np.ndarray]:
    result = shape.copy()
    for i, (start, *dims) in enumerate(table):
        for axis, held in enumerate(dims if start else ()):
            if result[axis] < 0:
                result[axis] = held
            elif axis >= int(joined) and result[axis] != held:
                text = faults[axis].format(a=result[axis], b=held, c=i)
                raise InvalidArgumentError(text)
    if joined:
        result[0] = table[:, 1].sum()
    if (result < 0).any():
        raise InvalidArgumentError(faults[-1])
    return table.copy(), result


# The table once the dims in it are checked, and the dims of all elements; with `joined`, of all
# after one another along their first axis. `shape`: the dims that are asked for, -1 for any.
# `faults`: a message for each axis along which element {c} differs, then one for no element.
ragged_alike = define(
    "ragged_alike",
    "_RaggedAlike(table: i64, shape: i64; faults: list(string), joined: bool = False)"
    " -> (output: i64, dims: i64)",
    infer=lambda c: [c.dims(0), c.dims(1)],
    reference=_alike,
    lowering=lambda node: Native(
        ragged_alike_kernel,
        arguments=(node.inputs[0].dims[0], node.inputs[1].dims[0]),
        errors=tuple(node.attrs["faults"]),
        constants={"FROM": int(node.attrs["joined"])},
        updates=0,
    ),
    examples=(
        'i64[2,3]=[1,2,2,5,2,2] i64[2]=[-1,-1]; faults=("a","b","none")',
        'i64[2,3]=[1,2,2,5,3,2] i64[2]=[-1,2]; faults=("a","b","none"), joined=True',
        'i64[0,3]=[] i64[2]=[4,2]; faults=("a","b","none")',
        'i64[2,2]=[0,0,1,2] i64[1]=[-1]; faults=("a","none")',
    ),
)


def _lower_stack(node: Node) -> Lowering:
    flat = node.inputs[0]
    element = node.output.dims[1:]

    def read(k: Any, at: tuple[Dim, ...]) -> Any:
        first = k.load(1, (at[0], 0))
        start = k.as_index(first, flat.dims[0] + 1)
        zero = k.const(np.zeros((), flat.type.dtype.numpy), flat.type.dtype)
        is_set = k.in_range(start, 1, flat.dims[0] + 1)
        return k.load_if(is_set, 0, (start - 1 + linear(at[1:], element),), zero)

    return View(read)


def _stack(flat: np.ndarray, table: np.ndarray, shape: np.ndarray) -> np.ndarray:
    starts = [np.array([row[0]]) for row in table]
    found = [element_at(flat, start, shape) for start in starts]
    return np.stack(found) if found else np.zeros((0, *map(int, shape)), flat.dtype)


# The elements, all of the dims given, as one tensor.
ragged_stack = define(
    "ragged_stack",
    "_RaggedStack(flat: T, table: i64, shape: i64; T: type) -> output: T",
    infer=lambda c: (c.dims(1)[0], *c.need_sizes(2)),
    reference=_stack,
    lowering=_lower_stack,
    examples=(
        "T[9] i64[2,2]=[4,3,1,3] i64[1]=[3]",
        "f32[9] i64[3,3]=[4,1,2,0,0,0,7,1,2] i64[2]=[1,2]",
        "f32[0] i64[0,2]=[] i64[1]=[3]",
    ),
)


def ragged_join_kernel(flat, table, shape, out, rows, rank, total, begin, end):
    inner = 1
    for j in range(1, rank):
        inner *= shape[j]
    at = 0
    for i in range(rows):
        row = i * (rank + 1)
        width = table[row + 1] * inner
        if at + width > total:
            continue
        start = table[row] - 1
        for j in range(width):
            if start < 0:
                out[at + j] = 0
            else:
                out[at + j] = flat[start + j]
        at += width


def _join(flat: np.ndarray, table: np.ndarray, shape: np.ndarray) -> np.ndarray:
    found = [element_at(flat, row[:1], np.array([row[1], *shape[1:]])).reshape(-1) for row in table]
    return np.concatenate([np.zeros(0, flat.dtype), *found]).reshape(*map(int, shape))


# The elements one after another along their first axis. `shape`: what `ragged_alike` says of them.
ragged_join = define(
    "ragged_join",
    "_RaggedJoin(flat: T, table: i64, shape: i64; T: type) -> output: T",
    infer=lambda c: c.need_sizes(2),
    reference=_join,
    lowering=lambda node: Native(
        ragged_join_kernel,
        arguments=(
            node.inputs[1].dims[0],
            node.inputs[1].dims[1] - 1,
            node.output.type.size,
        ),
        moves=True,
    ),
    examples=(
        "T[9] i64[3,2]=[7,3,1,2,4,3] i64[1]=[8]",
        "f32[6] i64[2,3]=[3,2,2,1,1,2] i64[2]=[3,2]",
        "f32[2] i64[2,3]=[0,3,0,1,1,2] i64[2]=[4,2]",
        "f32[0] i64[0,2]=[] i64[1]=[0]",
    ),
)

# -- sums


def ragged_sum_kernel(
    flat, added, table, other, out, places, status, first, second, rows, rank, begin, end
):
    for i in range(rows * (rank + 1)):
        places[i] = table[i]
    for j in range(second):
        out[first + j] = added[j]
    for i in range(rows):
        row = i * (rank + 1)
        if other[row] == 0:
            continue
        if table[row] == 0:
            places[row] = first + other[row]
            for j in range(rank):
                places[row + 1 + j] = other[row + 1 + j]
            continue
        width = 1
        for j in range(rank):
            if table[row + 1 + j] != other[row + 1 + j]:
                fail(status, 1, i, table[row + 1 + j], other[row + 1 + j])
                return
            width *= table[row + 1 + j]
        for j in range(width):
            out[table[row] - 1 + j] += added[other[row] - 1 + j]


UNLIKE = (
    "Trying to add two lists of tensors with different shapes: elements {a} have sizes {b} and {c}"
    " along one axis"
)


def _sum(
    flat: np.ndarray, added: np.ndarray, table: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    result, places = np.concatenate([flat, added]), table.copy()
    for i, (mine, theirs) in enumerate(zip(table, other)):
        if theirs[0] and not mine[0]:
            places[i] = theirs
            places[i, 0] += len(flat)
        elif theirs[0]:
            for own, held in zip(mine[1:], theirs[1:]):
                if own != held:
                    raise InvalidArgumentError(UNLIKE.format(a=i, b=own, c=held))
            count = int(np.prod(mine[1:]))
            part = result[int(mine[0]) - 1 :][:count]
            part[:] = part + added[int(theirs[0]) - 1 :][:count]
    return result, places


# The numbers of a sum, behind each other for what only one of the lists holds, and its table.
ragged_sum = define(
    "ragged_sum",
    "_RaggedSum(flat: T, added: T, table: i64, other: i64; T: type) -> (output: T, places: i64)",
    infer=lambda c: [(c.dims(0)[0] + c.dims(1)[0],), c.dims(2)],
    reference=_sum,
    lowering=lambda node: Native(
        ragged_sum_kernel,
        arguments=(
            node.inputs[0].dims[0],
            node.inputs[1].dims[0],
            node.inputs[2].dims[0],
            node.inputs[2].dims[1] - 1,
        ),
        errors=(UNLIKE,),
        updates=0,
    ),
    examples=(
        "f32[5] f32[5] i64[2,2]=[1,3,4,2] i64[2,2]=[3,3,1,2]",
        "i32[3] i32[2] i64[3,2]=[1,3,0,0,0,0] i64[3,2]=[0,0,1,2,0,0]",
        "f64[0] f64[1] i64[1,1]=[0] i64[1,1]=[1]",
    ),
)
