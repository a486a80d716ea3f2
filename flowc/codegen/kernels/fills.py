"""Parts of a result in which every element is the same number, as beside an image that is padded.

In: a lowering of an element of such a part, which is thrown away. Out: a call that fills a block.
Invariant: what is filled neither reads memory nor can fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowc.codegen.kernels.builder import LOCAL, int_sum
from flowc.codegen.kernels.cluster import ClusterLowering
from flowc.codegen.kernels.nest import (
    FILL_BLOCK,
    Address,
    Index,
    IndexSum,
    Let,
    Literal,
    Name,
    Store,
    memory_dtype,
)
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, Symbol, substitute, symbol


@dataclass(frozen=True, slots=True)
class FilledPart:
    """What a buffer is filled with, and where an element of it stands."""

    buffer: str
    number: Literal
    address: Dim


def fills_of(probe: ClusterLowering) -> list[FilledPart] | None:
    """What the lowering stores, where that is numbers alone; else None."""
    stores = [s for s in probe.nest.body if isinstance(s, Store)]
    if probe.read_names or probe.nest.faults:
        return None
    if not all(isinstance(s, Let | Store) for s in probe.nest.body):
        return None
    found = []
    for store, address in zip(stores, probe.addresses[-len(stores) :], strict=True):
        number = store.value
        if not isinstance(number, Literal) or not _is_plain(number):
            return None
        found.append(FilledPart(store.buffer, number, address))
    return found


def _is_plain(number: Literal) -> bool:
    """Whether an element stands in memory as it is computed."""
    dtype = number.dtype
    return memory_dtype(dtype) is dtype and not dtype.is_complex


def emit_fills(
    c: ClusterLowering,
    fills: Sequence[FilledPart],
    corner: Mapping[Symbol, Index],
    step: Dim,
    rows: Index,
    columns: Index,
) -> None:
    """Fills so many rows, `step` apart, of neighbours; `corner`: where the first element is."""
    nest, at = c.nest, {index: dim_of(first) for index, first in corner.items()}
    for fill in fills:
        start = Address(fill.buffer, nest.index(substitute(fill.address, at)))
        nest.invoke(FILL_BLOCK, start, nest.size(step), rows, columns, fill.number)


def dim_of(index: Index) -> Dim:
    """A name of the nest, or a number, as it stands in addresses."""
    if isinstance(index, Name):
        return symbol(f"{LOCAL}{index.name}")
    assert all(not names for _, names in index.terms), index
    return sum(number for number, _ in index.terms)


def between(first: Index, stop: Index) -> Index:
    """How many there are from the one to before the other."""
    if first == IndexSum():
        return stop
    assert isinstance(first, Name) and isinstance(stop, Name), (first, stop)
    return int_sum(stop.name, f"-{first.name}")
