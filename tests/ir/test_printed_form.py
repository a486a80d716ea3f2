"""The printed form of graphs with loops and conditionals: it reads as their author wrote them.

Most graphs come from flowc's own Python API, which writes TensorFlow 1's nodes under their names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from control_flow_models import open_model

import flowc as tf
from flowc.extract.interface import choose_interface
from flowc.extract.program import extract_program
from flowc.graph import Graph, Tensor
from flowc.ir.computation import Computation
from flowc.ir.text.form import parse_computation, weights_of
from flowc.ir.types import TensorType, parse_type
from flowc.ir.verifier import verify
from flowc.options import Options
from flowc.passes.eliminate_list_checks import eliminate_list_checks
from flowc.passes.pipeline import run_pass
from flowc.passes.prune import prune


def pruned(c: Computation) -> Computation:
    return run_pass(eliminate_list_checks, run_pass(prune, c, Options()), Options())


def program(build: Callable[[], tuple[Sequence[Tensor], dict[Tensor, str]]]) -> Computation:
    """What the first passes make of a program's graph; its text reads back."""
    with Graph().as_default() as graph:
        fetches, feeds = build()
    types: dict[Tensor, TensorType] = {t: parse_type(text) for t, text in feeds.items()}
    c = extract_program(graph, fetches, types).computation
    c = pruned(c)
    text = str(c)
    back = parse_computation(text, weights_of(c))
    verify(back, "the text of a program")
    assert str(back) == text
    return c


def without_origins(c: Computation) -> list[str]:
    return [line.partition("  # ")[0] for line in str(c).split("\n")]


def test_a_recurrent_network_reads_as_written() -> None:
    def build() -> tuple[Sequence[Tensor], dict[Tensor, str]]:
        x = tf.placeholder(tf.float32, [None, None, 8], name="x")
        lengths = tf.placeholder(tf.int32, [None], name="lengths")
        kernel = tf.constant(np.ones((24, 16), np.float32), name="kernel")
        steps = tf.shape(x)[0]
        inputs = tf.TensorArray(tf.float32, steps, tensor_array_name="inputs").unstack(x)
        outputs = tf.TensorArray(tf.float32, steps, tensor_array_name="outputs")
        state = tf.zeros([tf.shape(x)[1], 16], name="state")

        def body(time, state, outputs):
            row = tf.concat([inputs.read(time), state], 1)
            new = tf.tanh(tf.matmul(row, kernel), name="new")
            new = tf.where(time < lengths, new, state, name="kept")
            return time + 1, new, outputs.write(time, new)

        start = tf.constant(0, name="time")
        _, state, outputs = tf.while_loop(
            lambda time, *_: time < steps, body, [start, state, outputs], name="rnn"
        )
        return [outputs.stack(), state], {x: "f32[t,n,8]", lengths: "i32[n]"}

    lines = without_origins(program(build))
    at = next(i for i, line in enumerate(lines) if "while(" in line)
    assert lines[at:] == [
        "  %time, %state.2, %outputs = while(%time = 0, %state = %state, %outputs = %0; "
        "%x, %lengths) : i32[], f32[n,16], f32[t,n,16]",
        "    condition: less(%time, t) : bool[]",
        "    body {",
        "      %TensorArrayReadV3 = list_get(%x, %time) {array='TensorArray'} : f32[n,8]",
        "      %concat = concat(%TensorArrayReadV3, %state, 1) : f32[n,24]",
        "      %kernel = const {value=weights<0>} : f32[24,16]",
        "      %MatMul = mat_mul(%concat, %kernel) : f32[n,16]",
        "      %new = tanh(%MatMul) : f32[n,16]",
        "      %Less_1 = less(%time, %lengths) : bool[n]",
        "      %state.next = select(%Less_1, %new, %state) : f32[n,16]",
        "      %time.next = add(%time, 1) : i32[]",
        "      %outputs.next = list_set(%outputs, %time, %state.next) {array='TensorArray_1'}"
        " : f32[t,n,16]",
        "      return %time.next, %state.next, %outputs.next",
        "    }",
        "  return %outputs, %state.2",
        "}",
    ]


def test_conditionals_in_a_loop_read_as_written() -> None:
    def build() -> tuple[Sequence[Tensor], dict[Tensor, str]]:
        x = tf.placeholder(tf.float32, [None], name="x")
        k = tf.placeholder(tf.int32, [], name="k")

        def body(i, total):
            total = tf.cond(tf.equal(i % 2, 0), lambda: total + x, lambda: total * 0.5, name="even")
            return i + 1, total

        _, total = tf.while_loop(lambda i, _: i < k, body, [0, tf.zeros_like(x)])
        return [tf.identity(total, name="total")], {x: "f32[n]", k: "i32[]"}

    assert without_origins(program(build)) == [
        "computation(%x: f32[n], %k: i32[]) {",
        "  %zeros_like = zeros_like(%x) : f32[n]",
        "  %i, %total = while(%i = 0, %total = %zeros_like; %k, %x) : i32[], f32[n]",
        "    condition: less(%i, %k) : bool[]",
        "    body {",
        "      %mod = floor_mod(%i, 2) : i32[]",
        "      %Equal = equal(%mod, 0) : bool[]",
        "      %i.next = add(%i, 1) : i32[]",
        "      %total.next = if(%Equal, %total, %x) : f32[n]",
        "        then: add(%total, %x) : f32[n]",
        "        otherwise: mul(%total, 0.5) : f32[n]",
        "      return %i.next, %total.next",
        "    }",
        "  return %total",
        "}",
    ]


def loop_line(c: Computation) -> str:
    return next(line.strip() for line in without_origins(c) if " = while(" in line)


