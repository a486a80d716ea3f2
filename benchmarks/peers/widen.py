"""A graph of f32 as the same graph of f64, by which the errors of engines are measured.

In: a frozen GraphDef. Out: one that computes in f64 wherever TensorFlow's ops can; where an op
takes or gives f32 alone, values are cast around it. Batch norm, which has no f64, is written out.
Invariant: names of nodes and of results stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry  # type: ignore[attr-defined]

NARROW, WIDE = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum
BATCH_NORM = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


class NotWidened(Exception):
    """Why there is no such graph."""


def widened(graph: Any) -> Any:
    """Raises `NotWidened` for graphs with functions."""
    if graph.library.function:
        raise NotWidened("functions")
    found = tf.compat.v1.GraphDef(versions=graph.versions)
    for node in graph.node:
        found.node.extend(_widened_node(node))
    types = {
        (node.name, at): dtype
        for node in found.node
        for at, dtype in enumerate(_types_of(op_def_registry.get(node.op).output_arg, node))
    }
    for node in list(found.node):
        _read_as_wanted(node, types, found)
    return found


def _widened_node(node: Any) -> Iterator[Any]:
    """The node in f64 where its op can, whatever its inputs are."""
    if node.op in BATCH_NORM and not node.attr["is_training"].b:
        yield from _written_batch_norm(node)
        return
    wide = tf.compat.v1.NodeDef()
    wide.CopyFrom(node)
    if node.op == "Const" and node.attr["dtype"].type == NARROW:
        value = tf.make_ndarray(node.attr["value"].tensor).astype(np.float64)
        wide.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    for attr in op_def_registry.get(node.op).attr:
        if attr.type == "type" and wide.attr[attr.name].type == NARROW and _may_be_wide(attr):
            wide.attr[attr.name].type = WIDE
        elif attr.type == "list(type)":
            types = wide.attr[attr.name].list.type
            types[:] = [WIDE if t == NARROW else t for t in types]
    yield wide


def _may_be_wide(attr: Any) -> bool:
    allowed = attr.allowed_values.list.type
    return not allowed or WIDE in allowed


def _types_of(args: Any, node: Any) -> Iterator[int]:
    """One for each tensor."""
    for arg in args:
        if arg.type_list_attr:
            yield from node.attr[arg.type_list_attr].list.type
            continue
        dtype = arg.type or node.attr[arg.type_attr].type
        yield from [dtype] * (node.attr[arg.number_attr].i if arg.number_attr else 1)


def _read_as_wanted(node: Any, types: dict[tuple[str, int], int], graph: Any) -> None:
    """Casts what the node takes in the one of both dtypes from what has the other."""
    for at, wanted in enumerate(_types_of(op_def_registry.get(node.op).input_arg, node)):
        name, _, slot = node.input[at].partition(":")
        given = types[name, int(slot or 0)]
        if {given, wanted} != {NARROW, WIDE}:
            continue
        cast_name = f"{'f64' if wanted == WIDE else 'f32'}_of/{name}/{slot or 0}"
        if (cast_name, 0) not in types:
            cast = graph.node.add(name=cast_name, op="Cast", input=[node.input[at]])
            cast.attr["SrcT"].type, cast.attr["DstT"].type = given, wanted
            types[cast_name, 0] = wanted
        node.input[at] = cast_name


def _written_batch_norm(node: Any) -> Iterator[Any]:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, over the channels."""
    if node.attr["data_format"].s not in (b"", b"NHWC", b"NDHWC"):
        raise NotWidened("batch norm of channels first")
    x, scale, offset, mean, variance, *_ = node.input
    epsilon = f"{node.name}/epsilon"
    constant = tf.compat.v1.NodeDef(name=epsilon, op="Const")
    constant.attr["dtype"].type = WIDE
    value = float(np.float32(node.attr["epsilon"].f))
    constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, tf.float64))
    yield constant
    steps = (
        ("add", "AddV2", (variance, epsilon)),
        ("rsqrt", "Rsqrt", (f"{node.name}/add",)),
        ("sub", "Sub", (x, mean)),
        ("mul", "Mul", (f"{node.name}/sub", f"{node.name}/rsqrt")),
        ("scaled", "Mul", (f"{node.name}/mul", scale)),
        ("", "AddV2", (f"{node.name}/scaled", offset)),
    )
    for name, op, inputs in steps:
        step = tf.compat.v1.NodeDef(
            name=f"{node.name}/{name}".rstrip("/"), op=op, input=list(inputs)
        )
        step.attr["T"].type = WIDE
        yield step
