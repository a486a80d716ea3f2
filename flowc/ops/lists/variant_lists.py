"""What a variant tensor of a list stands for while a graph is extracted.

In: Bounds, and what a reader or a writer says of dtype and shape. Out: ListValues that hold or take
such elements. Invariant: what TensorFlow refuses of dtypes and shapes is refused in its words.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import (
    Bound,
    DenseItems,
    Extractor,
    ListValue,
    OptionalValue,
    TwoRanks,
)
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.lists.list_operations import readable, with_element
from flowc.ops.lists.list_values import (
    Partial,
    complete,
    dtype_shown,
    fits,
    known_indices,
    merged,
)
from flowc.ops.state.variables import value_of

UNSET = (
    "Trying to read an uninitialized tensor but element_shape is not fully defined: {} and no list"
    " element is set."
)


def list_of(x: Extractor, bound: Bound) -> ListValue:
    if isinstance(bound, OptionalValue):
        # That of an optional which nothing has read: TensorFlow would find a list in it.
        lists = [c.held for c in bound.cases if isinstance(c.held, ListValue)]
        bound = lists[0] if len(lists) == 1 else bound
    if isinstance(bound, ListValue):
        return bound
    raise InvalidArgumentError(f"the handle given to '{x.name}' is no list")


def unset_list(x: Extractor, rows: Dim, partial: Partial, dtype: DType) -> ListValue:
    """A list of elements that were not set yet."""
    if dtype is dtypes.variant:
        return ListValue(dtype, rows, home=x.b)
    known = () if rows == 0 else None
    contents = ListValue(dtype, rows, partial=partial, known=known, home=x.b)
    element = complete(partial)
    return contents if element is None else with_element(x.b, contents, element, dtype)


def as_item(x: Extractor, bound: Bound) -> Value:
    """What is put into a list of tensors: a tensor, or the buffer of a list."""
    if not isinstance(bound, ListValue):
        return value_of(x, bound)
    if isinstance(bound.held, DenseItems):
        return bound.held.buffer
    if bound.held is None:
        raise UnsupportedError(
            f"'{x.name}' puts a list into a list before its elements have a shape"
        )
    raise UnsupportedError(
        f"'{x.name}' sets an element to a list whose own elements differ in size, which flowc does "
        "not"
    )


def as_element(value: Value | TwoRanks, dtype: DType) -> Bound:
    """An element as its reader takes it: what is asked for as a variant is a list, or what only
    Python knows (`host_variants.py`)."""
    if isinstance(value, TwoRanks) or dtype is not dtypes.variant:
        return value
    if value.type.dtype is dtypes.string and not value.dims:
        return value
    return ListValue(value.type.dtype, value.dims[0], DenseItems(value))


def check_dtype(held: DType, asked: DType) -> None:
    if asked is not held and asked is not dtypes.variant and held is not dtypes.variant:
        raise InvalidArgumentError(
            f"Invalid data types; op elements {dtype_shown(asked)} but list elements "
            f"{dtype_shown(held)}"
        )


def check_takes(x: Extractor, contents: ListValue, dtype: DType, given: Dims, fault: str) -> None:
    """Refuses elements of a dtype and of dims that are not those of a list. `fault`: the message
    for two shapes, of the element and of the list."""
    check_dtype(contents.dtype, dtype)
    if not fits(contents.partial, given):
        raise InvalidArgumentError(fault.format(shown_dims(given), shown_dims(contents.partial)))


def check_indices(x: Extractor, contents: ListValue, indices: Value, fault: str) -> None:
    """Refuses indices that are known to lie outside of a list, also where nothing reads what they
    would change."""
    extent = contents.rows
    for k in known_indices(x, indices):
        if k < 0 or (isinstance(extent, int) and k >= extent):
            shown = extent if isinstance(extent, int) else "?"
            raise InvalidArgumentError(fault.format(value=k, extent=shown))


def readable_list(
    x: Extractor, bound: Bound, dtype: DType, shape: Partial, fault: str
) -> ListValue:
    """The list as one whose elements have dims. `shape`: what the reader says of them; `fault`: the
    message where that does not suffice."""
    contents = list_of(x, bound)
    check_dtype(contents.dtype, dtype)
    found = readable(x, contents, shape)
    if found is None:
        shown = shown_dims(merged(contents.partial, shape))
        raise InvalidArgumentError(fault.format(shown))
    return found
