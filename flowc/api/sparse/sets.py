"""`tf.sets`: sets in the rows of dense and sparse tensors.

In: tensors whose last axis holds sets, and whose other axes agree. Out: `SparseTensor`s of sorted
values, or sizes.
"""

from __future__ import annotations

from typing import Any

from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def set_size(a: SparseTensor, validate_indices: bool = True) -> Tensor:
    """How many different values each set of a sparse tensor has: int32, of its shape without the
    last axis. Raises `TypeError` for what is no `SparseTensor`."""
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected SparseTensor, got {a}.")
    return output("SetSize", *a.components(), validate_indices=validate_indices)


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The values that are in both sets. Raises `TypeError` and `ValueError` for dtypes that are no
    integers and strings, or differ, and for a sparse `a` with a dense `b` in the other order."""
    return _changed(a, b, "intersection", validate_indices)


def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """The values that are in `a` and not in `b`, or the other way where `aminusb` is False. Raises
    as `set_intersection`."""
    return _changed(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The values that are in one of the sets. Raises as `set_intersection`."""
    return _changed(a, b, "union", validate_indices)


_MIRRORED = {"a-b": "b-a", "b-a": "a-b"}


def _changed(a: Any, b: Any, operation: str, validate_indices: bool) -> SparseTensor:
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, operation = b, a, _MIRRORED.get(operation, operation)
    a, b = (x if isinstance(x, SparseTensor) else as_tensor(x) for x in (a, b))
    if a.dtype.base_dtype is not b.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    kinds = ["Sparse" if isinstance(x, SparseTensor) else "Dense" for x in (a, b)]
    parts = [p for x in (a, b) for p in (x.components() if isinstance(x, SparseTensor) else [x])]
    found = call(
        f"{kinds[0]}To{kinds[1]}SetOperation",
        *parts,
        set_operation=operation,
        validate_indices=validate_indices,
    )
    return SparseTensor(*found)
