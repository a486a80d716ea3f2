"""Stacks, on which version 1 loops keep what their gradients need.

In: handles and elements. Out: elements, last in first out. A handle is a Resource whose contents
are a ListValue. Invariant: the elements of one stack have one rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, ListValue, Resource
from flowc.ir.lowering import Extracted
from flowc.ir.mark_access import CLEARED
from flowc.ir.op import Attrs, define
from flowc.ops.lists.list_faults import escaped
from flowc.ops.lists.list_operations import popped, pushed, with_element, zeros
from flowc.ops.lists.list_values import (
    Faults,
    complete,
    dtype_shown,
    known_when_extracted,
    size_of,
)
from flowc.ops.state.variables import value_of

KIND = "stack"
STATE = frozenset({"stateful"})


def _stack_of(x: Extractor, bound: Bound) -> tuple[Resource, ListValue]:
    if isinstance(bound, Resource) and bound.kind == KIND:
        contents = x.contents(bound)
        assert isinstance(contents, ListValue)
        return bound, contents
    raise InvalidArgumentError(f"the handle given to '{x.name}' is no stack's")


def _emit_stack(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    dtype = attrs["elem_type"]
    if dtype is dtypes.resource:
        dtype = dtypes.i32  # of an array that is kept: how many elements it has
    return [x.create(KIND, ListValue(dtype, 0, known=(), home=x.b))]


def _emit_push(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    stack, contents = _stack_of(x, inputs[0])
    item = inputs[1]
    if isinstance(item, Resource) and item.kind == "tensor_array":
        array = x.contents(item)
        assert isinstance(array, ListValue)
        x.save_resource(stack, item)
        x.replace(stack, pushed(x, contents, x.b.scalar_size(array.rows)))
        return [item]
    value = value_of(x, item)
    if value.type.dtype is not contents.dtype:
        raise InvalidArgumentError(
            f"Must have type {dtype_shown(contents.dtype)} but got {dtype_shown(value.type.dtype)}"
        )
    x.replace(stack, pushed(x, contents, value))
    return [value]


def _emit_pop(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    stack, contents = _stack_of(x, inputs[0])
    message = f"Stack[{stack.name}] is empty when calling Pop()."
    if contents.held is None or contents.rows == 0:
        raise InvalidArgumentError(message)
    rest, item = popped(x, contents, Faults(escaped(message)))
    x.replace(stack, rest)
    if attrs["elem_type"] is dtypes.resource:
        return [_array_taken(x, stack, value_of(x, item))]
    return [item]


def _array_taken(x: Extractor, stack: Resource, rows: Value) -> Resource:
    """The array of the iteration whose gradient is computed: its size and the shape of elements,
    which is what gradients ask of it. Its elements are not kept: a run that reads one fails."""

    def make(inner: Extractor, last: Bound) -> Bound:
        assert isinstance(last, ListValue)
        partial = last.partial
        if last.common is not None:
            lasting = (d if d is not None and inner.is_lasting(d) else None for d in last.common)
            partial = tuple(lasting)
        size = size_of(inner.b, rows)
        marks = zeros(inner.b, (size,), dtypes.u8, CLEARED)
        contents = ListValue(
            last.dtype, size, marks=marks, partial=partial, uniform=last.uniform, home=inner.b
        )
        element = complete(partial)
        if element is None:
            return contents
        return with_element(inner.b, contents, element, last.dtype)

    return x.restored_resource(stack, make)


def _emit_close(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    _stack_of(x, inputs[0])
    return []


_PUSH, _POP = "elem: T; T: type, swap_memory: bool = False", "elem_type: type"
_STACK = 'elem_type: type, stack_name: string = ""'

for _ending, _version, _handle, _size in (
    ("", "V2", "resource", "max_size: i32"),
    ("_v1", "", "ref(string)", ""),
):
    for _name, _tf, _infer, _emit in (
        ("", f"({_size}; {_STACK}) -> handle: {_handle}", lambda c: (2,), _emit_stack),
        ("push", f"(handle: {_handle}, {_PUSH}) -> output: T", lambda c: c.dims(1), _emit_push),
        ("pop", f"(handle: {_handle}; {_POP}) -> elem: elem_type", known_when_extracted, _emit_pop),
        ("close", f"(handle: {_handle})", lambda c: [], _emit_close),
    ):
        define(
            f"stack_{_name}".rstrip("_") + _ending,
            f"Stack{_name.title()}{_version}{_tf}",
            infer=_infer,
            lowering=Extracted(_emit),
            traits=STATE,
        )
