"""Random nodes: TensorFlow's streams for the same seeds, in sessions and in libraries.

The words are TensorFlow's bit for bit, and so are uniform numbers and integers. Normal numbers go
through logarithms and sines, which TensorFlow takes from the C library of its machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_programs import PROGRAMS, RUNS

import flowc as tf
from flowc.cache.store import KernelCache
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.target import Target
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.ops.random.bits import philox_words

RECORDED = Path(__file__).parents[2] / "recorded" / "random.npz"
MOST = 500  # elements of each end that are recorded


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as found:
        yield found


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as file:
        return dict(file)


def recorded_form(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.size > MOST:
        array = np.concatenate([array[:MOST], array[-MOST:]])
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def built(name: str) -> dict[str, Any]:
    program: dict[str, Any] = {"tf": tf, "np": np}
    exec(compile(PROGRAMS[name], name, "exec"), program)
    return program


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_of_tensorflow(name: str) -> None:
    program = built(name)
    with tf.Session() as session:
        for run in range(RUNS):
            values = session.run(program["out"], program.get("feed"))
            for i, value in enumerate(values):
                found, wanted = recorded_form(value), recorded()[f"{name}/{run}/{i}"]
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
                if found.dtype in (np.float32, np.float64) and is_normal(name, i):
                    np.testing.assert_array_max_ulp(found, wanted, 2)
                else:
                    np.testing.assert_array_equal(found, wanted)


def is_normal(name: str, fetch: int) -> bool:
    """Whether a fetch went through logarithms and sines."""
    return fetch in {"stateless": (1, 2), "sizes_of_the_run": (1,)}.get(name, ()) or (
        name in ("graph_seed", "op_seeds", "many") or name.startswith("draws_")
    )


def test_philox_of_its_paper() -> None:
    """Known answers of Random123, for counters and keys of zeros, ones, and digits of pi."""
    every = 2**64 - 1
    cases = {
        (0, 0, 0): (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
        (every, every, every): (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        (0x299F31D0A4093822, 0x85A308D3243F6A88, 0x0370734413198A2E): (
            0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1,
        ),
    }  # fmt: skip
    for (key, low, high), words in cases.items():
        found = philox_words(key, np.array([[low, high]], np.uint64))
        assert found.tolist() == [list(words)]


def draw(**seeds: int) -> Any:
    return tf.raw_ops.RandomUniform(shape=[4], dtype=tf.float32, **seeds)


def test_a_state_belongs_to_a_session_and_a_node() -> None:
    a, b = draw(seed=1, seed2=2), draw(seed=1, seed2=2)
    with tf.Session() as one, tf.Session() as other:
        first, second = one.run(a), one.run(a)
        assert (first != second).all()
        np.testing.assert_array_equal(one.run(b), first)  # its own state
        np.testing.assert_array_equal(other.run([b, a])[1], first)
        np.testing.assert_array_equal(other.run([a, b])[0], second)  # of whatever is fetched
        np.testing.assert_array_equal(other.run({"x": b})["x"], one.run([a, b])[0])


def test_nodes_without_seeds() -> None:
    a, b = draw(), draw()
    with tf.Session() as one, tf.Session() as other:
        x, y = one.run([a, b])
        assert (x != y).any()
        assert (x != other.run(a)).any()
    with tf.Session(random_seed=5) as one, tf.Session(random_seed=5) as other:
        x, y = one.run([a, b])
        assert (x != y).any()
        np.testing.assert_array_equal(other.run([a, b]), [x, y])
    with tf.Session(random_seed=6) as session:
        assert (session.run(a) != x).any()


def test_states_are_no_variables_of_the_graph() -> None:
    draw(seed=1)
    assert tf.global_variables() == []
    with tf.Session() as session:
        session.run("RandomUniform:0")


@pytest.mark.parametrize("seeded", [True, False])
def test_a_library_and_its_instances(tmp_path: Path, graph: tf.Graph, seeded: bool) -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    seeds = {"seed": 3, "seed2": 4} if seeded else {}
    drawn = tf.raw_ops.RandomUniform(shape=tf.shape(x), dtype=tf.float32, name="u", **seeds)
    tf.add(x, drawn, name="y")
    model = tf.compile(graph, {"x": [None]}, ["y"], out=tmp_path / "m.so")
    given = np.zeros(5, np.float32)
    with tf.Session() as session:
        runs = [session.run("y:0", {"x:0": given}) for _ in range(2)]
    with model.new_instance() as one, model.new_instance() as other:
        found = [one(given), one(given)]
        assert ((found[0] >= 0) & (found[0] < 1)).all()
        assert (found[0] != found[1]).all()
        assert (other(given) == found[0]).all() == seeded
        one.reset()
        assert (one(given) == found[0]).all() == seeded
        if seeded:
            np.testing.assert_array_equal(found, runs)
            assert other.read("u:random_state").tolist() == [5 * 256, 4, 3]
    # Without an instance every call starts anew.
    once = [model(given), model(given)]
    assert (once[0] == once[1]).all() == seeded
    if seeded:
        np.testing.assert_array_equal(once[0], runs[0])


def test_a_compiled_program_keeps_its_state(graph: tf.Graph) -> None:
    drawn = draw(seed=1, seed2=2)
    program = tf.compile(graph, {}, [drawn])
    with tf.Session() as session:
        for _ in range(3):
            np.testing.assert_array_equal(program(), session.run(drawn))


def test_an_empty_range_is_an_error() -> None:
    low = tf.placeholder(tf.int32, [])
    drawn = tf.raw_ops.RandomUniformInt(shape=[2], minval=low, maxval=7, seed=1)
    with tf.Session() as session:
        with pytest.raises(InvalidArgumentError, match="Need minval < maxval, got 9 >= 7"):
            session.run(drawn, {low: 9})
        assert session.run(drawn, {low: 6}).tolist() == [6, 6]


def test_unknown_algorithms() -> None:
    with pytest.raises(ValueError, match="unsupported string value dice"):
        tf.random.stateless_uniform([2], [1, 2], alg="dice")
    numbers = tf.random.stateless_uniform([2], [1, 2], alg="threefry")
    message = "Unsupported algorithm id: 2"
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match=message):
        session.run(numbers)


def test_words_of_counters() -> None:
    """The numbers and the words are TensorFlow 2.21's; it reads what is not there of one word."""
    counter = tf.placeholder(tf.uint64, [None])
    key = np.ones(1, np.uint64)
    drawn = tf.raw_ops.StatelessRandomUniformV2(shape=[2], key=key, counter=counter, alg=1)
    with tf.Session() as session:
        for words in ([1, 2], [1, 2, 3]):
            found = session.run(drawn, {counter: words})
            np.testing.assert_array_equal(found, np.float32([0.4121536, 0.03663087]))
        with pytest.raises(InvalidArgumentError, match=r"length at least 2; got shape: \[1\]"):
            session.run(drawn, {counter: [1]})


