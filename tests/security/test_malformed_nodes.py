"""What is said of nodes that are not what the records of their ops say, and of faults of flowc."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from op_models import loaded, op_model, run_model, run_op

import flowc
from flowc.cli.entry import run_command_line
from flowc.errors import FlowcError, InternalError, InvalidModelError, UnsupportedError
from flowc.graph.verify import operation_faults
from flowc.ops import op_named
from flowc.proto.graph_pb2 import GraphDef, NodeDef

MATRIX = np.ones((2, 3), np.float32)


def add_n() -> GraphDef:
    return op_model("AddN", [MATRIX, MATRIX])


def pool() -> GraphDef:
    image = np.ones((1, 4, 4, 1), np.float32)
    return op_model("MaxPool", [image], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME")


Change = Callable[[NodeDef], Any]
# How a node is changed, and what is said of it.
FAULTS: dict[str, tuple[Callable[[], GraphDef], Change, str]] = {
    "too few inputs": (add_n, lambda y: y.input.pop(), "takes 2 inputs, as attr 'N' says, found 1"),
    "too many inputs": (pool, lambda y: y.input.append("x0"), "takes 1 inputs, found 2"),
    "another number": (
        add_n,
        lambda y: set_attr(y, "N", i=3),
        "takes 3 inputs, as attr 'N' says, found 2",
    ),
    "a number below the least": (
        add_n,
        lambda y: set_attr(y, "N", i=-1),
        "attr 'N' is -1, expected 1 or more",
    ),
    "no dtype": (
        add_n,
        lambda y: y.attr.pop("T"),
        "attr 'T' is missing, expected a value of kind type",
    ),
    "a bool for a dtype": (
        add_n,
        lambda y: set_attr(y, "T", b=False),
        "attr 'T' is False, expected a value of kind type",
    ),
    "a number for a dtype": (
        add_n,
        lambda y: set_attr(y, "T", i=1),
        "attr 'T' is 1, expected a value of kind type",
    ),
    "a dtype that the op lacks": (
        add_n,
        lambda y: set_attr(y, "T", type=10),
        "attr 'T' is bool, expected one of f16, bf16",
    ),
    "inputs of another dtype": (
        add_n,
        lambda y: set_attr(y, "T", type=3),
        "input 0 ('inputs') is 'x0:0' of f32, expected i32",
    ),
    "a value that is not allowed": (
        pool,
        lambda y: set_attr(y, "padding", s=b"WIDE"),
        "attr 'padding' is 'WIDE', expected one of",
    ),
    "a string for a list": (
        pool,
        lambda y: set_attr(y, "ksize", s=b"1221"),
        "attr 'ksize' is b'1221', expected a list",
    ),
    "a short list": (
        pool,
        lambda y: y.attr["ksize"].list.i.pop(),
        "attr 'ksize' is [1, 2, 2], expected 4 values or more",
    ),
    "a list of another kind": (
        pool,
        lambda y: set_list(y, "strides", "f", [1.0] * 4),
        "attr 'strides' is 1.0, expected a value of kind int",
    ),
    "shapes with negative sizes": (
        add_n,
        lambda y: y.attr["_output_shapes"].list.shape.add().dim.add(size=-5),
        "[-5] is no shape",
    ),
    "shapes that are none": (
        add_n,
        lambda y: set_attr(y, "_output_shapes", i=1),
        "attr '_output_shapes' is 1, expected a list",
    ),
}


def set_attr(node: NodeDef, name: str, **value: Any) -> None:
    node.attr[name].Clear()
    ((kind, found),) = value.items()
    setattr(node.attr[name], kind, found)


def set_list(node: NodeDef, name: str, kind: str, values: list[Any]) -> None:
    node.attr[name].Clear()
    getattr(node.attr[name].list, kind).extend(values)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named(name: str) -> None:
    make, change, said = FAULTS[name]
    run_model(make())
    model = make()
    change(model.node[-1])
    with pytest.raises(InvalidModelError) as caught:
        run_model(model)
    assert caught.value.node == "y"
    assert said in str(caught.value) and "node 'y'" in str(caught.value)


def test_more_outputs_than_memory_are_none() -> None:
    model = op_model("Split", [np.int32(1), MATRIX], num_split=3)
    set_attr(model.node[-1], "num_split", i=2**40)
    op = loaded(model).get_operation_by_name("y")
    assert not op.outputs
    (fault,) = operation_faults(op)
    assert fault.text == "attr 'num_split' asks for 1099511627776 outputs, expected at most 1048576"


@pytest.mark.parametrize(
    "text",
    [
        'node { name: "y" op: "Exit" attr { key: "T" value { type: DT_FLOAT } } }',
        'node { name: "s" op: "Switch" attr { key: "T" value { type: DT_FLOAT } } }'
        'node { name: "y" op: "Exit" input: "s" attr { key: "T" value { type: DT_FLOAT } } }',
        'node { name: "y" op: "Identity" attr { key: "T" value { type: DT_FLOAT } } }',
        'node { name: "y" op: "IdentityN" attr { key: "T" value { list { i: 1 i: 7 } } } }',
    ],
)
def test_outputs_are_looked_for_among_nodes_that_lack_what_they_need(text: str) -> None:
    """What a model is asked for by default is chosen before anything is verified."""
    graph = GraphDef()
    text_format.Parse(text, graph)
    with pytest.raises(FlowcError) as caught:
        flowc.compile(loaded(graph))
    assert not isinstance(caught.value, InternalError)


def test_all_faults_are_told_at_once() -> None:
    model = add_n()
    set_attr(model.node[-1], "N", i=0)
    set_attr(model.node[-1], "T", b=True)
    model.node.add(name="z", op="Neg", input=["y"])
    with pytest.raises(InvalidModelError) as caught:
        run_model(model, fetch="z:0")
    text = str(caught.value)
    assert text.startswith("2 nodes are malformed:")
    for said in ("attr 'N' is 0", "attr 'T' is True", "(Neg): attr 'T' is missing", "try: "):
        assert said in text


def test_what_no_fetch_needs_is_not_verified() -> None:
    model = add_n()
    model.node.add(name="z", op="Neg", input=["y"])
    np.testing.assert_array_equal(run_model(model), MATRIX + MATRIX)


def test_inspect_lists_all_that_is_malformed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = add_n()
    model.node.add(name="z", op="Neg", input=["y"])
    model.node.add(name="neither", op="Neg")
    path = tmp_path / "model.pb"
    path.write_bytes(model.SerializeToString())
    assert run_command_line(["inspect", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "malformed: node 'z' (Neg): attr 'T' is missing" in shown
    assert "malformed: node 'neither' (Neg): attr 'T' is missing" in shown


def test_nodes_of_functions_are_verified() -> None:
    model = GraphDef()
    function = model.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="a", type=1)
    function.signature.output_arg.add(name="r", type=1)
    body = function.node_def.add(name="sum", op="AddN", input=["a", "a"])
    set_attr(body, "T", type=1)
    set_attr(body, "N", i=3)
    function.ret["r"] = "sum:sum:0"
    call = op_model("Identity", [MATRIX])
    model.node.extend(call.node[:-1])
    model.node.add(name="y", op="f", input=["x0"])
    with pytest.raises(InvalidModelError, match=r"'y/sum' \(AddN\): takes 3 inputs"):
        run_model(model)
    set_attr(body, "N", i=2)
    np.testing.assert_array_equal(run_model(model), MATRIX + MATRIX)


def test_dtypes_that_only_tensorflow_computes_with_are_unsupported() -> None:
    model = add_n()
    for node in model.node:
        for attr in node.attr.values():
            if attr.type == 1:
                attr.type = 11
        if node.op == "Const":
            node.attr["value"].tensor.dtype = 11
            node.attr["value"].tensor.tensor_content = b""
    assert not operation_faults(loaded(model).get_operation_by_name("y"))
    with pytest.raises(UnsupportedError, match="no kernel for qi8"):
        run_model(model)


def test_ops_of_flowc_alone_are_unknown_in_models() -> None:
    model = add_n()
    model.node[-1].op = "_Sizes"
    with pytest.raises(UnsupportedError, match="_Sizes"):
        run_model(model)


def test_a_binary_model_that_begins_like_text_is_read() -> None:
    for width in range(40):  # the first node has 123 bytes once
        model = GraphDef()
        model.node.extend(add_n().node)
        model.node[0].name = "x0" + "_" * width
        model.node[-1].input[0] = model.node[0].name
        np.testing.assert_array_equal(run_model(model), MATRIX + MATRIX)


# -- faults of flowc


def test_a_fault_of_flowc_names_the_node_and_leaves_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(op_model("Cumsum", [MATRIX, np.int32(0)], fed=True).SerializeToString())

    def broken(*_: Any) -> Any:
        raise KeyError("nothing")

    monkeypatch.setitem(op_named("cumsum").__dict__, "infer", broken)
    with (
        pytest.raises(InternalError) as caught,
        flowc.Session(graph=loaded(path.read_bytes())) as s,
    ):
        s.run("y:0", {"x0:0": MATRIX, "x1:0": np.int32(0)})
    error = caught.value
    assert error.node == "y" and error.report is not None
    report = Path(error.report)
    text = (report / "report.txt").read_text()
    for said in ("inferring the types of Cumsum", "KeyError: 'nothing'", "y:0", "flowc 0."):
        assert said in text
    assert GraphDef.FromString((report / "model.pb").read_bytes()).node[-1].name == "y"
    assert run_command_line(["compile", str(path), "-o", str(tmp_path / "m.so")]) == 70
    assert "fault of flowc" in capsys.readouterr().err


# -- what graphs from files can hold and builders refuse

VECTOR = np.arange(3, dtype=np.float32)
IMAGE = np.ones((1, 2, 2, 4), np.float32)
REFUSED: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "a block of no size": ("DepthToSpace", (IMAGE,), {"block_size": 0}),
    "a radius below 0": ("LRN", (IMAGE,), {"depth_radius": -1}),
    "a radius of 2^31-1": ("LRN", (IMAGE,), {"depth_radius": 2**31 - 1}),
    "rank 65": ("Reshape", (np.ones(1, np.float32), np.ones(65, np.int32)), {}),
    "10^5 dims": ("Reshape", (np.ones(1, np.float32), np.ones(100_000, np.int32)), {}),
    "10^5 letters": (
        "Einsum", (MATRIX, MATRIX), {"equation": "ij,jk->" + "i" * 100_000}),
    "an axis as a vector": ("ArgMax", (MATRIX, np.array([1])), {}),
    "an axis as an empty vector": ("Cumsum", (MATRIX, np.zeros(0, np.int32)), {}),
    "a size as a vector": ("TopKV2", (VECTOR, np.array([1], np.int32)), {}),
    "a number of classes as a vector": (
        "InTopKV2", (MATRIX, np.zeros(2, np.int32), np.ones(2, np.int32)), {}),
    "a transform of length -1": ("RFFT", (VECTOR, np.array([-1], np.int32)), {}),
    "a transform of length 0": ("RFFT", (VECTOR, np.array([0], np.int32)), {}),
    "an inverse transform of length 0": (
        "IRFFT", (np.ones((3, 5), np.complex64), np.array([0], np.int32)), {}),
    "steps beyond 2^63": ("Range", tuple(map(np.float32, (-1e38, 1, 1))), {}),
    "steps that are tiny": ("Range", tuple(map(np.float32, (0, 1, 1e-38))), {}),
    "a start of rank 2": ("LinSpace", (np.ones((1, 1), np.float32), np.float32(2), 7), {}),
    "a limit that is no number": ("Range", tuple(map(np.float32, (0, np.nan, 1))), {}),
    "a padding of rank 1": (
        "PadV2", (VECTOR, np.zeros((1, 2), np.int32), np.zeros(1, np.float32)), {}),
    "a value of rank 1": (
        "OneHot", (np.array([1]), np.int32(3), np.ones(1, np.float32), np.float32(0)), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    op_type, inputs, attrs = REFUSED[name]
    with pytest.raises(FlowcError) as caught:
        run_op(op_type, *inputs, **attrs)
    assert not isinstance(caught.value, InternalError)
    assert caught.value.node == "y"


@pytest.mark.parametrize("fold", ["Sum", "Mean", "SqrtN"])
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("ids", [[-1, 0], [-2, -1], [1, 0]])
def test_sparse_segments_refuse_ids_below_0(fold: str, fed: bool, ids: list[int]) -> None:
    inputs = (np.ones((3, 2), np.float32), np.array([0, 1]), np.array(ids, np.int32))
    with pytest.raises(flowc.errors.InvalidArgumentError):
        run_op(f"SparseSegment{fold}", *inputs, fed=fed)


@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_nth_element_of_the_run(fed: bool, reverse: bool) -> None:
    rows = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], np.float32)
    for n in range(3):
        found = run_op("NthElement", rows, np.int32(n), fed=fed, reverse=reverse)
        expected = np.sort(rows)[:, 2 - n if reverse else n]
        np.testing.assert_array_equal(found, expected)
    for n in (-1, 3):
        with pytest.raises(flowc.errors.InvalidArgumentError):
            run_op("NthElement", rows, np.int32(n), fed=fed, reverse=reverse)


def test_contractions_with_a_constant_of_one_element() -> None:
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    two = np.full((1, 1, 1, 1), 2, np.float32)
    window: dict[str, Any] = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    with flowc.Graph().as_default():
        x = flowc.placeholder(flowc.float32, image.shape)
        column = flowc.reshape(x, [12, 1])
        results = [
            flowc.raw_ops.DepthwiseConv2dNative(input=x, filter=two, **window),
            flowc.raw_ops.Conv2D(input=x, filter=two, **window),
            flowc.matmul(column, two[0, 0]) + two[0, 0],
        ]
        with flowc.Session(threads=1) as session:
            depthwise, full, product = session.run(results, {x: image})
    np.testing.assert_array_equal(depthwise, 2 * image)
    np.testing.assert_array_equal(full, 2 * image)
    np.testing.assert_array_equal(product, 2 * image.reshape(12, 1) + 2)


def test_sizes_beyond_32_bits_are_written_in_64() -> None:
    # The sum of as many ones is known without any of them.
    with flowc.Graph().as_default():
        ones = flowc.fill(flowc.constant([2**31 + 5], flowc.int64), flowc.constant(1, flowc.int8))
        total = flowc.reduce_sum(flowc.cast(ones, flowc.int64), [0])
        with flowc.Session(threads=1) as session:
            assert session.run(total) == 2**31 + 5
