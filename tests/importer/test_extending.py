"""Nodes that are added to a graph under their own names, as a session in C++ extends its graph."""

from __future__ import annotations

import re

import pytest
from google.protobuf import text_format

from flowc.encoding.wire import FileBytes
from flowc.errors import FlowcError, InvalidArgumentError
from flowc.graph import Graph
from flowc.importer.importing import extend_graph, graph_part, import_graph_def
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef

FIRST = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "s" op: "NoOp" }
versions { producer: 1882 }
"""


def nodes(text: str) -> bytes:
    return text_format.Parse(text, GraphDef()).SerializeToString()


def negated(name: str, *inputs: str) -> str:
    given = " ".join(f'input: "{i}"' for i in inputs)
    dtype = 'attr { key: "T" value { type: DT_FLOAT } }'
    return f'node {{ name: "{name}" op: "Neg" {given} {dtype} }}'


def test_new_nodes_take_what_is_there() -> None:
    graph = Graph()
    extend_graph(graph, nodes(FIRST))
    assert graph.versions.producer == 1882
    extend_graph(graph, nodes(negated("y", "x:0", "^s") + negated("z", "y")))
    y = graph.get_operation_by_name("y")
    assert y.inputs[0] is graph.get_tensor_by_name("x:0")
    assert [op.name for op in y.control_inputs] == ["s"]
    assert graph.get_operation_by_name("z").inputs[0] is y.outputs[0]


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (negated("x", "x"), "includes node 'x', which was created by a previous call"),
        (negated("y", "x:1"), "'y'"),
        (negated("y", "gone"), "'gone'"),
        (negated("y", "x:a"), "'y'"),
        ('node { name: "y" op: "NoOp" input: "^gone" }', "'^gone'"),
    ],
)
def test_what_does_not_fit_changes_nothing(added: str, said: str) -> None:
    graph = Graph()
    extend_graph(graph, nodes(FIRST))
    with pytest.raises(FlowcError, match=re.escape(said)):
        extend_graph(graph, nodes(negated("new", "x") + added))
    assert [op.name for op in graph.get_operations()] == ["x", "s"]


@pytest.mark.parametrize("form", ["bytes", "text"])
def test_the_graph_of_a_meta_graph(form: str) -> None:
    meta = MetaGraphDef()
    text_format.Parse(FIRST, meta.graph_def)
    meta.meta_info_def.tags.append("serve")
    content = meta.SerializeToString()
    if form == "text":
        content = text_format.MessageToString(meta).encode()
    found = graph_part(FileBytes(memoryview(content), "m"))
    assert GraphDef.FromString(bytes(found.view)) == meta.graph_def
    graph = Graph()
    extend_graph(graph, content)
    assert [op.name for op in graph.get_operations()] == ["x", "s"]


def test_graphs_are_left_as_they_are() -> None:
    for content in (b"", nodes(FIRST)):
        assert bytes(graph_part(FileBytes(memoryview(content), "g")).view) == content


def test_elements_that_are_not_there() -> None:
    graph = Graph()
    for name, said in (("x:1", "which has 1 output"), ("q", "not found"), ("x:a", "not found")):
        with pytest.raises(ValueError, match=said):
            import_graph_def(nodes(FIRST), return_elements=[name], graph=graph)
    with pytest.raises(TypeError, match="must be a dictionary of names"):
        import_graph_def(nodes(FIRST), input_map={1: 2}, graph=graph)


def test_replaced_waits() -> None:
    """What takes the place of a node that is waited for: an operation, or a tensor's."""
    graph = Graph()
    extend_graph(graph, nodes(FIRST))
    part = nodes(FIRST + 'node { name: "w" op: "NoOp" input: "^s" }')
    for other in (graph.get_operation_by_name("s"), graph.get_tensor_by_name("x:0")):
        (made,) = import_graph_def(part, {"^s": other}, ["w"], graph=graph)
        assert made.control_inputs == [getattr(other, "op", other)]


def test_two_functions_of_one_name() -> None:
    function = 'library { function { signature { name: "f" } %s } }'
    graph = Graph()
    import_graph_def(nodes(function % ""), graph=graph)
    import_graph_def(nodes(function % ""), graph=graph)  # the same again
    with pytest.raises(FlowcError, match="two functions are named 'f'"):
        import_graph_def(nodes(function % 'node_def { name: "n" op: "NoOp" }'), graph=graph)
    gradient = 'library { gradient { function_name: "f" gradient_func: "g" } }'
    import_graph_def(nodes(gradient), graph=graph)
    assert graph.functions["f"].gradient == "g"
    with pytest.raises(FlowcError, match="a gradient for function 'h', which is not there"):
        import_graph_def(nodes(gradient.replace('"f"', '"h"')), graph=graph)


def test_a_name_twice() -> None:
    with pytest.raises(InvalidArgumentError, match="'x'"):
        graph = Graph()
        extend_graph(graph, nodes(FIRST))
        extend_graph(graph, nodes(FIRST))
