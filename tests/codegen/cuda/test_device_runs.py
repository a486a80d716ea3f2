"""Whole runs on a device: plan, driver, kernels and variables, over a CUDA driver without a GPU.

The driver (`fake_cuda.c`) runs device code as code of the host, in memory of its own, and says what
it was asked.
"""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from devices.device_runs import SIZES, counts_on_both, product_program
from devices.fake_cuda import FakeCuda

import flowc as tf
from flowc.errors import (
    FlowcError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnknownError,
    UsageError,
)
from flowc.run.device_buffers import DeviceBuffer, memory_of_gpu
from flowc_runtime.native.cuda_graphs import MOST_GRAPHS


def _chain(x: Any) -> Any:
    return tf.nn.softmax(tf.tanh(x) * 2.0)


def _loop(x: Any) -> Any:
    step = lambda i, y: (i + 1, tf.tanh(y) * 1.5)
    return tf.while_loop(lambda i, y: i < 7, step, [tf.constant(0), x])[1]


def _counts_up(x: Any) -> Any:
    """The device reads the counters of the host."""

    def step(i: Any, n: Any, is_even: Any, y: Any) -> Any:
        turned = tf.where(tf.fill(tf.shape(y), is_even), y, -y)
        number = tf.cast(i, tf.float32)
        return i + 1, n + 2, tf.logical_not(is_even), tf.tanh(turned) * number + tf.gather(y, n)

    first = [tf.constant(0), tf.constant(3, tf.int64), tf.constant(True), x]
    return tf.while_loop(lambda i, *_: i < 5, step, first)[-1]


def _loop_until(x: Any) -> Any:
    """The host must see what the device found, to know whether to go on."""
    step = lambda y: tf.tanh(y) * 0.5
    return tf.while_loop(lambda y: tf.reduce_sum(y) > 10.0, step, [x])


def _swaps(x: Any) -> Any:
    step = lambda i, a, b: (i + 1, b, tf.sin(a))
    return tf.while_loop(lambda i, a, b: i < 5, step, [tf.constant(0), x, x + 1.0])[1:]


def _sums_up(x: Any) -> Any:
    """A scalar that only the device reads and writes."""
    step = lambda i, total, y: (i + 1, total + tf.reduce_sum(y), tf.cos(y))
    first = [tf.constant(0), tf.constant(0.0), x]
    return tf.while_loop(lambda i, total, y: i < 5, step, first)[1]


def _arrays(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, 6).unstack(x[:6])
    step = lambda i, out: (i + 1, out.write(i, tf.exp(rows.read(i))))
    return tf.while_loop(lambda i, out: i < 6, step, [0, tf.TensorArray(tf.float32, 6)])[1].stack()


def _branches(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x), lambda: x)


def _sizes(x: Any) -> Any:
    return tf.exp(tf.boolean_mask(x, x[:, 0] > 0.5))


