"""Nodes of functions that read arguments where graphs have nodes, and say nothing of shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format

import flowc as tf
from flowc.proto.graph_pb2 import GraphDef

CASE = """
node { name: "i" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } }
       attr { key: "shape" value { shape { } } } }
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { } } } }
node { name: "y" op: "choose" input: "i" input: "x" }
library { function {
  signature { name: "choose" input_arg { name: "i" type: DT_INT32 }
              input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "s" op: "_SwitchN" input: "x" input: "i" attr { key: "num_outs" value { i: 3 } }
             attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "a" op: "Neg" input: "s:outputs:0" attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "b" op: "Square" input: "s:outputs:1"
             attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "c" op: "Identity" input: "s:outputs:2"
             attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "m" op: "Merge" input: "a:y:0" input: "b:y:0" input: "c:output:0"
             attr { key: "N" value { i: 3 } } attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "m:output:0" }
} }
"""
RESTORE = """
node { name: "path" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "shape" value { shape { } } } }
node { name: "y" op: "restore" input: "path" }
library { function {
  signature { name: "restore" input_arg { name: "path" type: DT_STRING }
              output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
  node_def { name: "names" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
    attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
                                         string_val: "m" } } } }
  node_def { name: "parts" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
    attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
                                         string_val: "" } } } }
  node_def { name: "r" op: "RestoreV2" input: "path" input: "names:output:0"
             input: "parts:output:0" attr { key: "dtypes" value { list { type: DT_FLOAT } } } }
  ret { key: "y" value: "r:tensors:0" }
} }
"""


def _graph(text: str) -> tf.Graph:
    graph = tf.Graph()
    graph.allow("files")
    with graph.as_default():
        tf.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    return graph


@pytest.mark.parametrize(("index", "expected"), [(0, -3.0), (1, 9.0), (2, 3.0), (7, 3.0)])
def test_a_case_whose_index_is_an_argument(index: int, expected: float) -> None:
    with tf.Session(graph=_graph(CASE)) as session:
        assert session.run("y:0", {"i:0": index, "x:0": 3.0}) == expected


def test_what_a_function_restores_has_the_shape_that_the_run_finds(tmp_path: Path) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    path = str(tmp_path / "saved")
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(
            tf.raw_ops.SaveV2(
                prefix=path, tensor_names=["m"], shape_and_slices=[""], tensors=[value]
            )
        )
    with tf.Session(graph=_graph(RESTORE)) as session:
        np.testing.assert_array_equal(session.run("y:0", {"path:0": path}), value)


def test_strings_that_steps_alone_are_given(tmp_path: Path) -> None:
    """Of Python's strings the bytes; of bytes all, those that are zero at the end, too."""
    with tf.Graph().as_default(), tf.Session() as session:
        text, contents = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [])
        path = tf.strings.join([text, "_saved"])
        saved = tf.raw_ops.SaveV2(
            prefix=path, tensor_names=["s"], shape_and_slices=[""], tensors=[contents]
        )
        given = str(tmp_path / "é")
        found, _ = session.run([path, saved], {text: given, contents: b"ab\0\0"})
        assert found == f"{given}_saved".encode()
        restored = tf.raw_ops.RestoreV2(
            prefix=path, tensor_names=["s"], shape_and_slices=[""], dtypes=[tf.string]
        )
        assert session.run(restored[0], {text: given}) == b"ab\0\0"
