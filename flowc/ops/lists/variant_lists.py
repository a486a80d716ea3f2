"""What a variant tensor of a list stands for while a graph is extracted.

In: Bounds, and what a reader or a writer says of dtype and shape. Out: ListValues that hold or take
such elements. Invariant: what TensorFlow refuses of dtypes and shapes is refused in its words.
"""

from __future__ import annotations

from dataclasses import replace

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor, ListValue, OptionalValue
from flowc.ir.types import Dims
from flowc.ops.lists.dense_lists import MODIFY
from flowc.ops.lists.list_values import (
    Partial,
    complete,
    dtype_shown,
    fits,
    is_new,
    merged,
    settled,
    shape_shown,
    with_buffer,
    with_element,
    zeros,
)
from flowc.ops.lists.ragged_values import (
    made_ragged,
    must_be_ragged,
    set_ragged,
    with_parts,
)
from flowc.ops.state.variables import value_of


def list_of(x: Extractor, bound: Bound) -> ListValue:
    if isinstance(bound, OptionalValue):
        # That of an optional which nothing has read: TensorFlow would find a list in it.
        lists = [c.held for c in bound.cases if isinstance(c.held, ListValue)]
        bound = lists[0] if len(lists) == 1 else bound
    if isinstance(bound, ListValue):
        return bound
    raise InvalidArgumentError(f"the handle given to '{x.name}' is no list", node=x.name)


def unset_list(x: Extractor, rows: Dim, partial: Partial, dtype: DType) -> ListValue:
    """A list of elements that were not set yet."""
    if dtype is dtypes.variant:
        return ListValue(dtype, rows, home=x.b)
    known = () if rows == 0 else None
    contents = ListValue(dtype, rows, partial=partial, known=known, home=x.b)
    element = complete(partial)
    return contents if element is None else with_element(x.b, contents, element, dtype)


def check_dtype(x: Extractor, held: DType, asked: DType) -> None:
    if asked is not held and asked is not dtypes.variant and held is not dtypes.variant:
        raise InvalidArgumentError(
            f"Invalid data types; op elements {dtype_shown(asked)} but list elements "
            f"{dtype_shown(held)}",
            node=x.name,
        )


def check_fits(x: Extractor, contents: ListValue, given: Dims, verb: str) -> None:
    if not fits(contents.partial, given):
        raise InvalidArgumentError(
            f"Tried to {verb} a tensor with incompatible shape to a list. Op element shape: "
            f"{shape_shown(given)} list shape: {shape_shown(contents.partial)}",
            node=x.name,
        )


def typed_for(x: Extractor, contents: ListValue, dtype: DType, given: Dims, verb: str) -> ListValue:
    """The list as one that takes elements of a dtype and dims: with a buffer, or ragged."""
    check_dtype(x, contents.dtype, dtype)
    check_fits(x, contents, given, verb)
    if must_be_ragged(x, contents, given):
        return made_ragged(x, contents, given, dtype)
    if contents.buffer is not None:
        return contents
    return with_element(x.b, contents, settled(contents.partial, given), dtype)


def readable(x: Extractor, contents: ListValue, shape: Partial, fault: str) -> ListValue:
    """The list with a buffer. `shape`: what the reader says of elements; `fault`: the message where
    that does not suffice."""
    partial = merged(contents.partial, shape)
    if contents.table is not None:
        merged(contents.common, shape)
        return contents
    if contents.element is not None:
        merged(contents.element, shape)
        return contents
    element = complete(partial)
    if element is None or contents.dtype is dtypes.variant:
        raise InvalidArgumentError(fault.format(shape_shown(partial)), node=x.name)
    return with_element(x.b, contents, element, contents.dtype)


UNSET = (
    "Trying to read an uninitialized tensor but element_shape is not fully defined: {} and no list"
    " element is set."
)


def element_of(x: Extractor, bound: Bound) -> Value:
    """What is put into a list: a tensor, or the buffer of a list."""
    if not isinstance(bound, ListValue):
        return value_of(x, bound)
    if bound.table is not None:
        raise UnsupportedError(
            f"'{x.name}' sets an element to a list whose own elements differ in size, which flowc "
            "does not",
            node=x.name,
        )
    if bound.buffer is None:
        raise UnsupportedError(
            f"'{x.name}' puts a list into a list before its elements have a shape", node=x.name
        )
    return bound.buffer


def as_element(value: Value, dtype: DType) -> Bound:
    """An element as its reader takes it: what is asked for as a variant is a list."""
    if dtype is not dtypes.variant:
        return value
    return ListValue(value.type.dtype, value.dims[0], value.dims[1:], value)


def resized(x: Extractor, contents: ListValue, rows: Dim) -> ListValue:
    if rows == contents.rows:
        return contents
    if contents.buffer is None:
        return replace(contents, rows=rows, known=None)
    if contents.table is not None:
        table = x.b.list_resize(contents.table, x.b.sizes((rows,)))
        return with_parts(contents, contents.buffer, table)
    if is_new(contents.buffer, 0):
        return with_buffer(contents, zeros(x.b, (rows, *contents.buffer.dims[1:]), contents.dtype))
    return with_buffer(contents, x.b.list_resize(contents.buffer, x.b.sizes((rows,))))


def set_elements(
    x: Extractor, contents: ListValue, index: Value, value: Value, message: str
) -> ListValue:
    """A list with other elements at some indices. `message`: where one of these is outside."""
    if contents.table is not None:
        return set_ragged(x.b, contents, index, value, message)
    told = {} if message == MODIFY else {"message": message}
    return with_buffer(contents, x.b.list_set(contents.buffer, index, value, **told))
