"""Runs of a Session side by side: who waits for whom, and who never does."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import errors
from flowc.ir.host_run import CancelToken, HostRun, HostStates
from flowc.run.variables import Access, HeldVariables

LONG = 60  # seconds until a test that hangs ends


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def called(f: Any, inputs: Any = (), shape: Any = ()) -> Any:
    found = tf.py_func(f, list(inputs), tf.float32)
    found.set_shape(shape)
    return found


class Gate:
    """A function of Python that waits: `reached`, when it does; `open`, and it returns 1."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> Any:
        self.reached.set()
        assert self.open.wait(LONG)
        return np.float32(1)


# -- what a run that waits leaves to others


def test_a_run_that_waits_holds_no_variable() -> None:
    v = tf.get_variable("v", initializer=tf.zeros([2]))
    gate = Gate()
    before = tf.assign_add(v, [1.0, 1.0])  # seen by all while the function waits
    with tf.control_dependencies([before]):
        waited = called(gate)
    after = tf.assign_add(v, waited * [10.0, 10.0])
    add = tf.assign_add(v, [100.0, 100.0])
    with tf.Session() as session, ThreadPoolExecutor(1) as threads:
        session.run(tf.global_variables_initializer())
        blocked = threads.submit(session.run, after)
        assert gate.reached.wait(LONG)
        assert session.run(v).tolist() == [1, 1]
        assert session.run(add).tolist() == [101, 101]
        assert session.run(add).tolist() == [201, 201]
        gate.open.set()
        assert blocked.result(LONG).tolist() == [211, 211]  # no update is lost
        assert session.run(v).tolist() == [211, 211]


def test_a_run_that_waits_holds_no_variable_that_a_conditional_reads() -> None:
    v = tf.get_variable("v", initializer=2.0)
    inner = lambda: tf.cond(v > 1.0, lambda: v * 10.0, lambda: v - 1.0)
    read = tf.cond(v > 0.0, inner, lambda: tf.constant(-1.0))
    gate = Gate()
    waited = called(gate, [read])
    behind = tf.cond(waited > 0.0, lambda: waited + 1.0, lambda: read)
    with tf.Session() as session, ThreadPoolExecutor(1) as threads:
        session.run(tf.global_variables_initializer())
        blocked = threads.submit(session.run, [read, waited, behind])
        assert gate.reached.wait(LONG)
        options = tf.RunOptions(timeout_in_ms=1000 * LONG)
        assert session.run(tf.assign(v, 5.0), options=options) == 5
        gate.open.set()
        assert blocked.result(LONG) == [20, 1, 2]
        assert session.run([read, behind]) == [50, 2]


def test_a_branch_that_waits_is_in_one_piece() -> None:
    v = tf.get_variable("v", initializer=2.0)
    take = lambda: called(lambda x: x + 1, [tf.assign_add(v, 1.0)]) * v
    taken = tf.cond(tf.placeholder_with_default(True, []), take, lambda: v * 100.0, name="c")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(taken) == 12
        assert session.run([taken, v], {"PlaceholderWithDefault:0": False}) == [300, 3]


def test_a_tensor_has_one_value_before_and_after_a_function() -> None:
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=True)
    gate = Gate()
    read, drawn = v.read_value(), tf.random_uniform([2])
    scaled = tf.matmul(tf.reshape(read, [1, 2]), tf.reshape(drawn, [2, 1]))
    later = [read * called(gate, [read, scaled]), drawn, scaled]
    with tf.Session() as session, ThreadPoolExecutor(1) as threads:
        session.run(tf.global_variables_initializer())
        blocked = threads.submit(session.run, [*later, read])
        assert gate.reached.wait(LONG)
        session.run(v.assign([5.0, 6.0]))
        gate.open.set()
        product, numbers, both, first = blocked.result(LONG)
    assert product.tolist() == first.tolist() == [1, 2]
    np.testing.assert_allclose(both.reshape(()), first @ numbers, rtol=1e-6)


def test_a_function_of_a_variable_does_not_keep_who_changes_its_rows() -> None:
    v = tf.get_variable("v", initializer=tf.zeros([3]))
    gate = Gate()
    step = tf.assign_add(v, called(gate, [v], []) * tf.ones([3]))
    plain = Gate()
    rows = tf.scatter_add(v, [1], [5.0]).op
    with tf.Session() as session, ThreadPoolExecutor(2) as threads:
        session.run(tf.global_variables_initializer())
        blocked = threads.submit(session.run, step)
        beside = threads.submit(session.run, [v, called(plain)])
        assert gate.reached.wait(LONG) and plain.reached.wait(LONG)
        session.run(rows)
        assert session.run(v).tolist() == [0, 5, 0]
        plain.open.set()
        assert beside.result(LONG)[0].tolist() == [0, 0, 0]
        gate.open.set()
        assert blocked.result(LONG).tolist() == [1, 6, 1]