def _gradient_of_loop(x: Any) -> Any:
    """What iterations leave for the gradient is memory that grows."""
    step = lambda i, y: (i + 1, tf.tanh(y) * 1.5)
    y = tf.while_loop(lambda i, y: i < tf.shape(x)[0] // 10, step, [tf.constant(0), x])[1]
    return tf.gradients(y, x)[0]


def _scatters(x: Any) -> Any:
    """Rows of a gradient, which several indices name."""
    at = tf.constant([3, 1, 3] * 40)
    return tf.gradients(tf.square(tf.gather(x * x, at)), x)[0], tf.cumsum(x, 1), tf.argmax(x, 0)


PROGRAMS = {
    "chain": (_chain, {"upload": 1, "download": 1, "launch": 1, "allocate": 1}),
    "product": (product_program, {"upload": 1, "download": 1, "launch": 1, "allocate": 1}),
    "loop": (_loop, {"upload": 1, "download": 1, "graph": 1, "allocate": 1}),
    "counts up": (_counts_up, {"upload": 1, "download": 2, "graph": 1, "allocate": 1}),
    "loop until": (_loop_until, None),
    "swaps": (_swaps, None),
    "sums up": (_sums_up, None),
    "arrays": (_arrays, None),
    "branches": (_branches, None),
    "sizes": (_sizes, None),
    "gradient of a loop": (_gradient_of_loop, None),
    "scatters": (_scatters, {"upload": 1, "download": 4, "graph": 1, "allocate": 1}),
    "random": (lambda x: x + tf.random_normal(tf.shape(x), seed=3), None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_on_the_device_gives_what_the_cpu_gives(name: str, device: FakeCuda) -> None:
    build, wanted = PROGRAMS[name]
    calls = counts_on_both(build, {"x": SIZES}, device)
    if wanted is not None:
        assert calls == wanted


@pytest.mark.parametrize("name", ["product", "counts up", "arrays", "scatters"])
def test_sizes_change_between_runs_and_come_back(name: str, device: FakeCuda) -> None:
    """Runs of a size that was there before are graphs by then."""
    x = tf.placeholder(tf.float32, [None, 90])
    y = PROGRAMS[name][0](x)
    feeds = [np.roll(SIZES, k, 1)[:rows] for k, rows in enumerate([70, 70, 70, 33, 33, 70, 12, 33])]
    with tf.Session() as session:
        wanted = [session.run(y, {x: feed}) for feed in feeds]
    with tf.Session(device="cuda") as session:
        for feed, each in zip(feeds, wanted):
            found = session.run(y, {x: feed})
            pairs = zip(found, each) if isinstance(each, tuple) else [(found, each)]
            for a, b in pairs:
                np.testing.assert_allclose(a, b, 2e-6, 1e-6)


def test_a_loop_with_a_known_count_never_waits_for_the_device(device: FakeCuda) -> None:
    calls = counts_on_both(_sums_up, {"x": SIZES}, device)
    assert calls["download"] == 1
    assert calls["upload"] <= 3


def test_a_fault_on_the_device_is_the_error_of_its_node(device: FakeCuda) -> None:
    x, i = tf.placeholder(tf.float32, [None, 90]), tf.placeholder(tf.int32, [None])
    rows = tf.gather(x, i, name="rows")
    with tf.Session(device="cuda") as session:
        with pytest.raises(InvalidArgumentError, match="= 700 is not in"):
            session.run(rows, {x: SIZES, i: [1, 700, 3] * 40})
        found = session.run(rows, {x: SIZES, i: [1, 69] * 40})
    np.testing.assert_array_equal(found, SIZES[[1, 69] * 40])


def test_a_fault_leaves_variables_as_they_were(device: FakeCuda) -> None:
    i = tf.placeholder(tf.int32, [None])
    table = tf.get_variable("table", initializer=SIZES)
    total = tf.get_variable("total", initializer=np.zeros(90, np.float32))
    rows = tf.gather(table, i, name="rows")
    step = total.assign_add(tf.reduce_sum(rows, 0))
    at = [1, 69, 3] * 40
    for where in ("cpu", "cuda"):
        with tf.Session(device=where) as session:
            session.run(tf.global_variables_initializer())
            for count in range(1, 5):
                session.run(step, {i: at})
                with pytest.raises(InvalidArgumentError, match=r"= 700 is not in.*\n?.*rows"):
                    session.run(step, {i: [*at[:50], 700, *at[50:]]})
                wanted = count * 40 * SIZES[[1, 69, 3]].sum(0)
                np.testing.assert_allclose(session.run(total), wanted, 1e-5)


def _training() -> tuple[Any, Any, Any]:
    x = tf.placeholder(tf.float32, [None, 90])
    weights = tf.get_variable("weights", initializer=np.ones((90, 20), np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 1.0))
    return x, loss, tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)


def test_variables_stay_on_the_device_between_steps(device: FakeCuda) -> None:
    with tf.Graph().as_default():
        x, loss, step = _training()
        (weights,) = tf.trainable_variables()
        seen: list[list[Any]] = []
        for where in ("cpu", "cuda"):
            with tf.Session(device=where) as session:
                session.run(tf.global_variables_initializer())
                for _ in range(2):
                    session.run([loss, step], {x: SIZES})
                device.reset()
                found = [session.run([loss, step], {x: SIZES})[0]]
                moved = [line for line in device.log() if line.startswith(("upload", "download"))]
                found.append(session.run(weights))
                weights.load(np.full((90, 20), 2.0, np.float32), session)
                found += session.run([loss, weights], {x: SIZES})
                session.run(step, {x: SIZES})
                seen.append([*found, session.run(weights)])
        assert moved == [f"upload {SIZES.nbytes}", "download 4"]
        for a, b in zip(*seen):
            np.testing.assert_allclose(b, a, 1e-5)


def test_what_a_session_and_its_programs_took_of_the_device_is_freed(device: FakeCuda) -> None:
    gc.collect()
    before = device.taken, device.pinned
    with tf.Graph().as_default():
        x, loss, step = _training()
        with tf.Session(device="cuda") as session:
            session.run(tf.global_variables_initializer())
            session.run([loss, step], {x: SIZES})
            assert device.taken > before[0] and device.pinned > before[1]
        del x, loss, step, session
    tf.reset_default_graph()
    gc.collect()
    assert (device.taken, device.pinned) == before


class _OfAnotherLibrary:
    """An array on the GPU with the interface by which libraries exchange such."""

    def __init__(self, array: np.ndarray, **more: Any) -> None:
        self.buffer = DeviceBuffer(array.nbytes)
        self.buffer.upload(array)
        place = {"data": (self.buffer.address, False), "shape": array.shape, "version": 3}
        self.__cuda_array_interface__ = {**place, "typestr": array.dtype.str, **more}


def test_arrays_of_other_libraries_on_the_gpu_are_fed(device: FakeCuda) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    y = tf.tanh(x)
    for where in ("cpu", "cuda"):
        with tf.Session(device=where) as session:
            found = session.run(y, {x: _OfAnotherLibrary(SIZES, stream=1, strides=None)})
            np.testing.assert_allclose(found, np.tanh(SIZES), 2e-6)
            none = session.run(y, {x: _OfAnotherLibrary(SIZES[:0])})
            assert none.shape == (0, 90)
            with pytest.raises(TypeError, match=r"strides \(4, 280\).*side by side"):
                session.run(y, {x: _OfAnotherLibrary(SIZES, strides=(4, 280))})
            with pytest.raises(ValueError, match="Cannot feed value of shape"):
                session.run(y, {x: _OfAnotherLibrary(SIZES[:, :3])})


def test_every_call_of_the_driver_may_fail(device: FakeCuda) -> None:
    """Each gives an error of its class; nothing is lost, and the next run is right."""
    x = tf.placeholder(tf.float32, [None, 90])
    y = _loop(_chain(x))
    with tf.Session(device="cuda") as session:
        wanted = session.run(y, {x: SIZES})
        session.run(y, {x: SIZES})
        device.reset()
        session.run(y, {x: SIZES})
        count, taken = len(device.log()), device.taken
        for k in range(count):
            for result, kind in ((2, ResourceExhaustedError), (999, UnknownError)):
                device.reset()
                device.fail(k, result)
                try:
                    found = session.run(y, {x: SIZES})
                except FlowcError as error:
                    assert isinstance(error, kind), (k, result)
                else:  # what gives memory back has nothing to say
                    assert device.log()[k] in ("wait", "free")
                    np.testing.assert_array_equal(found, wanted)
        device.reset()
        np.testing.assert_array_equal(session.run(y, {x: SIZES}), wanted)
        # A free that fails keeps its memory.
        assert device.taken <= taken + 2 * count * 4 * SIZES.nbytes


def test_what_cannot_be_recorded_or_pinned_runs_without(device: FakeCuda) -> None:
    """Whichever call of that fails, and ever after; nothing of it is left behind."""
    x = tf.placeholder(tf.float32, [None, 90])
    y = _loop(x)
    gc.collect()
    before = device.pinned, device.graphs
    recording = ("stream", "record", "recorded launch", "recorded 7", "instantiate")
    with tf.Session() as session:
        wanted = session.run(y, {x: SIZES})
    for step in ("", "pin", *recording):
        with tf.Session(device="cuda") as session:
            for number in range(3):
                device.reset()
                if step and number == (step in recording):
                    device.fail_next(step, 999)
                found = session.run(y, {x: SIZES})
                np.testing.assert_allclose(found, wanted, 2e-6)
        calls = ("launch", "graph", "pin", "record")
        counts = [sum(line.startswith(call) for line in device.log()) for call in calls]
        assert counts == ([7, 0, 0, 0] if step in recording else [0, 1, 0, 0]), step
    del session
    gc.collect()
    assert (device.pinned, device.graphs) == before


def test_graphs_are_as_many_as_sizes_and_no_more_than_there_is_room_for(device: FakeCuda) -> None:
    gc.collect()
    before = device.graphs
    x = tf.placeholder(tf.float32, [None])
    y = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * y), [tf.constant(0), x])[1]
    model = tf.compile(x.graph, [x], [y], target="cuda")
    given = SIZES.ravel()
    wanted = given**16
    for size in range(1, MOST_GRAPHS + 3):
        for _ in range(2):
            model(given[:size])
    assert device.graphs - before == MOST_GRAPHS
    for size, is_replayed in ((2, True), (MOST_GRAPHS, True), (MOST_GRAPHS + 1, False)):
        device.reset()
        np.testing.assert_allclose(model(given[:size]), wanted[:size], 2e-6)
        assert any(line.startswith("graph") for line in device.log()) == is_replayed


