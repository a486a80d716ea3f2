"""The text of a Computation: what is printed reads back, and what cannot be read names its line."""

from __future__ import annotations

import subprocess
import sys
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_types import tensor_type

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Symbol, expression, maximum, symbol
from flowc.ir.op import op_named
from flowc.ir.text.form import parse_computation, print_computation, weights_of
from flowc.ir.text.literals import eval_literal
from flowc.ir.types import parse_type
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.fuse import fuse
from flowc.passes.lower import lower
from flowc.passes.pipeline import run_passes

N = symbol("n")


def read_back(c: Computation) -> Computation:
    """The Computation from its text, which must print the same."""
    text = str(c)
    found = parse_computation(text, weights_of(c))
    assert str(found) == text
    return found


def const_graph(value: np.ndarray) -> Computation:
    b = Builder()
    return b.build([b.const(value)])


def test_a_dense_layer() -> None:
    b = Builder(("dense/MatMul",))
    x = b.parameter("x:0", tensor_type("f32", (N, 4)))
    product = b.mat_mul(x, np.ones((4, 5), np.float32))
    c = b.build([b.relu(b.add(product, np.arange(5, dtype=np.float32))), product])
    found = read_back(c)
    verify(found, "text")
    assert found.parameters[0].output.type == tensor_type("f32", (N, 4))
    assert found.nodes[-1].origin == ("dense/MatMul",)
    assert found.results[1].node.op.name == "mat_mul"


def test_clusters_with_bodies() -> None:
    """Parameters of bodies have the names of outer values, and of each other's bodies."""
    b = Builder()
    x = b.parameter("p0", tensor_type("f32", (N, 40)))
    y = b.parameter("p1", tensor_type("f32", (40, 8)))
    soft = b.softmax(b.mul(x, np.float32(-0.5)))
    c = run_passes(b.build([b.add(b.mat_mul(soft, y), b.mat_mul(x, y)), soft]), Options())
    assert str(c).count("    body(%p0: ") >= 2
    found = read_back(c)
    verify(found, "text")
    clusters = [n for n in found.nodes if n.op.name == "cluster"]
    for read, original in zip(clusters, (n for n in c.nodes if n.op.name == "cluster")):
        assert read.attrs["kind"] == original.attrs["kind"]
        assert str(read.attrs["body"]) == str(original.attrs["body"])
        assert len(read.attrs["body"].nodes) == len(original.attrs["body"].nodes)
    users = {v.node.attrs["name"] for n in clusters for v in n.inputs if not v.node.inputs}
    assert {"p0", "p1"} <= users


@pytest.mark.parametrize(
    "value",
    [
        np.float32(-1.5),
        np.float32(0.1),
        np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45], np.float32),
        np.array([1e308, -np.inf, np.nan, 5e-324]),
        np.array([[1.5, -0.0]], np.float16),
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**64 - 1], np.uint64),
        np.array([True, False]),
        np.array(False),
        np.zeros((0, 3), np.float32),
        np.array([1 + 2j, -0.0 - 1j], np.complex64),
        np.array([complex("nan"), complex("inf")]),
        np.array([-np.nan, np.nan]),
        np.arange(17, dtype=np.int32),
        np.array([0.5, np.nan], dtypes.bf16.numpy),
    ],
    ids=lambda v: f"{v.dtype}-{v.shape}",
)
def test_constants_keep_their_bits(value: np.ndarray) -> None:
    found = read_back(const_graph(np.asarray(value))).results[0].constant
    assert found is not None
    assert found.dtype == value.dtype and found.shape == value.shape
    assert found.tobytes() == value.tobytes()


def test_nans_of_other_bits_are_told_apart() -> None:
    """The cache takes equal text and weights for equal Computations."""
    plain, negative = np.array([np.nan]), np.array([np.nan])
    negative.view(np.uint64)[0] |= np.uint64(1 << 63)
    assert str(const_graph(plain)) != str(const_graph(negative))
    assert weights_of(const_graph(negative))[0].tobytes() == negative.tobytes()


STRINGS = [
    "plain",
    "",
    "it's",
    'a "quoted" one',
    "both ' and \"",
    "comma, [bracket] (paren) {brace} <angle>",
    "} : f32[]  # not an origin",
    "ends with a backslash\\",
    "\\'",
    "two\nlines\ttab",
    "computation(%x: f32[]) {",
    "nan and inf",
    "größer ☃",
    "sizes(n <= 3) after(%0)",
]


