"""The verifier bites: one broken Computation for each invariant, and the message that it gives."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from flowc import dtypes
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, symbol
from flowc.ir.op import op_named
from flowc.ir.text import parse_computation
from flowc.ir.types import TensorType, tensor_type
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.fuse import fuse

F4 = tensor_type("f32", (4,))


def parameter(name: str = "x", type_: TensorType = F4) -> Node:
    return Builder().parameter(name, type_).node


def make(
    op: str,
    inputs: tuple[Value, ...],
    *types: TensorType,
    after: tuple[Node, ...] = (),
    sizes: tuple[tuple[str, Dim | None], ...] = (),
    **attrs: Any,
) -> Node:
    return Node(op_named(op), inputs, MappingProxyType(attrs), types, after, ("a/node",), sizes)


def of(*nodes: Node, results: tuple[Value, ...] | None = None) -> Computation:
    parameters = tuple(n for n in nodes if n.op.name == "parameter")
    return Computation(parameters, nodes, nodes[-1].outputs if results is None else results)


def fault(c: Computation) -> str:
    with pytest.raises(InternalError) as caught:
        verify(c, "some_pass")
    assert "some_pass: " in str(caught.value)
    return str(caught.value)


def test_what_the_builder_makes_is_right() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (symbol("n"), 4)))
    verify(b.build([b.softmax(b.add(x, np.ones(4, np.float32)))]), "test")


def test_inputs_come_from_earlier_nodes() -> None:
    x = parameter()
    first = make("relu", (x.output,), F4)
    second = make("relu", (first.output,), F4)
    assert "comes from no earlier node" in fault(of(x, second, first))
    assert "comes from no earlier node" in fault(of(x, second))


def test_order_is_after_earlier_nodes() -> None:
    x = parameter()
    late = make("no_op", ())
    first = make("relu", (x.output,), F4, after=(late,))
    message = fault(of(x, first, late, results=first.outputs))
    assert "is ordered after a node that is not earlier" in message


def test_types_are_what_inference_says() -> None:
    x = parameter()
    for wrong in (tensor_type("f32", (5,)), tensor_type("f64", (4,)), tensor_type("f32", (4, 1))):
        assert "has types" in fault(of(x, make("relu", (x.output,), wrong)))
    assert "has types" in fault(of(x, make("relu", (x.output,), F4, F4)))


def test_inputs_fit_the_signature() -> None:
    x, y = parameter(), parameter("y", tensor_type("i32", (4,)))
    assert "cannot be inferred" in fault(of(x, y, make("add", (x.output, y.output), F4)))
    assert "cannot be inferred" in fault(of(x, make("add", (x.output,), F4)))
    z = parameter("z", tensor_type("f32", (3,)))
    message = fault(of(x, z, make("add", (x.output, z.output), F4)))
    assert "cannot be inferred" in message and "Incompatible shapes" in message


def test_attrs_that_a_type_needs_are_there() -> None:
    x = parameter()
    message = fault(of(x, make("cast", (x.output,), F4, Truncate=False)))
    assert "has no attr DstT" in message


def test_sizes_are_defined() -> None:
    x = parameter()
    sized = tensor_type("f32", (symbol("n"),))
    target = make("sizes", (), tensor_type("i32", (1,)), dims=(symbol("n"),), dtype=dtypes.i32)
    reshaped = make("reshape", (x.output, target.output), sized)
    assert "uses the size n, which nothing defines" in fault(of(x, target, reshaped))


def test_sizes_are_defined_once() -> None:
    lengths = parameter("lengths", tensor_type("i32", (1,)))
    reads = [make("read_sizes", lengths.outputs, sizes=(("n", None),), below=0) for _ in range(2)]
    again = of(lengths, *reads, results=lengths.outputs)
    assert "defines the size n again" in fault(again)
    verify(of(lengths, reads[0], results=lengths.outputs), "test")


def test_sizes_that_the_run_reads_are_read_by_a_node() -> None:
    x, dims = parameter(), parameter("dims", tensor_type("i32", (2,)))
    sized = tensor_type("f32", (symbol("n"), symbol("n_1")))
    filled = make("fill", (dims.output, x.output), sized)
    assert "fill" in fault(of(x, dims, filled))
    scalar = parameter("value", tensor_type("f32", ()))
    filled = make("fill", (dims.output, scalar.output), sized)
    assert "needs sizes that no read_sizes node defines" in fault(of(scalar, dims, filled)) or (
        "which nothing defines" in fault(of(scalar, dims, filled))
    )


def test_parameters_are_among_the_nodes() -> None:
    x, y = parameter(), parameter("y")
    c = Computation((x, y), (x,), x.outputs)
    assert "parameter y is not among the nodes" in fault(c)


def test_results_are_computed() -> None:
    x = parameter()
    stray = make("relu", (x.output,), F4)
    assert "a result is not computed" in fault(of(x, results=stray.outputs))


def clustered() -> tuple[Node, Node]:
    b = Builder()
    x = b.parameter("x", F4)
    c = fuse(b.build([b.exp(b.relu(x))]), Options())
    verify(c, "test")
    return c.nodes[0], c.nodes[1]


def changed(node: Node, types: tuple[TensorType, ...] | None = None, **attrs: Any) -> Node:
    new = MappingProxyType(dict(node.attrs) | attrs)
    return Node(node.op, node.inputs, new, types or node.types, (), node.origin)


def test_a_cluster_has_the_types_of_its_body() -> None:
    x, cluster = clustered()
    assert "has types" in fault(of(x, changed(cluster, types=(tensor_type("f32", (5,)),))))
    assert "Tout is not" in fault(of(x, changed(cluster, Tout=(dtypes.f64,))))


def test_a_body_has_the_parameters_of_its_cluster() -> None:
    x, cluster = clustered()
    body = cluster.attrs["body"]
    other = parameter("p0", tensor_type("f32", (5,)))
    wrong = Computation((other,), (other, *body.nodes), body.results)
    assert "parameters do not match" in fault(of(x, changed(cluster, body=wrong)))
    fewer = Computation((), body.nodes, body.results)
    assert "parameters do not match" in fault(of(x, changed(cluster, body=fewer)))


def test_a_body_is_in_order_and_reads_only_itself() -> None:
    x, cluster = clustered()
    body = cluster.attrs["body"]
    p, relu, exp = body.nodes
    swapped = Computation(body.parameters, (p, exp, relu), body.results)
    assert "in its body comes from no earlier" in fault(of(x, changed(cluster, body=swapped)))
    outer = make("relu", x.outputs, F4)
    leaking = Computation(body.parameters, (p, outer), outer.outputs)
    assert "in its body comes from no earlier" in fault(of(x, changed(cluster, body=leaking)))
    short = Computation(body.parameters, (p, relu), exp.outputs)
    assert "not among the body's nodes" in fault(of(x, changed(cluster, body=short)))


def test_the_message_shows_the_nodes_around() -> None:
    lines = [f"  %{i + 1} = relu(%{i or 'x'}) : f32[4]" for i in range(20)]
    lines[12] = lines[12].replace("f32[4]", "f32[3]")
    text = "\n".join(["computation(%x: f32[4]) {", *lines, "  return %20", "}"])
    message = fault(parse_computation(text))
    assert "f32[3]" in message and "%1 =" not in message
    assert len(message.split("\n")) < 14
