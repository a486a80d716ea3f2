"""Sessions: what they take, what they refuse, threads, defaults. Rows 5 to 9, 12, 14 and 16."""

from __future__ import annotations

import threading
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flowc as tf
from flowc import errors


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as found:
        yield found


def test_row_1_one_graph_in_many_sessions(graph: tf.Graph) -> None:
    c = tf.constant(2.0) * 3.0
    with tf.Session(graph=graph) as one, tf.Session(graph=graph) as two:
        assert one.run(c) == two.run(c) == 6.0
        assert one.graph is graph


def test_row_1_default_graph_is_per_thread(graph: tf.Graph) -> None:
    seen: list[tf.Graph] = []
    thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph()))
    thread.start()
    thread.join()
    assert seen[0] is not graph


def test_row_5_with_closes_also_on_exception_and_targets_are_unknown() -> None:
    c = tf.constant(1)
    session = tf.Session()
    with pytest.raises(KeyError), session:
        raise KeyError("x")
    with pytest.raises(RuntimeError, match=r"^Attempted to use a closed Session\.$"):
        session.run(c)
    with pytest.raises(tf.errors.NotFoundError, match="No session factory registered"):
        tf.Session("grpc://localhost:1")
    with pytest.raises(TypeError, match=r"Argument `graph` must be a tf\.Graph, but got \"str\""):
        tf.Session(graph="g")
    assert tf.Session(config=tf.ConfigProto(allow_soft_placement=True)).run(c) == 1


def test_row_6_structures_keep_order_and_type() -> None:
    a, b = tf.constant([1.0, 2.0], name="a"), tf.constant(3, name="b")
    pair = namedtuple("pair", "x y")
    with tf.Session() as session:
        found = session.run({"p": pair(a, "b:0"), "l": [b, (a, b)], "o": OrderedDict(k=b.op)})
        assert type(found["p"]) is pair
        assert found["p"].x.tolist() == [1.0, 2.0]
        assert found["p"].y == 3 and isinstance(found["p"].y, np.int32)
        assert type(found["l"][1]) is tuple
        assert found["o"] == OrderedDict(k=None)
        assert session.run([]) == []
        again = session.run(a)
        again[0] = 9
        assert session.run(a).tolist() == [1.0, 2.0]


def test_row_6_refused_fetches(graph: tf.Graph) -> None:
    tf.constant(1.0, name="value")
    with tf.Graph().as_default():
        other = tf.constant(1)
    with tf.Session(graph=graph) as session:
        for bad in (5, None, 2.5, object()):
            with pytest.raises(TypeError, match="invalid type"):
                session.run(bad)
        with pytest.raises(ValueError, match=r"cannot be interpreted as a Tensor"):
            session.run(other)
        with pytest.raises(ValueError, match=r"did you mean 'value:0'"):
            session.run("valeu:0")


def test_row_7_any_tensor_may_be_fed_and_values_may_be_plain() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    c = tf.constant([1.0])
    y = (x + c) * 2.0
    with tf.Session() as session:
        assert session.run(y, {x: [1]}).tolist() == [4.0]
        assert session.run(y, {"x:0": np.float64([1, 2]), c: [10.0]}).tolist() == [22.0, 24.0]
        assert session.run(y, {y: [7.0]}).tolist() == [7.0]
        strided = np.arange(6, dtype=np.float32)[::2]
        assert session.run(y, {x: strided}).tolist() == [2.0, 6.0, 10.0]
        assert session.run(y, {x: strided.astype(">f4")}).tolist() == [2.0, 6.0, 10.0]
        with pytest.raises(TypeError, match=r"may not be|Cannot interpret feed_dict key as Tensor"):
            session.run(y, {"y:0": 1})
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(\) for Tensor x:0"):
            session.run(y, {x: 3.0})
        with pytest.raises(TypeError, match=r"The value of a feed cannot be a tf.Tensor"):
            session.run(y, {x: c})
        for value, kind in (
            ("a", ValueError),
            ([[1, 2], [3]], ValueError),
            ([None, {}], TypeError),
        ):
            with pytest.raises(kind, match="The value that is fed to x:0 is not an array of float"):
                session.run(y, {x: value})


def test_row_8_default_sessions_are_per_thread(graph: tf.Graph) -> None:
    c = tf.constant(5)
    assert tf.get_default_session() is None
    session = tf.Session()
    with session.as_default():
        assert tf.get_default_session() is session
        assert c.eval() == 5
        with ThreadPoolExecutor(1) as pool:
            with pytest.raises(ValueError, match="No default session is registered"):
                pool.submit(c.eval).result()

            def inside() -> int:
                with session.as_default():
                    return c.eval()

            assert pool.submit(inside).result() == 5
    assert session.run(c) == 5  # as_default does not close


def test_row_9_eval_and_run_are_thin_calls(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.int32, [])
    y = x + 1
    with pytest.raises(ValueError, match="No default session"):
        y.eval({x: 1})
    with pytest.raises(ValueError, match="No default session"):
        y.op.run({x: 1})
    session = tf.Session()
    assert y.eval({x: 1}, session=session) == 2
    assert y.op.run({x: 1}, session=session) is None
    with tf.Graph().as_default():
        other = tf.Session()
    with pytest.raises(ValueError, match="graph is different"):
        y.eval({x: 1}, session=other)


def test_interactive_session_is_default_until_closed() -> None:
    session = tf.InteractiveSession()
    try:
        assert tf.constant(4).eval() == 4
    finally:
        session.close()
    assert tf.get_default_session() is None


def test_row_12_only_what_is_needed_runs() -> None:
    x = tf.placeholder(tf.float32, [2], name="needless")
    wrong = tf.gather(tf.constant([1, 2]), tf.placeholder(tf.int32, [1]))
    with tf.Session() as session:
        assert session.run(tf.constant(3)) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder tensor 'needless'"):
            session.run(x)
        assert wrong.shape.as_list() == [1]


def test_row_14_the_graph_may_grow_after_a_run() -> None:
    a = tf.constant(1.0)
    with tf.Session() as session:
        assert session.run(a) == 1.0
        assert session.run(a + 2.0) == 3.0


def test_row_16_not_eager() -> None:
    assert tf.executing_eagerly() is False
    assert tf.disable_eager_execution() is None


def test_errors_of_a_run_name_the_node() -> None:
    i = tf.placeholder(tf.int32, [None], name="i")
    y = tf.gather(tf.constant([1, 2, 3]), i, name="lookup")
    with tf.Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match=r"= 7 is not in \[0, 3\)") as caught:
            session.run(y, {i: [0, 7]})
        assert caught.value.node == "lookup"
        assert session.run(y, {i: [2]}).tolist() == [3]


def test_many_threads_share_a_session() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reduce_sum(x * 2.0, 1)
    z = x + 1.0
    with tf.Session() as session:

        def work(seed: int) -> bool:
            random = np.random.default_rng(seed)
            for _ in range(20):
                value = random.random((int(random.integers(1, 5)), 3), np.float32)
                found = session.run([y, z], {x: value})
                if not np.allclose(found[0], value.sum(1) * 2, rtol=1e-5):
                    return False
                if not np.array_equal(found[1], value + 1):
                    return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))
