"""Static shapes of a Graph's operations, from the type rules of the op records.

In: a record, input tensors whose dims may be unknown, attrs; or an operation that was given no
shapes (an imported one). Out: one shape an output: a tuple of ints and Nones, or None for an
unknown rank. Invariant: what is said holds for every run; a rule that needs the elements of an
input gets them where constants and shape arithmetic give them.

Rules of the records take ranks as known. An input of unknown rank is tried with each of `RANKS`,
two with each pair: what all those that the rule takes agree on is the answer, and of more inputs
there is none. Higher ranks are trusted to agree too.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from flowc.dtypes import DType, resource
from flowc.errors import InvalidModelError, OpError, UnsupportedError
from flowc.graph.op_info import node_attrs
from flowc.graph.operation import Operation
from flowc.graph.shape import UNKNOWN_SHAPE, as_shape
from flowc.graph.tensor import Tensor
from flowc.graph.verify import OUTPUT_SHAPES, operation_faults
from flowc.ir.builder import Builder, Content
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, Expr, Symbol, expression, fresh_symbol, lone_symbol, substitute
from flowc.ir.inference import NeedsContent
from flowc.ir.op import Op, output_dtypes
from flowc.ir.signature import REQUIRED
from flowc.ir.traversal import inputs_first
from flowc.ir.types import Dims, TensorType
from flowc.ops import tf_op

Sizes = tuple[int | None, ...] | None

# What says that there are no shapes; a fault of flowc's own is none of these.
REFUSALS = (InvalidModelError, UnsupportedError, OpError)
CHAIN_LIMIT = 64  # operations of shape arithmetic that are followed for one shape
RANKS = range(6)  # tried for inputs of unknown rank
MOST_UNRANKED = 2  # inputs, of which all pairs of ranks are tried


class _Shapes(Builder):
    """A builder for the inference of one operation: inputs are parameters; shape arithmetic behind
    them is emitted when a rule asks for elements."""

    builds = True

    def __init__(self, ranks: Mapping[Tensor, int]) -> None:
        super().__init__()
        self._ranks = ranks
        self._values: dict[Tensor, Value] = {}
        self._tensors: dict[Value, Tensor] = {}
        self._emitted: dict[Operation, tuple[Value, ...] | None] = {}

    def value(self, tensor: Tensor) -> Value:
        found = self._values.get(tensor)
        if found is None and tensor.base_dtype is resource:
            emitted = self._emit_chain(tensor)  # the dims of a handle are those of its variable
            if emitted is None:
                raise NeedsContent(f"{tensor.name} is a handle of an unknown variable")
            found = self._values[tensor] = emitted
        if found is None:
            found = self.parameter(tensor.name, _type_of(tensor, self._dims(tensor)))
            self._values[tensor] = found
            self._tensors[found] = tensor
        return found

    def _dims(self, tensor: Tensor) -> tuple[Dim, ...]:
        shape = tensor.settled_shape
        sizes = None if shape is None else shape.sizes
        if sizes is None and tensor not in self._ranks:
            raise NeedsContent(f"{tensor.name} has an unknown rank")
        if sizes is None:
            sizes = (None,) * self._ranks[tensor]
        return tuple(self._unknown() if s is None else s for s in sizes)

    def _unknown(self) -> Dim:
        return expression(fresh_symbol("u"))

    def content(self, value: Value) -> Content:
        tensor = self._tensors.get(value)
        if tensor is None or value in self._content:
            return super().content(value)
        emitted = self._emit_chain(tensor)
        known = None if emitted is None else super().content(emitted)
        self._content[value] = known
        return known

    def _read_sizes(self, value: Value, below: int = 0) -> Content:
        tensor = self._tensors.get(value)
        emitted = None if tensor is None else self._emit_chain(tensor)
        known = super()._read_sizes(value if emitted is None else emitted, below)
        self._content[value] = known
        return known

    def _emit_chain(self, tensor: Tensor) -> Value | None:
        """The value of a constant, or of shape arithmetic; None for other tensors."""
        near = self._nearest(tensor.op)
        for op in inputs_first([tensor.op], lambda op: [t.op for t in op.inputs if t.op in near]):
            if op in near:
                self._emitted[op] = self._emit_operation(op)
        outputs = self._emitted.get(tensor.op)
        return None if outputs is None else outputs[tensor.value_index]

    def _nearest(self, start: Operation) -> set[Operation]:
        """The shape arithmetic behind an operation that is not emitted yet, the nearest first up to
        the limit: what is farther away is unknown, and what is between still tells its part."""
        found: set[Operation] = set()
        waiting = deque([start])
        while waiting and len(found) < CHAIN_LIMIT:
            op = waiting.popleft()
            if op not in found and op not in self._emitted and self._followed(op):
                found.add(op)
                waiting += [t.op for t in op.inputs]
        return found

    def _followed(self, op: Operation) -> bool:
        record = tf_op(op.type)
        if record is None or "fed" in record.traits:
            return False  # a default tells nothing: a run may feed something else
        handle = op.outputs and op.outputs[0].base_dtype is resource
        return record.name == "const" or bool(record.content) or bool(handle)

    def _emit_operation(self, op: Operation) -> tuple[Value, ...] | None:
        record = tf_op(op.type)
        assert record is not None
        try:
            if operation_faults(op):
                return None
            if record.name == "const":
                return (self.const(op.attrs["value"], op.attrs["dtype"]),)
            if any(t.base_dtype is None for t in op.inputs):
                return None  # behind an unknown op
            inputs = []
            for tensor in op.inputs:
                outputs = self._emitted.get(tensor.op)
                value = None if outputs is None else outputs[tensor.value_index]
                if value is None and tensor.base_dtype is resource:
                    return None  # a handle beyond the limit
                inputs.append(self.value(tensor) if value is None else value)
            return self.emit(record, inputs, node_attrs(record, op.attrs, {})).outputs
        except REFUSALS:
            return None  # an unknown rank, or not typed: its elements are not known


def infer_shapes(
    record: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
) -> tuple[Sizes, ...] | None:
    """The shapes of an operation's outputs, or None where nothing can be said.

    Raises `ShapeError` and other `FlowcError`s for inputs that the op does not take.
    """
    if any(t.base_dtype is None for t in inputs):
        return None
    plain = node_attrs(record, attrs, {})
    unranked = list(dict.fromkeys(t for t in inputs if _unranked(t)))
    if inputs and "fed" in record.traits:
        if not unranked:
            _inferred(record, inputs, plain, {})  # raises where the default has not that shape
        return _stated(plain)  # what is fed may differ from the input's shape
    if not unranked:
        return _inferred(record, inputs, plain, {})
    if len(unranked) > MOST_UNRANKED:
        return None
    found: list[tuple[Sizes, ...]] = []
    for ranks in itertools.product(RANKS, repeat=len(unranked)):
        try:
            one = _inferred(record, inputs, plain, dict(zip(unranked, ranks)))
        except REFUSALS:
            continue
        if one is None:
            return None
        found.append(one)
    if not found or len({len(one) for one in found}) > 1:
        return None
    return tuple(_common([one[k] for one in found]) for k in range(len(found[0])))


def _unranked(tensor: Tensor) -> bool:
    shape = tensor.settled_shape
    return tensor.base_dtype is not resource and (shape is None or shape.sizes is None)


def _common(shapes: Sequence[Sizes]) -> Sizes:
    """What all shapes agree on."""
    ranks = {None if s is None else len(s) for s in shapes}
    if None in ranks or len(ranks) > 1:
        return None
    columns = [set(column) for column in zip(*[s for s in shapes if s is not None])]
    return tuple(next(iter(c)) if len(c) == 1 else None for c in columns)


def _inferred(
    record: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any], ranks: Mapping[Tensor, int]
) -> tuple[Sizes, ...] | None:
    builder = _Shapes(ranks)
    try:
        values = [builder.value(t) for t in inputs]
        types, _ = builder.infer(record, values, _with_defaults(record, attrs), ())
        types = _with_equal_sizes(types, builder.constraints)
    except NeedsContent as error:
        if error.shapes is not None:
            return tuple(error.shapes)
        return _declared(attrs, len(inputs))
    return tuple(
        _handle_sizes(record, inputs, t) if t.dtype is resource else _sizes(t) for t in types
    )


def _with_equal_sizes(
    types: Sequence[TensorType], equal: Sequence[tuple[Dim, Dim]]
) -> Sequence[TensorType]:
    """The types, in which sizes are the numbers that an operation needs them to be."""
    found: dict[Symbol, Dim] = {}
    for pair in equal:
        one, other = sorted((substitute(d, found) for d in pair), key=lambda d: isinstance(d, int))
        size = lone_symbol(one)
        if size is not None and (isinstance(other, int) or lone_symbol(other) is not None):
            found = {s: substitute(d, {size: other}) for s, d in found.items()} | {size: other}
    return [TensorType(t.dtype, tuple(substitute(d, found) for d in t.dims)) for t in types]


def _handle_sizes(record: Op, inputs: Sequence[Tensor], found: TensorType) -> Sizes:
    """A handle is a scalar for a variable, whose own dims are inferred, and two numbers for a stack
    or an array. What takes a handle hands on one like it."""
    for tensor in inputs:
        if tensor.base_dtype is resource:
            shape = tensor.settled_shape
            return None if shape is None else shape.sizes
    return () if record.name == "var_handle" else _sizes(found)


def _with_defaults(record: Op, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attrs with the defaults of those left out, save what follows from the inputs."""
    signature = record.signature
    found = {
        n: a.default
        for n, a in signature.attrs.items()
        if a.default is not REQUIRED and n not in signature.inferred_attrs
    }
    return found | dict(attrs)


