"""Feeds that are on a GPU and results that stay there, over a CUDA driver without a GPU."""

from __future__ import annotations

import ctypes
import gc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from devices.fake_cuda import TARGET, FakeCuda

import flowc as tf
from flowc.errors import InvalidArgumentError, ResourceExhaustedError, UsageError
from flowc.run.device_buffers import DeviceArray, found_on_gpu
from flowc_runtime import dlpack
from flowc_runtime.addresses import ON_DEVICE

SIZES = np.random.RandomState(0).rand(70, 90).astype(np.float32)


class _ByInterface:
    """An array of another library, by the interface of CUDA arrays."""

    def __init__(self, array: np.ndarray) -> None:
        self._there = DeviceArray.of(array)
        self.__cuda_array_interface__ = self._there.__cuda_array_interface__


class _ByDLPack:
    """An array of another library, by DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._there = DeviceArray.of(array)

    def __dlpack__(self, *, stream: int) -> Any:
        assert stream == 1  # PyTorch takes no 2
        return self._there.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._there.__dlpack_device__()


class _ByBoth(_ByDLPack):
    """As PyTorch has it: an interface that says nothing of the stream that computes the array."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(array)
        self.streams: list[int] = []
        self.__cuda_array_interface__ = {**self._there.__cuda_array_interface__, "version": 2}
        del self.__cuda_array_interface__["stream"]

    def __dlpack__(self, *, stream: int) -> Any:
        self.streams.append(stream)
        return super().__dlpack__(stream=stream)


def _moves(log: list[str]) -> list[str]:
    return [line for line in log if line.startswith(("upload", "download", "copy"))]


def test_what_is_on_the_gpu_goes_by_no_way_of_the_host(device: FakeCuda) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    y = {"y": tf.nn.softmax(tf.tanh(x)), "sum": [tf.reduce_sum(x, 1)]}
    rows = SIZES[:9]
    with tf.Session() as session:
        wanted = session.run(y, {x: rows})
    with tf.Session(device="cuda") as session:
        run = session.make_callable(y, [x], on_device=True)
        for make in (DeviceArray.of, _ByInterface, _ByDLPack):
            fed = make(rows)
            run(fed)
            device.reset()
            found = run(fed)
            assert _moves(device.log()) == [f"copy {n}" for n in (rows.nbytes, rows.nbytes, 36)]
            assert isinstance(found["y"], DeviceArray) and found["y"].shape == (9, 90)
            np.testing.assert_allclose(found["y"], wanted["y"], 2e-6)
            np.testing.assert_allclose(found["sum"][0].numpy(), wanted["sum"][0], 2e-6)
            again = run(found["y"])  # a result is a feed
            np.testing.assert_allclose(again["sum"][0], np.ones(9), 1e-5)
            device.reset()
            here = session.run(y, {x: fed})
            expected = ["copy", "download", "download"]
            assert [line.split()[0] for line in _moves(device.log())] == expected
            np.testing.assert_array_equal(here["y"], found["y"])


def test_the_owner_of_an_array_is_asked_to_finish_it(device: FakeCuda) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    fed = _ByBoth(SIZES)
    with tf.Session(device="cuda") as session:
        found = session.run(tf.tanh(x), {x: fed})
    assert fed.streams == [1]
    np.testing.assert_allclose(found, np.tanh(SIZES), 2e-6)


def _strings(x: Any) -> Any:
    return tf.as_string(x[:2, 0])


def _python(x: Any) -> Any:
    return tf.py_func(lambda a: a + 1, [tf.exp(x)], tf.float32)


def _scalars(x: Any) -> Any:
    return tf.reduce_sum(x), tf.shape(x), tf.constant([[1.0]]), x


def _found_sizes(x: Any) -> Any:
    return tf.boolean_mask(tf.exp(x), x[:, 0] > 0.5)


