"""Chains of products and rows go through caches block by block, and give the bits that they give
one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unittest import mock

import numpy as np
import pytest
from fused_text import assert_text_compiles_back
from partitions import PartitionedProgram, bits
from plan_memory import check_memory, plan_without_code
from tensor_types import tensor_type

import flowc as tf
from flowc import dtypes
from flowc.codegen.cpu.contractions import streaming
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.kernels.kernel import STREAMED, Launch
from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes

Dims = tuple[int, ...]
Score = Callable[[Builder, Value, Value], Value]


def masked(b: Builder, scores: Value, mask: Value) -> Value:
    return b.softmax(b.add(b.real_div(scores, np.float32(3)), mask))


def centred(b: Builder, scores: Value, mask: Value) -> Value:
    """Two folds, what is read beside them, and no epilogue."""
    axis = np.array([len(scores.dims) - 1], np.int32)
    shifted = b.sub(scores, b.mean(scores, axis, keep_dims=True))
    sums = b.sum(b.square(shifted), axis, keep_dims=True)
    return b.add(b.mul(shifted, b.rsqrt(sums)), mask)


# The dims of queries, keys, values and mask; what is done with the scores.
CASES: dict[str, tuple[Dims, Dims, Dims, Dims, Score]] = {
    "heads": ((2, 3, 200, 24), (2, 3, 136, 24), (2, 3, 136, 32), (2, 1, 1, 136), masked),
    "keys of all heads": ((12, 60, 16), (1, 200, 16), (1, 200, 64), (12, 60, 200), masked),
    "one head, far keys": ((90, 40), (1900, 40), (1900, 7), (90, 1900), masked),
    "panels that are not whole": ((5, 150, 8), (5, 203, 8), (5, 203, 33), (1, 150, 1), centred),
    "queries of all heads": ((1, 128, 64), (4, 288, 64), (4, 288, 64), (1, 1, 288), centred),
}


def attention(q: Dims, k: Dims, v: Dims, mask: Dims, score: Score) -> Computation:
    b = Builder()
    given = (("q", q), ("k", k), ("v", v), ("mask", mask))
    x = {name: b.parameter(name, tensor_type(dtypes.f32, dims)) for name, dims in given}
    scores = b.batch_mat_mul(x["q"], x["k"], adj_y=True)
    return b.build([b.batch_mat_mul(score(b, scores, x["mask"]), x["v"])])


def arrays_of(c: Computation) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    shapes = [[d for d in p.output.dims if isinstance(d, int)] for p in c.parameters]
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


def open_batch() -> Computation:
    """How many batch entries there are is known when it runs."""
    n = symbol("n")
    b = Builder()
    q = b.parameter("q", tensor_type(dtypes.f32, (n, 4, 192, 16)))
    k = b.parameter("k", tensor_type(dtypes.f32, (n, 4, 192, 16)))
    scores = b.batch_mat_mul(q, k, adj_y=True)
    return b.build([b.batch_mat_mul(b.softmax(scores), k)])


def run(c: Computation, options: Options, given: Sequence[np.ndarray] = ()) -> np.ndarray:
    names = [p.attrs["name"] for p in c.parameters], ["y"]
    return load_executable(c, options, spec_of(c, *names), 1).run(given or arrays_of(c))[0]


def launches(c: Computation, target: str = "x86-64-v4") -> tuple[Launch, ...]:
    found = run_passes(c, Options())
    (node,) = [n for n in found.nodes if n.op.name == "cluster"]
    assert node.attrs["kind"] == "stream"
    return cpu_target(target).launches(node)


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("name", CASES)
def test_same_bits_as_one_after_another(name: str, target: str) -> None:
    c = attention(*CASES[name])
    found = run(c, Options(target))
    assert bits(found) == bits(run(c, Options(target, skip=("stream_products",))))


def test_batches_of_any_size() -> None:
    c = open_batch()
    *_, chain = launches(c)
    assert chain.kernel.entry == "streamed" and str(chain.total) == "20*n"
    for n in (0, 1, 3):
        random = np.random.default_rng(n)
        given = [random.normal(size=(n, 4, 192, 16)).astype(np.float32) for _ in range(2)]
        found = run(c, Options(), given)
        assert bits(found) == bits(run(c, Options(skip=("stream_products",)), given))


@pytest.mark.parametrize("name", ["heads", "one head, far keys"])
def test_however_blocks_are_shared(name: str) -> None:
    c = attention(*CASES[name])
    PartitionedProgram(c, Options()).run(arrays_of(c))


@pytest.mark.parametrize("name", CASES)
def test_one_launch_and_text_that_compiles_back(name: str) -> None:
    c = attention(*CASES[name])
    *packs, chain = launches(c)
    assert [x.kernel.entry for x in packs] == ["pack_panels", "pack_panels"]
    assert chain.kernel.entry == "streamed" and len(chain.calls) == 3
    assert sum(x is STREAMED for call in chain.calls for x in call.operands) == 4
    assert_text_compiles_back(run_passes(c, Options()))


def test_blocks_have_room_in_a_cache_and_tasks_for_many() -> None:
    def blocks(heads: int, tokens: int, keys: int, target: str) -> tuple[int, int]:
        q, k = (heads, tokens, 64), (heads, keys, 64)
        chain = launches(attention(q, k, k, (1, 1, keys), masked), target)[-1]
        assert isinstance(chain.total, int) and isinstance(chain.ints[1], int)
        return chain.total, chain.ints[1]

    assert blocks(12, 512, 512, "x86-64-v4") == (72, 98)
    assert blocks(12, 128, 128, "x86-64-v4") == (48, 42)  # three tiles, at least
    assert blocks(12, 2048, 2048, "x86-64-v4") == (444, 56)  # 917 kB
    assert blocks(1, 64, 30_000, "x86-64-v4") == (5, 14)  # a tile, at least
    assert blocks(12, 512, 512, "x86-64-v3") == (72, 90)


@pytest.mark.parametrize(
    ("queries", "keys", "known"),
    [((9, 30, 8), 600, False), ((1, 40, 8), 40_000, False), ((9, 192, 8), 192, True)],
    ids=["few rows", "rows longer than a cache", "known keys"],
)
def test_what_stays_three_launches(queries: Dims, keys: int, known: bool) -> None:
    b = Builder()
    dims = queries[0], keys, queries[2]
    q, v = (b.parameter(x, tensor_type(dtypes.f32, d)) for x, d in (("q", queries), ("v", dims)))
    k = b.const(np.ones(dims, np.float32)) if known else v
    c = b.build([b.batch_mat_mul(b.softmax(b.batch_mat_mul(q, k, adj_y=True)), v)])
    found = run_passes(c, Options()).nodes
    kinds = [n.attrs["kind"] for n in found if n.op.name == "cluster"]
    assert kinds == ["matmul", "loop", "matmul"]


def test_scores_are_no_memory_of_the_run() -> None:
    heads = 12, 512, 64
    c = attention(heads, heads, heads, (1, 1, 512), masked)
    plan = plan_without_code(c)
    check_memory(plan)
    assert not [s for s in plan.slots if s.size == 12 * 512 * 512 * 4]
    separate = plan_without_code(c, Options(skip=("stream_products",)))
    assert len([s for s in separate.slots if s.size == 12 * 512 * 512 * 4]) == 2
    assert isinstance(plan.scratch, int) and plan.scratch < 1 << 20


@pytest.mark.parametrize("batch", ["3", "n"])
def test_in_loops(batch: str) -> None:
    """Each turn computes with other values, at other places."""
    random = np.random.default_rng(3)
    x, w = (random.normal(0, 0.3, (3, 400, 16)).astype(np.float32) for _ in range(2))
    graph = tf.Graph()
    with graph.as_default():
        q = tf.placeholder(tf.float32, [None, 400, 16], name="q")
        k = tf.placeholder(tf.float32, [None, 400, 16], name="k")

        def turn(i: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return i + 1, y + tf.matmul(tf.nn.softmax(tf.matmul(y, k, transpose_b=True)), k)

        _, y = tf.while_loop(lambda i, _: i < 3, turn, (0, q))
    feeds = [f"{name}=f32[{batch},400,16]" for name in ("q", "k")]
    with mock.patch.object(streaming, "stream_kernel", wraps=streaming.stream_kernel) as made:
        program = tf.compile(graph, feeds, [y])
    assert made.call_count
    expected, keys = x.astype(np.float64), w.astype(np.float64)
    for _ in range(3):
        scores = np.exp(expected @ keys.swapaxes(1, 2))
        expected = expected + scores / scores.sum(-1, keepdims=True) @ keys
    np.testing.assert_allclose(program(q=x, k=w), expected, rtol=1e-4, atol=1e-4)