def _type_of(tensor: Tensor, dims: Dims) -> TensorType:
    """The type of a tensor; without a dtype behind an unknown op, since most rules do not need
    it."""
    return TensorType(cast(DType, tensor.base_dtype), dims)


def _sizes(found: TensorType) -> tuple[int | None, ...]:
    return tuple(None if isinstance(d, Expr) else int(d) for d in found.dims)


def _declared(attrs: Mapping[str, Any], count: int) -> tuple[Sizes, ...] | None:
    """The shape that an attr states (a placeholder's), where the elements of an input would be
    needed to know more."""
    return _stated(attrs) if not count and "shape" in attrs else None


def _stated(attrs: Mapping[str, Any]) -> tuple[Sizes, ...]:
    shape = attrs["shape"]
    return (None if shape is None else tuple(shape),)


# -- shapes of operations that were imported


def settle_shapes(op: Operation) -> None:
    """Gives every output of an operation that was given no shape its own, and before it those of
    the operations that it follows from, without recursion over the graph's depth. Around a loop, a
    shape that is asked for before it is settled is unknown."""

    def unsettled(other: Operation) -> list[Operation]:
        return [t.op for t in other.inputs if t.settled_shape is None]

    for other in inputs_first([op], unsettled):
        shapes = _shapes_of(other) or ()
        for k, tensor in enumerate(other.outputs):
            tensor.settle_shape(as_shape(shapes[k]) if k < len(shapes) else UNKNOWN_SHAPE)