@pytest.mark.parametrize("build", [_strings, _python, _scalars, _found_sizes])
def test_what_the_host_computes_is_brought_there(
    build: Callable[..., Any], device: FakeCuda
) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    y = build(x)
    with tf.Session() as session:
        wanted = session.run(y, {x: SIZES})
    with tf.Session(device="cuda") as session:
        run = session.make_callable(y, [x], on_device=True)
        feeds = (DeviceArray.of(SIZES), SIZES, DeviceArray.of(SIZES.astype(np.float64)))
        every = [run(fed) for fed in feeds]
    for found in every:
        pairs = list(zip(found, wanted)) if isinstance(found, tuple) else [(found, wanted)]
        for a, b in pairs:
            if b.dtype.kind == "O":
                assert isinstance(a, np.ndarray) and a.tolist() == b.tolist()
            else:
                assert isinstance(a, DeviceArray)
                assert a.shape == b.shape and a.dtype == b.dtype
                np.testing.assert_allclose(a, b, 2e-6)


def test_small_results_share_memory_that_lives_as_long_as_they_do(device: FakeCuda) -> None:
    x = tf.placeholder(tf.float32, [None, 90])
    y = [tf.exp(x) * k for k in range(1, 4)]
    for rows, pieces in ((7, 1), (70, 3)):
        fed = DeviceArray.of(SIZES[:rows])
        with tf.Session(device="cuda") as session:
            run = session.make_callable(y, [x], on_device=True)
            run(fed)
            gc.collect()
            before = device.taken
            device.reset()
            found = run(fed)
            assert sum(line.startswith("allocate") for line in device.log()) == pieces + 1
            last = found.pop()
            del found
            np.testing.assert_allclose(last, np.exp(SIZES[:rows]) * 3, 2e-6)
            assert device.taken > before
            del last
            assert device.taken == before


def test_scalars_are_fed_beside_what_is_on_the_gpu(device: FakeCuda) -> None:
    x, k = tf.placeholder(tf.float32, [None, 90]), tf.placeholder(tf.float32, [])
    y = tf.exp(x) * k, k + 1.0
    there, scalar = DeviceArray.of(SIZES), DeviceArray.of(np.float32(3.0))
    with tf.Session(device="cuda") as session:
        run = session.make_callable(y, [x, k], on_device=True)
        for fed in (3.0, np.float32(3.0), np.array(3.0, np.float32), scalar):
            for given in (there, SIZES, SIZES.T.copy().T):
                found = run(given, fed)
                np.testing.assert_allclose(found[0], np.exp(SIZES) * 3, 2e-6)
                assert found[1].shape == () and found[1].numpy() == 4.0


def test_small_integers_may_decide_what_a_program_is(device: FakeCuda) -> None:
    x, axes = tf.placeholder(tf.float32, [7, 11]), tf.placeholder(tf.int32, [None])
    y = tf.transpose(x, axes)
    with tf.Session(device="cuda") as session:
        run = session.make_callable(y, [x, axes], on_device=True)
        given = DeviceArray.of(SIZES[:7, :11])
        for order in ([1, 0], [0, 1]):
            found = run(given, DeviceArray.of(np.array(order, np.int32)))
            np.testing.assert_array_equal(found, SIZES[:7, :11].transpose(order))


def test_a_step_of_training_moves_nothing(device: FakeCuda) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 90])
        weights = tf.get_variable("weights", initializer=np.ones((90, 20), np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 1.0))
        step = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
        seen: list[list[Any]] = []
        for where in ("cpu", "cuda"):
            with tf.Session(device=where) as session:
                session.run(tf.global_variables_initializer())
                run = session.make_callable([loss, step], [x], on_device=where == "cuda")
                fed = SIZES if where == "cpu" else DeviceArray.of(SIZES)
                run(fed)
                device.reset()
                losses = [run(fed)[0], run(fed)[0]]
                log = device.log()
                seen.append([*map(np.asarray, losses), session.run(weights)])
        assert not any(line.startswith(("upload", "download")) for line in log)
        for a, b in zip(*seen):
            np.testing.assert_allclose(b, a, 1e-5)


