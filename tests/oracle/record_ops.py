"""Records what TensorFlow computes for the examples of every op, and how it defines the ops.

Run in an environment with TensorFlow, NumPy and ml_dtypes, from the repository's root:
`PYTHONPATH=.:tests/support python tests/oracle/record_ops.py`. It writes tests/recorded/ops.npz
(ops run one by one, on one thread, without oneDNN, so that a second run writes the same bytes) and
tests/recorded/opdefs.json. With names of ops, only their answers are recorded anew.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf
from calls.op_examples import Case, cases_of
from closeness import Closeness, difference
from google.protobuf import json_format
from op_tolerances import specified_outputs
from recordings import FOLDER, Answer, answers, checksum, write
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_def_registry

from flowc.ir.op import Op, bind_types, input_spans
from flowc.ops import all_ops

import_module("tensorflow.compiler.tf2xla.ops.gen_xla_ops")  # registers XLA's ops
ROUNDING = Closeness(4, of_largest=True)


def answer_of(case: Case) -> Answer:
    """The answer to one case, run in a graph of its own that nothing rewrites."""
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=1, intra_op_parallelism_threads=1
    )
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    try:
        if case.op.tf_name.startswith("Xla") and case.op.tf_name != "XlaClusterOutput":
            values = compiled_by_xla(case)
        else:
            with tf.Graph().as_default() as graph:
                feeds, outputs = placed(case, graph)
                with tf.compat.v1.Session(graph=graph, config=config) as session:
                    values = session.run(outputs, feeds)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return Answer(checksum(case), (), type(error).__name__, message_of(error))
    specified = values[: specified_outputs(case, len(values))]
    return Answer(checksum(case), tuple(plain(np.asarray(x)) for x in specified))


def plain(array: np.ndarray) -> np.ndarray:
    """Quantised elements, which NumPy sees as records, as integers."""
    return array if array.dtype.names is None else array[array.dtype.names[0]]


def compiled_by_xla(case: Case) -> list[np.ndarray]:
    """The answer of an op that TensorFlow runs in functions that XLA compiles, and only there."""

    def run() -> list[Any]:
        return node_of(case, [tf.constant(a) for a in case.inputs])

    return [x.numpy() for x in tf.function(run, jit_compile=True)()]


def message_of(error: Exception) -> str:
    """What went wrong, without the places in TensorFlow's code and the kernels that there are."""
    found = re.search(r"^Node: .*\n(.*)$", str(error), re.MULTILINE)
    text = found[1] if found is not None else str(error).partition("\n")[0]
    return text.partition(" used by {{node")[0][:160]


def placed(case: Case, graph: tf.Graph) -> tuple[dict[Any, np.ndarray], list[Any]]:
    """The op in a graph, fed by placeholders: what to feed and to fetch."""
    kinds = zip(case.dtypes, case.inputs)
    inputs = [tf.compat.v1.placeholder(kind.name, a.shape) for kind, a in kinds]
    return dict(zip(inputs, case.inputs)), node_of(case, inputs)


def node_of(case: Case, inputs: list[Any]) -> list[Any]:
    """The outputs of the op, of these inputs, in the graph that is built."""
    bound = bind_types(case.op, case.dtypes, case.attrs)
    attrs = {
        name: attr_value(bound[name], definition.kind)
        for name, definition in case.op.signature.attrs.items()
    }
    spans = input_spans(case.op, len(inputs), case.attrs)
    for arg, (start, stop) in zip(case.op.signature.inputs, spans):
        if arg.number_attr is not None:
            attrs[arg.number_attr] = attr_value(stop - start, "int")
    graph: Any = tf.compat.v1.get_default_graph()
    return list(graph.create_op(case.op.tf_name, inputs, attrs=attrs, name="op").outputs)


def attr_value(value: Any, kind: str) -> attr_value_pb2.AttrValue:
    found = attr_value_pb2.AttrValue()
    if kind.startswith("list("):
        one = kind[5:-1]
        field = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type"}[one]
        encoded = [v.enum if one == "type" else v.encode() if one == "string" else v for v in value]
        getattr(found.list, field).extend(encoded)
        return found
    match kind:
        case "type":
            found.type = value.enum
        case "string":
            found.s = value.encode()
        case "bool":
            found.b = value
        case "int":
            found.i = value
        case "float":
            found.f = value
        case "shape" if value is None:
            found.shape.unknown_rank = True
        case "shape":
            found.shape.SetInParent()
            for size in value:
                found.shape.dim.add(size=-1 if size is None else size)
        case _:
            raise ValueError(f"an attr of kind {kind}")
    return found


def is_recorded(op: Op) -> bool:
    """Whether TensorFlow has the op and takes values for it (references need a variable)."""
    definition = None if op.is_internal else op_def_registry.get(op.tf_name)
    return definition is not None and not any(a.is_ref for a in op.signature.inputs)


def settled(old: Answer | None, new: Answer) -> Answer:
    """The old answer where only rounding tells the new one from it: another processor adds in
    another order, which is no reason to write other bytes."""
    if old is None or (old.checksum, old.error, old.message, len(old.outputs)) != (
        new.checksum, new.error, new.message, len(new.outputs)
    ):  # fmt: skip
        return new
    pairs = zip(new.outputs, old.outputs)
    return new if any(difference(n, o, ROUNDING) is not None for n, o in pairs) else old


def record_answers(only: set[str]) -> None:
    """All ops, or those named, whose answers join the others'."""
    known = answers()
    found = dict(known) if only else {}
    for op in all_ops():
        if not is_recorded(op) or (only and op.name not in only):
            continue
        found |= {c.name: settled(known.get(c.name), answer_of(c)) for c in cases_of(op)}
    write(found)
    failed = sum(a.error is not None for a in found.values())
    print(f"{len(found)} cases, {failed} of them errors")


def record_definitions() -> None:
    found: dict[str, Any] = {}
    # What flowc calls `_While` is another op than TensorFlow's of that name.
    for name in sorted(
        {n for o in all_ops() if not o.is_internal for n in (o.tf_name, *o.aliases)}
    ):
        definition = op_def_registry.get(name)
        if definition is not None:
            definition.ClearField("summary")
            definition.ClearField("description")
            found[name] = json_format.MessageToDict(definition)
    lines = [f"{json.dumps(n)}: {json.dumps(d, sort_keys=True)}" for n, d in found.items()]
    (FOLDER / "opdefs.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record_answers(set(sys.argv[1:]))
    record_definitions()