def test_arguments() -> None:
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        tf.random_uniform([2], dtype=tf.int32)
    with pytest.raises(ValueError, match="Argument `dtype` got invalid value"):
        tf.random_uniform([2], dtype=tf.bool)
    with pytest.raises(ValueError, match="both None or not None"):
        tf.random.stateless_uniform([2], [1, 2], 3, None, tf.int32)


IMAGE = np.zeros((1, 4, 4, 1), np.float32)
POOLED = np.zeros((1, 2, 2, 1), np.float32)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda r: r.FractionalMaxPool(value=IMAGE, pooling_ratio=[1.0, 5.0, 2.0, 1.0]),
            InvalidArgumentError,
            "Pooling ratio is higher than input dimension size for dimension 1",
        ),
        (
            lambda r: r.FractionalAvgPool(value=IMAGE, pooling_ratio=[2.0, 2.0, 2.0, 1.0]),
            UnimplementedError,
            "not yet supported on the batch nor channel dimension",
        ),
        (
            lambda r: r.FractionalMaxPoolGrad(
                orig_input=IMAGE,
                orig_output=POOLED,
                out_backprop=POOLED,
                row_pooling_sequence=np.int64([0, 2, 4]),
                col_pooling_sequence=np.int64(0),
            ),
            ValueError,
            "col_pooling_sequence must be a vector",
        ),
        (
            lambda r: r.RandomIndexShuffle(index=[3, -1], seed=[1, 2, 3], max_index=9),
            InvalidArgumentError,
            "index must be >= 0 but was -1",
        ),
        (
            lambda r: r.RandomIndexShuffle(index=4, seed=[1, 2, 3], max_index=3),
            InvalidArgumentError,
            "max_index must be >= index, but 3 < 4",
        ),
        (
            lambda r: r.StatelessRandomBinomial(shape=[3], seed=[1, 2], counts=[1.0, 2], probs=0.5),
            ValueError,
            "Shape passed in must end with broadcasted shape",
        ),
    ],
)
def test_what_tensorflow_refuses(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message), tf.Session() as session:
        session.run(call(tf.raw_ops))