def test_a_library_takes_and_fills_memory_of_the_gpu(tmp_path: Path, device: FakeCuda) -> None:
    path = tmp_path / "model.so"
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [70, 90], name="x")
        n = tf.placeholder(tf.int32, [2], name="n")
        y = [tf.nn.softmax(tf.tanh(x)), n + 1]
        tf.compile(graph, [x, n], y, path, target=TARGET)
    text = path.with_suffix(".h").read_text()
    assert re.findall(r"(\w+ \d): .*FLOWC_ON_GPU or not", text) == ["input 0", "output 0"]
    assert "#define FLOWC_ON_GPU(pointer)" in text
    library = ctypes.CDLL(str(path))
    library.flowc_last_error.restype = ctypes.c_char_p
    there, filled = DeviceArray.of(SIZES), DeviceArray.new((70, 90), SIZES.dtype)
    counts, found = np.array([3, 4], np.int32), np.zeros(2, np.int32)

    def run(*places: int) -> int:
        words = [ctypes.c_void_p(place & (1 << 64) - 1) for place in places]
        inputs, outputs = (ctypes.c_void_p * 2)(*words[:2]), (ctypes.c_void_p * 2)(*words[2:])
        return library.flowc_run(inputs, None, outputs, None)

    own, own_found = counts.ctypes.data, found.ctypes.data
    assert run(there.address | ON_DEVICE, own, filled.address | ON_DEVICE, own_found) == 0
    device.reset()
    assert run(there.address | ON_DEVICE, own, filled.address | ON_DEVICE, own_found) == 0
    assert _moves(device.log()) == [f"copy {SIZES.nbytes}"] * 2
    wanted = np.exp(np.tanh(SIZES)) / np.exp(np.tanh(SIZES)).sum(1, keepdims=True)
    np.testing.assert_allclose(filled, wanted, 1e-5)
    assert found.tolist() == [4, 5]
    assert run(there.address | ON_DEVICE, own | ON_DEVICE, filled.address, own_found) == 2
    assert library.flowc_last_error() == b"input 'n' is on the GPU, where the host computes with it"


def test_faults_leave_no_memory_behind(device: FakeCuda) -> None:
    x, i = tf.placeholder(tf.float32, [None, 90]), tf.placeholder(tf.int32, [None])
    rows = tf.gather(x, i)
    with tf.Session(device="cuda") as session:
        run = session.make_callable(rows, [x, i], on_device=True)
        fed, at = DeviceArray.of(SIZES), [1, 700, 3] * 40
        np.testing.assert_array_equal(run(fed, [1, 69] * 60), SIZES[[1, 69] * 60])
        gc.collect()
        before = device.taken
        with pytest.raises(InvalidArgumentError, match="= 700 is not in"):
            run(fed, at)
        device.fail_next("allocate", 2)
        with pytest.raises(ResourceExhaustedError):
            run(fed, at)
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            run(DeviceArray.of(SIZES[:, :3]), at)
        gc.collect()
        assert device.taken == before


def test_a_capsule_keeps_its_memory_until_it_is_taken_or_dropped(device: FakeCuda) -> None:
    gc.collect()
    before = device.taken
    for dtype in (np.float32, np.int64, np.bool_, np.complex64, tf.bfloat16.as_numpy_dtype):
        array = SIZES.astype(dtype)
        capsule = DeviceArray.of(array).__dlpack__()
        assert device.taken == before + array.nbytes
        del capsule
        assert device.taken == before
        found = found_on_gpu(_ByDLPack(array))
        assert device.taken == before + array.nbytes
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)
        del found
        assert device.taken == before


def test_what_cannot_be_exchanged_says_so(device: FakeCuda) -> None:
    texts = DeviceArray(0, (2,), np.dtype("U3"), None)
    with pytest.raises(BufferError, match="<U3"):
        texts.__dlpack__()
    with pytest.raises(TypeError, match="rank 0"):
        len(DeviceArray.of(np.float32(1.0) * np.ones((), np.float32)))
    turned = _ByDLPack(SIZES)
    capsule = turned.__dlpack__(stream=1)
    place = dlpack._pointer(id(capsule), b"dltensor")
    strides = (ctypes.c_int64 * 2)(1, 70)
    dlpack._Tensor.from_address(place).strides = strides
    turned.__dlpack__ = lambda **_: capsule
    with pytest.raises(TypeError, match=r"strides \(1, 70\).*side by side"):
        found_on_gpu(turned)
    with tf.Session() as session, pytest.raises(UsageError, match="no GPU"):
        session.make_callable(tf.constant(1.0), on_device=True)
    with tf.Session(device="cuda") as session, pytest.raises(ValueError, match="two functions"):
        session.make_callable(tf.constant(1.0), accept_options=True, on_device=True)
