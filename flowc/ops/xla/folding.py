"""XLA's folds by functions of the graph: of whole dimensions, of windows, and back into windows.

In: tensors, the values that the folds begin with, functions of two scalars (or as many pairs of
them as there are tensors). Out: what the functions make of the elements, in their order but in any
grouping. Invariant: as in XLA, a fold takes its first value once, and no padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, maximum, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.xla.dimension_numbers import check_axes
from flowc.ops.xla.moving import WITH_BOOL
from flowc.ops.xla.scalar_functions import (
    change_elements,
    check_results,
    combining_op,
    constant,
    for_elements,
    inference_of,
    values,
)

MOST_TAPS = 1 << 12  # elements of a window that are looked at one by one
_FOLDS = {
    "add": "sum",
    "mul": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
Attrs = Mapping[str, Any]


def infer_first(c: Inference) -> Dims:
    """The result is what input 0 is, with other elements."""
    return c.dims(0)


# -- whole dimensions


def _infer_reduce(c: Inference) -> list[Dims]:
    half, axes = len(c.inputs) // 2, c.attrs["dimensions_to_reduce"]
    check_axes(c, axes, c.rank(0), "dimensions_to_reduce")
    for i in range(half):
        c.match_dims(c.dims(0), c.dims(i), "the inputs must have one shape")
        c.need_rank(half + i, 0, "folds begin with scalars")
    kept = tuple(d for a, d in enumerate(c.dims(0)) if a not in axes)
    return [kept] * half


def _reduce(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    given = values(x, inputs)
    half = len(given) // 2
    arrays, starts = given[:half], given[half:]
    rank, axes = arrays[0].type.rank, tuple(attrs["dimensions_to_reduce"])
    _infer_reduce(inference_of(x, given, attrs))
    if not axes:
        return arrays
    b, function = x.b, attrs["reducer"]
    fold = _FOLDS.get(combining_op(x, function, arrays[0].type.dtype)) if half == 1 else None
    if fold is not None:
        folded = [getattr(b, fold)(arrays[0], np.array(axes, np.int32))]
    else:
        kept = tuple(a for a in range(rank) if a not in axes)
        dims = tuple(arrays[0].dims[a] for a in kept)
        count = product(arrays[0].dims[a] for a in axes)
        lines = [b.reshape(b.transpose(a, (*kept, *axes)), (*dims, count)) for a in arrays]
        if count == 0:
            return [b.broadcast_to(s, dims) for s in starts]
        folded = [b.reshape(line, dims) for line in _fold_lines(x, function, lines)]
    first = [b.broadcast_to(s, folded[0].dims) for s in starts]
    found = for_elements(x, function, [*first, *folded])
    check_results(x, found, arrays)
    return found


def _fold_lines(x: Extractor, function: Any, lines: list[Value]) -> list[Value]:
    """Folds the last dimension: neighbours in pairs, until one is left."""
    b, count = x.b, lines[0].dims[-1]
    if not isinstance(count, int):
        raise UnsupportedError(
            f"'{x.name}' folds a dimension whose size the run knows, by a function of its own",
            node=x.name,
        )
    rank = lines[0].type.rank
    while count > 1:
        half = count // 2
        evens, odds = (
            [_part(x, line, rank - 1, first, half, 2) for line in lines] for first in (0, 1)
        )
        found = for_elements(x, function, [*evens, *odds])
        if count % 2:
            rest = [_part(x, line, rank - 1, count - 1, 1) for line in lines]
            found = [b.concat(f, r, np.int32(rank - 1)) for f, r in zip(found, rest)]
        lines, count = found, half + count % 2
    return lines


def _part(
    x: Extractor, value: Value, axis: int, first: Dim, count: Dim, step: int = 1
) -> Value:  # fmt: skip
    """Every `step`-th element along an axis, `count` of them."""
    b, rank = x.b, value.type.rank
    begin = (0,) * axis + (first,) + (0,) * (rank - 1 - axis)
    span = (count - 1) * step + 1
    cut = b.slice(
        value, b.sizes(begin), b.sizes((*value.dims[:axis], span, *value.dims[axis + 1 :]))
    )
    if step == 1:
        return cut
    steps = np.ones(rank, np.int32)
    steps[axis] = step
    zeros = np.zeros(rank, np.int32)
    return b.strided_slice(cut, zeros, b.sizes(cut.dims), steps)


# -- windows


@dataclass(frozen=True, slots=True)
class _Elements:
    """Padded elements; `real` tells them from padding, where there is any."""

    value: Value
    real: Value | None

    def part(self, x: Extractor, axis: int, first: Dim, count: Dim, step: int = 1) -> _Elements:
        real = None if self.real is None else _part(x, self.real, axis, first, count, step)
        return _Elements(_part(x, self.value, axis, first, count, step), real)

    def joined(self, x: Extractor, function: Any, other: _Elements) -> _Elements:
        (both,) = for_elements(x, function, [self.value, other.value])
        if self.real is None or other.real is None:
            return _Elements(both, None)
        b = x.b
        found = b.select_v2(other.real, b.select_v2(self.real, both, other.value), self.value)
        return _Elements(found, b.logical_or(self.real, other.real))


def _padded(x: Extractor, value: Value, start: Value, pads: Any, gaps: Any) -> _Elements:
    b = x.b
    low, high = (np.ascontiguousarray(pads[:, i], np.int32) for i in (0, 1))
    between = np.asarray(gaps, np.int32)
    if not (low.any() or high.any() or between.any()):
        return _Elements(value, None)
    true, false = (b.const(np.bool_(truth)) for truth in (True, False))
    real = b.xla_pad(b.broadcast_to(true, value.dims), false, low, high, between)
    return _Elements(b.xla_pad(value, start, low, high, between), real)


def _fold_runs(
    x: Extractor, function: Any, given: _Elements, axis: int, length: int, gap: int
) -> _Elements:
    """Folds `length` elements, `gap` apart, from each one on: runs of 1, 2, 4... elements, of which
    those are joined that add up to the length."""
    size = given.value.dims[axis]
    found: _Elements | None = None
    run, covered, power = given, 0, 1
    while True:
        if length & power:
            if found is None:
                found = run
            else:
                count = size - (covered + power - 1) * gap
                found = found.part(x, axis, 0, count).joined(
                    x, function, run.part(x, axis, covered * gap, count)
                )
            covered += power
        if covered == length:
            break
        count = size - (2 * power - 1) * gap
        if not isinstance(count, int) or count > 0:
            run = run.part(x, axis, 0, count).joined(
                x, function, run.part(x, axis, power * gap, count)
            )
        power *= 2
    assert found is not None
    return found


def _geometry(x: Extractor, rank: int, given: Sequence[Value]) -> list[Any]:
    """The window's numbers, one for each dimension, then its paddings."""
    *vectors, pads = (constant(x, v) for v in given)
    if any(v.shape != (rank,) or (v < 1).any() for v in vectors) or pads.shape != (rank, 2):
        raise InvalidArgumentError(
            f"'{x.name}' takes a window, strides and dilations of {rank} dimensions, at least 1 "
            "each, and as many pairs of paddings"
        )
    return [*(v.tolist() for v in vectors), pads.astype(np.int64)]


