"""The operations on lists, whatever represents their elements: dense, ragged or columns.

In: an Extractor and ListValues, as TensorLists, TensorArrays and stacks have them alike. Out: lists
with a change, elements, and tensors of all elements. Invariant: each operation asks in one place
how a list is represented, and treats every representation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, assert_never

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, maximum
from flowc.ir.extraction import (
    Bound,
    ByRank,
    Columns,
    DenseItems,
    Extractor,
    ListValue,
    Ragged,
    TwoRanks,
    join_known,
    values_of,
    with_held,
    with_values,
)
from flowc.ir.structures import Element, arranged, element_of, united
from flowc.ir.types import Dims
from flowc.ops.lists.list_faults import FULL
from flowc.ops.lists.list_values import (
    Faults,
    Partial,
    complete,
    known_numbers,
    merged,
    of_rank,
    settled,
    with_sizes,
)
from flowc.ops.lists.lists_by_rank import (
    by_rank,
    element_by_rank,
    joined_by_rank,
    of_one_rank,
    popped_by_rank,
    pushed_by_rank,
    resized_by_rank,
    with_elements_by_rank,
)
from flowc.ops.lists.ragged_values import (
    appended_ragged,
    as_ragged,
    is_new,
    joined_ragged,
    made_ragged,
    must_be_ragged,
    popped_ragged,
    pushed_ragged,
    ragged_element,
    set_ragged,
    split_ragged,
    stacked_ragged,
    stays_dense,
)

# -- what holds the elements


def tensors_in(x: Extractor, contents: ListValue) -> DenseItems | Ragged:
    """What holds the elements of a list of tensors."""
    if isinstance(contents.held, DenseItems | Ragged):
        return contents.held
    raise UnsupportedError(
        f"'{x.name}' takes tensors from a list, or puts them into one, whose elements are "
        "optionals, lists that differ in size, or tensors of several ranks"
    )


def zeros(b: Builder, dims: Dims, dtype: DType, value: int = 0) -> Value:
    """A new buffer of a list."""
    return b.list_new(b.sizes(dims), T=dtype, value=value)


def with_element(b: Builder, contents: ListValue, element: Dims, dtype: DType) -> ListValue:
    """A list whose elements were never written, as one of zeros of dims `element`. `dtype`: that
    of the elements; for lists of lists, that of the inner lists' elements."""
    buffer = zeros(b, (contents.rows, *element), dtype)
    return replace(contents, dtype=dtype, held=DenseItems(buffer))


def typed_for(x: Extractor, contents: ListValue, dtype: DType, given: Dims) -> ListValue:
    """The list as one that takes elements of a dtype and dims: dense, ragged, or by rank."""
    if isinstance(contents.held, ByRank) or _has_another_rank(contents, given):
        return by_rank(x, contents, given, dtype)
    if must_be_ragged(x, contents, given):
        return made_ragged(x, contents, given, dtype)
    if contents.held is not None:
        return contents
    return with_element(x.b, contents, settled(contents.partial, given), dtype)


def _has_another_rank(contents: ListValue, given: Dims) -> bool:
    """Whether elements of another rank than that of the dims given are in a list already."""
    common = contents.common
    if common is None or len(common) == len(given) or stays_dense(contents):
        return False
    return isinstance(contents.held, Ragged) or contents.rows != 0


def readable(x: Extractor, contents: ListValue, shape: Partial) -> ListValue | None:
    """The list as one whose elements can be read; None where nothing tells their dims. `shape`:
    what the reader says of them."""
    partial = merged(contents.partial, shape)
    if isinstance(contents.held, ByRank):
        return contents
    if contents.common is not None:
        merged(shape, contents.common)
        return contents
    element = complete(partial)
    if element is None or contents.dtype is dtypes.variant:
        return None
    return with_element(x.b, contents, element, contents.dtype)


def resized(x: Extractor, contents: ListValue, rows: Dim) -> ListValue:
    if rows == contents.rows:
        return contents
    size, held = x.b.sizes((rows,)), contents.held
    marks = None if contents.marks is None else x.b.list_resize(contents.marks, size)
    match held:
        case None:
            pass
        case DenseItems(buffer) if is_new(buffer, 0):
            held = DenseItems(zeros(x.b, (rows, *buffer.dims[1:]), contents.dtype))
        case DenseItems(buffer):
            held = DenseItems(x.b.list_resize(buffer, size))
        case Ragged():
            held = replace(held, table=x.b.list_resize(held.table, size))
        case Columns():
            held = replace(held, lists=tuple(resized(x, column, rows) for column in held.lists))
        case ByRank():
            held = resized_by_rank(x, held, rows)
        case _:
            assert_never(held)
    return replace(contents, rows=rows, held=held, marks=marks, known=None)


# -- elements


