"""Lists of optionals and of ragged lists, which loops keep for the gradients of what is in them.

In: a CompositeList, or a list that nothing was put into yet, and an optional, a ragged list, or a
list of those. Out: CompositeLists, and elements that are made of the same parts. Invariant: all
columns of a list have as many rows as it has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flowc.errors import UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.extraction import (
    Bound,
    CompositeList,
    Extractor,
    ListValue,
    values_of,
    with_values,
)
from flowc.ir.structures import Element, arranged, element_of, united
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import popped, pushed
from flowc.ops.lists.ragged_values import as_ragged

EMPTY = "Trying to pop from an empty list."


def push_composite(x: Extractor, contents: Bound, item: Bound) -> CompositeList:
    """The list with an optional, a ragged list, or a list of such at its end."""
    if not isinstance(contents, ListValue | CompositeList) or not isinstance(item, Element):
        raise UnsupportedError(f"'{x.name}' keeps optionals beside other things", node=x.name)
    if isinstance(item, ListValue):
        item = _as_ragged(x, contents, item)
    try:
        whole = united(x.b, element_of(contents, item), item, x.is_lasting)
    except UnsupportedError as fault:
        fault.node = x.name
        raise
    typed = arranged(x.b, contents, whole, 0)
    own = values_of(item)
    columns = (
        pushed(x, column, own[part]) if isinstance(part, int) else _filled(x, column, part.value)
        for column, part in zip(typed.columns, whole.parts[1], strict=True)
    )
    return replace(typed, rows=contents.rows + 1, columns=tuple(columns))


def _as_ragged(x: Extractor, contents: ListValue | CompositeList, item: ListValue) -> ListValue:
    """A list as ragged as those beside which it is put."""
    like = contents.element if isinstance(contents, CompositeList) else None
    if isinstance(like, ListValue):
        return as_ragged(x.b, item, like.common, like.dtype)
    return item


def _filled(x: Extractor, column: ListValue, value: int) -> ListValue:
    """A column with one more row, which nobody will read (or which is a `holds`)."""
    if column.buffer is None and not value:
        return replace(column, rows=column.rows + 1, known=None)
    dims = column.common if column.element is None else column.element
    return pushed(x, column, _number(x, column, tuple(0 if d is None else d for d in dims), value))


def _number(x: Extractor, column: ListValue, dims: Dims, value: int) -> Value:
    number = x.b.const(np.asarray(value, column.dtype.numpy), column.dtype)
    return x.b.broadcast_to(number, dims) if dims else number


def pop_composite(x: Extractor, contents: CompositeList) -> tuple[CompositeList, Bound]:
    """The list without its last element, and that element."""
    items: list[Value] = []
    columns: list[ListValue] = []
    for column, like in zip(contents.columns, values_of(contents.element), strict=True):
        if column.buffer is None:
            # No element ever had this part.
            dims = tuple(d if isinstance(d, int) or x.is_lasting(d) else 0 for d in like.dims)
            columns.append(replace(column, rows=column.rows - 1))
            items.append(_number(x, column, dims, 0))
            continue
        rest, item = popped(x, column, EMPTY, EMPTY)
        columns.append(rest)
        items.append(item)
    left = replace(contents, rows=contents.rows - 1, columns=tuple(columns))
    return left, with_values(contents.element, items)
