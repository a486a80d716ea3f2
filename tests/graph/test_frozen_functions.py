"""Constants in place of variables whose handles go into functions, as in TensorFlow 2's graphs."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

import flowc as tf
from flowc.errors import UnsupportedError
from flowc.graph.edits.graph_def_edits import convert_variables_to_constants
from flowc.proto.graph_pb2 import GraphDef

SCALAR = 'attr { key: "shape" value { shape {} } }'
BOOL = 'attr { key: "dtype" value { type: DT_BOOL } }'
FLOAT = 'attr { key: "%s" value { type: DT_FLOAT } }'


def node(name: str, op: str, inputs: str = "", attrs: str = "") -> str:
    given = " ".join(f'input: "{i}"' for i in inputs.split())
    return f'node_def {{ name: "{name}" op: "{op}" {given} {attrs} }}\n'


def function(name: str, arguments: str, results: str, body: str) -> str:
    """`arguments`: names, `h` is a handle; `results`: name=source, `g` is a handle."""
    text = f'signature {{ name: "{name}" '
    for a in arguments.split():
        text += f'input_arg {{ name: "{a}" type: DT_{"RESOURCE" if a == "h" else "FLOAT"} }} '
    pairs = [r.split("=") for r in results.split()]
    for r, _ in pairs:
        text += f'output_arg {{ name: "{r}" type: DT_{"RESOURCE" if r == "g" else "FLOAT"} }} '
    text += "} " + body
    for r, source in pairs:
        text += f'ret {{ key: "{r}" value: "{source}" }} '
    return f"function {{ {text} }}\n"


def call(f: str, *types: str) -> str:
    listed = " ".join(f"type: DT_{t}" for t in types)
    return (
        f'attr {{ key: "Tin" value {{ list {{ {listed} }} }} }}'
        'attr { key: "Tout" value { list { type: DT_FLOAT } } }'
        f'attr {{ key: "f" value {{ func {{ name: "{f}" }} }} }}'
    )


READ = FLOAT % "dtype"
ADD = FLOAT % "T"
RESOURCE = 'attr { key: "T" value { type: DT_RESOURCE } }'
LOOP = (
    'attr { key: "T" value { list { type: DT_FLOAT type: DT_RESOURCE } } }'
    'attr { key: "cond" value { func { name: "below" } } }'
    'attr { key: "body" value { func { name: "step" } } }'
)
BRANCHES = call("", "FLOAT", "RESOURCE").replace(
    'attr { key: "f" value { func { name: "" } } }',
    'attr { key: "Tcond" value { type: DT_BOOL } }'
    'attr { key: "then_branch" value { func { name: "plus" } } }'
    'attr { key: "else_branch" value { func { name: "outer" } } }',
)
LIBRARY = (
    function(
        "plus", "x h", "y=add:z:0",
        node("pass", "Identity", "h", RESOURCE)
        + node("read", "ReadVariableOp", "pass:output:0", READ)
        + node("add", "AddV2", "x read:value:0", ADD),
    )
    + function(
        "outer", "x h", "y=twice:output:0",
        node("once", "StatefulPartitionedCall", "x h", call("plus", "FLOAT", "RESOURCE"))
        + node("twice", "PartitionedCall", "once:output:0 h ^once",
               call("plus", "FLOAT", "RESOURCE")),
    )
    + function(
        "below", "x h", "y=less:z:0",
        node("read", "ReadVariableOp", "h", READ)
        + node("ten", "Const", "", FLOAT % "dtype" + 'attr { key: "value" value { tensor '
               '{ dtype: DT_FLOAT tensor_shape {} float_val: 10 } } }')
        + node("sum", "Mul", "read:value:0 ten:output:0", ADD)
        + node("less", "Less", "x sum:z:0", ADD),
    ).replace('output_arg { name: "y" type: DT_FLOAT', 'output_arg { name: "y" type: DT_BOOL')
    + function(
        "step", "x h", "y=next:output:0 g=h",
        node("next", "StatefulPartitionedCall", "x h", call("outer", "FLOAT", "RESOURCE")),
    )
    + function(
        "write", "x h", "y=x", node("set", "AssignVariableOp", "h x", READ)
    )
)  # fmt: skip
GRAPH = (
    "versions { producer: 2474 } library {" + LIBRARY + "} "
    + "".join(
        n.replace("node_def", "node") for n in (
            node("x", "Placeholder", "", READ + SCALAR),
            node("take", "Placeholder", "", BOOL + SCALAR),
            node("v", "VarHandleOp", "", READ + SCALAR),
            node("value", "ReadVariableOp", "v", READ),
            node("called", "StatefulPartitionedCall", "x v", call("outer", "FLOAT", "RESOURCE")),
            node("chosen", "If", "take x v", BRANCHES),
            node("looped", "While", "x v", LOOP),
            node("all", "Pack", "called chosen looped",
                 ADD + 'attr { key: "N" value { i: 3 } }'),
            node("written", "StatefulPartitionedCall", "x v", call("write", "FLOAT", "RESOURCE")),
            node("start", "AssignVariableOp", "v x", READ),
        )
    )
)  # fmt: skip


def frozen(output: str) -> GraphDef:
    """The graph with v = 1.5, whose results for what is fed are those of the graph that it was."""
    graph_def = text_format.Parse(GRAPH, GraphDef())
    before = graph_def.SerializeToString()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        session.run(graph.get_operation_by_name("start"), {"x:0": 1.5})
        found = convert_variables_to_constants(session, graph_def, [output])
        assert graph_def.SerializeToString() == before
        if output == "all":
            for fed in ({"x:0": 2.0, "take:0": True}, {"x:0": 3.0, "take:0": False}):
                expected = session.run("all:0", fed)
                assert expected[0] == fed["x:0"] + 3
                with tf.Graph().as_default(), tf.Session() as other:
                    tf.import_graph_def(found, name="")
                    np.testing.assert_array_equal(other.run("all:0", fed), expected)
    return found


def test_functions_get_values_in_place_of_handles() -> None:
    found = frozen("all")
    assert {n.op for n in found.node if n.name == "v"} == {"Const"}
    made = [f for f in found.library.function if f.signature.name.endswith("_frozen")]
    assert sorted(f.signature.name for f in made) == [
        f"{name}_frozen" for name in ("below", "outer", "plus", "step")
    ]
    for f in made:
        assert all(a.type != 20 for a in (*f.signature.input_arg, *f.signature.output_arg))
        assert "ReadVariableOp" not in {n.op for n in f.node_def}


def test_a_function_that_writes_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"'set' \(AssignVariableOp\) takes the handle"):
        frozen("written")


GATHERED = (
    "versions { producer: 2474 } library {"
    + function(
        "pick", "x h", "y=picked:output:0",
        node("index", "Cast", "x", FLOAT % "SrcT"
             + 'attr { key: "DstT" value { type: DT_INT32 } }')
        + node("picked", "ResourceGather", "h index:y:0", READ
               + 'attr { key: "Tindices" value { type: DT_INT32 } }'),
    )
    + "} "
    + node("x", "Placeholder", "", READ + SCALAR).replace("node_def", "node")
)  # fmt: skip


def test_what_gathers_from_a_variable_gathers_from_its_value() -> None:
    """In the graph with TensorFlow's nodes, and in functions, where TensorFlow leaves it."""
    rows = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(text_format.Parse(GATHERED, GraphDef()), name="")
        v = tf.get_variable("v", initializer=rows, use_resource=True)
        ids = tf.placeholder_with_default(np.int32([[2], [0], [1], [2]]), [4, 1], "ids")
        with tf.control_dependencies([ids]):
            whole = tf.nn.embedding_lookup(v, ids)
        batch = tf.raw_ops.ResourceGather(
            resource=v.handle, indices=ids, dtype=tf.float32, batch_dims=1, name="batch"
        )
        tf.constant(0, name="batch/axis")  # whose name is taken
        points = tf.gather_nd(v, ids)
        names = [t.op.name for t in (whole, batch, points)]
        session.run(v.initializer)
        graph_def = graph.as_graph_def()
        called = node("called", "StatefulPartitionedCall", "x v", call("pick", "FLOAT", "RESOURCE"))
        text_format.Merge(called.replace("node_def", "node"), graph_def)
        names.append("called")
        expected = [*session.run([f"{n}:0" for n in names[:3]]), rows[3]]
        found = convert_variables_to_constants(session, graph_def, [*names, "batch/axis"])
    assert "VarHandleOp" not in {n.op for n in found.node}
    ops = {n.name: n for n in found.node}
    assert [ops[n].op for n in ("batch", "batch/axis_")] == ["GatherV2", "Const"]
    with tf.Graph().as_default(), tf.Session() as other:
        tf.import_graph_def(found, name="")
        for one, two in zip(other.run([f"{n}:0" for n in names], {"x:0": 3.0}), expected):
            np.testing.assert_array_equal(one, two)
