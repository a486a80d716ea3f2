"""What plain ops make of lists: ZerosLike and AddN, which gradients of lists are added up with.

In: lists, optionals. Out: one of them. Invariant: each treats every representation of a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

from flowc import dtypes
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.extraction import (
    Bound,
    ByRank,
    DenseItems,
    Extractor,
    ListValue,
    OptionalValue,
    Ragged,
    values_of,
    with_held,
)
from flowc.ops.lists.host_variants import elements_summed
from flowc.ops.lists.list_operations import have_several_ranks, tensors_in, zeros
from flowc.ops.lists.lists_by_rank import summed_by_rank
from flowc.ops.lists.ragged_values import as_ragged, is_new, must_be_ragged, summed_ragged


def zeros_like_list(
    x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]
) -> Sequence[Bound]:
    """ZerosLike of a TensorList: as many elements, all zeros; of an optional: of its value."""
    (contents,) = inputs
    if isinstance(contents, OptionalValue):
        cases = [replace(case, held=_zeros_of(x, case.held, attrs)) for case in contents.cases]
        return [OptionalValue(tuple(cases))]
    assert isinstance(contents, ListValue)
    if contents.held is None:
        return [contents]

    def zeroed(part: Ragged) -> Ragged:
        return replace(part, flat=zeros(x.b, part.flat.dims, contents.dtype))

    if isinstance(contents.held, ByRank):
        lists = tuple(zeroed(part) for part in contents.held.lists)
        return [with_held(contents, replace(contents.held, lists=lists))]
    held = tensors_in(x, contents)
    if isinstance(held, DenseItems):
        return [with_held(contents, DenseItems(zeros(x.b, held.buffer.dims, contents.dtype)))]
    return [with_held(contents, zeroed(held))]


def _zeros_of(x: Extractor, held: Value | ListValue, attrs: Mapping[str, Any]) -> Value | ListValue:
    if isinstance(held, Value):
        return x.b.zeros_like(held)
    (found,) = zeros_like_list(x, [held], attrs)
    assert isinstance(found, ListValue)
    return found


def sum_of_lists(
    x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]
) -> Sequence[Bound]:
    """AddN of TensorLists, element by element; one that was never written to adds nothing."""
    lists = [bound for bound in inputs if isinstance(bound, ListValue)]
    if any(isinstance(bound, OptionalValue) for bound in inputs):
        raise UnsupportedError(f"'{x.name}' adds optionals, which flowc does not")
    if len(lists) != len(inputs):
        raise InvalidArgumentError(f"'{x.name}' adds lists to tensors")
    for one in lists[1:]:
        rows, count = lists[0].rows, one.rows
        if (
            x.is_unconditional
            and isinstance(rows, int)
            and isinstance(count, int)
            and rows != count
        ):
            raise InvalidArgumentError(
                "Trying to add two lists of tensors with different lengths. "
                f"One is {rows} and the other is {count}"
            )
    held = [c for c in lists if c.held is not None]
    added = [c for c in held if not is_new(values_of(c)[0], 0)]
    if have_several_ranks(added):
        return [summed_by_rank(x, added)]
    if any(must_be_ragged(x, held[0], c.element or ()) for c in held):
        ragged = [as_ragged(x.b, c, (), c.dtype) for c in added]
        parts = [c.held for c in ragged if isinstance(c.held, Ragged)]
        if not parts:
            return [next(c for c in lists if isinstance(c.held, Ragged))]
        return [with_held(added[0], reduce(partial(summed_ragged, x.b), parts))]
    buffers = [tensors_in(x, c) for c in added]
    dense = [part.buffer for part in buffers if isinstance(part, DenseItems)]
    if not dense:
        return [held[0] if held else lists[0]]
    total = dense[0]
    if len(dense) > 1:
        variants = total.type.dtype is dtypes.string
        total = elements_summed(x.b, dense) if variants else x.b.add_n(*dense)
    return [with_held(held[0], DenseItems(total))]