def carried(c: Computation) -> str:
    return loop_line(c).partition(" = while(")[0]


def test_counters_of_loops_in_one_another_have_letters() -> None:
    def build() -> tuple[Sequence[Tensor], dict[Tensor, str]]:
        n = tf.placeholder(tf.int32, [], name="n")

        def outer(i, total):
            _, row = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + i * j), (0, 0))
            return [i + 1, total + row]

        found = tf.while_loop(lambda i, _: i < n, outer, [0, 0], maximum_iterations=100)
        return [tf.identity(found[1], name="total")], {n: "i32[]"}

    c = program(build)
    assert carried(c) == "%i, %total"  # TensorFlow's own counter is the author's
    assert any("%j, %var_1 = while(%j = 0, %var_1 = 0; %i)" in line for line in without_origins(c))


@pytest.mark.parametrize(
    ("start", "step", "read", "expected"),
    [
        (lambda x: tf.exp(x, name="guess"), lambda v: v * 0.5, "result", "%guess"),
        (lambda x: tf.exp(x), lambda v: v * 0.5, "result", "%result"),
        (lambda x: tf.exp(x), lambda v: tf.multiply(v, 0.5, name="better"), None, "%better"),
        (lambda x: _in_scope("cell", lambda: tf.exp(x)), lambda v: v * 0.5, None, "%cell"),
        (lambda x: x, lambda v: v * 0.5, None, "%x"),
        (lambda x: tf.exp(x), lambda v: v * 0.5, None, "%var_0"),
    ],
    ids=["start", "read", "next", "scope", "feed", "nothing"],
)
def test_what_names_a_variable(
    start: Callable[[Tensor], Tensor],
    step: Callable[[Tensor], Tensor],
    read: str | None,
    expected: str,
) -> None:
    def build() -> tuple[Sequence[Tensor], dict[Tensor, str]]:
        x = tf.placeholder(tf.float32, [None], name="x")
        found = tf.while_loop(lambda v: tf.reduce_max(v) > 1.0, step, [start(x)])
        return [found if read is None else tf.identity(found, name=read)], {x: "f32[n]"}

    assert loop_line(program(build)).partition("while(")[2].startswith(f"{expected} = ")


def _in_scope(name: str, make: Callable[[], Tensor]) -> Tensor:
    with tf.name_scope(name):
        return make()


def test_variables_of_one_start_are_told_apart() -> None:
    def build() -> tuple[Sequence[Tensor], dict[Tensor, str]]:
        n = tf.placeholder(tf.int32, [], name="n")

        def body(n, peak):
            following = tf.where(tf.equal(n % 2, 0), n // 2, 3 * n + 1)
            return following, tf.maximum(peak, following)

        _, peak = tf.while_loop(lambda n, _: tf.not_equal(n, 1), body, [n, n])
        return [tf.identity(peak, name="peak")], {n: "i32[]"}

    assert carried(program(build)) == "%n.2, %peak"


def test_a_size_that_iterations_change_is_said_by_its_variable() -> None:
    def build() -> tuple[Sequence[Tensor], dict[Tensor, str]]:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        found = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, v: (i + 1, tf.concat([v, v], 0)),
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
        )
        return [found[1]], {x: "f32[n,2]"}

    assert loop_line(program(build)) == (
        "%i, %x.2 = while(%i = 0, %x: f32[n_2,2] = %x) {varying=['n_2']} sizes(n_3)"
        " : i32[], f32[n_3,2]"
    )


def test_loops_of_functions_read_like_those_of_frames() -> None:
    """A SavedModel of TensorFlow 2, whose functions call their arguments `while_placeholder_1`."""
    graph, fetches = open_model("nested_dynamic_v2")
    chosen = choose_interface(graph, None, list(fetches.values()) if fetches else None)
    types = {f.tensor: f.type for f in chosen.feeds}
    c = extract_program(graph, [f.tensor for f in chosen.fetches], types).computation
    lines = without_origins(pruned(c))
    x, n = "%serving_default_x", "%serving_default_n"
    assert lines[1:] == [
        f"  %zeros_like = zeros_like({x}) : f32[batch,5]",
        f"  %i, %var_3 = while(%i = 0, %var_3 = %zeros_like; {n}, {x}) : i32[], f32[batch,5]",
        f"    condition: less(%i, {n}) : bool[]",
        "    body {",
        f"      %zeros_like = zeros_like({x}) : f32[batch,5]",
        f"      %j, %var_3.2 = while(%j = 0, %var_3 = %zeros_like; %i, {x}) : i32[], f32[batch,5]",
        "        condition: less(%j, %i) : bool[]",
        "        body {",
        "          %j.next = add(%j, 1) : i32[]",
        "          %mul = mul(%var_3, 0.5) : f32[batch,5]",
        "          %Cast = cast(%j) : f32[]",
        f"          %mul_1 = mul(%Cast, {x}) : f32[batch,5]",
        "          %var_3.next = add(%mul, %mul_1) : f32[batch,5]",
        "          return %j.next, %var_3.next",
        "        }",
        "      %mod = floor_mod(%i, 2) : i32[]",
        "      %Equal = equal(%mod, 0) : bool[]",
        "      %i.next = add(%i, 1) : i32[]",
        "      %var_3.next = if(%Equal, %var_3, %var_3.2) : f32[batch,5]",
        "        then: add(%var_3, %var_3.2) : f32[batch,5]",
        "        otherwise {",
        "          %mul = mul(0.5, %var_3.2) : f32[batch,5]",
        "          %sub = sub(%var_3, %mul) : f32[batch,5]",
        "          return %sub",
        "        }",
        "      return %i.next, %var_3.next",
        "    }",
        "  return %var_3",
        "}",
    ]
