"""The ways to run beside `run`: callables and partial runs; devices; what errors say of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OpError
from flowc.run.programs import ProgramCache


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_callable_runs_with_values_in_the_order_of_its_feeds(session: tf.Session) -> None:
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [])
    call = session.make_callable({"product": x * y, "sum": x + y}, [y, x])
    found = call(3, [1, 2])
    np.testing.assert_array_equal(found["product"], [3, 6])
    np.testing.assert_array_equal(found["sum"], [4, 5])
    with pytest.raises(ValueError, match="each of the 2 tensors of `feed_list`, found 1"):
        call(3)
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\)"):
        call(1, [1, 2, 3])
    with pytest.raises(TypeError, match="options"):
        call(3, [1, 2], options=tf.RunOptions())
    told = session.make_callable(x, [x], accept_options=True)
    np.testing.assert_array_equal(told([1, 2], options=tf.RunOptions()), [1, 2])


def test_a_callable_goes_straight_to_the_call_that_it_made(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, at = tf.constant([[1.0], [2.0]]), tf.placeholder(tf.int32, [None])
    fetches = [tf.gather(rows, at, name="look"), at]
    call = session.make_callable(fetches, [at])
    fetches.pop()  # says nothing of what the callable fetches
    assert [r.tolist() for r in call(np.array([1], np.int32))] == [[[2.0]], [1]]
    with monkeypatch.context() as patched:
        patched.setattr(session, "run", None)
        assert [r.tolist() for r in call(np.array([0], np.int32))] == [[[1.0]], [0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="look") as told:
            call(np.array([5], np.int32))
    assert told.value.op.name == "look"
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        call(np.array([0], np.int32))


FORMS: dict[str, tuple[Callable[..., Any], Callable[..., dict[Any, Any]]]] = {
    "arrays": (lambda y, z: y, lambda x, k: {x: np.array([1, 2], np.float32), k: np.float32(3)}),
    "doubles": (lambda y, z: [y, z], lambda x, k: {x: np.array([1.0, 2]), k: np.array(3.0)}),
    "lists": (lambda y, z: (y, z), lambda x, k: {x: [1, 2], k: 3}),
    "names": (lambda y, z: z, lambda x, k: {x.name: [1.0, 2.0], k.name: 3.0}),
    "a dict": (lambda y, z: {"y": y, "z": z}, lambda x, k: {x: [1, 2], k: 3}),
    "in one another": (lambda y, z: [y, (z, [y])], lambda x, k: {x: [1, 2], k: 3}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_call_is_looked_up_once(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, k = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [])
        v = tf.Variable([1.0, 1.0])
        fetches, feeds = (f(*a) for f, a in zip(FORMS[form], [(x * k, x + v), (x, k)]))
        session.run(v.initializer)
        expected = session.run(fetches, feeds)
        with monkeypatch.context() as patched:
            patched.delattr(ProgramCache, "find")
            found = session.run(fetches, feeds)
        assert repr(found) == repr(expected)
        wrong = {next(iter(feeds)): [[1.0, 2.0]]}
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(1, 2\)"):
            session.run(fetches, {**feeds, **wrong})


def test_a_form_whose_values_decide_is_looked_up_once_a_value(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, axis = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.int32, [])
    y = tf.reduce_sum(x, axis)
    given = [{x: [[1, 2], [3, 4]], axis: value} for value in (0, 1, -1, np.int32(1))]
    expected = [[4, 6], [3, 7], [3, 7], [3, 7]]
    for attempt in range(2):
        if attempt:
            monkeypatch.delattr(ProgramCache, "find")
        for feeds, sums in zip(given, expected):
            np.testing.assert_array_equal(session.run(y, feeds), sums)


def test_a_partial_run_is_one_step(session: tf.Session) -> None:
    """What ran in one call does not run again in the next: neither draws nor assignments."""
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    drawn = tf.random_uniform([4], seed=1) + a
    count = tf.Variable(0)
    counted = tf.assign_add(count, 1)
    with tf.control_dependencies([counted]):
        first = tf.reduce_sum(drawn)
    second = drawn * b + tf.cast(counted, tf.float32)
    session.run(tf.global_variables_initializer())
    for number in (1, 2):
        handle = session.partial_run_setup([first, second], [a, b])
        total = session.partial_run(handle, first, {a: 1})
        found = session.partial_run(handle, second, {b: 1})
        np.testing.assert_allclose(found.sum() - 4 * number, total, rtol=1e-6)
        assert session.run(count) == number


def test_a_step_in_parts_says_what_is_missing(session: tf.Session) -> None:
    a, b = tf.placeholder(tf.float32, [], "a"), tf.placeholder(tf.float32, [], "b")
    total, product = tf.add(a, b, "total"), tf.multiply(a, b, "product")
    handle = session.partial_run_setup([total], [a, b])
    cases: list[tuple[Any, dict[Any, float], str]] = [
        (total, {a: 1.0}, "Fetch total:0 can't be computed .* needs b:0"),
        (product, {b: 2.0}, "The fetch product:0 was not specified in partial_run_setup"),
        (total, {a: 1.0}, "The feed a:0 has already been fed"),
        (total, {product: 1.0}, "The feed product:0 was not specified"),
    ]
    for fetch, feeds, text in cases:
        with pytest.raises(InvalidArgumentError, match=text):
            session.partial_run(handle, fetch, feeds)
    assert session.partial_run(handle, total) == 3
    with pytest.raises(InvalidArgumentError, match="Must run 'setup'"):
        session.partial_run(handle, total)
    with pytest.raises(InvalidArgumentError, match="at least one target"):
        session.partial_run_setup([], [a])


@pytest.mark.parametrize(
    ("device", "soft", "runs"),
    [
        ("/gpu:7", False, False),
        ("/gpu:7", True, True),
        ("/device:CPU:3", False, False),
        ("/cpu:0", False, True),
        ("/job:localhost/task:0", False, True),
        ("/job:worker/task:1", False, False),
        ("/job:worker/task:1", True, False),
    ],
)
def test_devices_that_are_not_there_are_refused(device: str, soft: bool, runs: bool) -> None:
    with tf.Graph().as_default():
        with tf.device(device):
            y = tf.add(tf.constant(1.0), 2.0, name="sum")
        config = tf.ConfigProto(allow_soft_placement=soft)
        with tf.Session(config=config) as session:
            if runs:
                assert session.run(y) == 3
                return
            with pytest.raises(InvalidArgumentError, match="Cannot assign a device") as caught:
                session.run(y)
            assert caught.value.node in ("sum", "Const", "sum/y")


def test_placement_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default():
        y = tf.add(tf.placeholder(tf.float32, [], "x"), 2.0, name="sum")
        with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
            session.run(y, {"x:0": 1})
            (device,) = session.list_devices()
    assert device.device_type == "CPU" and device.memory_limit_bytes > 1 << 20
    assert f"sum: (AddV2): {device.name}\n" in capfd.readouterr().err


def test_errors_know_their_operation(session: tf.Session) -> None:
    i = tf.placeholder(tf.int32, [])
    y = tf.gather([1.0, 2.0], i, name="row")
    for _ in range(2):  # compiled, then remembered
        with pytest.raises(OpError) as caught:
            session.run(y, {i: np.int32(5)})
        assert caught.value.op is y.op
        assert caught.value.node_def.op == "GatherV2"
        assert caught.value.error_code == 3
    v = tf.Variable(1.0, name="v")
    with pytest.raises(FailedPreconditionError) as caught:
        session.run(v)
    assert caught.value.error_code == 9


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: tf.Session("grpc://host:1"), NotFoundError, "No session factory"),
        (lambda: tf.Session(3), TypeError, "`target` must be a string"),
        (lambda: tf.Session(config=3), TypeError, "`config` must be a tf.ConfigProto"),
        (lambda: tf.Session.reset("x"), NotFoundError, "No session factory"),
    ],
)
def test_settings_of_a_session_are_checked(
    make: Callable[[], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text):
        make()


def test_the_graph_of_a_session_as_a_message(session: tf.Session) -> None:
    tf.constant(1.0, name="c")
    assert [n.name for n in session.graph_def.node] == ["c"]


def test_integers_that_do_not_fit_are_not_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [None], name="ids")
        assert session.run(x + 1, {x: np.array([3], np.int64)}).tolist() == [4]
        with pytest.raises(TypeError, match=r"fed to ids:0 .* int32: 1099511627776 does not fit"):
            session.run(x + 1, {x: np.array([1 << 40], np.int64)})


def test_an_output_that_an_operation_lacks_is_not_suggested() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.constant(1, name="path")
        with pytest.raises(ValueError, match="did you mean 'path:0'"):
            session.run("path:1")
