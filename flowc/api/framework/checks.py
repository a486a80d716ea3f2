"""`Assert`, `Print` and `print`: operations that are there for their effect."""

from __future__ import annotations

import os
import pprint
import sys
from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework import nest
from flowc.api.framework.basics import check_numerics
from flowc.api.framework.scopes import control_dependencies, group, name_scope, no_op
from flowc.api.framework.typed_nodes import add_node
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create


def add_check_numerics_ops() -> Operation:
    """An operation that fails a run with `InvalidArgumentError` where a tensor of floats of the
    default graph, as it is now, has an Inf or NaN; the first such tensor is told.

    Raises `ValueError` where one stands in a `cond` or `while_loop`."""
    checks: list[Operation] = []
    for op in get_default_graph().get_operations():
        for tensor in op.outputs:
            if tensor.dtype not in (dtypes.f16, dtypes.f32, dtypes.f64):
                continue
            if op.control_flow_context is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
                    "operations such as `tf.cond()` or `tf.while_loop()`."
                )
            with control_dependencies(checks):
                message = f"{op.name}:{tensor.value_index}"
                checks = [check_numerics(tensor, message=message).op]
    return group(*checks)


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that fails a run with `InvalidArgumentError` where `condition` does not hold.

    The error shows the `data`, `summarize` elements of each. It raises nothing before a run, of
    a condition that is known, either: put what depends on it behind `control_dependencies`.
    `TypeError` for data that are no list, `ValueError` for none.
    """
    if not isinstance(data, list | tuple):
        raise TypeError(f"Expected list for 'data' argument to 'Assert' Op, not {data}.")
    if not data:
        raise ValueError("Attr 'T' of 'Assert' Op passed list of length 0 less than minimum 1.")
    with name_scope(name, "Assert", [condition, *data]):
        tensors = [as_tensor(item) for item in data]
        if all(t.base_dtype in (dtypes.string, dtypes.i32) for t in tensors):
            return _assert(condition, data, summarize)
        condition = as_tensor(condition, name="Condition")
        guarded = cond(
            condition, no_op, lambda: _assert(condition, data, summarize), name="AssertGuard"
        )
        return guarded.op


def _assert(condition: Any, data: Sequence[Any], summarize: int | None) -> Operation:
    attrs = {} if summarize is None else {"summarize": summarize}
    return create("Assert", [condition, list(data)], attrs, "Assert")


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str = "",
    first_n: int = -1,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_` again; computing it writes `message` and the `data` to the standard error. Of any
    dtypes and shapes. Raises nothing for tensors."""
    with name_scope(name, "Print", [input_, *data]) as scope:
        tensor = as_tensor(input_, name="input")
        tensors = [as_tensor(item, name=f"data_{k}") for k, item in enumerate(data)]
        attrs = {
            "T": tensor.dtype,
            "U": [t.base_dtype for t in tensors],
            "message": message.encode(),
            "first_n": first_n,
            "summarize": 3 if summarize is None else summarize,
        }
        assert tensor.dtype is not None
        inputs = [("input", tensor, None), *(("data", t, None) for t in tensors)]
        return add_node("Print", inputs, attrs, [(tensor.dtype, tensor.shape)], scope).outputs[0]


def print_(
    *inputs: Any,
    output_stream: Any = sys.stderr,
    summarize: int = 3,
    sep: str = " ",
    end: str = os.linesep,
    name: str | None = None,
) -> Operation:
    """An operation that writes its inputs (tensors, other values, structures of them) as one line:
    to `sys.stderr` or `sys.stdout`. A file (`file://PATH`) is in the graph alone: runs of
    flowc refuse it.

    Raises `ValueError` for another stream."""
    stream: Any = {sys.stdout: "stdout", sys.stderr: "stderr"}.get(output_stream, output_stream)
    named = isinstance(stream, str) and (
        stream in ("stdout", "stderr") or stream.startswith(("file://", "log("))
    )
    if not named:
        raise ValueError(
            f"Unsupported output stream, logging level, or file.{output_stream}. Supported streams "
            "are sys.stdout, sys.stderr, and files in the form of 'file://<filepath>'."
        )
    text = _formatted(inputs, sep, summarize, None if name is None else f"{name}_format")
    attrs = {"output_stream": stream.encode(), "end": end.encode()}
    return add_node("PrintV2", [("input", text, dtypes.string)], attrs, [], name)


def _formatted(inputs: Sequence[Any], sep: str, summarize: int, name: str | None) -> Any:
    """The line to print: a string tensor."""
    (only,) = inputs if len(inputs) == 1 else (None,)
    if isinstance(only, Tensor) and only.base_dtype is dtypes.string and only.shape.ndims == 0:
        return only
    mark = "{}"
    plain = nest.map_structure(lambda x: "" if isinstance(x, Tensor) else x, list(inputs))
    shown = " ".join(pprint.pformat(x) for x in plain)
    while mark in shown:  # a mark that the text itself does not have
        mark = f"{{{mark}}}"
    tensors: list[Tensor] = []
    templates = []
    for item in inputs:
        tensors += [leaf for leaf in nest.flatten(item) if isinstance(leaf, Tensor)]
        marked = nest.map_structure(lambda x: mark if isinstance(x, Tensor) else x, item)
        templates.append(item if isinstance(item, str) else pprint.pformat(marked))
    template = sep.join(templates).replace(f"'{mark}'", mark)
    attrs = {
        "T": [t.base_dtype for t in tensors],
        "template": template.encode(),
        "placeholder": mark.encode(),
        "summarize": summarize,
    }
    values = [("inputs", t, None) for t in tensors]
    op = add_node("StringFormat", values, attrs, [(dtypes.string, ())], name)
    return op.outputs[0]
