"""Functions, attributes and collections that contradict themselves: errors that say where."""

from __future__ import annotations

import re
from unittest.mock import patch

import numpy as np
import pytest
from bundle_files import varint
from google.protobuf import text_format

from flowc.encoding.tensor_proto import MappedTensor
from flowc.encoding.wire import FileBytes
from flowc.errors import InvalidModelError, UsageError
from flowc.graph import Graph
from flowc.graph.attrs import AttrPlaceholder
from flowc.graph.building.attr_values import check_attr, decode_attr, decode_shape
from flowc.importer import formats
from flowc.importer.formats import Encoding, Kind, detect, parse_text
from flowc.importer.functions import read_function
from flowc.importer.import_meta_graph import import_meta_graph_def, read_meta_graph_def
from flowc.importer.metagraph import meta_graph_of_message, read_graph_def, read_meta_graph
from flowc.proto.graph_pb2 import AttrValue, FunctionDef, GraphDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef
from flowc.proto.tensor_pb2 import DataType, TensorProto


def attr(text: str) -> AttrValue:
    return text_format.Parse(text, AttrValue())


def test_values_of_attributes() -> None:
    assert decode_attr(attr("list { shape { dim { size: -1 } } }"), "t") == [(None,)]
    assert decode_attr(attr("list {}"), "t") == []
    assert isinstance(decode_attr(attr("placeholder: 'T'"), "t"), AttrPlaceholder)
    function = decode_attr(attr("func { name: 'f' attr { key: 'n' value { i: 2 } } }"), "t")
    assert function.name == "f" and function.attrs["n"] == 2
    assert decode_shape(attr("shape { unknown_rank: true }").shape, "t") is None
    mapped = MappedTensor(
        text_format.Parse("dtype: DT_FLOAT tensor_shape { dim { size: 1 } }", TensorProto()),
        memoryview(np.float32([3]).tobytes()),
    )
    check_attr("value", mapped, "c")
    assert decode_attr(mapped, "t").tolist() == [3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the attribute has no value"),
        ("func { }", "a function without a name"),
        ("list { i: 1 f: 2 }", "a list of i and f at once"),
        ("shape { dim { size: -2 } }", "[-2] is no shape"),
        (f"shape {{ {'dim { size: 1 } ' * 255} }}", "is no shape"),
        ("type: 99", "99 is not the number of a dtype"),
    ],
)
def test_no_attribute(text: str, said: str) -> None:
    with pytest.raises(InvalidModelError, match=re.escape(said)):
        decode_attr(attr(text), "node 'a', attr 'b'", "a")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("b", "", "the attribute has no value"),
        ("", "type: DT_FLOAT", "an attribute has no name"),
        ("T", "type: 99", "99"),
        ("T", "list { type: 99 }", "99"),
        ("v", "list { tensor { dtype: 98 } }", "98"),
        ("v", "tensor { dtype: DT_FLOAT float_val: [1, 2] }", "found 2 values"),
    ],
)
def test_attributes_are_checked_when_they_are_read(name: str, text: str, said: str) -> None:
    with pytest.raises(InvalidModelError, match=f"node 'a'.*{said}"):
        check_attr(name, attr(text), "a")


BODY = """
signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT }
            output_arg { name: 'y' type: DT_FLOAT } %s }
node_def { name: 'n' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }
%s
"""


def function(signature: str = "", rest: str = "ret { key: 'y' value: 'n:y:0' }") -> FunctionDef:
    return text_format.Parse(BODY % (signature, rest), FunctionDef())


