"""Sets in the rows of tensors, dense or sparse: unions and the like, and sizes.

In: the last dim of a tensor holds sets. Out: sparse tensors [n, rank], the values of a set in
ascending order, of dense numbers by a native kernel, else by host steps; or how many elements each
set has. Invariant: groups of both operands have the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import append_sized
from flowc.ops.host_ops import host, host_op
from flowc.ops.sparse.sparse_places import check_places, check_sparse

Array = np.ndarray[Any, Any]
Group = tuple[int, ...]
NUMBERS = "i8, i16, i32, i64, u8, u16"
TYPES = f"{{{NUMBERS}, string}}"
IN_FIRST, IN_SECOND = 1, 2  # where an element of both operands is
TOO_FEW_DIMS = "Invalid input set1 rank {rank}, expected at least 2"
OTHER_GROUPS = "Mismatched group shapes of the sets"
KEPT = {  # a bit for each sum of these whose elements an operation keeps
    "a-b": 1 << IN_FIRST,
    "b-a": 1 << IN_SECOND,
    "intersection": 1 << (IN_FIRST | IN_SECOND),
    "union": 1 << IN_FIRST | 1 << IN_SECOND | 1 << (IN_FIRST | IN_SECOND),
}
CHANGES: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _checked_change(name: str) -> Callable[[set[Any], set[Any]], set[Any]]:
    found = CHANGES.get(name.lower())
    if found is None:
        raise InvalidArgumentError(f"Invalid set_operation {name}.")
    return found


def _dense_sets(x: Array) -> tuple[dict[Group, set[Any]], Group]:
    if x.ndim < 2:
        raise InvalidArgumentError(TOO_FEW_DIMS.format(rank=x.ndim))
    sizes = x.shape[:-1]
    return {at: set(x[at].tolist()) for at in np.ndindex(*sizes)}, sizes


def _sparse_sets(parts: Sequence[Array], validate: bool) -> tuple[dict[Group, set[Any]], Group]:
    indices, values, sizes = parts
    if validate:
        check_places(indices, sizes)
    found: dict[Group, set[Any]] = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist()):
        found.setdefault(tuple(place), set()).add(value)
    return found, tuple(sizes[:-1].tolist())


def _changed(
    a: tuple[dict[Group, set[Any]], Group], b: tuple[dict[Group, set[Any]], Group],
    change: Callable[[set[Any], set[Any]], set[Any]], dtype: DType,
) -> list[Array]:  # fmt: skip
    if a[1] != b[1]:
        raise InvalidArgumentError(f"{OTHER_GROUPS} {list(a[1])} vs. {list(b[1])}")
    places: list[Group] = []
    values: list[Any] = []
    most = 0
    for group in sorted({*a[0], *b[0]}):
        found = sorted(change(a[0].get(group, set()), b[0].get(group, set())))
        most = max(most, len(found))
        places += [(*group, i) for i in range(len(found))]
        values += found
    rank = len(a[1]) + 1
    held = np.empty(len(values), object) if dtype.name == "string" else None
    if held is not None:
        held[:] = values
    return [
        np.array(places, np.int64).reshape(len(places), rank),
        np.array(values, dtype.numpy) if held is None else held,
        np.array([*a[1], most], np.int64),
    ]


def _result_dims(c: Inference, rank: Any) -> list[Dims]:
    count = c.fresh("n")
    return [(count, rank), (count,), (rank,)]


def _dense_dense(
    inputs: Sequence[Any], types: Sequence[DType], *, set_operation: str, validate_indices: bool
) -> list[Array]:
    a, b = inputs
    change = _checked_change(set_operation)
    return _changed(_dense_sets(a), _dense_sets(b), change, types[1])


def _dense_sparse(
    inputs: Sequence[Any], types: Sequence[DType], *, set_operation: str, validate_indices: bool
) -> list[Array]:
    a, *b = inputs
    change = _checked_change(set_operation)
    return _changed(_dense_sets(a), _sparse_sets(b, validate_indices), change, types[1])


def _sparse_sparse(
    inputs: Sequence[Any], types: Sequence[DType], *, set_operation: str, validate_indices: bool
) -> list[Array]:
    a, b = inputs[:3], inputs[3:]
    change = _checked_change(set_operation)
    first, second = (_sparse_sets(x, validate_indices) for x in (a, b))
    return _changed(first, second, change, types[1])


def _infer_operation(name: str) -> Callable[[Inference], list[Dims]]:
    def infer(c: Inference) -> list[Dims]:
        second = 1
        if name == "SparseToSparse":
            check_sparse(c, 0, 1, 2)
            second = 3
        check_sparse(c, second, second + 1, second + 2)
        return _result_dims(c, c.dims(0)[1] if second == 3 else c.rank(0))

    return infer


def _infer_dense(c: Inference) -> list[Dims]:
    for i in range(2):
        if c.rank(i) < 2:
            built = f"Shape must be at least rank 2 but is rank {c.rank(i)}"
            raise c.fail(TOO_FEW_DIMS.format(rank=c.rank(i)), built=built)
    c.match_dims(c.dims(0)[:-1], c.dims(1)[:-1], OTHER_GROUPS)
    if not c.builds and str(c.attrs["set_operation"]).lower() not in CHANGES:
        raise c.fail(f"Invalid set_operation {c.attrs['set_operation']}.")
    return _dense_results(c)


def _dense_results(c: Inference) -> list[Dims]:
    *groups, n = c.dims(0)
    count = c.fresh("n", product(groups) * (n + c.dims(1)[-1]))
    return [(count, c.rank(0)), (count,), (c.rank(0),)]


def sorted_sets_kernel(
    a: Any, b: Any, places: Any, values: Any, most: Any, sizes: Any,
    kept: int, groups: int, n: int, m: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Sets of ascending rows: goes through both rows of a group at once. `places` [n, 2]: the group
    of each element, and its place there."""
    count = 0
    largest = 0
    for group in range(groups):
        first = count
        i = group * n
        j = group * m
        while i < (group + 1) * n or j < (group + 1) * m:
            found = 3
            if j == (group + 1) * m:
                found = 1
            elif i == (group + 1) * n:
                found = 2
            elif a[i] < b[j]:
                found = 1
            elif b[j] < a[i]:
                found = 2
            value = b[j] if found == 2 else a[i]
            while i < (group + 1) * n and a[i] == value:
                i += 1
            while j < (group + 1) * m and b[j] == value:
                j += 1
            if (kept >> found) & 1 == 1:
                places[2 * count] = group
                places[2 * count + 1] = count - first
                values[count] = value
                count += 1
        if count - first > largest:
            largest = count - first
    most[0] = largest
    sizes[0] = count


