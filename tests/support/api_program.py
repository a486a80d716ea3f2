"""Runs one snippet of `api_snippets.py`, in TensorFlow or flowc alike, and says what it did."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from snippets.api_snippets import Snippet

# What TensorFlow 2 notes on nodes for itself, and TensorFlow 1 does not.
NOTES = ("_output_shapes", "_has_manual_control_dependencies")


@dataclass(slots=True)
class Outcome:
    """`values`: one entry a fetch, (dtype, nested list), None for operations. `error`: the classes
    that an `except` could name, and the message. `graph`: what was built. `said`: what the program
    tells of it."""

    values: list[Any]
    error: list[Any] | None
    graph: Any
    said: Any = None


def run_snippet(tf: Any, snippet: Snippet) -> dict[str, Any]:
    """The program's variables. It runs in the default graph."""
    program: dict[str, Any] = {"tf": tf, "np": np}
    exec(compile(snippet.code, snippet.name, "exec"), program)
    return program


def outcome(tf: Any, snippet: Snippet) -> Outcome:
    with tf.Graph().as_default() as graph:
        try:
            program = run_snippet(tf, snippet)
            if "out" not in program:
                return Outcome([], None, graph, program.get("said"))
            with tf.Session() as session:
                for fetch, feed in steps_before(program):
                    session.run(fetch, feed)
                result = session.run(program["out"], program.get("feed"))
        except Exception as error:
            names = [c.__name__ for c in type(error).__mro__ if c is not object]
            return Outcome([], [names, _message(str(error))], graph)
    values = [plain(v) for v in flat_fetches(result)]
    return Outcome(values, None, graph, program.get("said"))


def nodes_only(tf: Any, snippet: Snippet) -> Outcome:
    """The graph that a program builds, and what it says of it."""
    with tf.Graph().as_default() as graph:
        program = run_snippet(tf, snippet)
    return Outcome([], None, graph, program.get("said"))


def steps_before(program: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """(fetch, feed) of each run that a program makes before the one for `out`."""
    steps = program.get("before", ())
    return [step if isinstance(step, tuple) else (step, None) for step in steps]


def _message(text: str) -> str:
    """An error's message without the stack traces that TensorFlow adds, and without addresses."""
    text = re.sub(r" at 0x[0-9a-f]+>", ">", text)
    text = re.sub(r'^ *File ".*\n?', "", text, flags=re.MULTILINE)
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if "[[{{node" in line), None)
    if not text.startswith("Graph execution error") or at is None:
        return text
    return "\n".join(lines[max(at - 1, 0) : at + 1])


def flat_fetches(item: Any) -> list[Any]:
    if isinstance(item, Mapping):
        return [v for x in item.values() for v in flat_fetches(x)]
    if isinstance(item, list | tuple):
        return [v for x in item for v in flat_fetches(x)]
    if hasattr(item, "components"):  # flowc's SparseTensor: TensorFlow's gives a named tuple
        return list(item.components())
    return [item]


def plain(value: Any) -> Any:
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind == "c":
        return [str(array.dtype), [array.real.tolist(), array.imag.tolist()]]
    return [str(array.dtype), array.tolist()]


def nodes_of(graph_def: Any) -> list[Any]:
    """Name, op, inputs, device and attrs of each node, in a form that two protobufs share."""
    found = []
    for node in graph_def.node:
        attrs = {k: _attr(v) for k, v in sorted(node.attr.items()) if k not in NOTES}
        found.append([node.name, node.op, list(node.input), node.device, attrs])
    return found


def _attr(value: Any) -> str:
    kind = value.WhichOneof("value")
    if kind == "tensor":
        shape = [d.size for d in value.tensor.tensor_shape.dim]
        return f"tensor {value.tensor.dtype} {shape} {_elements(value.tensor)}"
    return " ".join(str(value).split())


def _elements(tensor: Any) -> str:
    """The elements of a TensorProto: packed, listed, or one that stands for many."""
    kinds = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 10: "?"}
    shape = tuple(d.size for d in tensor.tensor_shape.dim)
    if tensor.dtype not in kinds:
        return str(list(tensor.string_val)) if tensor.dtype == 7 else repr(tensor.tensor_content)
    dtype = np.dtype(kinds[tensor.dtype])
    if tensor.tensor_content:
        return str(np.frombuffer(tensor.tensor_content, dtype).reshape(shape).tolist())
    names = {1: "float_val", 2: "double_val", 3: "int_val", 9: "int64_val", 10: "bool_val"}
    listed = np.array(list(getattr(tensor, names[tensor.dtype])), dtype)
    count = int(np.prod(shape))
    if listed.size < count:
        last = listed[-1:] if listed.size else np.zeros(1, dtype)
        listed = np.concatenate([listed, np.repeat(last, count - listed.size)])
    return str(listed.reshape(shape).tolist())


def digest(graph_def: Any) -> str:
    return hashlib.sha256(repr(nodes_of(graph_def)).encode()).hexdigest()