def test_runs_of_one_program_side_by_side(device: FakeCuda) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    y = _loop(x)
    feeds = [SIZES * k for k in range(4)]
    with tf.Session(device="cuda") as session, ThreadPoolExecutor(4) as threads:
        wanted = [session.run(y, {x: feed}) for feed in feeds]
        for _ in range(5):
            for a, b in zip(threads.map(lambda feed: session.run(y, {x: feed}), feeds), wanted):
                np.testing.assert_array_equal(a, b)


def test_sessions_train_side_by_side(device: FakeCuda) -> None:
    """Each of several threads has a Session with variables of its own on the device."""
    with tf.Graph().as_default() as graph:
        x, loss, step = _training()
        start = tf.global_variables_initializer()

        def losses(k: int, where: str = "cuda") -> list[float]:
            with tf.Session(graph=graph, device=where) as session:
                session.run(start)
                return [session.run([loss, step], {x: SIZES * k})[0] for _ in range(6)]

        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(losses, range(1, 5)))
        for k, each in enumerate(found, 1):
            np.testing.assert_allclose(each, losses(k, "cpu"), 1e-5)


def test_a_device_that_is_lost_ends_every_run_with_an_error(device: FakeCuda) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    y = _chain(x)
    with tf.Session(device="cuda") as session:
        session.run(y, {x: SIZES})
        device.lose(719)
        for _ in range(2):
            with pytest.raises(UnknownError, match="error 719"):
                session.run(y, {x: SIZES})