def _in_order(b: Builder, rows: Value) -> Value:
    descending, _ = b.top_k(b.invert(rows), b.scalar_size(rows.dims[-1]))
    return b.invert(descending)


def _build_dense(b: Builder, node: Node) -> Sequence[Value]:
    """Sorts the rows, by which a kernel finds what both have in one pass."""
    rows = [x if x.dims[-1] == 1 else _in_order(b, x) for x in node.inputs]
    indices, values, shape = node.types
    types = (indices.with_dims((indices.dims[0], 2)), values, shape.with_dims((1,)))
    kept = {"kept": KEPT[node.attrs["set_operation"].lower()]}
    places, found, most = append_sized(b, "sorted_sets", rows, kept, types, node.sizes).outputs
    groups = b.sizes(node.inputs[0].dims[:-1], dtypes.i64)
    if len(node.inputs[0].dims) > 2:
        flat, place = b.split(np.int32(1), places, num_split=2)
        axes = b.unravel_index(b.reshape(flat, (indices.dims[0],)), groups)
        places = b.concat(b.transpose(axes, np.array([1, 0], np.int32)), place, np.int32(1))
    return [places, found, b.concat(groups, most, np.int32(0))]


def _lower_dense(node: Node) -> Lowering:
    if node.inputs[0].type.dtype is dtypes.string:
        return host(_dense_dense, "DenseToDenseSetOperation")
    return Decompose(_build_dense)


def _reference(a: Array, b: Array, *, set_operation: str) -> list[Array]:
    dtype = dtypes.as_dtype(a.dtype)
    return _changed(_dense_sets(a), _dense_sets(b), _checked_change(set_operation), dtype)