def test_every_thread_counts_for_itself() -> None:
    count = tf.get_variable("count", initializer=tf.constant(0))
    number = count.count_up_to(64)
    with tf.control_dependencies([number]):
        out = tf.py_func(lambda n: (time.sleep(0.001), n)[1], [number], tf.int32)
    out.set_shape([])
    with tf.Session() as session, ThreadPoolExecutor(8) as threads:
        session.run(tf.global_variables_initializer())
        found = list(threads.map(lambda _: int(session.run(out)), range(64)))
        assert sorted(found) == list(range(64))
        with pytest.raises(errors.OutOfRangeError):
            session.run(out)


def test_a_function_that_fails_leaves_what_was_assigned_before_it() -> None:
    v = tf.get_variable("v", initializer=tf.constant(0.0))

    def fail() -> Any:
        raise ValueError("not today")

    with tf.control_dependencies([tf.assign(v, 3.0)]):
        failing = called(fail)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match="not today"):
            session.run(tf.assign_add(v, failing))
        assert session.run(v) == 3


def test_a_function_in_a_loop_keeps_those_waiting_that_assign() -> None:
    v = tf.get_variable("v", initializer=tf.constant(1.0))
    gate = Gate()
    total = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + called(gate)), [0, 0.0])[1]
    step, add = tf.assign_add(v, total), tf.assign_add(v, 1.0)
    with tf.Session() as session, ThreadPoolExecutor(2) as threads:
        session.run(tf.global_variables_initializer())
        blocked = threads.submit(session.run, step)
        assert gate.reached.wait(LONG)
        adding = threads.submit(session.run, add)
        assert session.run(v) == 1  # who reads does not wait
        time.sleep(0.05)
        assert not adding.done()
        gate.open.set()
        assert (blocked.result(LONG), adding.result(LONG)) == (3, 4)


def test_threads_read_write_and_wait_at_once() -> None:
    """16 threads: writers, of which some wait in the middle, never lose an update; readers see
    what one run wrote at once; all of them make progress while others wait."""
    rounds, gate = 60, Gate()
    a = tf.get_variable("a", initializer=tf.zeros([8]))
    b = tf.get_variable("b", initializer=tf.zeros([8]))
    table = tf.get_variable("table", initializer=tf.zeros([4, 8]))
    both = tf.group(tf.assign_add(a, tf.ones([8])), tf.assign_add(b, tf.ones([8])))
    only_b = tf.assign_add(b, tf.ones([8])).op
    row = tf.scatter_add(table, [1, 2], tf.ones([2, 8])).op
    with tf.control_dependencies([tf.assign_add(a, tf.ones([8]))]):
        pause = called(lambda: (time.sleep(random.random() / 500), np.float32(1))[1])
    waiting = tf.group(tf.assign_add(b, tf.ones([8]) * pause))
    for_ever = tf.assign_add(a, tf.ones([8]) * called(gate))
    pair, rows = [tf.identity(a), tf.identity(b)], tf.identity(table)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def repeat(fetch: Any) -> list[Any]:
            return [session.run(fetch) for _ in range(rounds)]

        jobs = [both] * 4 + [only_b] * 2 + [row] * 2 + [waiting] * 3 + [pair] * 2 + [rows] * 2
        with ThreadPoolExecutor(16) as threads:
            blocked = threads.submit(session.run, for_ever)
            assert gate.reached.wait(LONG)
            found = [job.result(LONG) for job in [threads.submit(repeat, f) for f in jobs]]
            assert not blocked.done()
            gate.open.set()
            blocked.result(LONG)
        assert session.run(a).tolist() == [7 * rounds + 1] * 8
        assert session.run(b).tolist() == [9 * rounds] * 8
        assert session.run(table).tolist() == [[k * 2 * rounds] * 8 for k in (0, 1, 1, 0)]
    for one, other in [x for job in found[11:13] for x in job]:
        assert len(np.unique(one)) == len(np.unique(other)) == 1
    for seen in [x for job in found[13:15] for x in job]:
        assert len(np.unique(seen[1:3])) == 1 and not seen[[0, 3]].any()


# -- which runs wait for which


def test_who_conflicts() -> None:
    reader, writer = Access(("v", "w")), Access((), ("v",))
    adder, other = Access(("w",), ("w",)), Access(("w",), ("x",))
    in_place = Access(("v",), ("v",), frozenset("v"))
    free = [(reader, reader), (reader, writer), (reader, adder), (writer, adder), (writer, other)]
    bound = [(adder, other), (writer, writer), (in_place, reader), (in_place, writer)]
    assert [x.conflicts(y) or y.conflicts(x) for x, y in free] == [False] * len(free)
    assert [x.conflicts(y) and y.conflicts(x) for x, y in bound] == [True] * len(bound)


