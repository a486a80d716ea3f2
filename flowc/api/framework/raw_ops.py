"""`flowc.raw_ops.X(**kwargs)`: a function for every TensorFlow op type that flowc has a record of.

In: the op's inputs and attrs by keyword, as in `tf.raw_ops`. Out: its output tensor, a named tuple
of several, a list where the op gives a list, or the Operation where it has no outputs.
"""

from __future__ import annotations

import re
import typing  # not its names: `Any` is an op
from collections import namedtuple
from collections.abc import Callable

from flowc.errors import did_you_mean
from flowc.graph import Operation
from flowc.graph.building.creation import create, record_of

# What is the same of all functions that are one op.
ERRORS_OF_OPS = (
    "Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit "
    "and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."
)


def results_of(op: Operation) -> typing.Any:
    """The outputs of an operation as TensorFlow's raw ops return them."""
    args = record_of(op.type).signature.outputs
    if not args:
        return op
    grouped: list[typing.Any] = []
    at = 0
    outputs = op.outputs
    for arg in args:
        if arg.number_attr is None and not arg.is_list:
            grouped.append(outputs[at])
            at += 1
            continue
        name = arg.number_attr or arg.type_attr or ""
        width = op.attrs[name] if arg.number_attr is not None else len(op.attrs[name])
        grouped.append(outputs[at : at + width])
        at += width
    if len(grouped) == 1:
        return grouped[0]
    return namedtuple(op.type, [arg.name for arg in args])(*grouped)


def call(
    op_type: str, *inputs: typing.Any, name: str | None = None, **attrs: typing.Any
) -> typing.Any:
    """Creates an operation; the result in the form of `results_of`."""
    return results_of(create(op_type, inputs, attrs, name))


def _function(op_type: str) -> Callable[..., typing.Any]:
    record = record_of(op_type)
    signature = record.signature
    inputs = [arg.name for arg in signature.inputs]
    taken = {*inputs, *signature.attrs, "name"}
    optional = {n for n, attr in signature.attrs.items() if attr.kind != "shape"}

    def raw_op(**kwargs: typing.Any) -> typing.Any:
        kwargs = {_declared_name(n, taken): v for n, v in kwargs.items()}
        missing = [n for n in inputs if n not in kwargs]
        if missing:
            raise TypeError(f"{op_type}() missing required keyword-only argument: {missing[0]!r}")
        unknown = [n for n in kwargs if n not in taken]
        if unknown:
            raise TypeError(
                f"{op_type}() got an unexpected keyword argument {unknown[0]!r}: it takes "
                f"{', '.join(sorted(taken))}"
            )
        name = kwargs.pop("name", None)
        given = {n: v for n, v in kwargs.items() if v is not None or n not in optional}
        return results_of(create(op_type, (), given, name))

    return named(
        raw_op, op_type, f"TensorFlow's op of this signature:\n\n    {record.tf}\n\n{ERRORS_OF_OPS}"
    )


def named(
    function: Callable[..., typing.Any], name: str, doc: str | None = None
) -> Callable[..., typing.Any]:
    """A function that another one made, called as the public one that it is."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def snake_case(op_type: str) -> str:
    """The name of a function of an op: `segment_max` of `SegmentMax`."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", op_type).lower()


# The Python names of some arguments -> what the ops' signatures call them.
_RENAMED = {
    "axis": ("reduction_indices", "dim", "split_dim", "squeeze_dims"),
    "x": ("t",),
    "y": ("e",),
    "condition": ("input",),
}


def _declared_name(name: str, taken: set[str]) -> str:
    if name in taken:
        return name
    return next((n for n in _RENAMED.get(name, ()) if n in taken), name)


def _public_names() -> list[str]:
    from flowc.api.framework.raw_control import CONTROL_OPS
    from flowc.ops import tf_names

    return sorted({*CONTROL_OPS, *(n for n in tf_names() if not n.startswith("_"))})


def __getattr__(name: str) -> typing.Any:
    if name.startswith("_") or name not in _public_names():
        near = None if name.startswith("_") else did_you_mean(name, _public_names())
        raise AttributeError(
            f"flowc has no record of the op {name!r}" + (f": {near}" if near else "")
        )
    from flowc.api.framework.raw_control import CONTROL_OPS

    found = globals()[name] = CONTROL_OPS[name] if name in CONTROL_OPS else _function(name)
    return found


def __dir__() -> list[str]:
    return _public_names()
