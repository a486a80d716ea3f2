"""TensorListConcat: all elements of a TensorList one after another.

In: a list, what the reader states of the shape of elements, and lengths for elements that were
never set. Out: one tensor, and how long each element is in it. Invariant: an element that was never
set is zeros, as long as `leading_dims` says of it, else as the others where these are all alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, DenseItems, Extractor, ListValue, Ragged
from flowc.ir.op import Attrs, op_named
from flowc.ir.text.shape_text import shown_dims
from flowc.ops.lists.list_operations import joined
from flowc.ops.lists.list_values import (
    MERGE,
    Faults,
    Partial,
    complete,
    merged,
    shape_input,
)
from flowc.ops.lists.lists_by_rank import of_one_rank
from flowc.ops.lists.ragged_values import as_ragged, is_new
from flowc.ops.lists.variant_lists import check_dtype, list_of, readable_list
from flowc.ops.state.variables import value_of

EMPTY = (
    "All except the first dimension must be fully defined when concating an empty tensor list. "
    "element_shape: {}"
)
ONLY_UNSET = (
    "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is "
    "not fully defined: {}"
)
FIRST = (
    "First entry of element_shape input does not match the first dim of list element at index: {a} "
    "Expected: {b} Actual: {c}"
)
LENGTHS = "List contains uninitialized tensor at index {a} but leading_dims has only {b} elements."
NEGATIVE = "leading_dims must not be negative, found {b} at index {a}"
NO_LENGTHS = (
    "Concating lists with uninitialized tensors is not supported in this version of "
    "TensorListConcat. Consider updating your GraphDef to run the newer version."
)
AMBIGUOUS = (
    "leading_dims has {b} at index {a} of a list whose elements are {c} long, and flowc cannot "
    "tell whether this one was set. Give leading_dims only to lists with elements of unlike length"
)


def emit_concat(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    contents = list_of(x, inputs[0])
    dtype, leading, first = attrs["element_dtype"], None, None
    check_dtype(contents.dtype, dtype)
    stated: Partial
    if len(inputs) == 1:
        stated = attrs["element_shape"]
    else:
        leading = value_of(x, inputs[2])
        stated = merged(contents.partial, shape_input(x, value_of(x, inputs[1])))
        first = stated[0] if stated else None
    if contents.common == () or stated == ():
        raise InvalidArgumentError(
            "Concat saw a scalar shape at index 0 but requires at least vectors."
        )
    rest = None if stated is None else stated[1:]
    if contents.rows == 0:
        shape = stated if stated is None or stated[0] is not None else (0, *stated[1:])
        found = readable_list(x, contents, dtype, shape, EMPTY)
        return joined(x, found, Faults(unset=EMPTY), shape)
    faults = Faults(unset=ONLY_UNSET.format(shown_dims(rest)), unlike=MERGE)
    contents = of_one_rank(x, contents, faults, 1)
    if contents.common is None and complete(rest) is None:
        raise InvalidArgumentError(ONLY_UNSET.format(shown_dims(rest)))
    shape = None if rest is None else (None, *rest)
    if contents.common is not None:
        merged(shape, contents.common)
    return joined(x, _with_lengths(x, contents, shape, first, leading), faults, shape)


def _with_lengths(
    x: Extractor, contents: ListValue, shape: Partial, first: Dim | None, leading: Value | None
) -> ListValue:
    """The list as one whose elements all have a length, also those that were never set. `shape`:
    of an element; `first`: how long the reader says that elements are; `leading`: the lengths given
    for those that were never set."""
    b, held, sure = x.b, contents.held, True
    if isinstance(held, DenseItems):
        if leading is None or leading.dims == (0,):
            return contents
        sure = is_new(_root(held.buffer), 0)
    found = as_ragged(b, contents, shape or (), contents.dtype)
    assert isinstance(found.held, Ragged)
    messages = (FIRST, LENGTHS if leading is not None else NO_LENGTHS, NEGATIVE, AMBIGUOUS)
    given = b.const(np.zeros(0, np.int64)) if leading is None else leading
    asked = b.sizes((-1 if first is None else first,), dtypes.i64)
    table = b.ragged_lengths(found.held.table, given, asked, faults=messages, sure=sure)
    return replace(found, held=replace(found.held, table=table))


def _root(buffer: Value) -> Value:
    """What the elements of a dense list were put into, one after another."""
    while buffer.node.op is op_named("list_set"):
        buffer = buffer.node.inputs[0]
    return buffer