def test_the_forms_of_references() -> None:
    for text, wanted in (("x", ("arg", 0)), ("x:0", ("arg", 0)), ("n:y:0", ("node", "n", "y", 0))):
        body = read_function(function(rest=f"ret {{ key: 'y' value: '{text}' }}")).body
        assert list(body.results) == [wanted]


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        (function(rest=""), "nothing computes its result 'y'"),
        (function(rest="ret { key: 'y' value: 'q:y:0' }"), "result 'y' takes 'q:y:0'"),
        (function(rest="ret { key: 'y' value: 'n:y:a' }"), "result 'y' takes 'n:y:a'"),
        (function("control_output: 'c'"), "no node stands for control output 'c'"),
        (
            function(
                "control_output: 'c'",
                "ret { key: 'y' value: 'x' } control_ret { key: 'c' value: 'gone' }",
            ),
            "control output 'c' waits for 'gone', which the function has not",
        ),
        (
            function(rest="ret { key: 'y' value: 'x' } node_def { name: 'n' op: 'NoOp' }"),
            "two nodes share a name",
        ),
    ],
)
def test_no_body(definition: FunctionDef, said: str) -> None:
    with pytest.raises(InvalidModelError, match=f"function 'f'.*{re.escape(said)}"):
        read_function(definition).body  # noqa: B018


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("name: ''", "a function without a name"),
        ("name: 'f' input_arg { name: 'a' } input_arg { name: 'a' }", "two arguments share a name"),
        ("name: 'f' output_arg { type: DT_FLOAT }", "two results share a name, or one has none"),
        ("name: 'f' input_arg { name: 'a' type: 99 }", "99 is not the number of a dtype"),
    ],
)
def test_no_signature(signature: str, said: str) -> None:
    definition = text_format.Parse(f"signature {{ {signature} }}", FunctionDef())
    with pytest.raises(InvalidModelError, match=said):
        read_function(definition)


@pytest.mark.parametrize("groups", ["i: 3", "list { i: 3 }", "list { s: 'a' i: 3 }"])
def test_groups_of_operations_are_texts(groups: str) -> None:
    wrong = meta()
    text_format.Parse(groups, wrong.graph_def.node[0].attr["_class"])
    with pytest.raises(InvalidModelError, match="'_class'"):
        meta_graph_of_message(wrong, "m")
    with pytest.raises(InvalidModelError, match="'_class'"):
        import_meta_graph_def(wrong, Graph(), scope="a")


META = """
graph_def { node { name: 'x' op: 'Placeholder' device: '/gpu:0'
                   attr { key: 'dtype' value { type: DT_FLOAT } } } }
%s
"""


def meta(rest: str = "") -> MetaGraphDef:
    return text_format.Parse(META % rest, MetaGraphDef())


def test_collections_and_signatures() -> None:
    graph, _ = meta_graph_of_message(
        meta(
            """
            collection_def { key: 'none' value { } }
            collection_def { key: 'nodes' value { node_list { value: ['x:0', 'x', 'gone'] } } }
            signature_def { key: 's' value {
              inputs { key: 'a' value { coo_sparse { values_tensor_name: 'v' } } }
              outputs { key: 'b' value { composite_tensor { components { name: 'x:0' } } } } } }
            """
        ),
        "m",
    )
    x = graph.get_operation_by_name("x")
    assert graph.collections["none"] == []
    assert graph.collections["nodes"] == [x.outputs[0], x, "gone"]
    found = graph.signatures["s"]
    assert found.inputs["a"].parts["values"] == "v"
    assert found.outputs["b"].parts == {"0": "x:0"}


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("signature_def { key: 's' value { inputs { key: 'a' } } }", "the tensor has no name"),
        (
            "meta_info_def { stripped_op_list { op { name: 'O' attr { name: 'T' } "
            "attr { name: 'T' } } } }",
            "op 'O' has two attrs named 'T'",
        ),
    ],
)
def test_no_meta_graph(rest: str, said: str) -> None:
    with pytest.raises(InvalidModelError, match=said):
        meta_graph_of_message(meta(rest), "m")


def test_graphs_of_a_meta_graph_are_counted() -> None:
    one = meta().SerializeToString()
    with pytest.raises(InvalidModelError, match="a MetaGraphDef with 2 graphs; expected one"):
        read_meta_graph(FileBytes(memoryview(one + one), "m"))
    with pytest.raises(InvalidModelError, match="a MetaGraphDef with no graph; expected one"):
        read_meta_graph(FileBytes(memoryview(b""), "m"))


def test_what_import_meta_graph_takes() -> None:
    assert read_meta_graph_def(meta()) == meta()
    assert read_meta_graph_def(meta().SerializeToString()) == meta()
    text = text_format.MessageToString(meta()).encode()
    assert read_meta_graph_def(text) == meta()
    with pytest.raises(UsageError, match="takes a MetaGraphDef"):
        read_meta_graph_def(GraphDef(node=meta().graph_def.node).SerializeToString())