_SETTINGS = f"set_operation: string, validate_indices: bool = True, T: {TYPES}"
_SPARSE = "set{0}_indices: i64, set{0}_values: T, set{0}_shape: i64"
_RESULTS = "result_indices: i64, result_values: T, result_shape: i64"

define(
    "dense_to_dense_sets",
    f"DenseToDenseSetOperation(set1: T, set2: T; {_SETTINGS}) -> {_RESULTS}",
    infer=_infer_dense,
    lowering=_lower_dense,
    reference=_reference,
    examples=(
        "i32[2,3,5]~small i32[2,3,4]~small; set_operation='a-b'",
        "i64[3,4]~small i64[3,6]~small; set_operation='b-a'",
        "u8[3,7]~small u8[3,7]~small; set_operation='intersection'",
        "i16[1,9]~small i16[1,3]~small; set_operation='union'",
        "i8[4,0] i8[4,2]; set_operation='union'",
        "u16[2,0,3] u16[2,0,2]; set_operation='a-b'",
    ),
)


def _infer_sorted(c: Inference) -> list[Dims]:
    indices, values, _ = _dense_results(c)
    return [(indices[0], 2), values, (1,)]


def _lower_sorted(node: Node) -> Lowering:
    a, b = node.inputs
    *groups, n = a.dims
    arguments = (node.attrs["kept"], product(groups), n, b.dims[-1])
    return Native(sorted_sets_kernel, arguments=arguments)


def _sorted_sets(a: Array, b: Array, *, kept: int) -> list[Array]:
    operation = next(name for name, bits in KEPT.items() if bits == kept)
    rows, others = (x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) for x in (a, b))
    places, values, shape = _reference(rows, others, set_operation=operation)
    return [places, values, shape[1:]]


define(
    "sorted_sets",
    f"_SortedSets(set1: T, set2: T; kept: int, T: {{{NUMBERS}}})"
    " -> (places: i64, values: T, most: i64)",
    infer=_infer_sorted,
    lowering=_lower_sorted,
    reference=_sorted_sets,
    examples=(
        "i32[2,3]=[1,2,2,5,6,7] i32[2,2]=[2,3,-1,7]; kept=14",
        "u8[1,2,2]=[1,2,3,3] u8[1,2,1]=[2,9]; kept=2",
        "T[9,1]~small T[9,1]~small; kept=14",
    ),
)

for _tf_name, _inputs, _function in (
    ("DenseToSparse", f"set1: T, {_SPARSE.format(2)}", _dense_sparse),
    ("SparseToSparse", f"{_SPARSE.format(1)}, {_SPARSE.format(2)}", _sparse_sparse),
):
    host_op(
        "dense_to_sparse_sets" if _tf_name == "DenseToSparse" else "sparse_to_sparse_sets",
        f"{_tf_name}SetOperation({_inputs}; {_SETTINGS}) -> {_RESULTS}",
        _function,
        infer=_infer_operation(_tf_name),
    )


def _set_size(inputs: Sequence[Any], _: Sequence[DType], *, validate_indices: bool) -> list[Array]:
    if np.any(inputs[2] < 0):
        raise InvalidArgumentError(f"set_shape must not be negative, got {inputs[2].tolist()}")
    sets, sizes = _sparse_sets(inputs, validate_indices)
    found = np.zeros(sizes, np.int32)
    for group, own in sets.items():
        if not all(0 <= i < n for i, n in zip(group, sizes)):
            raise InvalidArgumentError(
                f"there is no set at {list(group)} in a tensor of sets of shape {list(sizes)}"
            )
        found[group] = len(own)
    return [found]


def _infer_size(c: Inference) -> Dims:
    check_sparse(c, 0, 1, 2)
    rank = c.dims(2)[0]
    if not isinstance(rank, int):
        raise c.fail("the rank of sets must be known")
    return tuple(c.fresh("n") for _ in range(rank - 1))


host_op(
    "set_size",
    "SetSize(set_indices: i64, set_values: T, set_shape: i64; validate_indices: bool = True, T:"
    f" {TYPES}) -> size: i32",
    _set_size,
    infer=_infer_size,
)
