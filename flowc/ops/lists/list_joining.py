"""Tensors cut into the elements of a list along their first axis, and put together from them.

In: values with the lengths of their pieces; lists. Out: rows of equal pieces, or one tensor with
the lengths of what it is made of. Invariant: lengths that do not fit end in TensorFlow's message.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor, ListValue
from flowc.ops.lists.list_values import (
    Partial,
    size_value,
)
from flowc.ops.lists.ragged_values import (
    faults_along,
    joined,
)


def split_is_ragged(
    x: Extractor, value: Value, lengths: Value, contents: ListValue | None = None
) -> bool:
    """Whether a value is split into pieces that may differ in length, which the list that takes
    them allows."""
    if contents is not None and (contents.uniform or contents.element is not None):
        return False
    known = x.b.content(lengths)
    if not value.type.rank or lengths.dims[0] == 1:
        return False
    return known is None or len(set(known.reshape(-1))) > 1


def split_alike(x: Extractor, value: Value, lengths: Value, unused: str) -> Value:
    """The pieces of a value as rows. `unused`: the message where the lengths, which must be equal,
    do not add up to what there is."""
    known = x.b.content(lengths)
    found = set(() if known is None else known.reshape(-1))
    if len(found) == 1 and value.type.rank:
        (piece,), count = found, lengths.dims[0]
        if count * piece == value.dims[0]:
            return x.b.reshape(value, (count, piece, *value.dims[1:]))
    return x.b.list_pieces(value, lengths, message=unused)


def join_ragged(
    x: Extractor, contents: ListValue, text: str, none: str, shape: Partial, hint: str = ""
) -> tuple[Value, Value]:
    """As `join_rows`, of elements that differ in length. `text`: as `faults_along` takes it."""
    if not contents.common:
        raise _scalars_joined(x, hint)
    faults = [none, *faults_along(contents.common[1:], text, none)]
    return joined(x, contents, faults, shape)


def _scalars_joined(x: Extractor, hint: str) -> InvalidArgumentError:
    text = "Concat saw a scalar shape at index 0 but requires at least vectors."
    return InvalidArgumentError(f"{text} {hint}".rstrip(), node=x.name)


def join_rows(x: Extractor, buffer: Value, hint: str = "") -> tuple[Value, Value]:
    """The elements of a list one after another, and how long each is."""
    b = x.b
    if buffer.type.rank < 2:
        raise _scalars_joined(x, hint)
    rows, length, *rest = buffer.dims
    lengths = b.fill(b.sizes((rows,)), size_value(b, length, dtypes.i64))
    return b.reshape(buffer, (rows * length, *rest)), lengths
