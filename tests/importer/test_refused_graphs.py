"""GraphDefs that are malformed, and unusual ones that are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowc import dtypes
from flowc.errors import (
    InvalidModelError,
    UnsupportedError,
)
from flowc.extract.unsupported_ops import check_supported
from flowc.graph import Graph
from flowc.importer.graphdef import add_graph_def
from flowc.importer.importing import import_graph_def
from flowc.importer.nodes import parsed_nodes
from flowc.proto.graph_pb2 import GraphDef


def chain(graph_def: GraphDef, *nodes: tuple[str, str, list[str]]) -> GraphDef:
    for name, op, inputs in nodes:
        graph_def.node.add(name=name, op=op, input=inputs)
    return graph_def


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([("a", "A", []), ("a", "B", [])], "two nodes are named 'a'"),
        ([("", "A", [])], "A node has no name"),
        ([("a", "", [])], "node 'a' has no op"),
        ([("alpha", "A", []), ("b", "B", ["alhpa"])], "did you mean 'alpha'"),
        ([("b", "B", ["^nope"])], r"B node 'b' takes '\^nope'"),
        ([("a", "A", []), ("b", "B", ["a:-1"])], "asks for output '-1'"),
        ([("a", "A", []), ("b", "B", ["a:x"])], "asks for output 'x'"),
        ([("a", "A", []), ("b", "B", ["a:99999999"])], "asks for output"),
        ([("a", "Relu", ["b"]), ("b", "B", ["a:1"])], "Relu node 'a' has 1 output"),
        ([("a", "A", []), ("b", "B", ["^a", "a"])], "comes after control inputs"),
        ([("a", "A", ["b"]), ("b", "B", ["c:1"]), ("c", "C", ["^a"])], "'a' -> 'c' -> 'b' -> 'a'"),
        ([("a", "A", ["a"])], "'a' -> 'a'"),
        ([("c", "Const", [])], "Const node 'c' has no attr 'value'"),
    ],
)
def test_malformed_graphs(nodes: list[tuple[str, str, list[str]]], text: str) -> None:
    content = chain(GraphDef(), *nodes).SerializeToString()
    with pytest.raises(InvalidModelError, match=text):
        import_graph_def(content, name="", graph=Graph())


def test_outputs_that_no_node_reads_are_there() -> None:
    graph = Graph()
    nodes = [("x", "Placeholder", []), ("k", "Const", []), ("top", "TopKV2", ["x", "k"])]
    graph_def = chain(GraphDef(), *nodes, ("values", "Neg", ["top"]), ("odd", "Unheard", ["top"]))
    graph_def.node[1].attr["dtype"].type = 3
    graph_def.node[1].attr["value"].tensor.dtype = 3
    graph_def.node[1].attr["value"].tensor.int_val.append(2)
    graph_def.node[0].attr["dtype"].type = graph_def.node[2].attr["T"].type = 1
    chain(graph_def, ("after", "Neg", ["odd"]))
    add_graph_def(graph, parsed_nodes(graph_def), graph_def)
    assert len(graph.get_operation_by_name("top").outputs) == 2
    assert graph.get_tensor_by_name("top:1").value_index == 1
    with pytest.raises(KeyError, match="exists but only has 2 outputs"):
        graph.get_tensor_by_name("top:2")
    names = ["odd:0", "odd:2"]
    fetches = [graph.get_tensor_by_name(n) for n in names]  # nothing says how many it has
    with pytest.raises(
        UnsupportedError, match=r"1 op type at 1 node:\n  Unheard \(1\): odd  \[no op"
    ):
        check_supported(graph, fetches, [], {})


def test_a_loop_is_no_cycle() -> None:
    nodes = [("e", "Enter", []), ("m", "Merge", ["e", "n"]), ("n", "NextIteration", ["m"])]
    graph = Graph()
    graph_def = chain(GraphDef(), *nodes)
    for node in graph_def.node:
        node.attr["T"].type = 1
    graph_def.node[0].attr["frame_name"].s = b"f"
    graph_def.node[1].attr["N"].i = 2
    graph_def.node[0].input.append("x")
    chain(graph_def, ("x", "Placeholder", [])).node[3].attr["dtype"].type = 1
    import_graph_def(graph_def, name="", graph=graph)
    assert [t.op.name for t in graph.get_operation_by_name("m").inputs] == ["e", "n"]


def const(change: Callable) -> GraphDef:
    graph_def = GraphDef()
    node = graph_def.node.add(name="c", op="Const")
    node.attr["dtype"].type = 1
    tensor = node.attr["value"].tensor
    tensor.dtype = 1
    tensor.tensor_shape.dim.add(size=2)
    tensor.float_val.extend([1, 2])
    change(node, tensor)
    return graph_def


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda n, t: t.float_val.append(3), "has 2 elements, found 3 values"),
        (lambda n, t: setattr(t, "tensor_content", b"12345"), "take 8 bytes, found 5"),
        (lambda n, t: setattr(t, "dtype", 99), "99 is not the number of a dtype"),
        (lambda n, t: setattr(t, "dtype", 0), "0 is not the number of a dtype"),
        (lambda n, t: setattr(t.tensor_shape.dim[0], "size", -2), "negative size"),
        (lambda n, t: setattr(t.tensor_shape, "unknown_rank", True), "unknown rank"),
        (lambda n, t: [t.tensor_shape.dim.add(size=1 << 40) for _ in "12"], "beyond the limits"),
        (lambda n, t: [t.tensor_shape.dim.add(size=0) for _ in range(254)], "beyond the limits"),
        (lambda n, t: n.attr["dtype"].Clear(), "the attribute has no value"),
        (lambda n, t: setattr(n.attr["dtype"], "type", 1000), "1000 is not the number"),
        (lambda n, t: n.attr[""].SetInParent(), "no (name|value)"),
        (lambda n, t: n.attr["l"].list.type.append(77), "77 is not the number"),
    ],
)
def test_malformed_attributes(change: Callable, text: str) -> None:
    with pytest.raises(InvalidModelError, match=text) as caught:
        import_graph_def(const(change), name="", graph=Graph())
    assert "'c'" in str(caught.value)


def test_equal_elements_take_the_memory_of_one() -> None:
    def huge(_, tensor) -> None:
        tensor.tensor_shape.dim[0].size = 1 << 40
        del tensor.float_val[1:]

    graph = Graph()
    import_graph_def(const(huge), name="", graph=graph)
    value = graph.get_operation_by_name("c").attrs["value"]
    assert value.shape == (1 << 40,)
    assert value[-1] == 1


def test_functions_that_are_malformed() -> None:
    graph_def = GraphDef()
    definition = graph_def.library.function.add()
    definition.signature.name = "f"
    definition.signature.input_arg.add(name="x", type=1)
    definition.signature.output_arg.add(name="y", type=1)
    definition.node_def.add(name="n", op="Neg", input=["z:y:0"])
    graph = Graph()
    import_graph_def(graph_def, name="", graph=graph)
    with pytest.raises(InvalidModelError, match="node 'n' takes 'z:y:0'"):
        _ = graph.functions["f"].body
    definition.node_def[0].input[0] = "x"
    graph = Graph()
    import_graph_def(graph_def, name="", graph=graph)
    with pytest.raises(InvalidModelError, match="nothing computes its result 'y'"):
        _ = graph.functions["f"].body


def test_deep_graphs_import_without_recursion() -> None:
    graph_def = chain(GraphDef(), *((f"n{i}", "Relu", [f"n{i + 1}"]) for i in range(50_000)))
    for node in graph_def.node:
        node.attr["T"].type = 1
    chain(graph_def, ("n50000", "Placeholder", []))  # the last node feeds the one before it
    graph_def.node[50_000].attr["dtype"].type = 1
    graph = Graph()
    import_graph_def(graph_def, name="", graph=graph)
    assert len(graph.get_operations()) == 50_001
    assert graph.get_operation_by_name("n0").inputs[0].op.name == "n1"


@pytest.mark.parametrize("producer", [0, 21, 22, 2474])
def test_old_placeholders_without_sizes_are_of_unknown_rank(producer: int) -> None:
    """TensorFlow up to 1.2 wrote a scalar's shape for each that it did not know in full."""
    graph = Graph()
    for name, shape in (("x", ()), ("y", (3,))):
        attrs = {"dtype": dtypes.f32, "shape": shape}
        graph.add_operation("Placeholder", [], attrs, name)
    message = graph.as_graph_def()
    message.versions.producer = producer
    for target in (Graph(), graph):
        import_graph_def(message.SerializeToString(), name="in", graph=target)
        x, y = (target.get_tensor_by_name(f"in/{name}:0") for name in "xy")
        assert x.shape.ndims == (None if producer <= 21 else 0)
        assert y.shape == [3]