def pushed(x: Extractor, contents: ListValue, item: Bound) -> ListValue:
    """A list with one more element at its end."""
    rows, limit = contents.rows, contents.limit
    if x.is_unconditional and isinstance(rows, int) and 0 <= limit <= rows:
        raise InvalidArgumentError(FULL.format(a=rows, b=limit))
    if not isinstance(item, Value) or isinstance(contents.held, Columns):
        return _pushed_parts(x, contents, item)
    known = join_known(contents.known, known_numbers(x, item))
    typed = typed_for(x, contents, item.type.dtype, item.dims)
    if isinstance(typed.held, ByRank):
        return with_held(typed, pushed_by_rank(x, typed.held, item, contents.limit))
    held = tensors_in(x, typed)
    if isinstance(held, DenseItems):
        held = DenseItems(x.b.list_append(held.buffer, item, limit=contents.limit))
    else:
        held = pushed_ragged(x.b, held, item, contents.limit)
    return replace(with_held(typed, held), known=known)


def popped(
    x: Extractor, contents: ListValue, faults: Faults, shape: Partial = None
) -> tuple[ListValue, Bound]:
    """A list without its last element, and that element. `shape`: what the reader says of it."""
    held = contents.held
    item: Bound
    match held:
        case DenseItems(buffer):
            item = _last(x, contents, buffer, faults)
            rows = x.b.sizes((maximum(contents.rows - 1, 0),))
            held = DenseItems(x.b.list_resize(buffer, rows))
        case Ragged():
            held, item = popped_ragged(x.b, held, faults, shape)
        case Columns():
            return _popped_parts(x, contents, held)
        case ByRank():
            held, item = popped_by_rank(x, held, faults, shape)
        case None:
            raise InvalidArgumentError(faults.outside)
        case _:
            assert_never(held)
    return replace(with_held(contents, held), known=contents.known), item


def _last(x: Extractor, contents: ListValue, buffer: Value, faults: Faults) -> Value:
    """The last element of a dense list; the numbers in it where these are known."""
    known = contents.known
    if known and None not in known:
        numbers = tuple(d for d in known if d is not None)
        if contents.dtype is dtypes.bool_:
            decided = np.array(numbers, np.bool_)
            return x.b.reshape(x.b.const(decided), buffer.dims[1:])
        return x.b.reshape(x.b.sizes(numbers, contents.dtype), buffer.dims[1:])
    last = x.b.sub(x.b.scalar_size(contents.rows), 1)
    item = x.b.list_get(buffer, last, message=faults.outside)
    return with_sizes(x.b, item, known) if known and item.type.dtype.is_integer else item


def element_at(
    x: Extractor, contents: ListValue, index: Value, faults: Faults, shape: Partial = None
) -> Value | TwoRanks:
    """An element, or those at a vector of indices as one tensor."""
    if isinstance(contents.held, ByRank):
        return element_by_rank(x, contents.held, index, faults, shape)
    held = tensors_in(x, contents)
    if isinstance(held, DenseItems):
        return x.b.list_get(held.buffer, index, **faults.attrs)
    if index.type.rank == 0:
        return ragged_element(x.b, held, index, faults, shape)[0]
    chosen = x.b.list_get(held.table, index, message=faults.outside)
    return stacked_ragged(x.b, replace(held, table=chosen), faults, shape)


def with_elements(
    x: Extractor, contents: ListValue, index: Value, value: Value, faults: Faults
) -> ListValue:
    """A list with other elements at some indices."""
    if isinstance(contents.held, ByRank):
        return with_held(contents, with_elements_by_rank(x, contents.held, index, value, faults))
    held = tensors_in(x, contents)
    if isinstance(held, DenseItems):
        return with_held(
            contents, DenseItems(x.b.list_set(held.buffer, index, value, **faults.attrs))
        )
    return with_held(contents, set_ragged(x.b, held, index, value, faults))


# -- whole lists


def whole(contents: ListValue, tensor: Value) -> ListValue:
    """The rows of a tensor as a list: its buffer."""
    return replace(contents, dtype=tensor.type.dtype, rows=tensor.dims[0], held=DenseItems(tensor))


def split(
    x: Extractor, contents: ListValue, value: Value, lengths: Value, unused: str
) -> ListValue:
    """A list of the pieces of a tensor. `unused`: the message where their lengths do not add up to
    what there is."""
    of_rank(lengths, 1, "lengths")
    known = x.b.content(lengths)
    found: set[Any] = set() if known is None else set(known.reshape(-1))
    may_differ = value.type.rank and lengths.dims[0] != 1 and (known is None or len(found) > 1)
    if may_differ and not contents.uniform and contents.element is None:
        return with_held(contents, split_ragged(x.b, value, lengths, unused))
    if len(found) == 1 and value.type.rank:
        (piece,), count = found, lengths.dims[0]
        if count * piece == value.dims[0]:
            return whole(contents, x.b.reshape(value, (count, piece, *value.dims[1:])))
    return whole(contents, x.b.list_pieces(value, lengths, message=unused))


