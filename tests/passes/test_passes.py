"""The pipeline: no rule is dead, every rewrite keeps the numbers, options do what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from ir_reference import random_inputs, reference_results
from rewrite_counts import counting_rewrites
from tensor_types import tensor_type

from flowc import dtypes
from flowc.compiler import load_executable
from flowc.errors import (
    FlowcError,
    InternalError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnsupportedError,
    UsageError,
)
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import symbol
from flowc.ir.host_run import HostValue
from flowc.ir.op import op_named
from flowc.ir.pattern import Match, Rewrite, apply_rewrites, op
from flowc.ir.program_spec import spec_of
from flowc.ir.rewrite import rewrite_nodes
from flowc.ops.strings.string_values import strings_of
from flowc.options import Options
from flowc.passes import pipeline, prune, simplify
from flowc.passes.pipeline import NAMES, PIPELINE, run_passes

N = symbol("n")
Write = Callable[[Builder], Value | Sequence[Value]]


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def built(write: Write) -> Computation:
    b = Builder()
    found = write(b)
    return b.build([found] if isinstance(found, Value) else found)


def parameter(b: Builder, *dims: object, name: str = "x", dtype: str = "f32") -> Value:
    return b.parameter(name, tensor_type(dtype, dims))


def weights(*dims: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=dims).astype(np.float32)


def conv_bias_scale(b: Builder) -> Value:
    """Convolution, bias, then a batch norm that was split into a factor and a term."""
    x = b.pad(parameter(b, 1, 6, 6, 3), i32(0, 0, 1, 1, 1, 1, 0, 0).reshape(4, 2))
    y = b.conv2d(x, weights(3, 3, 3, 4), strides=(1, 1, 1, 1), padding="VALID")
    return b.relu(b.add(b.mul(b.bias_add(y, weights(4)), weights(4)), weights(4)))


def attention_scores(b: Builder) -> Value:
    q, k = parameter(b, N, 2, 5, 4, name="q"), parameter(b, N, 2, 5, 4, name="k")
    scores = b.batch_mat_mul(q, b.transpose(k, i32(0, 1, 3, 2)))
    return b.softmax(b.mul(scores, np.float32(0.5)))


def layout_round_trip(b: Builder) -> Value:
    """Channels first through an op that works channels last and back, twice."""
    y = b.transpose(parameter(b, 2, 3, 4, 4), i32(0, 2, 3, 1))
    y = b.transpose(b.relu(y), i32(0, 3, 1, 2))
    return b.exp(b.transpose(b.transpose(y, i32(0, 2, 3, 1)), i32(0, 3, 1, 2)))


def nothing_much(b: Builder) -> Sequence[Value]:
    """Everything that frameworks write and nobody needs."""
    x = b.transpose(b.identity(parameter(b, 2, 3)), i32(0, 1))
    y = b.relu(b.relu(b.neg(b.neg(b.cast(x, DstT=dtypes.f32)))))
    y = b.reshape(b.reshape(b.reshape(y, (2, 3)), (3, 2)), (6, 1))
    y = b.transpose(b.relu(y), i32(1, 0))
    y = b.sum(b.mul(b.add(y, f32(-0.0)), np.float32(1)), i32(), keep_dims=True)
    return b.exp(b.slice(y, i32(0, 0), i32(1, 6))), b.tile(b.floor(b.floor(x)), i32(1, 1))


def powers(b: Builder) -> Value:
    """As in GELU's approximation."""
    x = parameter(b, 4, 3)
    return b.add(b.pow(x, np.float32(2)), b.mul(b.pow(x, np.float32(3)), np.float32(0.04)))


def dropouts_that_keep_all(b: Builder) -> Value:
    """In the three forms that TensorFlow's versions wrote."""
    drawing = parameter(b, 6, name="words", dtype="u32")
    words = b.uniform_of_words(drawing, i32(6), dtype=dtypes.f32)
    drawn = b.reshape(words, (2, 3))
    y = b.mul(parameter(b, 2, 3), b.floor(b.add(drawn, np.float32(1))))
    y = b.select_v2(b.greater_equal(drawn, np.float32(0)), y, np.float32(0))
    return b.mul(b.exp(y), b.cast(b.greater_equal(drawn, np.float32(0)), DstT=dtypes.f32))