def test_runs_of_different_variables_are_under_way_together() -> None:
    held = HeldVariables(lambda: {"v": np.zeros(1), "w": np.zeros(1)})
    held.adopt(["v", "w"])
    together = threading.Barrier(3, timeout=LONG)

    def add(values: Any, *_: Any) -> list[np.ndarray]:
        together.wait()
        return [values[0] + 1]

    def read(values: Any, *_: Any) -> list[np.ndarray]:
        together.wait()
        return [values[0] + values[1]]

    runs = [(Access((n,), (n,)), add) for n in "vw"] + [(Access(("v", "w")), read)]
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda x: held.run(held.version, *x), runs))
    assert found == [[], [], [np.zeros(1)]]
    assert held.values() == {"v": np.ones(1), "w": np.ones(1)}


def test_readers_do_not_keep_a_writer_waiting_for_ever() -> None:
    held = HeldVariables(lambda: {"v": np.zeros(1)})
    held.adopt("v")
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            held.run(held.version, Access(("v",)), lambda *_: time.sleep(0.002) or ())

    with ThreadPoolExecutor(4) as threads:
        readers = [threads.submit(read) for _ in range(4)]
        change = Access(("v",), ("v",), frozenset("v"))
        for _ in range(20):
            held.run(
                held.version, change, lambda values, *_: (np.add(*values, 1, *values), values)[1]
            )
        stop.set()
        for reader in readers:
            reader.result(LONG)
    assert held.values()["v"] == 20


# -- steps that wait


class Slots:
    """As much of a queue as shows how states of the host are made."""

    def __init__(self, capacity: int) -> None:
        self.left, self.changed, self.is_closed = capacity, threading.Condition(), False

    def take(self, run: HostRun) -> None:
        with self.changed:
            run.wait(self.changed, lambda: self.left > 0)
            self.left -= 1

    def give(self) -> None:
        with self.changed:
            self.left += 1
            self.changed.notify_all()

    def close(self) -> None:
        self.is_closed = True


def test_closing_a_session_ends_the_runs_that_wait() -> None:
    v = tf.get_variable("v", initializer=tf.constant(0.0))
    session, reached = tf.Session(), threading.Event()
    session.run(tf.global_variables_initializer())
    state = session._state
    slots = state.host.find("slots", Slots, lambda: Slots(0))

    def take() -> Any:
        reached.set()
        slots.take(HostRun(state.cancel, state.host))
        return np.float32(1)

    step = tf.assign_add(v, called(take))
    with ThreadPoolExecutor(1) as threads:
        blocked = threads.submit(session.run, step)
        assert reached.wait(LONG)
        session.close()
        with pytest.raises(errors.OpError, match="session was closed"):
            blocked.result(LONG)
    assert slots.is_closed


def test_a_step_waits_until_it_is_ready_cancelled_or_late() -> None:
    slots, cancel = Slots(0), CancelToken()
    with ThreadPoolExecutor(2) as threads:
        ready = threads.submit(slots.take, HostRun(cancel))
        time.sleep(0.02)
        assert not ready.done()
        slots.give()
        assert ready.result(LONG) is None
        ended = threads.submit(slots.take, HostRun(cancel))
        time.sleep(0.02)
        cancel.cancel()
        with pytest.raises(errors.CancelledError):
            ended.result(LONG)
        with pytest.raises(errors.CancelledError):  # whoever comes later does not wait at all
            slots.take(HostRun(cancel))
        with pytest.raises(errors.DeadlineExceededError, match="20 ms"):
            slots.take(HostRun(timeout=20))


def test_states_are_found_by_id() -> None:
    states = HostStates()
    one = states.find("q", Slots, lambda: Slots(1))
    assert states.find("q", Slots, lambda: Slots(2)) is one
    with pytest.raises(errors.InvalidArgumentError, match="'q' is a Slots, and not a Gate"):
        states.find("q", Gate, Gate)  # type: ignore[type-var]
    states.close()
    assert one.is_closed and states.find("q", Slots, lambda: Slots(2)) is not one


# -- steps of one run that wait for each other