def _counts(dims: Dims, window: Any, strides: Any, apart: Any) -> list[Dim]:
    """How many windows there are along each dimension."""
    room = (d - ((w - 1) * a + 1) for d, w, a in zip(dims, window, apart))
    return [0 if isinstance(r, int) and r < 0 else r // s + 1 for r, s in zip(room, strides)]


def _infer_window(c: Inference) -> Dims:
    """What is wrong with the numbers is said when the node is extracted."""
    try:
        window, strides, spread, apart, pads = (c.need_ints(i) for i in range(2, 7))
    except NeedsContent:
        return tuple(c.fresh("n", None) for _ in c.dims(0))
    if min((*window, *strides, *spread, *apart), default=1) < 1:
        return tuple(c.fresh("n", None) for _ in c.dims(0))
    low, high = pads[::2], pads[1::2]
    dims = tuple(
        d + maximum(d - 1, 0) * (n - 1) + a + z for d, n, a, z in zip(c.dims(0), spread, low, high)
    )
    return tuple(_counts(dims, window, strides, apart))


def _reduce_window(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    value, start, *rest = values(x, inputs)
    window, strides, spread, apart, pads = _geometry(x, value.type.rank, rest)
    b, function = x.b, attrs["computation"]
    found = _padded(x, value, start, pads, [n - 1 for n in spread])
    counts = _counts(found.value.dims, window, strides, apart)
    if 0 in counts:
        return [b.broadcast_to(start, tuple(counts))]
    for axis in reversed(range(value.type.rank)):
        found = _fold_runs(x, function, found, axis, window[axis], apart[axis])
        found = found.part(x, axis, 0, counts[axis], strides[axis])
    first = b.broadcast_to(start, found.value.dims)
    (folded,) = for_elements(x, function, [first, found.value])
    check_results(x, [folded], [value])
    return [folded if found.real is None else b.select_v2(found.real, folded, first)]


def _select_and_scatter(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """Each element of the source goes to where its window's selected element is."""
    value, *geometry, source, start = values(x, inputs)
    b, rank = x.b, value.type.rank
    window, strides, pads = _geometry(x, rank, geometry)
    if int(np.prod(window)) > MOST_TAPS:
        raise UnsupportedError(f"'{x.name}' selects from more than {MOST_TAPS} elements")
    none, gaps = b.const(np.int64(-1)), [0] * rank
    numbers = b.range(
        b.const(np.int64(0)), b.scalar_size(value.type.size, dtypes.i64), b.const(np.int64(1))
    )
    placed = _padded(x, b.reshape(numbers, value.dims), none, pads, gaps).value
    padded = _padded(x, value, start, pads, gaps).value
    counts = _counts(padded.dims, window, strides, [1] * rank)
    best = place = None
    for tap in np.ndindex(*window):
        new, at = padded, placed
        for axis, first in enumerate(tap):
            new, at = (_part(x, v, axis, first, counts[axis], strides[axis]) for v in (new, at))
        if best is None or place is None:
            best, place = new, at
            continue
        (chosen,) = for_elements(x, attrs["select"], [best, new])
        zero = b.const(np.int64(0))
        keeps = b.logical_or(b.logical_and(chosen, b.greater_equal(place, zero)), b.less(at, zero))
        best, place = b.select_v2(keeps, best, new), b.select_v2(keeps, place, at)
    assert place is not None
    if source.dims != place.dims:
        raise InvalidArgumentError(f"'{x.name}': the source is {source.type}, not {place.type}")
    held = b.broadcast_to(start, (value.type.size,))
    rows, flat = b.reshape(place, (-1, 1)), b.reshape(source, (-1,))
    found = change_elements(x, attrs["scatter"], held, rows, flat)
    return [b.reshape(found, value.dims)]


_WINDOW = "window_dimensions: Tindices, window_strides: Tindices"
for _name, _signature, _infer, _emit in (
    (
        "xla_reduce",
        f"XlaReduce(input: T, init_value: T; T: {WITH_BOOL}, dimensions_to_reduce: list(int),"
        " reducer: func) -> output: T",
        _infer_reduce,
        _reduce,
    ),
    (
        "xla_variadic_reduce",
        f"XlaVariadicReduce(input: N*T, init_value: N*T; N: int >= 1, T: {WITH_BOOL},"
        " dimensions_to_reduce: list(int), reducer: func) -> output: N*T",
        _infer_reduce,
        _reduce,
    ),
    (
        "xla_variadic_reduce_v2",
        "XlaVariadicReduceV2(inputs: T, init_values: T; T: list(type) >= 1,"
        " dimensions_to_reduce: list(int), reducer: func) -> outputs: T",
        _infer_reduce,
        _reduce,
    ),
    (
        "xla_reduce_window",
        f"XlaReduceWindow(input: T, init_value: T, {_WINDOW}, base_dilations: Tindices,"
        f" window_dilations: Tindices, padding: Tindices; T: {WITH_BOOL}, Tindices: INDEX,"
        " computation: func) -> output: T",
        _infer_window,
        _reduce_window,
    ),
    (
        "xla_select_and_scatter",
        f"XlaSelectAndScatter(operand: T, {_WINDOW}, padding: Tindices, source: T, init_value: T;"
        " T: NUMBER, Tindices: INDEX, select: func, scatter: func) -> output: T",
        infer_first,
        _select_and_scatter,
    ),
):
    define(_name, _signature, infer=_infer, lowering=Extracted(_emit))
