"""Makes operations of the default graph from Python values, by the op records.

In: an op type, one value (or list of values) for each input of the signature, attrs. Out: an
Operation. Invariant: what does not fit is refused before the graph changes, save for constants made
of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.graph.building.conversion import as_tensor, constant_array, constant_tensor
from flowc.graph.building.new_operation import (
    add_operation,
    check_allowed,
    different_types,
    plain_attr,
    record_of,
)
from flowc.graph.default import get_default_graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.op import Op
from flowc.ir.signature import REQUIRED, Arg


def create(
    op_type: str,
    inputs: Sequence[Any] = (),
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
    numbers_fit: bool = False,
) -> Operation:
    """Adds an operation to the default graph.

    `inputs`: one entry for each input of the op's signature, a list where it takes several tensors;
    without any, `attrs` has them by name. Python numbers take the dtype of the inputs before them
    that they must match, with `numbers_fit` (Python's operators, gradients) of tensors behind them
    too, which TensorFlow's functions refuse. `attrs`: those that do not follow from the inputs and
    have no default. Raises `TypeError` for dtypes that do not fit, `ValueError` (`ShapeError`) for
    shapes and attrs, `NotFoundError` for an op type without record.
    """
    record = record_of(op_type)
    with get_default_graph().name_scope(name or op_type) as scope:
        given = dict(attrs or {})
        args = record.signature.inputs
        values = inputs or [given.pop(arg.name) for arg in args if arg.name in given]
        found = _Inputs(record, op_type, given)
        found.take(values, numbers_fit)
        return add_operation(op_type, found.tensors, found.attrs, scope, found.references)


def _name_of_dtype(value: Any) -> str:
    """The dtype of what a value becomes by itself."""
    try:
        return dtypes.name_of(as_tensor(value).base_dtype)
    except (TypeError, ValueError):
        return "<NOT CONVERTIBLE TO TENSOR>"


def output(op_type: str, *inputs: Any, name: str | None = None, **attrs: Any) -> Tensor:
    """Creates an operation with one output and returns it. A function whose arguments are called
    as the op's inputs and attrs gives its `locals()`."""
    return create(op_type, inputs, attrs, name).outputs[0]


def shape_tensor(tensor: Tensor, dtype: DType = dtypes.i32, name: str = "Shape") -> Tensor:
    """The sizes as a vector: a constant where they are known."""
    if tensor.shape.is_fully_defined():
        sizes = np.array(tensor.shape.as_list(), dtype.numpy)
        return constant_tensor(constant_array(sizes), name)
    return output("Shape", tensor, name=name, out_type=dtype)


class _Inputs:
    """The tensors of a new operation, and the attrs that follow from them."""

    def __init__(self, record: Op, op_type: str, attrs: Mapping[str, Any]) -> None:
        self.record = record
        self.op_type = op_type
        self.tensors: list[Tensor] = []
        self.references: list[Tensor] = []  # what the op changes: it stands beside them
        self.attrs: dict[str, Any] = dict(attrs)
        self.origins: dict[str, str] = {}  # type attr -> the input that fixed it
        for attr in record.signature.attrs.values():
            given = self.attrs.get(attr.name)
            if attr.kind == "type" and attr.name in self.attrs:
                self.attrs[attr.name] = plain_attr(given, "type", attr.name)
            elif attr.kind == "list(type)" and attr.name in self.attrs:
                self.attrs[attr.name] = [plain_attr(t, "type", attr.name) for t in given or ()]

    def take(self, inputs: Sequence[Any], numbers_fit: bool) -> None:
        args = self.record.signature.inputs
        if len(inputs) != len(args):
            names = ", ".join(a.name for a in args) or "none"
            raise TypeError(
                f"{self.op_type} takes {len(args)} inputs ({names}), found {len(inputs)}"
            )
        hints = self._dtype_hints(inputs) if numbers_fit else {}
        for arg, value in zip(args, inputs):
            if arg.is_ref and hasattr(value, "_ref"):  # a variable
                value = value._ref()
            at = len(self.tensors)
            if (arg.is_list or arg.number_attr) and not isinstance(value, list | tuple):
                raise TypeError(f"Expected list for '{arg.name}' argument to '{self.op_type}' Op, "
                                f"not {value}.")  # fmt: skip
            if arg.is_list:
                self._take_typed_list(arg, value)
            elif arg.number_attr is not None:
                self._take_list(arg, value, hints)
            else:
                self._take_one(arg, value, hints)
            if arg.is_ref:
                self.references += self.tensors[at:]

    def _dtype_hints(self, inputs: Sequence[Any]) -> dict[str, DType]:
        """For each type attr, the dtype of the first tensor that it is about."""
        found: dict[str, DType] = {}
        for arg, value in zip(self.record.signature.inputs, inputs):
            if arg.type_attr is None or arg.is_list:
                continue
            several = arg.number_attr is not None and isinstance(value, list | tuple)
            for item in value if several else [value]:
                dtype = getattr(item, "dtype", None)
                if isinstance(item, Tensor) and dtype is not None:
                    found.setdefault(arg.type_attr, dtype)
        return found

    def _take_typed_list(self, arg: Arg, value: Any) -> None:
        wanted = self.attrs.get(arg.type_attr or "")
        types = [None] * len(value) if wanted is None else [dtypes.as_dtype(t) for t in wanted]
        names = [f"{arg.name}_{i}" for i in range(len(value))]
        tensors = [as_tensor(v, t, n) for v, t, n in zip(value, types, names, strict=True)]
        definition = self.record.signature.attrs[arg.type_attr or ""]
        for tensor in tensors:
            check_allowed(arg.name, tensor.base_dtype, definition, self.op_type)
        self.attrs[arg.type_attr or ""] = [t.base_dtype for t in tensors]
        self.tensors += tensors

    def _take_list(self, arg: Arg, value: Any, hints: Mapping[str, DType]) -> None:
        number = self.attrs.setdefault(arg.number_attr or "", len(value))
        definition = self.record.signature.attrs[arg.number_attr or ""]
        if number != len(value):
            raise ValueError(
                f"List argument '{arg.name}' to '{self.op_type}' Op with length {len(value)} must "
                f"match length {number} of argument that came before."
            )
        if definition.minimum is not None and len(value) < definition.minimum:
            raise ValueError(
                f"List argument '{arg.name}' to '{self.op_type}' Op with length {len(value)} "
                f"shorter than minimum length {definition.minimum}."
            )
        wanted, hint = self._wanted(arg, hints)
        dtype = wanted
        if dtype is None and hint is None:
            # A tensor among them decides what the numbers beside it become; without one, each item
            # is what it is.
            dtype = next((v.base_dtype for v in value if isinstance(v, Tensor)), None)
        try:
            found = [
                v if isinstance(v, Tensor) else as_tensor(v, dtype, f"{arg.name}_{i}", hint)
                for i, v in enumerate(value)
            ]
        except (TypeError, ValueError) as error:
            raise self._different_types(arg, value, wanted) from error
        if any(t.base_dtype is not (dtype or found[0].base_dtype) for t in found):
            raise self._different_types(arg, value, wanted)
        for tensor in found:
            self._fix(arg, tensor)
            self.tensors.append(tensor)

    def _different_types(self, arg: Arg, values: Sequence[Any], wanted: DType | None) -> TypeError:
        """The error for a list whose items cannot all be of one dtype, that `wanted` if any."""
        if wanted is None:
            rest = "that don't all match."
        elif arg.type_attr is None:
            rest = f"that do not match expected type {wanted.name}."
        else:
            rest = f"that do not match type {wanted.name} inferred from earlier arguments."
        names = [_name_of_dtype(value) for value in values]
        return different_types(arg.name, self.op_type, names, rest)

    def _take_one(self, arg: Arg, value: Any, hints: Mapping[str, DType]) -> None:
        dtype, hint = self._wanted(arg, hints)
        if dtype is None and hint is None and arg.type_attr is not None:
            empty = isinstance(value, list | tuple) and not value
            default = self._default(arg)
            # An empty list says nothing of its dtype; real numbers are taken for complex ones.
            hint = default if empty or (default is not None and default.is_complex) else None
        tensor = self._converted(value, dtype, hint, arg.name)
        if dtype is not None and tensor.base_dtype is not dtype:
            raise TypeError(self._mismatch(arg, tensor, dtype))
        self._fix(arg, tensor)
        self.tensors.append(tensor)

    def _wanted(self, arg: Arg, hints: Mapping[str, DType]) -> tuple[DType | None, DType | None]:
        """The dtype that an input must have, and the one that is tried first for numbers."""
        if arg.type_attr is None:
            return arg.dtype, None
        if arg.type_attr in self.attrs:
            return self.attrs[arg.type_attr], None
        return None, hints.get(arg.type_attr)

    def _default(self, arg: Arg) -> DType | None:
        default = self.record.signature.attrs[arg.type_attr or ""].default
        return None if default is REQUIRED else default

    def _converted(self, value: Any, dtype: DType | None, hint: DType | None, name: str) -> Tensor:
        if hasattr(value, "_as_tensor"):  # a variable, whose dtype is compared as a tensor's is
            value = value._as_tensor()
        if isinstance(value, Tensor) and value.graph is get_default_graph():
            return value
        try:
            return as_tensor(value, dtype, name, hint)
        except TypeError as error:
            if dtype is None:
                raise
            raise TypeError(
                f"Expected {dtype.name} passed to parameter '{name}' of op '{self.op_type}', "
                f"got {value!r} of type '{type(value).__name__}' instead. Error: {error}"
            ) from None

    def _mismatch(self, arg: Arg, tensor: Tensor, dtype: DType) -> str:
        found = dtypes.name_of(tensor.base_dtype)
        text = f"Input '{arg.name}' of '{self.op_type}' Op has type {found} that does not match "
        origin = self.origins.get(arg.type_attr or "")
        if origin is not None:
            return text + f"type {dtype.name} of argument '{origin}'."
        return text + f"expected type of {dtype.name}."

    def _fix(self, arg: Arg, tensor: Tensor) -> None:
        if arg.type_attr is None:
            return
        definition = self.record.signature.attrs[arg.type_attr]
        check_allowed(arg.name, tensor.base_dtype, definition, self.op_type)
        if arg.type_attr not in self.attrs:
            self.attrs[arg.type_attr] = tensor.base_dtype
            self.origins[arg.type_attr] = arg.name