def effect_graph(**attrs: Any) -> Computation:
    b = Builder(("Assert",))
    x = b.parameter("x", tensor_type("bool", ()))
    full = {"summarize": 3} | attrs
    node = Node(op_named("assert"), (x,), MappingProxyType(full), (), (), b.origin)
    b.append(node)
    return b.build([x])


@pytest.mark.parametrize("text", STRINGS)
def test_strings_in_attrs(text: str) -> None:
    values = {"message": text, "many": (text, 1, text), "raw": text.encode()}
    node = read_back(effect_graph(**values)).nodes[-1]
    assert {n: node.attrs[n] for n in values} == values
    assert node.origin == ("Assert",)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text(), st.text())
def test_any_strings_in_attrs(first: str, second: str) -> None:
    node = read_back(effect_graph(first=first, second=(second, first))).nodes[-1]
    assert node.attrs["first"] == first and node.attrs["second"] == (second, first)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        1.5,
        float("inf"),
        -float("inf"),
        -0.0,
        1e-300,
        (),
        (1,),
        ((1, 2), (N, 4)),
        dtypes.bf16,
        (dtypes.f32, dtypes.string, dtypes.resource),
        N * 2 + 1,
        "f32",
    ],
    ids=repr,
)
def test_attrs_of_every_kind(value: Any) -> None:
    found = read_back(effect_graph(value=value)).nodes[-1].attrs["value"]
    assert found == value and type(found) is type(value) and repr(found) == repr(value)


def test_numbers_of_numpy_in_attrs_are_plain_numbers() -> None:
    found = read_back(effect_graph(a=np.float64(2.5), b=np.int64(3), c=np.bool_(True))).nodes[-1]
    assert (found.attrs["a"], found.attrs["b"], found.attrs["c"]) == (2.5, 3, True)


def test_nan_in_an_attr() -> None:
    found = read_back(effect_graph(value=float("nan"))).nodes[-1].attrs["value"]
    assert isinstance(found, float) and found != found


def test_sizes_constraints_and_order() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("i32", (maximum(N, 4), N * 2)))
    shape = b.parameter("shape", tensor_type("i32", (2,)))
    b.constraints.append((N, symbol("m") + 1))
    read = b.emit(op_named("read_sizes"), (shape,))
    names = [expression(size) for size, _ in read.sizes]
    bounded = Node(
        op_named("unique"),
        (b.reshape(x, (-1,)),),
        MappingProxyType({"T": dtypes.i32, "out_idx": dtypes.i32}),
        (tensor_type("i32", (symbol("u"),)), tensor_type("i32", (N,))),
        (read,),
        (),
        ((Symbol("u"), maximum(N, names[0])),),
    )
    b.append(bounded)
    after = Node(op_named("no_op"), (), MappingProxyType({}), (), (bounded, read), ("a", "b"))
    b.append(after)
    found = read_back(b.build([bounded.outputs[0]]))
    node = found.nodes[-1]
    assert [a.op.name for a in node.after] == ["unique", "read_sizes"]
    assert node.after[0] is found.nodes[-2]
    assert found.nodes[-2].sizes == ((Symbol("u"), maximum(N, symbol("n_2"))),)
    assert found.constraints == ((N, symbol("m") + 1),)
    assert [n.op.name for n in found.nodes[-2].after] == ["read_sizes"]


def test_parameters_of_like_names_stay_apart() -> None:
    """`a:0` and `a_0` print alike, and `0` like the first value: they are renamed."""
    found = []
    for order in (0, 1):
        b = Builder()
        p = [b.parameter(name, tensor_type("f32", (2,))) for name in ("a:0", "a_0", "0", "0_1")]
        pair = (p[0], p[1]) if order == 0 else (p[1], p[0])
        found.append(str(read_back(b.build([b.sub(*pair), b.sub(p[2], p[3])]))))
    assert found[0] != found[1]


def test_large_constants_are_numbered_in_order() -> None:
    b = Builder()
    x = b.const(np.zeros(20, np.float32))
    c = b.build([b.add(x, np.ones(20, np.float32))])
    assert [w[0] for w in weights_of(c)] == [0.0, 1.0]
    named = print_computation(c, lambda a: f"w{a[0]:g}")
    assert "weights<w0>" in named and "weights<w1>" in named


