"""Every op that is `Extracted` or computed on the host is in a graph that a Session runs: in one
that TensorFlow recorded, or in an example of `tests/support/calls/session_examples.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from calls.image_examples import IMAGE_EXAMPLES
from calls.input_examples import INPUT_EXAMPLES
from calls.session_examples import EXAMPLES as SESSION_EXAMPLES
from calls.session_examples import X
from calls.table_examples import TABLES_MADE_OF
from calls.variant_calls import VARIANT_CALLS

import flowc
from flowc.ir.lowering import Extracted, Host
from flowc.ops import all_ops
from flowc.proto.graph_pb2 import GraphDef

FOLDER = Path(__file__).resolve().parents[1]
EXAMPLES = SESSION_EXAMPLES | INPUT_EXAMPLES | IMAGE_EXAMPLES
# Ops that only flowc makes, and the ops of graphs that they come from.
MADE_OF: dict[str, str] = {
    "_PythonCall": "PyFunc",
    "_PurePythonCall": "PyFuncStateless",
    "_EagerPythonCall": "EagerPyFunc",
    "_StringEqual": "Equal",
    "_StringSum": "Add",
    "_UniqueTexts": "Unique",
    "_ScatterTexts": "ScatterNd",
    "_TextOfStrings": "Assert",
    "_RawText": "PrintV2",
    "_DeleteSessionTensor": "DeleteSessionTensor",
    "_GetSessionHandle": "GetSessionHandle",
    "_GetSessionTensor": "GetSessionTensor",
    "_RestoreTensors": "RestoreV2",
    "_Dataset": "RangeDataset",
    "_MakeIterator": "MakeIterator",
    "_IteratorGetNext": "IteratorGetNext",
    "_OneShotIterator": "OneShotIterator",
    "_SerializeIterator": "SerializeIterator",
    "_DeserializeIterator": "DeserializeIterator",
    "_DatasetToSingleElement": "DatasetToSingleElement",
    "_ReduceDataset": "ReduceDataset",
    "_DatasetCardinality": "DatasetCardinality",
    "_DatasetToTFRecord": "DatasetToTFRecord",
    "_IteratorGetNextAsOptional": "IteratorGetNextAsOptional",
    "_OptionalOf": "OptionalFromValue",
    "_OptionalIsThere": "OptionalHasValue",
    "_OptionalComponents": "OptionalGetValue",
    "_SerializeSparse": "SerializeSparse",
    "_SerializeManySparse": "SerializeManySparse",
    "_DeserializeSparse": "DeserializeSparse",
    "_DeserializeManySparse": "DeserializeManySparse",
    **{f"_{name}": name for name in INPUT_EXAMPLES},
    **TABLES_MADE_OF,
    "_ParsedTensor": "ParseTensor",
    "_DecodedImage": "DecodeImage",
    "_ChosenTensor": "Merge",
    "_SumOfVariants": "AddN",
    "_ZerosOfVariant": "ZerosLike",
    "_Clock": "Timestamp",
    "_TensorSummaryOfNode": "TensorSummary",
    **{f"_{name}": name for name in VARIANT_CALLS},
}
WITHOUT: dict[str, str] = {
    "DestroyResourceOp": "flowc refuses it: a Session's variables are freed when it is closed"
}


def recorded_graphs() -> Iterator[GraphDef]:
    paths = [*(FOLDER / "data").rglob("*.npz"), FOLDER / "recorded" / "state.npz"]
    for path in paths:
        with np.load(path) as arrays:
            for name in arrays.files:
                if name.endswith("graph"):
                    yield GraphDef.FromString(arrays[name].tobytes())


def recorded_ops() -> set[str]:
    found: set[str] = set()
    for definition in recorded_graphs():
        functions = [f.node_def for f in definition.library.function]
        found.update(n.op for nodes in (definition.node, *functions) for n in nodes)
    programs = json.loads((FOLDER / "recorded" / "text_programs.json").read_text())
    return found | set(programs["ops"])


def test_every_op_has_an_example() -> None:
    known = recorded_ops() | set(EXAMPLES)
    missing = {
        op.tf_name
        for op in all_ops()
        if isinstance(op.lowering, (Extracted, Host))
        and not known.intersection((op.tf_name, *op.aliases, MADE_OF.get(op.tf_name, "")))
    }
    assert missing == set(WITHOUT)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example(name: str) -> None:
    with flowc.Graph().as_default() as graph:
        wanted = EXAMPLES[name]()
    placeholders = {"x:0": X, "s:0": np.array(["a", "b"], object)}
    used = {op.type for op in graph.get_operations()}
    assert name in used
    feeds = {
        n: v for n, v in placeholders.items() if n[0] in {o.name for o in graph.get_operations()}
    }
    with flowc.Session(graph=graph) as session:
        found = session.run([fetch for fetch, _ in wanted], feeds)
    for value, (_, expected) in zip(found, wanted, strict=True):
        if expected is not None:
            np.testing.assert_array_equal(value, np.asarray(expected))