GRAPHS: dict[str, Write] = {
    f.__name__: f
    for f in (
        conv_bias_scale,
        attention_scores,
        layout_round_trip,
        nothing_much,
        dropouts_that_keep_all,
        powers,
    )
}


def test_no_rule_is_dead() -> None:
    with counting_rewrites() as fired:
        for write in GRAPHS.values():
            run_passes(built(write), Options())
    assert {r.name for r in (*prune.RULES, *simplify.RULES)} - set(fired) == set()


def test_factors_end_up_in_the_weights() -> None:
    """What a batch norm multiplies by costs nothing: one kernel, no product but the convolution."""
    c = run_passes(built(conv_bias_scale), Options())
    (cluster,) = [n for n in c.nodes if n.op.name == "cluster"]
    ops = Counter(n.label for n in cluster.attrs["body"].nodes)
    assert ops["conv2d"] == 1 and ops["mul"] == 0 and ops["pad"] == 0


@pytest.mark.parametrize("name", GRAPHS)
def test_every_pass_keeps_the_numbers(name: str) -> None:
    """By the references, before all passes, and after each."""
    c = built(GRAPHS[name])
    arrays = random_inputs(c)
    expected = reference_results(c, arrays)

    def check(name: str, after: Computation) -> None:
        for x, y in zip(reference_results(after, arrays), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=name)

    run_passes(c, Options(), check)


@pytest.mark.parametrize("name", GRAPHS)
def test_compiled_code_agrees_with_and_without_simplify_and_fuse(name: str) -> None:
    c = built(GRAPHS[name])
    arrays = random_inputs(c)
    expected = reference_results(c, arrays)
    names = [p.attrs["name"] for p in c.parameters], [f"out{i}" for i in range(len(c.results))]
    for options in (Options(), Options(skip=("simplify",)), Options(fuse=False)):
        found = load_executable(c, options, spec_of(c, *names)).run(arrays)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5, err_msg=options.key)


def test_special_numbers_survive_simplifying() -> None:
    """NaN, infinities and zeros of both signs are what they were, bit for bit."""
    c = built(nothing_much)
    x = f32(np.nan, np.inf, -np.inf, -0.0, 0.0, -1.5).reshape(2, 3)
    expected = reference_results(c, [x])
    found = load_executable(c, Options(), spec_of(c, ["x"], ["a", "b"])).run([x])
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(np.signbit(found[1]), np.signbit(expected[1]))


def test_passes_that_change_nothing_give_the_same_object() -> None:
    c = built(lambda b: b.relu(parameter(b, N, 3)))
    for run, _ in PIPELINE:
        if run.__name__ not in ("lower", "fuse"):
            assert run(c, Options()) is c, run.__name__


def test_every_pass_has_a_reason_and_can_be_skipped() -> None:
    c = built(attention_scores)
    seen: list[str] = []
    run_passes(c, Options(skip=("simplify", "merge_duplicates")), lambda name, _: seen.append(name))
    wanted = [p.__name__ for p, reason in PIPELINE if reason]
    assert seen == [n for n in wanted if n not in ("simplify", "merge_duplicates")]
    with pytest.raises(UsageError, match="no pass is named 'simplfy'") as caught:
        run_passes(c, Options(skip=("simplfy",)))
    assert "simplify" in (caught.value.hint or "")
    assert set(NAMES) == {p.__name__ for p, _ in PIPELINE}


def test_a_pass_that_fails_leaves_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(c: Computation, options: Options) -> Computation:
        raise KeyError("lost")

    monkeypatch.setattr(pipeline, "PIPELINE", ((stumble, "to fail"),))
    with pytest.raises(InternalError, match="pass stumble failed: KeyError") as caught:
        run_passes(built(lambda b: b.relu(parameter(b, N, 3))), Options())
    assert "relu(%x)" in caught.value.detail