def test_dtypes_of_arguments() -> None:
    definition = function()
    definition.signature.input_arg[0].type = DataType.DT_FLOAT_REF
    assert read_function(definition).args[0].is_ref


def test_scopes_and_devices() -> None:
    graph = Graph()
    _, prefix = import_meta_graph_def(meta(), graph, scope="a", clear_devices=True)
    assert prefix == "a/" and graph.get_operation_by_name("a/x").device == ""
    with graph.as_default(), graph.name_scope("b"):
        _, prefix = import_meta_graph_def(meta(), graph)
    assert prefix == "b/" and graph.get_operation_by_name("b/x").device == "/device:GPU:0"
    for device, said in (("nonsense", "Unknown attribute 'nonsense'"), ("/gpu:x", "'x' is no")):
        wrong = meta()
        wrong.graph_def.node[0].device = device
        with pytest.raises(InvalidModelError, match=f"Node 'c.*x'.*{said}"):
            import_meta_graph_def(wrong, graph, scope="c")
    unbound = "collection_def { key: 'unbound_inputs' value { bytes_list { value: '$in' } } }"
    with pytest.raises(ValueError, match=r"Graph contains unbound inputs: \$in\. Must provide"):
        import_meta_graph_def(meta(unbound), graph)


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def big_node(entry: bytes) -> GraphDef:
    node = field(1, b"c") + field(2, b"Const") + field(5, entry)
    dtype = AttrValue(type=DataType.DT_FLOAT).SerializeToString()
    content = field(1, node + field(5, field(1, b"dtype") + field(2, dtype)))
    return read_graph_def(FileBytes(memoryview(content), "big")).as_graph_def()


NUMBERS = np.arange(2000, dtype=np.float32)
TENSOR = field(
    8,
    bytes([1 << 3, DataType.DT_FLOAT])
    + field(2, field(2, bytes([1 << 3]) + varint(NUMBERS.size)))
    + field(4, NUMBERS.tobytes()),
)


@pytest.mark.parametrize(
    "entry",
    [
        field(1, b"value") + field(2, TENSOR),
        field(2, TENSOR) + field(1, b"value"),
        field(1, b"value") + field(2, TENSOR + field(8, b"")),
    ],
)
def test_big_constants_in_other_orders(entry: bytes) -> None:
    """What is not written as usual is parsed as a whole."""
    (node,) = big_node(entry).node
    assert node.attr["value"].tensor.tensor_content == NUMBERS.tobytes()


@pytest.mark.parametrize("entry", [field(1, b"\xff") + field(2, TENSOR), TENSOR[:-3]])
def test_big_constants_that_cannot_be(entry: bytes) -> None:
    with pytest.raises(InvalidModelError):
        big_node(entry)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (field(1, b"\xff\xff"), Kind.GRAPH),
        (field(1, b"a") + field(1, b"b"), Kind.GRAPH),
        (field(2, b"\xff"), Kind.GRAPH),
        (field(2, field(1, field(1, b"x") + field(2, b"NoOp"))), Kind.META_GRAPH),
        (field(2, field(1, field(1, b"x y") + field(2, b"NoOp"))), Kind.GRAPH),
        (field(2, field(1, b"\xff\xff")), Kind.GRAPH),
        (bytes([1 << 3, 1]) + field(2, b""), Kind.SAVED_MODEL),
    ],
)
def test_kinds_of_messages(content: bytes, kind: Kind) -> None:
    assert detect(FileBytes(memoryview(content), "m"))[0] is kind


def test_no_kind_of_message() -> None:
    with pytest.raises(InvalidModelError, match="neither a GraphDef, a MetaGraphDef nor a SavedM"):
        detect(FileBytes(memoryview(field(9, b"a" * 20)), "m"))
    with pytest.raises(InvalidModelError, match="bytes of text are beyond the limit"):
        text = FileBytes(memoryview(b" " * 2000), "m")
        with patch.object(formats, "MAX_TEXT", 1000):
            parse_text(text, Kind.GRAPH, Encoding.TEXT)