def test_operations_may_ask_for_the_device_of_their_session(device: FakeCuda) -> None:
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            y = tf.exp(tf.constant([0.0] * 100), name="on_gpu")
        with tf.Session(device="cuda") as session:
            assert session.run(y).sum() == 100
            with tf.device("/gpu:1"):
                z = tf.exp(tf.constant([0.0] * 100))
            found = [(d.device_type, d.memory_limit_bytes) for d in session.list_devices()]
            assert found[1:] == [("GPU", memory_of_gpu())]
            with pytest.raises(InvalidArgumentError, match=r"GPU:1.*CPU:0, .*GPU:0 \]"):
                session.run(z)
        with tf.Session() as session, pytest.raises(InvalidArgumentError, match="Cannot assign"):
            session.run(y)


def _placed(x: Any) -> Any:
    """Two kernels of the GPU with one of the CPU between them, which would be one."""
    y = tf.tanh(x, name="first")
    with tf.device("/cpu:0"):
        y = tf.nn.relu(tf.exp(y, name="between") - 1.5, name="too")
    return tf.sin(y, name="last")


def test_what_a_program_puts_on_the_cpu_runs_there(
    device: FakeCuda, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = counts_on_both(_placed, {"x": SIZES}, device)
    assert calls == {"upload": 2, "download": 2, "launch": 2, "allocate": 1}
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 90], name="x")
        weights = tf.get_variable("weights", initializer=np.ones(90, np.float32))
        y = _placed(x + weights)
        config = tf.ConfigProto(log_device_placement=True)
        for where in ("cpu", "cuda"):
            with tf.Session(device=where, config=config) as session:
                session.run(tf.global_variables_initializer())
                capsys.readouterr()
                session.run(y, {x: SIZES})
            lines = capsys.readouterr().err.splitlines()
            found = {line.split(":")[0]: line[-5:] for line in lines}
            gpu = "GPU:0" if where == "cuda" else "CPU:0"
            wanted = {"add": gpu, "first": gpu, "between": "CPU:0", "too": "CPU:0", "last": gpu}
            assert wanted.items() <= found.items() and found["weights"] == gpu


def test_a_variable_on_the_cpu_is_updated_there(device: FakeCuda) -> None:
    """As TensorFlow does: its optimizer's op stands beside it."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 90])
        with tf.device("/cpu:0"):
            weights = tf.get_variable("weights", initializer=np.ones((90, 20), np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 1.0))
        step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        seen: list[Any] = []
        for where in ("cpu", "cuda"):
            with tf.Session(device=where) as session:
                session.run(tf.global_variables_initializer())
                session.run(step, {x: SIZES})
                device.reset()
                session.run(step, {x: SIZES})
                moved = [line for line in device.log() if line.startswith(("upload", "download"))]
                seen.append(session.run(weights))
    assert sorted(moved) == ["download 7200", f"upload {SIZES.nbytes}", "upload 7200"]
    np.testing.assert_allclose(seen[1], seen[0], 1e-5)


def test_devices_that_there_are_not() -> None:
    with pytest.raises(UsageError, match="no device 'tpu'"):
        tf.Session(device="tpu")
    with pytest.raises(UsageError, match=r"unknown target 'cuda:sm_91'"):
        tf.Session(device="cuda:sm_91").run(tf.constant(1.0) + 1.0)
