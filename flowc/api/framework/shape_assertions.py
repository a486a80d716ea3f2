"""`tf.debugging.assert_shapes`: sizes of several tensors that belong together.

In: tensors, and for each a size, a symbol or None an axis. Out: an operation that fails a run
with `InvalidArgumentError`. Invariant: a scalar has the sizes of a vector of one element; what is
known while the graph is built is checked then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.assertions import assert_rank, assert_rank_at_least, assert_rank_in
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import control_dependencies, group, name_scope
from flowc.api.math import elementwise
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor

_Size = int | Tensor


class _Stated(NamedTuple):
    """What is said of a tensor: its innermost sizes if it is `open`, else all."""

    tensor: Tensor
    sizes: tuple[Any, ...]
    open: bool


def assert_shapes(
    shapes: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that fails where tensors have other sizes than `shapes` says: pairs of a tensor
    and its sizes, of which a number is that size, a symbol has one size wherever it stands, and
    None or "." any; `...` or "*" as the first stands for any others. `data`: what the error shows
    instead. Raises `ValueError` for what is no shape, and where it is known not to hold."""
    pairs = list(shapes.items() if isinstance(shapes, Mapping) else shapes)
    told = "" if message is None else f"{message}.  "
    with name_scope(name, "assert_shapes", [*(x for x, _ in pairs), data]):
        stated = [_stated(as_tensor(x), s, told) for x, s in pairs if s is not None]
        ranks = [r for s in stated for r in _rank_checks(s, data, summarize, message, name)]
        checks: list[Operation] = []
        first: dict[Any, tuple[_Size, str]] = {}
        for one in stated:
            for axis, symbol in enumerate(one.sizes):
                if symbol is None or symbol == ".":
                    continue
                axis -= len(one.sizes) if one.open else 0
                with control_dependencies(ranks):
                    found = _size(one.tensor, axis)
                if _is_number(symbol):
                    wanted, where = int(symbol), "Specified explicitly"
                elif symbol in first:
                    wanted, where = first[symbol]
                else:
                    name_of = f"Specified by tensor {one.tensor.name} dimension {axis}"
                    first[symbol] = found, name_of
                    continue
                checks += _size_checks(one, axis, found, wanted, (told, where), data, summarize)
    with control_dependencies(ranks):
        return group(*checks)


def _stated(tensor: Tensor, sizes: Any, told: str) -> _Stated:
    if not hasattr(sizes, "__iter__") and not hasattr(sizes, "__getitem__"):
        raise ValueError(
            f"{told}Tensor {tensor.name}.  Specified shape must be an iterable.  An iterable has "
            f"the attribute `__iter__` or `__getitem__`.  Received specified shape: {sizes}"
        )
    symbols = tuple(sizes)
    for place, symbol in enumerate(symbols):
        if place and symbol in (..., "*"):
            raise ValueError(
                f"{told}Tensor {tensor.name} specified shape index {place}.  Symbol `...` or `*` "
                "for a variable number of unspecified dimensions is only allowed as the first entry"
            )
    is_open = bool(symbols) and symbols[0] in (..., "*")
    return _Stated(tensor, symbols[1:] if is_open else symbols, is_open)


def _rank_checks(
    stated: _Stated,
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
    name: str | None,
) -> list[Operation]:
    rank = len(stated.sizes)
    more = data, summarize, message, name
    if stated.open:
        return [] if rank < 2 else [assert_rank_at_least(stated.tensor, rank, *more)]
    if rank < 2:
        return [assert_rank_in(stated.tensor, [0, 1], *more)]
    return [assert_rank(stated.tensor, rank, *more)]


def _size(tensor: Tensor, axis: int) -> _Size:
    """The size of an axis, of a scalar 1."""
    rank = tensor.shape.ndims
    if rank == 0:
        return 1
    known = None if rank is None else tensor.shape[axis].value
    return shape_of(tensor)[axis] if known is None else known


def _is_number(symbol: Any) -> bool:
    try:
        int(symbol)
    except (TypeError, ValueError):
        return False
    return True


def _size_checks(
    stated: _Stated,
    axis: int,
    found: _Size,
    wanted: _Size,
    why: tuple[str, str],
    data: Sequence[Any] | None,
    summarize: int | None,
) -> list[Operation]:
    """None where both are known to be one size. Raises `ValueError` where they are known not to
    be."""
    tensor = stated.tensor
    if isinstance(found, int) and isinstance(wanted, int):
        if found != wanted:
            raise ValueError(
                f"{''.join(why)}.  Tensor {tensor.name} dimension {axis} must have size {wanted}.  "
                f"Received size {found}, shape {tensor.shape}"
            )
        return []
    named = f"Tensor {tensor.name} dimension"
    shown = data
    if shown is None:
        shown = [*why, named, axis, "must have size", wanted, "Received shape: ", shape_of(tensor)]
    return [Assert(elementwise.equal(found, wanted), shown, summarize)]
