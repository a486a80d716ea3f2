"""Where a slice of a dimension begins and how far it goes: the bounds that slicing ops share.

In: the masks and entries of a strided_slice, sizes, and bounds, of which some are known to the run
only. Out: the part of each dimension that is read. Invariant: bounds are clamped as those of
Python's slices are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.dataclass import dataclass
from flowc.dtypes import i64
from flowc.ir.dims import (
    Dim,
    ceildiv,
    floordiv,
    is_nonnegative,
    maximum,
    minimum,
)
from flowc.ir.op import Attrs
from flowc.ops.arrays.shapes import constant_ints, known_dims

if TYPE_CHECKING:
    from flowc.ir.computation import Node


@dataclass(frozen=True, slots=True)
class AxisSlice:
    """What a strided_slice does to one dimension of its input, or to a new one (`axis` is None).

    `entry`: the element of begin, end and strides that says it (None: the whole dimension).
    `kind`: `range`, `shrink` (one index, the dimension goes) or `new`.
    """

    kind: str
    axis: int | None
    entry: int | None
    from_begin: bool = False
    to_end: bool = False


def axis_slices(rank: int, count: int, attrs: Attrs) -> list[AxisSlice]:
    """Spells out TensorFlow's masks for an input of `rank` dims and `count` entries.

    Raises `ValueError` where they address more dims than there are.
    """
    ellipsis = [i for i in range(count) if attrs["ellipsis_mask"] >> i & 1]
    if len(ellipsis) > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed")
    at = ellipsis[0] if ellipsis else count
    is_new = [bool(attrs["new_axis_mask"] >> i & 1) for i in range(count)]
    used = sum(1 for i in range(count) if i != at and not is_new[i])
    if used > rank:
        raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
    result: list[AxisSlice] = []
    axis = 0
    for i in range(count + (0 if ellipsis else 1)):
        if i == at:
            whole = range(axis, axis + rank - used)
            result += [AxisSlice("range", a, None) for a in whole]
            axis += rank - used
        elif is_new[i]:
            result.append(AxisSlice("new", None, i))
        else:
            kind = "shrink" if attrs["shrink_axis_mask"] >> i & 1 else "range"
            from_begin = bool(attrs["begin_mask"] >> i & 1)
            to_end = bool(attrs["end_mask"] >> i & 1)
            result.append(AxisSlice(kind, axis, i, from_begin, to_end))
            axis += 1
    return result


_FAR = 1 << 40  # above every size


def wrap_index(value: Dim, dim: Dim) -> Dim:
    """`value`, counted from the end of the dimension where it is negative."""
    if isinstance(value, int):
        return value if value >= 0 else dim + value
    if is_nonnegative(value) or value == dim - 1:  # n - 1 is negative only where n is 0
        return value
    if is_nonnegative(-1 - value):
        return dim + value
    return value - dim * floordiv(value, _FAR)  # the quotient is -1 for negative values, else 0


def range_bounds(dim: Dim, begin: Dim | None, end: Dim | None, stride: int) -> tuple[Dim, Dim]:
    """The first index that a range reads, and how many. `begin`, `end`: None where masked."""
    if stride > 0 and end is None and isinstance(begin, int) and begin < 0:
        count = minimum(dim, -begin)  # what follows would give the same, harder to read
        return dim - count, ceildiv(count, stride)
    if stride > 0:
        first = 0 if begin is None else maximum(wrap_index(begin, dim), 0)
        last = dim if end is None else minimum(wrap_index(end, dim), dim)
        return first, ceildiv(maximum(last - first, 0), stride)
    first = dim - 1 if begin is None else minimum(wrap_index(begin, dim), dim - 1)
    last = -1 if end is None else maximum(wrap_index(end, dim), -1)
    return first, ceildiv(maximum(first - last, 0), -stride)


class KernelBounds:
    """Reads the bounds of a strided_slice inside a kernel, or takes those that are known."""

    def __init__(self, node: Node) -> None:
        self.begins = known_dims(node.inputs[1])
        self.strides = constant_ints(node, 3)

    def first(self, k: Any, part: AxisSlice, dim: Dim, stride: int) -> Dim:
        """The first index that a range reads."""
        assert part.entry is not None
        if part.from_begin or self.begins is not None:
            known = None if part.from_begin or self.begins is None else self.begins[part.entry]
            return range_bounds(dim, known, None, stride)[0]
        value, extent, zero = self._wrapped(k, part.entry, dim)
        one = k.const(1, i64)
        low, high = (zero, extent) if stride > 0 else (zero, k.sub(extent, one))
        return k.as_index(k.min(k.max(value, low), high), dim + 1)

    def only(self, k: Any, part: AxisSlice, dim: Dim) -> Dim:
        """The one index that a shrunk dimension keeps."""
        assert part.entry is not None
        message = f"slice index {{value}} of dimension {part.axis} out of bounds."
        if part.from_begin or self.begins is not None:
            known = 0 if part.from_begin or self.begins is None else self.begins[part.entry]
            place = wrap_index(known, dim)
            message = message.replace("{value}", str(known))
            if is_nonnegative(place) and is_nonnegative(dim - 1 - place):
                return place
            return k.checked_index(k.index_value(place, i64), dim, message)
        value, _, _ = self._wrapped(k, part.entry, dim)
        return k.checked_index(value, dim, message)

    def _wrapped(self, k: Any, entry: int, dim: Dim) -> tuple[Any, Any, Any]:
        value = k.cast(k.load(1, (entry,)), i64)
        extent, zero = k.index_value(dim, i64), k.const(0, i64)
        return k.select(k.lt(value, zero), k.add(value, extent), value), extent, zero