@pytest.mark.parametrize(
    ("state", "alg", "kind", "message"),
    [
        (np.zeros((1, 3), np.int64), 1, InvalidArgumentError, "one and only one dimension, not 2"),
        (np.zeros(2, np.int64), 1, InvalidArgumentError, "must be at least 3; got 2"),
        (np.zeros(3, np.int32), 1, InvalidArgumentError, "must be int64, not int32"),
        (np.zeros(3, np.int64), 2, UnimplementedError, "ThreeFry"),
        (np.zeros(3, np.int64), 9, ValueError, "Unsupported algorithm id: 9"),
    ],
)
def test_states_that_are_none(
    state: np.ndarray, alg: int, kind: type[Exception], message: str
) -> None:
    raw: Any = tf.raw_ops
    handle = raw.VarHandleOp(dtype=state.dtype, shape=state.shape)
    with pytest.raises(kind, match=message), tf.Session() as session:
        session.run(raw.AssignVariableOp(resource=handle, value=state))
        session.run(raw.StatefulUniform(resource=handle, algorithm=alg, shape=[2]))


def test_fractions_are_rounded_up_as_often_as_they_say() -> None:
    x = np.repeat(np.array([0.25, -0.25, 1.75, -3.9]), 4000)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, [None])
        found = tf.raw_ops.StochasticCastToInt(
            input=fed, key=np.array([1], np.uint64), counter=np.array([0, 1], np.uint64), alg=1,
            Tout=tf.int8,
        )  # fmt: skip
        rows = session.run(found, {fed: x}).reshape(4, -1)
    assert rows.dtype == np.int8
    np.testing.assert_allclose(rows.mean(1), [0.25, -0.25, 1.75, -3.9], atol=0.03)
    assert [sorted(set(row)) for row in rows.tolist()] == [[0, 1], [-1, 0], [1, 2], [-4, -3]]


def test_normal_numbers_that_no_ends_hold() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        low = tf.placeholder(tf.float32, [])
        found = tf.raw_ops.StatelessParameterizedTruncatedNormal(
            shape=[4], seed=[1, 2], means=0.0, stddevs=1.0, minvals=low, maxvals=1.0
        )
        assert session.run(found, {low: 0.5}).min() >= 0.5
        with pytest.raises(InvalidArgumentError, match="Invalid parameters"):
            session.run(found, {low: 2.0})