HEADER = "computation(%x: f32[n,4]) {\n"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "ends inside"),
        ("graph {\n}", 1, "expected 'computation"),
        ("computation(%x) {\n  return %x\n}", 1, "expected a new '%name: type'"),
        ("computation(%x: f32[], %x: f32[]) {\n  return %x\n}", 1, "expected a new"),
        ("computation(%x: f33[4]) {\n  return %x\n}", 1, "not a dtype: 'f33'"),
        ("computation(%x: f32[4) {\n  return %x\n}", 1, "not a type"),
        (HEADER + "  %0 = relu(%y) : f32[n,4]\n  return %0\n}", 2, "%y is not defined"),
        (HEADER + "  %0 = rleu(%x) : f32[n,4]\n  return %0\n}", 2, "no op is named 'rleu'"),
        (HEADER + "  %0 = relu(%x) : f32[n,\n  return %0\n}", 2, "not a type"),
        (HEADER + "  %0 = relu(%x) : f32[n**2]\n  return %0\n}", 2, "not a size"),
        (HEADER + "  %0, %1 = relu(%x) : f32[n,4]\n  return %0\n}", 2, "2 names for 1 types"),
        (HEADER + "  %x = relu(%x) : f32[n,4]\n  return %x\n}", 2, "%x is defined twice"),
        (HEADER + "  relu of x\n  return %x\n}", 2, "cannot read 'relu of x'"),
        (HEADER + "  %0 = relu(%x) {3} : f32[n,4]\n  return %0\n}", 2, "expected attr=value"),
        (HEADER + "  %0 = relu(%x) after(%1) : f32[n,4]\n  return %0\n}", 2, "%1 is not"),
        (HEADER + "  %0 = relu(%x) after(@1) : f32[n,4]\n  return %0\n}", 2, "@1 is not"),
        (HEADER + "\n  return %0\n}", 2, "cannot read ''"),
        (HEADER + "  %0 = relu(%x) : f32[n,4]\n  return %1\n}", 3, "%1 is not defined"),
        (HEADER + "  %0 = relu(%x) : f32[n,4]\n", 2, "ends inside"),
        (HEADER + "  return %x", 2, "ends inside"),
        (HEADER + "  return %x\n  %0 = relu(%x) : f32[n,4]\n}", 3, "expected '}'"),
        (HEADER + "  return %x\n}\n}", 3, "nothing after it"),
        (HEADER + "  %0 = const {value=weights<1>, dtype=f32} : f32[]\n}", 2, "among the 1 given"),
        (HEADER + "  %0 = const {value=dense<[1, f32, (1,)>} : f32[]\n}", 2, "line 2"),
    ],
)
def test_errors_name_the_line(text: str, line: int, what: str) -> None:
    with pytest.raises(ValueError, match=rf"^line {line}: ") as caught:
        parse_computation(text, [np.zeros(1)])
    assert what in str(caught.value)


def test_errors_in_bodies_name_the_line() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (4,)))
    text = str(fuse(lower(b.build([b.relu(x)]), Options()), Options()))
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if "relu" in line)
    lines[at] = lines[at].replace("map", "mop")
    with pytest.raises(ValueError, match=rf"^line {at + 1}: no op is named 'mop'"):
        parse_computation("\n".join(lines))


def test_a_body_sees_nothing_from_outside() -> None:
    text = """computation(%x: f32[4]) {
  %0 = cluster(%x) {kind='loop'} : f32[4]
    body(%p0: f32[4]) {
      %1 = relu(%x) : f32[4]
      return %1
    }
  return %0
}"""
    with pytest.raises(ValueError, match=r"^line 4: %x is not defined"):
        parse_computation(text)


def test_literals() -> None:
    assert eval_literal("[1.0, -inf, 'x']") == [1.0, -float("inf"), "x"]
    assert eval_literal("'nan inf'") == "nan inf"
    assert np.isnan(eval_literal("[nan]")[0])


@pytest.mark.parametrize("text", ["f32[]", "f32[4]", "bool[n,2*n,max(m,n)]", "i64[floordiv(n,2)]"])
def test_types_read_back(text: str) -> None:
    assert str(parse_type(text)) == text


