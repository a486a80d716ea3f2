"""`tf.config` and the `device_count` of a `tf.ConfigProto`: what is expected was seen in TensorFlow
2.21."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pytest

import flowc as tf
from flowc.run.devices import PROCESS_SETTINGS, ProcessSettings


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fresh = ProcessSettings()
    for field in fields(ProcessSettings):  # what a test sets is gone behind it
        monkeypatch.setattr(PROCESS_SETTINGS, field.name, getattr(fresh, field.name))
    with tf.Graph().as_default():
        yield


def test_what_programs_ask_before_they_begin() -> None:
    (cpu,) = tf.config.experimental.list_physical_devices()
    assert cpu == ("/physical_device:CPU:0", "CPU")
    assert repr(cpu) == "PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')"
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    tf.config.set_visible_devices([], "GPU")
    assert tf.config.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    assert tf.config.get_visible_devices() == [cpu]
    tf.config.optimizer.set_jit(True)
    tf.config.experimental.set_visible_devices(cpu)
    with pytest.raises(ValueError, match="Cannot set memory growth"):
        tf.config.experimental.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="Unrecognized device"):
        tf.config.set_visible_devices([3])
    with pytest.raises(TypeError):
        tf.config.threading.set_intra_op_parallelism_threads("a")  # type: ignore[arg-type]


def test_a_cpu_of_several_names() -> None:
    with tf.device("/cpu:1"):
        doubled = tf.constant(3.0) * 2
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Session(config=config) as session:
        names = [device.name[-5:] for device in session.list_devices()]
        assert (names, session.run(doubled)) == (["CPU:0", "CPU:1"], 6)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="CPU:1"):
        session.run(doubled)
    with pytest.raises(tf.errors.NotFoundError, match="No CPU devices"):
        tf.Session(config=tf.ConfigProto(device_count={"CPU": 0}))


def test_sessions_without_a_proto_follow_the_settings() -> None:
    with tf.device("/gpu:7"):
        doubled = tf.constant(1.0) * 2
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="GPU:7"):
        session.run(doubled)
    tf.config.set_soft_device_placement(True)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    with tf.Session() as session:
        assert session.run(doubled) == 2
