"""The Graph: names, scopes, control inputs, devices, lookups, shapes, and what it exports."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import NoReturn

import numpy as np
import pytest
from google.protobuf import text_format

import flowc as tf
from flowc import dtypes
from flowc.errors import UsageError
from flowc.graph import (
    AttrPlaceholder,
    BodyNode,
    Dimension,
    Function,
    FunctionArg,
    FunctionBody,
    FunctionRef,
    Graph,
    Operation,
    TensorShape,
    export,
    get_default_graph,
)
from flowc.graph.attrs import Attrs
from flowc.graph.building.creation import constant_tensor, output
from flowc.graph.encode import attr_value, tensor_proto
from flowc.graph.export import function_to_def
from flowc.graph.meta_export import op_def
from flowc.proto.graph_pb2 import NodeDef

F32 = dtypes.f32


def constant(graph: Graph, name: str = "Const", inputs=(), shape=()) -> Operation:
    attrs = {"dtype": F32, "value": np.float32(1)}
    return graph.add_operation("Const", inputs, attrs, name, output_types=[(F32, shape)])


def test_names_are_unique_whatever_their_case() -> None:
    graph = Graph()
    names = [constant(graph, n).name for n in ("a", "A", "a", "a_1", "b/")]
    assert names == ["a", "A_1", "a_2", "a_1_1", "b"]
    assert graph.unique_name("a", mark_as_used=False) == "a_3"
    assert graph.unique_name("a") == "a_3"


def test_names_that_are_none() -> None:
    for name, place, expected in (
        ("a b", None, r"`a b` is not a valid node name. .*/\^\[A-Za-z0-9.\]"),
        ("_x", "", "'_x' is not a valid root scope name. A root scope name has to match"),
        ("a b", "outer", "'a b' is not a valid scope name. A scope name has to match the follow"),
    ):
        with Graph().as_default() as graph, pytest.raises(ValueError, match=expected):
            if place is None:
                constant(graph, name)
            with graph.name_scope(place or None), graph.name_scope(name):
                pass
    with pytest.raises(TypeError, match="Expected DataType for argument 'dtype' not 'junk'"):
        tf.placeholder("junk")


def test_name_scopes_nest_reopen_and_reset() -> None:
    graph = Graph()
    with graph.name_scope("s") as outer:
        assert outer == "s/"
        with graph.name_scope("t") as inner:
            assert constant(graph, "x").name == "s/t/x"
        with graph.name_scope("t") as again:
            assert again == "s/t_1/"
        with graph.name_scope(None) as root:
            assert root == ""
            assert constant(graph, "y").name == "y"
        with graph.name_scope(inner):
            assert constant(graph, "x").name == "s/t/x_1"
    assert graph.get_name_scope() == ""
    with pytest.raises(ValueError, match="not a valid node name"):
        constant(graph, "a b")


def test_control_dependencies_leave_out_what_waits_already() -> None:
    graph = Graph()
    a = constant(graph, "a")
    with graph.control_dependencies([a, a.output(0)]):
        b = constant(graph, "b")
        c = graph.add_operation("Neg", [b.output(0)], {"T": F32}, "c", output_types=[(F32, ())])
        d = graph.add_operation("Neg", [a.output(0)], {"T": F32}, "d", output_types=[(F32, ())])
        with graph.control_dependencies(None):
            e = constant(graph, "e")
        with graph.control_dependencies([b]):
            f = constant(graph, "f")
    assert b.control_inputs == [a]
    assert c.control_inputs == []  # waits for b, which waits for a
    assert d.control_inputs == []  # a feeds it
    assert e.control_inputs == []
    assert f.control_inputs == [a, b]


def test_devices_merge_and_colocation_writes_classes() -> None:
    graph = Graph()
    with graph.device("/gpu:0"), graph.device("/job:ps/task:1"):
        a = constant(graph, "a")
        with graph.device(None):
            b = constant(graph, "b")
        with graph.device(lambda op: "/cpu:1" if op.name == "c" else ""):
            c = constant(graph, "c")
    assert [a.device, b.device] == ["/job:ps/task:1/device:GPU:0", ""]
    assert c.device == "/job:ps/task:1/device:CPU:1"
    with graph.colocate_with(a):
        d = constant(graph, "d")
        with graph.colocate_with(d):
            e = constant(graph, "e")
    assert d.get_attr("_class") == [b"loc:@a"]
    assert e.get_attr("_class") == [b"loc:@a"]
    assert d.device == a.device
    with pytest.raises(ValueError, match="bogus"):
        graph.device("/bogus:0").__enter__()


def test_finalized_graph_and_foreign_inputs() -> None:
    graph, other = Graph(), Graph()
    x = constant(other).output(0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        graph.add_operation("Neg", [x])
    graph.finalize()
    with pytest.raises(RuntimeError, match=r"^Graph is finalized and cannot be modified\.$"):
        constant(graph)


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("nope:0", KeyError, "The operation, 'nope', does not exist in the graph."),
        ("x:4", KeyError, "exists but only has 1 outputs."),
        ("nope", KeyError, "The name 'nope' refers to an Operation not in the graph."),
        ("x:0:1", ValueError, "looks a like a Tensor name, but is not a valid one"),
        (3, TypeError, "Can not convert a int into a Tensor or Operation."),
    ],
)
def test_lookup_errors_are_tensorflows(name, error: type[Exception], text: str) -> None:
    graph = Graph()
    constant(graph, "x")
    with pytest.raises(error) as caught:
        graph.as_graph_element(name)
    assert text in str(caught.value)


def test_lookups_by_kind() -> None:
    graph = Graph()
    x = constant(graph, "x")
    assert graph.get_tensor_by_name("x:0") is x.outputs[0]
    assert graph.get_operation_by_name("x") is x
    with pytest.raises(ValueError, match="refers to an Operation, not a Tensor"):
        graph.get_tensor_by_name("x")
    with pytest.raises(ValueError, match="appears to refer to a Tensor"):
        graph.get_operation_by_name("x:0")
    with pytest.raises(ValueError, match="not an element of this graph"):
        Graph().as_graph_element(x)


def test_tensor_text_truth_and_identity() -> None:
    graph = Graph()
    op = graph.add_operation("StringJoin", name="StringJoin", output_types=[(dtypes.string, ())])
    t = op.output(0)
    assert str(t) == 'Tensor("StringJoin:0", shape=(), dtype=string)'
    assert repr(t) == "<tf.Tensor 'StringJoin:0' shape=() dtype=string>"
    x = graph.add_operation("Placeholder", name="x", output_types=[(F32, (None, 784))]).output(0)
    assert str(x) == 'Tensor("x:0", shape=(?, 784), dtype=float32)'
    y = graph.add_operation("Placeholder", name="y", output_types=[(F32, None)]).output(0)
    assert str(y) == 'Tensor("y:0", dtype=float32)'
    v = graph.add_operation("VariableV2", name="v", output_types=[(F32, (2,))], ref_outputs=(0,))
    assert "dtype=float32_ref" in str(v.output(0))
    for convert in (bool, iter, len):
        with pytest.raises(TypeError):
            convert(t)
    assert {t: 1}[op.outputs[0]] == 1
    with pytest.raises(ValueError, match=r"are 784 and 4\. Shapes are \[\?,784\] and \[3,4\]\."):
        x.set_shape([3, 4])
    x.set_shape([3, None])
    assert x.shape.as_list() == [3, 784]


def test_consumers_follow_changed_inputs() -> None:
    graph = Graph()
    a, b = constant(graph, "a").output(0), constant(graph, "b").output(0)
    add = graph.add_operation("AddV2", [a, a], {"T": F32}, "add", output_types=[(F32, ())])
    assert a.consumers() == [add, add]
    add.update_input(0, b)
    assert (a.consumers(), b.consumers()) == ([add], [add])
    add.update_input(1, b)
    assert (a.consumers(), b.consumers()) == ([], [add, add])


def test_default_graph_is_per_thread() -> None:
    found: list[Graph] = []
    with Graph().as_default() as graph:
        thread = threading.Thread(target=lambda: found.append(get_default_graph()))
        thread.start()
        thread.join()
        assert get_default_graph() is graph
    assert found[0] is not graph
    assert get_default_graph() is not found[0]  # each thread has its own


def test_shapes() -> None:
    unknown, partial = TensorShape(None), TensorShape([None, 3])
    assert (str(unknown), str(partial), str(TensorShape([4]))) == ("<unknown>", "(?, 3)", "(4,)")
    assert repr(partial) == "TensorShape([Dimension(None), Dimension(3)])"
    assert partial[1] == 3
    assert partial[0].value is None
    assert (partial[0] == 3) is None
    assert int(partial[1]) * 2 == 6
    assert partial.merge_with([2, None]) == [2, 3]
    assert partial[1:] == [3]
    assert unknown[1:].ndims is None
    assert not unknown
    assert partial.num_elements() is None
    assert TensorShape([2, 0]).num_elements() == 0
    assert partial.concatenate([5]).as_list() == [None, 3, 5]
    assert (Dimension(7) // 2, Dimension(None) + 1 == 2) == (Dimension(3), None)
    for shape in (unknown, partial, TensorShape([])):
        assert TensorShape(shape.as_proto()) == shape
    assert TensorShape([2, 3]).is_subtype_of(partial)
    assert not partial.is_subtype_of(TensorShape([2, 3]))
    assert TensorShape([2, 3]).most_specific_common_supertype([TensorShape([4, 3])]) == partial
    with pytest.raises(ValueError, match=r"Shapes \(1, 2\) and \(1, 3\) are not compatible"):
        TensorShape([1, 2]).merge_with([1, 3])
    with pytest.raises(ValueError, match="not defined on an unknown TensorShape"):
        unknown.as_list()
    with pytest.raises(ValueError, match=">= 0"):
        TensorShape([-2])


def test_handles_have_shapes_of_their_own() -> None:
    """Also behind operations that hand them on: a file whose shapes differ is refused."""
    with Graph().as_default():
        stack = output("StackV2", constant_tensor(np.int32(-1), "Const"), elem_type=F32)
        variable = output("VarHandleOp", dtype=F32, shape=[4, 5])
        for handle, shape in (stack, [2]), (variable, []):
            assert handle.shape.as_list() == output("Identity", handle).shape.as_list() == shape


def test_attr_values_are_encoded_by_type() -> None:
    ref = FunctionRef("f", {"n": 3})
    values = [True, 3, 2.5, b"s", "é", F32, (1, None), None, [], [1, 2], [F32], [(2,), None],
              np.array([1, 2], np.int32), ref, AttrPlaceholder("T"), np.int64(4)]  # fmt: skip
    kinds = [attr_value(v).WhichOneof("value") for v in values]
    assert kinds == ["b", "i", "f", "s", "s", "type", "shape", "shape", "list", "list", "list",
                     "list", "tensor", "func", "placeholder", "i"]  # fmt: skip
    assert attr_value(None).shape.unknown_rank
    assert [d.size for d in attr_value((1, None)).shape.dim] == [1, -1]
    assert attr_value(ref).func.attr["n"].i == 3
    with pytest.raises(UsageError, match="no attribute can hold"):
        attr_value(object(), "node 'x'")


def test_tensor_encoding_is_make_tensor_protos() -> None:
    assert tensor_proto(np.float32(2)).float_val == [2]
    assert tensor_proto(np.array([1, 2], np.int8)).tensor_content == b"\x01\x02"
    assert tensor_proto(np.array(["a", b"b"], object)).string_val == [b"a", b"b"]
    assert tensor_proto(np.complex64(1 + 2j)).scomplex_val == [1, 2]
    assert tensor_proto(np.float16(1)).half_val == [0x3C00]
    empty = tensor_proto(np.zeros((0, 2), np.float32))
    assert (empty.tensor_content, len(empty.float_val), len(empty.tensor_shape.dim)) == (b"", 0, 2)


def test_export_writes_nodes_as_tensorflow_does() -> None:
    graph = Graph()
    with graph.name_scope("s"):
        a = constant(graph, "a")
        with graph.control_dependencies([a]), graph.device("/cpu:0"):
            graph.add_operation("TopKV2", [a.output(0), a.output(0)], {"T": F32}, "top",
                            output_types=[(F32, ()), (dtypes.i32, ())])  # fmt: skip
        split = graph.get_operation_by_name("s/top")
        graph.add_operation("Neg", [split.output(1)], {"T": dtypes.i32}, "n", [a],
                        output_types=[(dtypes.i32, ())])  # fmt: skip
    expected = """
        name: "s/n" op: "Neg" input: "s/top:1" input: "^s/a"
        attr { key: "T" value { type: DT_INT32 } }
    """
    graph_def = graph.as_graph_def()
    assert [n.name for n in graph_def.node] == ["s/a", "s/top", "s/n"]
    assert graph_def.node[2] == text_format.Parse(expected, NodeDef())
    assert graph_def.node[1].device == "/device:CPU:0"
    assert list(graph_def.node[1].input) == ["s/a", "s/a"]
    assert graph_def.versions.producer > 1000
    assert [n.name for n in graph.as_graph_def(from_version=2).node] == ["s/n"]
    assert 'name: "s/n"' in str(graph.get_operation_by_name("s/n"))


def test_attrs_are_written_as_the_record_declares_them() -> None:
    graph = Graph()
    attrs = {"dtype": "float32", "value": 1.5}
    const = graph.add_operation("Const", [], attrs, "c", output_types=[(F32, ())])
    node = const.node_def
    assert node.attr["value"].WhichOneof("value") == "tensor"
    assert node.attr["dtype"].type == 1
    holder = graph.add_operation("Placeholder", [], {"dtype": F32, "shape": [None, 2]}, "p")
    assert [d.size for d in holder.node_def.attr["shape"].shape.dim] == [-1, 2]
    holder.attrs["shape"] = "no shape"
    with pytest.raises(UsageError, match=r"node 'p', attr 'shape': expected a shape"):
        _ = holder.node_def


def test_only_setting_an_attr_changes_it() -> None:
    sizes = [1, 2, 2, 1]
    attrs = Attrs({"ksize": [1, 1, 1, 1], "f": FunctionRef("f", Attrs({"T": F32}))})
    attrs["ksize"] = sizes
    before = attrs.changes
    sizes[1] = 7
    attrs["ksize"][1] = 7
    assert attrs["ksize"] == [1, 2, 2, 1] and attrs.changes == before
    attrs["ksize"] = [1, 7, 2, 1]
    attrs["f"].attrs["T"] = F32
    del attrs["f"].attrs["T"]
    assert attrs["ksize"] == [1, 7, 2, 1] and attrs.changes == before + 3


def test_export_of_a_function() -> None:
    body = FunctionBody(
        (BodyNode("m", "Mul", (("arg", 0), ("arg", 1)), (), Attrs({"T": F32})),
         BodyNode("p", "Print", (("node", "m", "z", 0),), ("m",), Attrs())),
        (("node", "m", "z", 0),),
        ("p",),
    )  # fmt: skip
    args = (FunctionArg("x", F32), FunctionArg("y", None, type_attr="T"))
    function = Function("f", args, (FunctionArg("out", F32),), lambda: body)
    definition = function_to_def(function)
    assert [list(n.input) for n in definition.node_def] == [["x", "y"], ["m:z:0", "^m"]]
    assert definition.ret["out"] == "m:z:0"
    assert definition.control_ret["p"] == "p"
    assert definition.signature.input_arg[1].type_attr == "T"


def test_op_defs_say_what_tensorflows_say() -> None:
    """Flags, minima, dtypes and deprecations are TensorFlow's, those of flowc's own ops traits."""
    queue, take, found = (op_def(n) for n in ("FIFOQueueV2", "LookupTableFind", "AddV2"))
    assert queue is not None and take is not None and found is not None
    assert queue.is_stateful and not take.is_stateful
    assert found.is_aggregate and found.is_commutative and not found.attr[0].has_minimum
    for name, number, minimum, allowed in (("While", 0, True, []), ("Max", 1, False, [1, 2, 3, 4])):
        definition = op_def(name)
        assert definition is not None and definition.attr[number].has_minimum == minimum
        assert list(definition.attr[number].allowed_values.list.type)[:4] == allowed
    old = op_def("AudioSummary")
    assert old is not None and old.deprecation.explanation == "Use AudioSummaryV2."
    assert old.deprecation.version == 15


def test_dtypes_that_no_op_takes_are_named_with_tensorflows() -> None:
    with pytest.raises(TypeError, match="allowed values: float32, float64, int32, uint8, int16, i"):
        tf.reduce_max(tf.constant("a"))


def test_importing_the_graph_loads_no_protobuf() -> None:
    code = "import flowc.graph, sys; print([m for m in sys.modules if 'protobuf' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_shapes_and_operators_need_no_other_import() -> None:
    """What a tensor is does not depend on which modules of the API were imported."""
    code = (
        "from flowc.graph import Graph; from flowc.dtypes import f32\n"
        "graph = Graph()\n"
        "x = graph.add_operation('Placeholder', attrs={'dtype': f32, 'shape': (2, 3)}).outputs[0]\n"
        "y = graph.add_operation('Neg', [x], {'T': f32}).outputs[0]\n"
        "print(y.shape, (y * 2.0)[0].name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 3) strided_slice:0"


def test_an_attr_is_told_without_encoding_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with Graph().as_default():
        op = constant_tensor(np.zeros((2, 3), np.float32), "c").op

    def encoded(_: object) -> NoReturn:
        raise AssertionError("the whole node is encoded")

    monkeypatch.setattr(export, "operation_to_node_def", encoded)
    assert op.get_attr("dtype") is dtypes.f32
    with pytest.raises(AssertionError, match="whole node"):
        op.get_attr("value")
