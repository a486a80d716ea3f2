"""Advisories of TensorFlow's about what stands around ops: edges, functions, tensors, loops, files.

A test is named by its advisory, and asks for the error's class and the node that it names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from op_models import loaded, op_model, run_model
from raw_nodes import I, constant, enter, graph_of, node

import flowc
from flowc.errors import (
    FlowcError,
    InternalError,
    InvalidArgumentError,
    InvalidModelError,
    UnsupportedError,
)
from flowc.proto.graph_pb2 import GraphDef, NodeDef

MATRIX = np.ones((2, 3), np.float32)


def add() -> GraphDef:
    return op_model("AddV2", [MATRIX, MATRIX])


def refused(model: GraphDef, node: str | None, *said: str) -> None:
    with pytest.raises(InvalidModelError) as caught:
        run_model(model)
    assert caught.value.node == node
    for word in said:
        assert word in str(caught.value)


@pytest.mark.parametrize("attr", ["value", "dtype"])
def test_tfsa_2020_010_a_constant_without(attr: str) -> None:
    model = add()
    del model.node[0].attr[attr]
    model.node[0].attr["other"].i = 1
    refused(model, "x0", repr(attr))


@pytest.mark.parametrize("slot", ["x0:7", "x0:-1", "x0:1048576", "x0:", "x0:0:0", "nothing"])
def test_tfsa_2020_034_an_edge_from_nowhere(slot: str) -> None:
    model = add()
    model.node[-1].input[0] = slot
    refused(model, "y", slot)


def test_tfsa_2021_103_tensors_nested_thousands_deep(tmp_path: Path) -> None:
    path = tmp_path / "model.pbtxt"
    path.write_bytes(b"node { attr { value { " + b"list { func { attr { value { " * 5000)
    with pytest.raises(InvalidModelError, match="deep"):
        flowc.load_graph(path)


def calling(library: Mapping[str, str]) -> GraphDef:
    """A model of functions of one argument, each of which calls another one."""
    model = op_model("Identity", [MATRIX])
    for name, called in library.items():
        function = model.library.function.add()
        function.signature.name = name
        function.signature.input_arg.add(name="a", type=1)
        function.signature.output_arg.add(name="r", type=1)
        function.node_def.add(name="call", op=called, input=["a"])
        function.ret["r"] = "call:r:0"
    model.node[-1].op = next(iter(library))
    model.node[-1].attr.clear()
    return model


@pytest.mark.parametrize(
    "library", [{"f": "f"}, {"f": "g", "g": "f"}, {"f": "g", "g": "h", "h": "g"}], ids=len
)
def test_tfsa_2022_054_functions_that_call_themselves(library: Mapping[str, str]) -> None:
    start = time.process_time()
    with pytest.raises(UnsupportedError, match="calls itself") as caught:
        run_model(calling(library))
    assert (caught.value.node or "").startswith("y/call")
    assert time.process_time() - start < 1


def test_tfsa_2021_180_functions_in_one_another() -> None:
    library = {f"f{i}": f"f{i + 1}" for i in range(300)}
    with pytest.raises(UnsupportedError, match="deep"):
        run_model(calling({**library, "f300": "f300"}))


TENSORS: dict[str, Callable[[Any], Any]] = {
    "an invalid dtype without elements": lambda t: (setattr(t, "dtype", 0), shape(t, 0)),
    "a dtype that is none": lambda t: setattr(t, "dtype", 777),
    "a negative size": lambda t: shape(t, -3),
    "an unknown rank": lambda t: setattr(t.tensor_shape, "unknown_rank", True),
    "content that is too short": lambda t: setattr(t, "tensor_content", b"abc"),
    "content that is too long": lambda t: setattr(t, "tensor_content", b"x" * 1000),
    "more values than elements": lambda t: (
        t.ClearField("tensor_content"), t.float_val.extend([1.0] * 9)),
    "255 dims": lambda t: shape(t, *[1] * 255),
    "sizes beyond int64": lambda t: shape(t, 2**40, 2**40),
    "another dtype": lambda t: setattr(t, "dtype", 3),
    "a handle": lambda t: setattr(t, "dtype", 20),
}  # fmt: skip


def shape(tensor: Any, *sizes: int) -> None:
    del tensor.tensor_shape.dim[:]
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)


@pytest.mark.parametrize("name", TENSORS)
def test_tfsa_2022_033_and_030_tensors(name: str) -> None:
    model = add()
    TENSORS[name](model.node[0].attr["value"].tensor)
    with pytest.raises(InvalidModelError) as caught:
        run_model(model)
    assert "x0" in str(caught.value) and "value" in str(caught.value)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a result of nothing": lambda f: f.ret.pop("r"),
    "a result of an unknown node": lambda f: f.ret.update({"r": "other:r:0"}),
    "a result of an unknown output": lambda f: f.ret.update({"r": "sum:other:0"}),
    "an edge without a name": lambda f: f.node_def[0].input.append(""),
    "an unknown edge": lambda f: f.node_def[0].input.append("other"),
    "an unknown control edge": lambda f: f.node_def[0].input.append("^other"),
    "an attr without a value": lambda f: f.node_def[0].attr["T"].Clear(),
    "an attr without a name": lambda f: f.node_def[0].attr[""].type,
    "two arguments of one name": lambda f: f.signature.input_arg.add(name="a", type=1),
    "an argument without a name": lambda f: f.signature.input_arg.add(type=1),
    "two nodes of one name": lambda f: f.node_def.add(name="sum", op="Neg", input=["a"]),
    "a function without a name": lambda f: setattr(f.signature, "name", ""),
    "too few inputs": lambda f: f.node_def[0].input.pop(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tfsa_2022_049_and_137_and_138_functions(name: str) -> None:
    model = calling({"f": "Neg"})
    function = model.library.function[0]
    body = function.node_def[0]
    body.name, body.op = "sum", "AddV2"
    body.input.append("a")
    body.attr["T"].type = 1
    function.ret["r"] = "sum:z:0"
    np.testing.assert_array_equal(run_model(model), MATRIX + MATRIX)
    FUNCTIONS[name](function)
    with pytest.raises(InvalidModelError):
        run_model(model)


def test_tfsa_2022_050_and_2021_191_constants_that_are_handles_are_not_folded() -> None:
    model = add()
    for each in model.node:
        for attr in each.attr.values():
            attr.type = 20 if attr.type == 1 else attr.type
        if each.op == "Const":
            each.attr["value"].tensor.dtype = 20
            each.attr["value"].tensor.tensor_content = b""
    with pytest.raises(FlowcError) as caught:
        run_model(model)
    assert not isinstance(caught.value, InternalError)


@pytest.mark.parametrize("sizes", [(7,), (2, 4), ()])
def test_tfsa_2022_053_shapes_that_a_file_has_wrong_are_ignored(sizes: tuple[int, ...]) -> None:
    model = add()
    stated = model.node[-1].attr["_output_shapes"].list.shape.add()
    for size in sizes:
        stated.dim.add(size=size)
    model.node.append(NodeDef(name="z", op="Neg", input=["y"]))
    model.node[-1].attr["T"].type = 1
    np.testing.assert_array_equal(run_model(model, fetch="z:0"), -2 * MATRIX)
    assert loaded(model).get_tensor_by_name("y:0").shape.as_list() == [2, 3]


@pytest.mark.parametrize(
    ("nodes", "named"),
    [
        ({"zero": constant(0), "y": node("Exit", "zero", T=I)}, "'y' (Exit)"),
        ({"zero": constant(0), "y": node("NextIteration", "zero", T=I)}, "NextIteration (1): y"),
        ({"zero": constant(0), "y": node("Merge", "zero", "e", T=I, N="i: 2"),
          "e": enter("zero")}, "'y' (Merge)"),
    ],
    ids=["exit", "next", "merge"],
)  # fmt: skip
def test_tfsa_2021_175_loops_that_nothing_enters(nodes: Mapping[str, str], named: str) -> None:
    errors = (InvalidModelError, UnsupportedError)
    with pytest.raises(errors) as caught, flowc.Session(graph=graph_of(nodes)) as s:
        s.run("y:0")
    assert named in str(caught.value)


@pytest.mark.parametrize("op", ["ImmutableConst", "QueueIsClosed"])
def test_tfsa_2021_170_and_2022_072_what_touches_more_than_tensors_is_no_op_of_a_model(
    op: str,
) -> None:
    model = add()
    model.node[-1].op = op
    with pytest.raises((UnsupportedError, InvalidModelError)) as caught:
        run_model(model)
    assert op in str(caught.value)


def test_tfsa_2022_037_an_assignment_from_what_has_no_value() -> None:
    with flowc.Graph().as_default():
        a = flowc.get_variable("a", initializer=np.ones(3, np.float32), use_resource=False)
        b = flowc.get_variable("b", initializer=np.ones(3, np.float32), use_resource=False)
        assigned = flowc.assign(a, b)
        with flowc.Session() as session, pytest.raises(flowc.errors.FailedPreconditionError):
            session.run(assigned)


@pytest.mark.parametrize(("place", "attr"), [(0, "dtype"), (-1, "T")])
def test_tfsa_2022_050_dtypes_of_references(place: int, attr: str) -> None:
    model = add()
    model.node[place].attr[attr].type = 101
    refused(model, model.node[place].name, repr(attr), "DT_FLOAT_REF")


@pytest.mark.parametrize("steps", [0, 3])
def test_tfsa_2020_033_sequences_of_length_zero(steps: int) -> None:
    with flowc.Graph().as_default():
        x = flowc.placeholder(flowc.float32, [2, None, 3], "x")
        cell = flowc.nn.rnn_cell.BasicLSTMCell(4)
        outputs, state = flowc.nn.dynamic_rnn(cell, x, [0, 0], dtype=flowc.float32)
        with flowc.Session() as session:
            session.run(flowc.global_variables_initializer())
            found, last = session.run([outputs, state.h], {x: np.ones((2, steps, 3))})
    assert found.shape == (2, steps, 4)
    assert not found.any() and not last.any()


def test_tfsa_2021_142_unravelling_of_indices() -> None:
    """Dims of rank 0, and of 0: TensorFlow divided by them."""
    nodes = {"x": constant(0), "y": node("UnravelIndex", "x", "x", Tidx=I)}
    with pytest.raises(InvalidArgumentError) as caught, flowc.Session(graph=graph_of(nodes)) as s:
        s.run("y:0")
    assert caught.value.node == "y"
