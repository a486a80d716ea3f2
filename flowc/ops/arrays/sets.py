"""Ops that treat a vector, or the slices of a tensor, as a set: unique, list_diff and their kin.

In: vectors, or a tensor and an axis. Out: the distinct elements (slices), in the order in which
they first stand there. Invariant: numbers are compared with ==, so that NaNs all differ and 0.0
equals -0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Expr, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims, TensorType
from flowc.ops.arrays.shapes import append_sized, constant_ints
from flowc.ops.host_ops import host_op

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts by dtype.
    i64: Any = None

SLOT = 4  # bytes of one place in a hash table, which holds 1 + the position of an element, or 0
_SET = "{f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, bool}"
_SET_OF_TEXTS = f"{_SET[:-1]}, string}}"


def first_slot(value, places):
    """Inlined: where an element of a table is looked for first."""
    at = 0
    if value == value and value < 1e15 and value > -1e15:
        at = (i64(value * 64) * 2654435761 % places + places) % places
    return at


def entry_at(table, slot):
    """Inlined: 1 + the position of the element that is there, or 0."""
    low = i64(table[slot * 4]) | i64(table[slot * 4 + 1]) << 8
    return low | i64(table[slot * 4 + 2]) << 16 | i64(table[slot * 4 + 3]) << 24


def set_entry(table, slot, entry):
    table[slot * 4] = entry & 255
    table[slot * 4 + 1] = (entry >> 8) & 255
    table[slot * 4 + 2] = (entry >> 16) & 255
    table[slot * 4 + 3] = (entry >> 24) & 255


def insert(table, places, y, count, value):
    """Inlined: the position in y of an element, behind its first `count` when it is
    not one of those."""
    at = first_slot(value, places)
    found = -1
    while found < 0:
        entry = entry_at(table, at)
        if entry == 0:
            set_entry(table, at, count + 1)
            y[count] = value
            found = count
        elif y[entry - 1] == value:
            found = entry - 1
        else:
            at = 0 if at + 1 == places else at + 1
    return found


def clear(table, places):
    """Inlined: empties a hash table."""
    for i in range(places * 4):
        table[i] = 0


def unique_kernel(x, y, idx, sizes, scratch, n, begin, end):
    places = 2 * n + 1
    clear(scratch, places)
    count = 0
    for i in range(n):
        found = insert(scratch, places, y, count, x[i])
        if found == count:
            count += 1
        idx[i] = found
    sizes[0] = count


def unique_counts_kernel(x, y, idx, counts, sizes, scratch, n, begin, end):
    places = 2 * n + 1
    clear(scratch, places)
    count = 0
    for i in range(n):
        found = insert(scratch, places, y, count, x[i])
        if found == count:
            counts[count] = 0
            count += 1
        idx[i] = found
        counts[found] += 1
    sizes[0] = count


def unique_rows_kernel(x, first, idx, counts, sizes, scratch, n, m, begin, end):
    """`first`: where each distinct row stands for the first time."""
    places = 2 * n + 1
    clear(scratch, places)
    count = 0
    for i in range(n):
        at = 0
        for j in range(m):
            slot = first_slot(x[i * m + j], places)
            at = (at * 31 + slot) % places
        found = -1
        while found < 0:
            entry = entry_at(scratch, at)
            if entry == 0:
                set_entry(scratch, at, count + 1)
                first[count] = i
                counts[count] = 0
                found = count
                count += 1
            else:
                equal = True
                for j in range(m):
                    if x[first[entry - 1] * m + j] != x[i * m + j]:
                        equal = False
                if equal:
                    found = entry - 1
                else:
                    at = 0 if at + 1 == places else at + 1
        idx[i] = found
        counts[found] += 1
    sizes[0] = count


def list_diff_kernel(x, y, out, idx, sizes, scratch, n, m, begin, end):
    places = 2 * m + 1
    clear(scratch, places)
    count = 0
    # The elements of y enter the table; then each of x that is not in it is kept.
    for i in range(m + n):
        value = y[i] if i < m else x[i - m]
        at = first_slot(value, places)
        searching = True
        while searching:
            entry = entry_at(scratch, at)
            if entry == 0:
                searching = False
                if i < m:
                    set_entry(scratch, at, i + 1)
                else:
                    out[count] = value
                    idx[count] = i - m
                    count += 1
            elif y[entry - 1] == value:
                searching = False
            else:
                at = 0 if at + 1 == places else at + 1
    sizes[0] = count


def known_list_diff_kernel(x, y, out, idx, n, m, begin, end):
    """`list_diff_kernel` where the number of elements is known: both vectors are short."""
    count = 0
    for i in range(n):
        kept = True
        for j in range(m):
            if x[i] == y[j]:
                kept = False
        if kept:
            out[count] = x[i]
            idx[count] = i
            count += 1


def _infer_unique(c: Inference) -> list[Dims]:
    c.need_rank(0, 1, "unique expects a 1D vector.")
    (n,) = c.dims(0)
    distinct: Dims = (c.fresh("unique", n),)
    return [distinct, (n,), distinct][: len(c.op.signature.outputs)]


def _infer_unique_along(c: Inference) -> list[Dims]:
    c.need_rank(1, 1, "axis expects a 1D vector.")
    axes = list(c.need_ints(1))
    if not axes:
        return _infer_unique(c)
    if len(axes) > 1:
        raise c.fail("axis does not support input tensors larger than 1 elements")
    dims, axis = list(c.dims(0)), axes[0]
    if not -len(dims) <= axis < len(dims):
        raise c.fail(f"axis has to be between [0, {len(dims)})")
    n = dims[axis]
    dims[axis] = distinct = c.fresh("unique", n)
    return [tuple(dims), (n,), (distinct,)][: len(c.op.signature.outputs)]


def _infer_unique_rows(c: Inference) -> list[Dims]:
    distinct: Dims = (c.fresh("unique", c.dims(0)[0]),)
    return [distinct, c.dims(0)[:1], distinct]


def _lower_unique_rows(node: Node) -> Lowering:
    n, m = node.inputs[0].dims
    return Native(unique_rows_kernel, arguments=(n, m), scratch=(2 * n + 1) * SLOT)


def _lower_unique_along(b: Any, node: Node) -> Sequence[Value]:
    """Unique elements of a vector; else slices along the axis, taken as rows, of which the distinct
    ones are gathered."""
    x = node.inputs[0]
    axes = constant_ints(node, 1)
    axis = axes[0] % x.type.rank if axes else 0
    if x.type.rank == 1:
        name = node.op.name.removesuffix("_v2")
        return append_sized(b, name, (x,), node.attrs, node.types, node.sizes).outputs
    order = [axis, *(a for a in range(x.type.rank) if a != axis)]
    n = x.dims[axis]
    others = product(d for a, d in enumerate(x.dims) if a != axis)
    rows = b.reshape(b.transpose(x, np.array(order, np.int32)), (n, others))
    distinct, idx = node.types[0].dims[axis : axis + 1], node.types[1]
    types = (TensorType(dtypes.i64, distinct), idx, idx.with_dims(distinct))
    found = append_sized(b, "unique_rows", (rows,), node.attrs, types, node.sizes).outputs
    return (b.gather(x, found[0], np.int32(axis)), *found[1:])[: len(node.outputs)]


def _unique_texts(inputs: Sequence[Any], types: Sequence[DType]) -> list[np.ndarray]:
    return [np.ascontiguousarray(a) for a in _unique(inputs[0], types[1])]


def _build_unique_texts(b: Any, node: Node) -> Sequence[Value]:
    x, distinct = node.inputs[0], node.types[0].dims
    types = (*node.types[:2], node.types[1].with_dims(distinct))
    found = append_sized(b, "unique_texts", (x,), node.attrs, types, node.sizes).outputs
    return found[: len(node.outputs)]


def _lower_unique(node: Node) -> Lowering:
    if node.inputs[0].type.dtype is dtypes.string:
        return Decompose(_build_unique_texts)
    (n,) = node.inputs[0].dims
    kernel = unique_kernel if len(node.outputs) == 2 else unique_counts_kernel
    return Native(kernel, arguments=(n,), scratch=(2 * n + 1) * SLOT)


def _unique(x: np.ndarray, out_idx: DType) -> list[np.ndarray]:
    seen: dict[Any, int] = {}
    first: list[int] = []
    counts: list[int] = []
    idx = np.empty(x.shape, out_idx.numpy)
    for i, value in enumerate(x.tolist()):
        key = i + 0.5j if value != value else value
        if key not in seen:
            seen[key] = len(first)
            first.append(i)
            counts.append(0)
        idx[i] = seen[key]
        counts[seen[key]] += 1
    return [x[np.array(first, np.int64)], idx, np.array(counts, out_idx.numpy)]


def _unique_rows(x: np.ndarray, out_idx: DType) -> list[np.ndarray]:
    """Rows as one number each: of the first row that is equal."""
    equal = [np.flatnonzero((x[: i + 1] == row).all(axis=1)) for i, row in enumerate(x)]
    labels = np.array([e[0] if len(e) else len(x) + i for i, e in enumerate(equal)], np.int64)
    first, idx, counts = _unique(labels, out_idx)
    return [np.where(first < len(x), first, first - len(x)), idx, counts]


def _unique_along(x: np.ndarray, axis: np.ndarray, *, out_idx: DType) -> list[np.ndarray]:
    along = int(axis[0]) if len(axis) else 0
    rows = np.moveaxis(x, along, 0)
    first, idx, counts = _unique_rows(rows.reshape(len(rows), rows[:1].size), out_idx)
    return [np.take(x, first, axis=along), idx, counts]


def _infer_list_diff(c: Inference) -> list[Dims]:
    for i, name in enumerate("xy"):
        c.need_rank(i, 1, f"{name} should be a 1D vector.")
    x, y = c.content(0), c.content(1)
    if x is None or y is None or _holds_sizes(x) or _holds_sizes(y):
        kept: Dims = (c.fresh("kept", c.dims(0)[0]),)
    else:  # the axes that a reduction leaves: the gradient of Prod transposes by them
        kept = (int(np.count_nonzero(~np.isin(x, y))),)
    return [kept, kept]


def _holds_sizes(content: np.ndarray) -> bool:
    return any(isinstance(element, Expr) for element in content.flat)


def numbered_texts(b: Any, x: Value, y: Value) -> list[Value]:
    """Two vectors of texts as numbers: equal texts have one."""
    (count,), (other_count,) = x.dims, y.dims
    _, numbers = b.unique(b.concat(x, y, np.int32(0)))
    return [b.slice(numbers, (0,), (count,)), b.slice(numbers, (count,), (other_count,))]


def _build_list_diff_of_texts(b: Any, node: Node) -> Sequence[Value]:
    x, y = node.inputs
    attrs, types = {"out_idx": node.attrs["out_idx"]}, list(node.types)
    types[0] = TensorType(dtypes.i32, types[0].dims)
    numbers = numbered_texts(b, x, y)
    _, places = append_sized(b, "list_diff", numbers, attrs, types, node.sizes).outputs
    return [b.gather(x, places, np.int32(0)), places]


def _lower_list_diff(node: Node) -> Lowering:
    if node.inputs[0].type.dtype is dtypes.string:
        return Decompose(_build_list_diff_of_texts)
    n, m = node.inputs[0].dims[0], node.inputs[1].dims[0]
    if not node.sizes:
        return Native(known_list_diff_kernel, arguments=(n, m))
    return Native(list_diff_kernel, arguments=(n, m), scratch=(2 * m + 1) * SLOT)


def _list_diff(x: np.ndarray, y: np.ndarray, *, out_idx: DType) -> list[np.ndarray]:
    kept = np.flatnonzero(~np.isin(x, y))
    return [x[kept], kept.astype(out_idx.numpy)]


def _list_diff_content(x: np.ndarray, y: np.ndarray, *, out_idx: DType) -> list[np.ndarray]:
    if _holds_sizes(x) or _holds_sizes(y):
        raise TypeError("sizes that are not known cannot be compared")
    return _list_diff(x, y, out_idx=out_idx)


_ALONG = (
    "f32[9]~small i64[1]=[0]",
    "i32[5]~small i32[0]",
    "i32[6,2,1]~small i32[1]=[-3]",
    "i64[2,7]=[1,2,1,1,2,3,1,0,0,0,1,0,0,0] i64[1]=[1]",
    "f32[0,2] i64[1]=[0]",
    "f32[3,0] i64[1]=[0]",
    "f32[3,0] i64[1]=[-1]",
)

unique = define(
    "unique",
    f"Unique(x: T; T: {_SET_OF_TEXTS}, out_idx: {{i32, i64}} = i32) -> (y: T, idx: out_idx)",
    infer=_infer_unique,
    reference=lambda x, *, out_idx: _unique(x, out_idx)[:2],
    lowering=_lower_unique,
    examples=("T[9]~small", "f32[7]; out_idx=i64", "i32[0]", "i64[4]=[-5,-5,7,-5]"),
)

unique_texts = host_op(
    "unique_texts",
    "_UniqueTexts(x: string; out_idx: {i32, i64} = i32)"
    " -> (y: string, idx: out_idx, count: out_idx)",
    _unique_texts,
    infer=_infer_unique,
    shown="Unique",
)

unique_v2 = define(
    "unique_v2",
    f"UniqueV2(x: T, axis: Taxis; T: {_SET}, Taxis: {{i32, i64}} = i64,"
    " out_idx: {i32, i64} = i32) -> (y: T, idx: out_idx)",
    infer=_infer_unique_along,
    reference=lambda x, axis, *, out_idx: _unique_along(x, axis, out_idx=out_idx)[:2],
    lowering=Decompose(_lower_unique_along),
    examples=(*_ALONG, "T[9,1]~small i64[1]=[0]"),
)

unique_with_counts_v2 = define(
    "unique_with_counts_v2",
    f"UniqueWithCountsV2(x: T, axis: Taxis; T: {_SET}, Taxis: {{i32, i64}} = i64,"
    " out_idx: {i32, i64} = i32) -> (y: T, idx: out_idx, count: out_idx)",
    infer=_infer_unique_along,
    reference=_unique_along,
    lowering=Decompose(_lower_unique_along),
    examples=(*_ALONG, "f32[5,2]~small i64[1]=[0]; out_idx=i64"),
)

unique_rows = define(
    "unique_rows",
    f"_UniqueRows(x: T; T: {_SET}, out_idx: {{i32, i64}} = i32)"
    " -> (first: i64, idx: out_idx, count: out_idx)",
    infer=_infer_unique_rows,
    reference=lambda x, *, out_idx: _unique_rows(x, out_idx),
    lowering=_lower_unique_rows,
    examples=("T[7,2]~small", "i32[3,0]; out_idx=i64", "f32[0,2]"),
)

unique_with_counts = define(
    "unique_with_counts",
    f"UniqueWithCounts(x: T; T: {_SET_OF_TEXTS}, out_idx: {{i32, i64}} = i32)"
    " -> (y: T, idx: out_idx, count: out_idx)",
    infer=_infer_unique,
    reference=lambda x, *, out_idx: _unique(x, out_idx),
    lowering=_lower_unique,
    examples=("T[9]~small", "i32[0]; out_idx=i64"),
)

list_diff = define(
    "list_diff",
    f"ListDiff(x: T, y: T; T: {_SET_OF_TEXTS}, out_idx: {{i32, i64}} = i32)"
    " -> (out: T, idx: out_idx)",
    infer=_infer_list_diff,
    reference=_list_diff,
    lowering=_lower_list_diff,
    examples=("T[9]~small T[3]~small", "i32[3]=[1,2,1] i32[0]", "f32[0] f32[2]; out_idx=i64"),
    content=_list_diff_content,
)