def stacked(x: Extractor, contents: ListValue, faults: Faults, shape: Partial = None) -> Value:
    """All elements as one tensor: of a dense list, the buffer."""
    held = tensors_in(x, of_one_rank(x, contents, faults))
    return held.buffer if isinstance(held, DenseItems) else stacked_ragged(x.b, held, faults, shape)


def joined(
    x: Extractor, contents: ListValue, faults: Faults, shape: Partial = None, hint: str = ""
) -> tuple[Value, Value]:
    """All elements one after another along their first axis, and how long each is along it."""
    held, b = tensors_in(x, of_one_rank(x, contents, faults, 1)), x.b
    if contents.common == ():
        text = "Concat saw a scalar shape at index 0 but requires at least vectors."
        raise InvalidArgumentError(f"{text} {hint}".rstrip())
    if isinstance(held, Ragged):
        return joined_ragged(b, held, faults, shape)
    rows, length, *rest = held.buffer.dims
    lengths = b.fill(b.sizes((rows,)), b.scalar_size(length, dtypes.i64))
    return b.reshape(held.buffer, (rows * length, *rest)), lengths


def one_behind_other(x: Extractor, one: ListValue, other: ListValue) -> ListValue:
    """The elements of two lists, those of `other` last. Neither is empty."""
    if have_several_ranks((one, other)):
        return joined_by_rank(x, one, other)
    if not any(isinstance(c.held, Ragged) for c in (one, other)):
        if other.element is not None:
            one = typed_for(x, one, other.dtype, other.element)
        if one.element is not None:
            other = typed_for(x, other, one.dtype, one.element)
    pair = (one, other)
    if any(isinstance(c.held, Ragged) for c in pair):
        one, other = (as_ragged(x.b, c, o.common or (), o.dtype) for c, o in zip(pair, pair[::-1]))
    if one.held is None and other.held is None:
        return replace(one, rows=one.rows + other.rows, known=None)
    first, last = tensors_in(x, one), tensors_in(x, other)
    if isinstance(first, DenseItems) and isinstance(last, DenseItems):
        return with_held(one, DenseItems(x.b.concat(first.buffer, last.buffer, np.int32(0))))
    assert isinstance(first, Ragged) and isinstance(last, Ragged)
    return with_held(one, appended_ragged(x.b, first, last))


def have_several_ranks(lists: Sequence[ListValue]) -> bool:
    ranks = {len(c.common) for c in lists if c.common is not None}
    return len(ranks) > 1 or any(isinstance(c.held, ByRank) for c in lists)


# -- lists whose elements are no tensors


def _pushed_parts(x: Extractor, contents: ListValue, item: Bound) -> ListValue:
    """The list with an optional, a ragged list, or a list of such at its end."""
    if not isinstance(item, Element):
        raise UnsupportedError(f"'{x.name}' keeps optionals beside other things")
    like = contents.held.element if isinstance(contents.held, Columns) else None
    pair = (like, item)
    if all(isinstance(e, ListValue) and not isinstance(e.held, Columns) for e in pair):
        assert isinstance(item, ListValue) and isinstance(like, ListValue)
        item = as_ragged(x.b, item, like.common or (), like.dtype)
    union = united(x.b, element_of(contents, item), item, x.is_lasting)
    typed, own = arranged(x.b, contents, union, 0), values_of(item)
    lists = (
        pushed(x, column, own[part]) if isinstance(part, int) else _filled(x, column, part.value)
        for column, part in zip(typed.lists, union.parts[1], strict=True)
    )
    held = replace(typed, lists=tuple(lists))
    return replace(contents, dtype=dtypes.variant, rows=contents.rows + 1, held=held, known=None)


def _filled(x: Extractor, column: ListValue, value: int) -> ListValue:
    """A column with one more row, which nobody will read (or which is a `holds`)."""
    if column.held is None and not value:
        return replace(column, rows=column.rows + 1, known=None)
    dims = tuple(0 if d is None else d for d in column.common or ())
    return pushed(x, column, _number(x, column, dims, value))


def _number(x: Extractor, column: ListValue, dims: Dims, value: int) -> Value:
    number = x.b.const(np.asarray(value, column.dtype.numpy), column.dtype)
    return x.b.broadcast_to(number, dims) if dims else number


POPPED = Faults("Trying to pop from an empty list.", "Trying to pop from an empty list.")


def _popped_parts(x: Extractor, contents: ListValue, held: Columns) -> tuple[ListValue, Bound]:
    items: list[Value] = []
    lists: list[ListValue] = []
    for column, like in zip(held.lists, values_of(held.element), strict=True):
        if column.held is None:
            # No element ever had this part.
            dims = tuple(d if isinstance(d, int) or x.is_lasting(d) else 0 for d in like.dims)
            lists.append(replace(column, rows=column.rows - 1))
            items.append(_number(x, column, dims, 0))
            continue
        rest, item = popped(x, column, POPPED)
        assert isinstance(item, Value)
        lists.append(rest)
        items.append(item)
    left = replace(contents, rows=contents.rows - 1, held=replace(held, lists=tuple(lists)))
    return left, with_values(held.element, items)