def test_a_pass_that_breaks_a_type_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(c: Computation, options: Options) -> Computation:
        return Computation(c.parameters, c.nodes[:1], c.results)

    monkeypatch.setattr(pipeline, "PIPELINE", ((spoil, "to fail"),))
    with pytest.raises(InternalError, match="spoil: a result is not computed"):
        run_passes(built(lambda b: b.relu(parameter(b, N, 3))), Options())


def test_user_errors_pass_through() -> None:
    c = built(lambda b: b.identity(parameter(b, 3, dtype="variant")))
    with pytest.raises(UnsupportedError) as caught:
        run_passes(c, Options())
    assert isinstance(caught.value, FlowcError) and not isinstance(caught.value, InternalError)


@pytest.mark.parametrize(
    ("dims", "fault"),
    [
        ((2**46,), ResourceExhaustedError),
        ((2**30, 2**20), ResourceExhaustedError),
        ((2**62, 2**62), InvalidArgumentError),  # more elements than an i64 counts
        ((2**48, 0), ResourceExhaustedError),
    ],
)
def test_what_fits_in_no_memory_is_refused(dims: tuple[int, ...], fault: type[FlowcError]) -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", ()))
    b.origin = ("large",)
    y = b.sum(b.fill(np.array(dims), x), np.arange(len(dims), dtype=np.int32))
    with pytest.raises(fault, match="too large for any memory") as caught:
        run_passes(b.build([y]), Options())
    assert caught.value.node == "large"


def test_rules_that_never_end_are_reported() -> None:
    def turned(m: Match) -> Value:
        return (m.b.sub if m.node.op.name == "add" else m.b.add)(*m.node.inputs)

    c = built(lambda b: b.add(parameter(b, 3), parameter(b, 3, name="y")))
    with pytest.raises(InternalError, match="still apply"):
        apply_rewrites(c, [Rewrite("turn", op("add|sub", "x", "y"), turned)])


def test_effects_are_never_merged() -> None:
    def write(b: Builder) -> Value:
        ok = parameter(b, dtype="bool")
        for _ in range(2):
            b.emit(op_named("check"), (ok,), {"message": "not ok"})
        return ok

    c = built(write)
    assert pipeline.merge_duplicates(c, Options()) is c


def test_large_constants_are_merged_by_identity_small_ones_by_value() -> None:
    large, small = np.ones(5000, np.float32), np.ones(3, np.float32)
    c = built(lambda b: [b.const(a) for a in (large, large, large.copy(), small, small.copy())])
    found = pipeline.merge_duplicates(c, Options())
    assert [found.results.index(v) for v in found.results] == [0, 0, 2, 3, 3]


def test_short_texts_are_merged_by_value_values_of_the_host_are_not() -> None:
    texts = [b"", b"", b"a", b"x" * 9000, b"x" * 9000, HostValue.of(1), HostValue.of(1)]
    c = built(lambda b: [b.const(strings_of([text], ())) for text in texts])
    found = pipeline.merge_duplicates(c, Options())
    assert [found.results.index(v) for v in found.results] == [0, 0, 2, 3, 4, 5, 6]


def test_folding_keeps_the_dtype_and_the_bits() -> None:
    c = built(lambda b: b.neg(b.const(f32(0.0, np.nan, np.inf))))
    (value,) = pipeline.fold_constants(c, Options()).results
    assert value.constant is not None and value.constant.dtype == np.float32
    assert np.signbit(value.constant[0]) and np.isnan(value.constant[1])


def test_a_rule_sees_every_node_once_also_those_that_go_by_themselves() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("i32", (1,)))
    for _ in range(2):  # the second one reads nothing new
        b.emit(op_named("read_sizes"), (x,), {"below": 0})
    c = b.build([b.add(x, x)])
    seen: list[str] = []
    rewritten = rewrite_nodes(c, lambda _, node: seen.append(node.op.name))
    assert seen == [node.op.name for node in c.nodes]
    assert [n.op.name for n in rewritten.nodes] == ["parameter", "read_sizes", "add"]