def _shapes_of(op: Operation) -> Sequence[Any] | None:
    record = tf_op(op.type)
    found = None
    # An op of a file that is at fault has no shapes: extraction says what is wrong with it.
    with suppress(*REFUSALS):
        if operation_faults(op):
            return None
        if record is not None and (op.inputs or OUTPUT_SHAPES not in op.attrs):
            found = infer_shapes(record, op.inputs, op.attrs)
    return op.attrs.get(OUTPUT_SHAPES) if found is None else found


def constant_elements(tensor: Tensor) -> np.ndarray | None:
    """The elements of a tensor that is known when the graph is built, or None."""
    builder = _Shapes({})
    shape = tensor.shape.sizes
    if shape is None or tensor.base_dtype is None:
        return None
    found = builder.content(builder.value(tensor))
    if found is None or any(isinstance(x, Expr) for x in found.reshape(-1)):
        return None
    return np.asarray(found, dtype=tensor.base_dtype.numpy)


def elements_as_sizes(tensor: Tensor) -> Sizes:
    """The sizes that the elements of a vector are, as far as they are known when the graph is
    built: None for each that is not, or is -1; None where it is unknown how many they are."""
    if tensor.shape.ndims != 1 or tensor.shape[0].value is None:
        return None
    builder = _Shapes({})
    value = builder.value(tensor)
    found = builder.content(value)
    if found is None:
        found = builder._read_sizes(value)
    if found is None:
        return (None,) * int(tensor.shape[0].value)
    return tuple(None if isinstance(x, Expr) or x < 0 else int(x) for x in found.tolist())


def check_types(record: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """The dtypes of an operation's outputs."""
    types = [_type_of(t, ()) for t in inputs]
    return output_dtypes(record, types, node_attrs(record, attrs, {}))