def _steps_that_meet() -> dict[str, tuple[Any, Any, Any]]:
    """By name what to run first, what to run at once, and what that gives."""
    x = tf.constant(3.0)
    y = x * x + tf.square(x)  # computed natively: 18
    queue = tf.FIFOQueue(1, [tf.float32], [()], name="one")
    full = tf.FIFOQueue(1, [tf.float32], [()], name="full")
    of_many = tf.FIFOQueue(2, [tf.float32], [()], name="of_many")
    first, second = (tf.FIFOQueue(1, [tf.float32], [()], name=n) for n in ("first", "second"))
    learnt = tf.FIFOQueue(1, [tf.float32], [()], name="learnt")
    weight = tf.get_variable("weight", initializer=tf.constant(2.0))
    closed = tf.FIFOQueue(1, [tf.float32], [()], name="closed")
    raw = tf.raw_ops
    area = {"dtypes": [tf.float32], "capacity": 1, "shared_name": "area"}
    return {
        "empty": (None, [tf.sqrt(queue.dequeue()), queue.enqueue(y * 2)], [6.0, None]),
        "full": (full.enqueue(4.0), [full.enqueue(y), full.dequeue() + 1], [None, 5.0]),
        "many": (
            None,
            [of_many.enqueue_many([tf.stack([y, x, x, y, x])]), of_many.dequeue_many(4)],
            [None, [18.0, 3.0, 3.0, 18.0]],
        ),
        "in turn": (
            None,
            [second.dequeue() + 1, second.enqueue(first.dequeue() * y), first.enqueue(y)],
            [325.0, None, None],
        ),
        "variables": (
            None,
            [tf.assign_add(weight, learnt.dequeue()), learnt.enqueue(weight * y)],
            [38.0, None],
        ),
        "areas": (
            raw.Stage(values=[x], **area),
            [raw.Stage(values=[y], **area), raw.Unstage(**area)],
            [None, [3.0]],
        ),
        "closed": (None, [closed.dequeue() + y, closed.close()], errors.OutOfRangeError),
    }


def test_steps_of_one_run_wait_for_each_other() -> None:
    steps = _steps_that_meet()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        threads = threading.active_count()
        options = tf.RunOptions(timeout_in_ms=LONG * 1000)
        for name, (before, at_once, expected) in steps.items():
            if before is not None:
                session.run(before)
            if isinstance(expected, list):
                found = session.run(at_once, options=options)
                for value, wanted in zip(found, expected, strict=True):
                    assert (value is None) == (wanted is None)
                    if wanted is not None:
                        np.testing.assert_allclose(value, wanted, rtol=1e-6, err_msg=name)
            else:
                with pytest.raises(expected):
                    session.run(at_once, options=options)
            assert threading.active_count() == threads, name


def test_what_ends_a_run_ends_all_its_steps_that_wait() -> None:
    threads = threading.active_count()
    queue = tf.FIFOQueue(9, [tf.float32], [()])
    other = tf.FIFOQueue(1, [tf.float32], [()])
    x = tf.placeholder(tf.float32, [])
    at_once = [queue.dequeue_many(8), queue.enqueue(x * 2), other.dequeue() + x, other.size()]
    session = tf.Session()
    session.run(other.size())
    with pytest.raises(errors.DeadlineExceededError):
        session.run(at_once, {x: 1.0}, options=tf.RunOptions(timeout_in_ms=300))
    with ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(session.run, at_once, {x: 1.0})
        session.run(other.close())
        with pytest.raises(errors.OutOfRangeError, match="closed"):
            blocked.result(LONG)
        blocked = pool.submit(session.run, [*at_once[:2], queue.close()], {x: 1.0})
        with pytest.raises(errors.OpError):
            blocked.result(LONG)
    session.close()
    assert threading.active_count() == threads


def test_steps_of_a_partial_run_wait_for_each_other() -> None:
    queue = tf.FIFOQueue(2, [tf.int32], [()])
    x = tf.placeholder(tf.int32, [])
    taken, put, doubled = queue.dequeue(), queue.enqueue(x), x * 2
    with tf.Session() as session:
        step = session.partial_run_setup([taken, put, doubled], [x])
        assert session.partial_run(step, [taken, put], {x: 3}) == [3, None]
        assert session.partial_run(step, doubled) == 6


def test_steps_of_later_calls_of_a_partial_run_wait_for_each_other() -> None:
    """TensorFlow's values; a queue that one call used is the same in the next."""
    first, second = (tf.FIFOQueue(1, [tf.float32], [()]) for _ in range(2))
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    doubled = x * 2 + tf.cast(first.size(), tf.float32)
    taken = first.dequeue() + doubled
    with tf.control_dependencies([first.enqueue(y * doubled)]):
        put = tf.identity(y)
    product = second.dequeue() * taken
    with tf.control_dependencies([second.enqueue(taken)]):
        again = tf.identity(taken)
    with tf.Session() as session:
        step = session.partial_run_setup([doubled, taken, put, product, again], [x, y])
        assert session.partial_run(step, doubled, {x: 3.0}) == 6
        assert session.partial_run(step, [taken, put], {y: 1.0}) == [12, 1]
        assert session.partial_run(step, [product, again]) == [144, 12]
