"""Winograd's weights, transformed by the run that computes them.

In: a `WinogradSpec` of windows without sections. Out: kernel source that writes what
`pack_winograd_weights` makes of weights that are known, all sums in the elements' own dtype.

Invariant: an element depends on the weights of its own pair of channels only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from llvmlite import ir

from flowc.codegen.cpu.blocked import ContractionSource, arguments_of, function_text, indented
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.winograd.source import COLUMNS, WinogradSpec
from flowc.codegen.llvm.vector_ir import (
    Index,
    Routine,
    Value,
    Values,
    counted_loop,
    index_range,
    indices,
    load_vector,
    offset,
    store_vector,
)
from flowc.ir.dims import Dim, ceildiv


def transformed_elements(spec: WinogradSpec, seen: Dim, n: Dim) -> Dim:
    """How many there are of `seen` channels, those that all taps of the depth see, and `n`."""
    columns = spec.shape.columns
    return spec.winograd.positions * seen * ceildiv(n, columns) * columns


def transform_source(spec: WinogradSpec) -> ContractionSource:
    """Transforms weights[kernel_d, *window, channels, n], a task for each channel that is seen.

    Arguments: `weights, packed`; `kernel_d channels n`; `begin, end`. Of the last panel, columns
    behind `n` are zeros.
    """
    assert spec.sections_in_all == 1
    name = f"winograd_weights_{spec.winograd.name}"
    arguments = arguments_of(spec.shape, "weights packed", ["kernel_d", "channels", "n"], ())
    call = f"{name}(packed, weights, begin, end, kernel_d * channels, channels, n)"
    text = function_text("transform_weights", arguments, indented(call, 4))
    tasks = "kernel_d * channels"
    return ContractionSource("transform_weights", text, arguments, tasks, 0, _symbols(spec, name))


@lru_cache(maxsize=64)
def _symbols(spec: WinogradSpec, name: str) -> dict[str, Any]:
    full = f"winograd_weights.{spec.shape.name}.{spec.winograd.name}"
    emit = lambda b, values: _emit(b, values, spec)
    return {name: Routine(full, spec.shape.dtype, "ppiiiii", emit, shared=True).function}


def _emit(b: ir.IRBuilder, args: Values, spec: WinogradSpec) -> None:
    packed, weights = args[:2]
    begin, end, seen, channels, n = indices(b, args[2:])
    shape, winograd = spec.shape, spec.winograd
    window_h, window_w = winograd.h.window, winograd.w.window
    to_next_tap = channels * n
    with index_range(b, begin, end) as c:
        tap_d = c // channels
        first = (tap_d * (window_h * window_w - 1) * channels + c) * n
        with counted_loop(b, n, shape.lanes) as column:
            taps = [
                load_vector(
                    b,
                    offset(weights, first + column + to_next_tap * tap),
                    shape.lanes,
                    shape.dtype.size,
                )
                for tap in range(window_h * window_w)
            ]
            columns = [taps[j::window_w] for j in range(window_w)]
            _store(b, packed, winograd.emit_weights(b, columns), (c, column), (seen, n), shape)
        behind = n.ceil_div(shape.columns) * shape.columns - n
        zeros = [ir.Constant(ir.VectorType(packed.type.pointee, shape.lanes), None)]
        zeros *= winograd.positions
        with counted_loop(b, behind, shape.lanes) as more:
            _store(b, packed, zeros, (c, n + more), (seen, n), shape)


def _store(
    b: ir.IRBuilder,
    packed: Value,
    values: Sequence[Value],
    place: tuple[Index, Index],
    sizes: tuple[Index, Index],
    shape: TileShape,
) -> None:
    """Writes what the positions have of a channel and of a vector of columns."""
    (c, column), (seen, n) = place, sizes
    block = column // COLUMNS
    width = (n - block * COLUMNS).least(COLUMNS)
    panel = (column - block * COLUMNS) // shape.columns
    to_next = width.ceil_div(shape.columns) * shape.columns * seen
    of_block = block * COLUMNS * len(values) * seen
    within = column - block * COLUMNS - panel * shape.columns
    target = offset(packed, of_block + (panel * seen + c) * shape.columns + within)
    for position, value in enumerate(values):
        store_vector(b, value, offset(target, to_next * position), shape.dtype.size)