def test_small_constants_and_sizes_stand_where_they_are_read() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (N, 4)))
    shape = b.sizes((N * 2, 2))
    rows = b.reshape(b.sizes((N,), dtypes.i64), ())
    text = b.const(np.frombuffer(b"it's", np.uint8))
    c = b.build(
        [
            b.reshape(b.mul(x, np.float32(0.1)), shape),
            rows,
            text,
            b.const(np.array([1, 2], np.int8)),
        ]
    )
    assert str(c).split("\n")[1:-1] == [
        "  %0 = mul(%x, 0.1) : f32[n,4]",
        "  %1 = reshape(%0, [2*n, 2]) : f32[2*n,2]",
        '  return %1, n:i64, "it\'s", [1, 2]:i8',
    ]
    found = read_back(c)
    verify(found, "text")
    assert [v.type for v in found.results] == [v.type for v in c.results]
    exact = print_computation(c, exact=True)
    assert exact.count(" = const {") == 4 and exact.count(" = sizes {") == 2
    assert print_computation(parse_computation(exact), exact=True) == exact


def test_operands_keep_their_bits() -> None:
    odd = [np.nan, -np.nan, np.inf, -0.0, 1e-45, 16777217.0, 0.1]
    values = [np.float32(x) for x in odd] + [np.float64(x) for x in odd]
    values += [np.float16(0.1), np.bool_(True), np.int64(-(2**63)), np.zeros(0, np.int64)]
    values += [np.zeros((0, 2), np.int32), np.zeros(0, np.float32), np.array([[1], [2]], np.int32)]
    for value in map(np.asarray, values):
        b = Builder()
        found = read_back(
            b.build([b.neg(b.const(value)) if value.dtype != bool else b.const(value)])
        )
        (constant,) = [n.attrs["value"] for n in found.nodes if n.op.name == "const"]
        assert constant.dtype == value.dtype and constant.shape == value.shape
        assert constant.tobytes() == value.tobytes()


def test_values_are_called_by_their_nodes() -> None:
    """As much of a name as tells it from the others; what a node was made of has a number."""
    b = Builder(("a/mul",))
    x = b.parameter("x", tensor_type("f32", (4,)))
    first = b.mul(x, x)
    b.origin = ("b/mul",)
    second = b.exp(b.mul(first, x))
    b.origin = ("b/split",)
    left, right = b.split(np.int32(0), second, num_split=2)
    b.origin = ("sum",)
    c = b.build([b.add(left, right), first])
    assert [line.partition(" = ")[0] for line in str(c).split("\n")[1:-2]] == [
        "  %a/mul",
        "  %0",
        "  %b/mul",
        "  %split, %split:1",
        "  %sum",
    ]
    verify(read_back(c), "text")


def test_loops_say_what_their_bodies_see() -> None:
    text = """\
computation(%x: f32[n], %limit: i32[], %flag: bool[]) {
  %i, %v = while(%i = 0, %v: f32[m] = %x; %limit, %one = 1, %limit.2 = %limit)\
 {varying=['m']} sizes(k) : i32[], f32[k]
    condition: less(%i, %limit) : bool[]
    body {
      %0 = add(%i, %one) : i32[]
      %i.next = minimum(%0, %limit.2) : i32[]
      %v.next = concat(%v, %v, 0) : f32[2*m]
      return %i.next, %v.next
    }
  @0 = if(%flag, %flag)
    then: return
    otherwise {
      check(%flag) {message='no: {never}'}
      return
    }
  %1, %2 = if(%flag, %v) sizes(n_1 <= max(1, k)) after(@0) : i32[], f32[n_1]
    then: 1, %v
    otherwise {
      %3 = const {value=dense<[2.5]>} : f32[1]
      return 2, %3
    }
  return %i, %1, %2
}"""
    c = parse_computation(text)
    assert str(c) == text
    (loop,) = (n for n in c.nodes if n.op.name == "while")
    assert loop.attrs["carried"] == 2 and len(loop.inputs) == 5
    names = [[p.attrs["name"] for p in loop.attrs[b].parameters] for b in ("condition", "body")]
    assert names == [["i", "v", "limit", "one", "limit.2"]] * 2
    exact = print_computation(c, exact=True)
    assert str(parse_computation(exact)) == text


def test_a_lowered_text_is_read_where_nothing_else_was_imported() -> None:
    """The records of core ops are found by their names, as those of TensorFlow's ops are."""
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (2, 3)))
    text = print_computation(lower(b.build([b.relu(x)]), Options()), exact=True)
    assert "map." in text
    program = (
        "import sys\n"
        "from flowc.ir.text.form import parse_computation, print_computation\n"
        "text = sys.stdin.read()\n"
        "assert 'flowc.ir.core_ops' not in sys.modules\n"
        "print(print_computation(parse_computation(text), exact=True), end='')\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, text, "")