def test_truncated_normal_numbers_of_several_kinds() -> None:
    """The numbers are TensorFlow 2.21's."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.random.stateless_parameterized_truncated_normal(
            [3, 2], [1, 2], [0.0, 1.0], 1.0, -1.0, 1.0
        )
        drawn = session.run(found)
    expected = [[0.68812084, 0.5356727], [-0.61590934, 0.20988405], [0.9924464, 0.2695096]]
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "state", "words"),
    [
        (4, [5, 7], "unknown algorithm 4"),
        (2, [5, 7, 9], r"initial_state must have 2 elements"),
        (1, [5], r"initial_state must have 2 or 3 elements"),
    ],
)
def test_bits_of_xla_are_those_of_an_algorithm_and_its_state(
    algorithm: int, state: list[int], words: str
) -> None:
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match=words):
        drawn = tf.raw_ops.XlaRngBitGenerator(
            algorithm=algorithm, initial_state=np.array(state, np.uint64), shape=[2]
        )
        session.run(drawn)


def test_a_fed_shape_says_how_bits_of_xla_are_dealt_out() -> None:
    """Of a matrix, the first even size; for a vector a program serves all sizes. TensorFlow 2.21,
    compiled by XLA, gives these numbers."""
    sizes, state = tf.placeholder(tf.int32, [None]), np.array([5, 7], np.uint64)
    draw = tf.raw_ops.XlaRngBitGenerator(
        algorithm=2, initial_state=state, shape=sizes, dtype=tf.uint32
    )
    vector = [4000641395, 1063621336, 10964293, 2057536082, 3804237681, 1604586794, 3127050898]
    with tf.Session() as session:
        for shape in ([7], [3], [2, 1]):
            after, numbers = session.run(list(draw), {sizes: shape})
            count = int(np.prod(shape))
            assert after.tolist() == [5, 7 + -(-count // 2)]
            np.testing.assert_array_equal(numbers.reshape(-1), vector[:count])


@pytest.mark.parametrize("algorithm", [1, 2])
def test_absurdly_many_bits_of_xla_are_refused(algorithm: int) -> None:
    state = np.array([5, 7], np.uint64)
    drawn = tf.raw_ops.XlaRngBitGenerator(
        algorithm=algorithm, initial_state=state, shape=np.int64([1 << 45]), dtype=tf.uint8
    )
    steps = {1: 1 << 43, 2: 1 << 44}[algorithm]
    with tf.Session() as session:
        assert session.run(drawn[0]).tolist() == [5, 7 + steps]  # no number is drawn for it
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(drawn[1])


@pytest.mark.parametrize("is_fed", [False, True])
def test_parameters_that_no_distribution_has(is_fed: bool) -> None:
    """What TensorFlow gives; shapes above -2/3 are drawn as others."""
    alphas, rates = [-np.inf, -2.0, 0.0, np.nan], [-np.inf, -1000.0, 0.0]
    with tf.Graph().as_default(), tf.Session() as session:
        given = [tf.constant(x, tf.float32) for x in (alphas, rates)]
        if is_fed:
            given = [tf.placeholder_with_default(x, [None]) for x in given]
        draws: Any = tf.random
        ops: Any = tf.raw_ops
        gamma = ops.StatelessRandomGammaV2(shape=[2, 4], seed=[1, 2], alpha=given[0])
        poisson = draws.stateless_poisson([2, 3], seed=[1, 2], lam=given[1], dtype=tf.float32)
        found = session.run([gamma, poisson])
    np.testing.assert_array_equal(found[0], [[np.nan, np.nan, 0, np.nan]] * 2)
    assert not found[1].any()


def test_draws_share_the_kernels_of_their_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key, the counter, the state's next value, the words, and numbers of them."""
    monkeypatch.setenv("FLOWC_CACHE", "0")
    found: set[str] = set()
    objects_of = KernelCache.objects_of

    def noted(self: KernelCache, kernel: Kernel, target: Target) -> tuple[bytes, ...]:
        found.add(kernel.key)
        return objects_of(self, kernel, target)

    monkeypatch.setattr(KernelCache, "objects_of", noted)
    draws = [tf.random_uniform([300]), tf.random_uniform([400])]
    with tf.Session() as session:
        session.run(draws)
    assert len(found) == 5
