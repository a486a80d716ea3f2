"""The verifier bites: one broken Computation for each invariant, and the message that it gives."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

from flowc import dtypes
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, symbol
from flowc.ir.op import op_named
from flowc.ir.text.form import parse_computation
from flowc.ir.types import TensorType
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.fuse import fuse
from flowc.passes.lower import lower

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
    reads = [
        make("read_sizes", lengths.outputs, sizes=((Symbol("n"), None),), below=0) for _ in range(2)
    ]
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
    c = fuse(lower(b.build([b.exp(b.relu(x))]), Options()), Options())
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


def test_the_body_of_a_cluster_is_checked_like_any_other() -> None:
    x, cluster = clustered()
    body = cluster.attrs["body"]
    p, relu, exp = body.nodes
    swapped = Computation(body.parameters, (p, exp, relu), body.results)
    assert "in the body of" in fault(of(x, changed(cluster, body=swapped)))
    assert "comes from no earlier node" in fault(of(x, changed(cluster, body=swapped)))
    outer = Node(relu.op, x.outputs, relu.attrs, relu.types)
    leaking = Computation(body.parameters, (p, outer), outer.outputs)
    assert "comes from no earlier node" in fault(of(x, changed(cluster, body=leaking)))
    short = Computation(body.parameters, (p, relu), exp.outputs)
    assert "a result is not computed" in fault(of(x, changed(cluster, body=short)))
    plain = make("relu", p.outputs, F4)
    high = Computation(body.parameters, (p, plain), plain.outputs)
    assert "<relu : f32[4]> is no core op" in fault(of(x, changed(cluster, body=high)))
    wide = changed(relu, types=(tensor_type("f32", (5,)),))
    untyped = Computation(body.parameters, (p, wide), wide.outputs)
    assert "has types f32[5], inferred: f32[4]" in fault(of(x, changed(cluster, body=untyped)))


def test_only_core_ops_are_left_behind_lower() -> None:
    x = parameter()
    c = of(x, make("relu", x.outputs, F4))
    verify(c, "some_pass")
    with pytest.raises(InternalError, match="is no core op"):
        verify(c, "some_pass", lowered=True)


CORE_FAULTS = [
    ("map(%x) {body=scalar<[i32] neg(x0)>} : i32[2,3]", "a body over (i32) is given (f32)"),
    ("map(%x) {body=scalar<is_nan(x0)>} : f32[2,3]", "a body gives bool, where f32 is said"),
    ("map(%x) {body=scalar<neg(x0)>} : f32[2,4]", "input 0 does not broadcast to [2, 4]"),
    ("map(%x) {body=scalar<neg(x0)>} : f32[3]", "input 0 does not broadcast to [3]"),
    ("view(%x) {body=scalar<[i32] x0[i0, i1]>} : i32[2,3]", "a body over (i32) is given (f32)"),
    ("view(%x) {body=scalar<x0[i0, i1]>} : i32[2,3]", "a body gives f32, where i32 is said"),
    ("view(%x) {body=scalar<x0[i0]>} : f32[2]", "input 0 of rank 2 is read at [@i0]"),
    ("view(%x) {body=scalar<x0[i0, i1 + m]>} : f32[2,3]", "uses the size m, which nothing"),
    ("reduce(%x) {axes=[2], combine='add'} : f32[2]", "axes [2] of rank 2"),
    ("reduce(%x) {axes=[1, 1], combine='add'} : f32[2]", "axes [1, 1] of rank 2"),
    ("reduce(%x) {axes=[1], combine='add'} : f32[3]", "gives [2], not [3]"),
    (
        "reduce(%x, %y) {axes=[1], combine='add', prepare=scalar<add(x0, x1)>} : f32[2]",
        "input 1 does not broadcast to [2, 3]",
    ),
    (
        "reduce(%x) {axes=[1], combine='add', prepare=scalar<[i32] neg(x0)>} : f32[2]",
        "a body over (i32) is given (f32)",
    ),
    (
        "reduce(%x) {axes=[1], combine='add', finish=scalar<[i32, i32] x0>} : f32[2]",
        "a body over (i32, i32) is given (f32, f32)",
    ),
    ("dot(%x, %x) : f32[2,3]", "sums over 3 and 2 elements"),
    ("dot(%x, %y) : f32[2,6]", "gives [2, 5], not [2, 6]"),
    ("dot(%x, %y) {pieces=2} : f32[2,5]", "a product of 2 pieces"),
    ("dot(%b, %b) {transpose_b=True} : f32[3,6,6]", "leading dims of input 0 are neither"),
    ("convolution(%b, %w) {strides=[1, 1], dilations=[1], pad=[[0, 0]]} : f32[4,6,5]", "strides"),
    (
        "convolution(%b, %w) {strides=[1], dilations=[1], pad=[[0, 0]]} : f32[4,6,5]",
        "a size is 6, where the others make it 5",
    ),
    (
        "convolution(%b, %w) {strides=[1], dilations=[1], pad=[[0, 1]], groups=2} : f32[4,6,5]",
        "a size is 3, where the others make it 6",
    ),
    (
        "convolution(%b, %w) {strides=[1], dilations=[1], pad=[[0, 0]], layout='NC...'}"
        " : f32[4,5,2]",
        "a size is 6, where the others make it 3",
    ),
    ("sizes {dims=[size<m>]} : i32[1]", "uses the size m, which nothing defines"),
]


@pytest.mark.parametrize(("line", "message"), CORE_FAULTS)
def test_the_attrs_of_core_ops_fit_their_types(line: str, message: str) -> None:
    text = f"""\
computation(%x: f32[2,3], %y: f32[3,5], %b: f32[4,6,3], %w: f32[2,3,5]) {{
  %z = {line}
  return %z
}}"""
    assert message in fault(parse_computation(text))


def test_the_message_shows_the_nodes_around() -> None:
    lines = [f"  %{i + 1} = relu(%{i or 'x'}) : f32[4]" for i in range(20)]
    lines[12] = lines[12].replace("f32[4]", "f32[3]")
    text = "\n".join(["computation(%x: f32[4]) {", *lines, "  return %20", "}"])
    message = fault(parse_computation(text))
    assert "f32[3]" in message and "%1 =" not in message
    assert len(message.split("\n")) < 14


def test_types_of_emitted_nodes_are_not_inferred_again(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Builder()
    c = b.build([b.relu(b.parameter("x", F4))])

    def infer(*_: object) -> None:
        raise AssertionError("inferred again")

    monkeypatch.setattr(Builder, "infer", infer)
    verify(c, "test")
    by_hand = of(p := parameter(), make("relu", (p.output,), F4))
    with pytest.raises((AssertionError, InternalError)):
        verify(by_hand, "test")
