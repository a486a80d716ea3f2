"""`tf.config`: the devices of the process, and settings of Sessions that are made without a
`tf.ConfigProto`.

In: devices and settings. Out: what is there. Invariant: there is one CPU, and no GPU but in a
Session that is made for one, so that a program that asks before it makes its Session trains on the
CPU. What is set for GPUs and for eager execution is kept, and read by nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowc.run.devices import PROCESS_SETTINGS


class PhysicalDevice(NamedTuple):
    """A device of the machine. Raises nothing."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as operations name it. Raises nothing."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """What a logical device would have of a GPU. Raises nothing."""

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_Configurations = Sequence[LogicalDeviceConfiguration] | None


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of the machine, or those of one type. Raises nothing."""
    return [_CPU] if device_type in (None, _CPU.device_type) else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that operations may name, or those of one type. Raises nothing."""
    found = list_physical_devices(device_type)
    return [LogicalDevice("/device:CPU:0", device.device_type) for device in found]


def _checked(device: Any) -> None:
    if device != _CPU:
        raise ValueError(f"Unrecognized device: {device!r}: the devices are {[_CPU]}")


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Says which devices the process may use. The CPU stays. Raises `ValueError` for what is no
    device."""
    for device in devices if isinstance(devices, list | tuple) and devices != _CPU else [devices]:
        _checked(device)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that the process may use, or those of one type. Raises nothing."""
    return list_physical_devices(device_type)


def set_memory_growth(device: Any, enable: bool) -> None:
    """Whether a GPU's memory is taken bit by bit. Raises `ValueError` for the CPU and for what is
    no device."""
    _checked(device)
    raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")


def get_memory_growth(device: Any) -> bool:
    """Whether a GPU's memory is taken bit by bit. Raises `ValueError` for the CPU and for what is
    no device."""
    set_memory_growth(device, False)
    return False


def get_device_details(device: Any) -> dict[str, Any]:
    """What is known of a GPU; of the CPU nothing. Raises `ValueError` for what is no device."""
    _checked(device)
    return {}


def set_logical_device_configuration(device: Any, logical_devices: _Configurations) -> None:
    """Says which logical devices a physical one is: the CPU is one. Raises `ValueError` for what is
    no device and for another number of configurations."""
    _checked(device)
    if len(logical_devices or ()) > 1:
        raise ValueError(
            f"{device.name} is one logical device, found {len(logical_devices or ())} "
            "configurations: tf.ConfigProto(device_count={'CPU': n}) makes n of it"
        )


def get_logical_device_configuration(device: Any) -> _Configurations:
    """The configurations of a device: None. Raises `ValueError` for what is no device."""
    _checked(device)
    return None


def set_soft_device_placement(enabled: bool) -> None:
    """Whether Sessions made without a `tf.ConfigProto` run operations of devices that are not there
    on the CPU. Raises nothing."""
    PROCESS_SETTINGS.soft_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """What `set_soft_device_placement` said. Raises nothing."""
    return PROCESS_SETTINGS.soft_placement


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """How many threads run a step of Sessions made without a `tf.ConfigProto`; 0: one a core.
    Raises `TypeError` for what is no integer."""
    PROCESS_SETTINGS.set("intra_op_threads", num_threads)


def get_intra_op_parallelism_threads() -> int:
    """What `set_intra_op_parallelism_threads` said. Raises nothing."""
    return PROCESS_SETTINGS.intra_op_threads


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """How many operations TensorFlow runs beside each other. Raises `TypeError` for what is no
    integer."""
    PROCESS_SETTINGS.set("inter_op_threads", num_threads)


def get_inter_op_parallelism_threads() -> int:
    """What `set_inter_op_parallelism_threads` said. Raises nothing."""
    return PROCESS_SETTINGS.inter_op_threads


def set_jit(enabled: bool | str) -> None:
    """Whether TensorFlow compiles with XLA: flowc compiles everything. Raises nothing."""
    PROCESS_SETTINGS.jit = "autoclustering" if enabled else ""


def get_jit() -> str:
    """`"autoclustering"` or an empty string, as `set_jit` said. Raises nothing."""
    return PROCESS_SETTINGS.jit


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """What TensorFlow's graph optimizer does: flowc's has no switches. Raises nothing."""
    PROCESS_SETTINGS.optimizer.update(options)


def get_experimental_options() -> dict[str, Any]:
    """What `set_experimental_options` said. Raises nothing."""
    return dict(PROCESS_SETTINGS.optimizer)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether functions of TensorFlow 2 run op by op: there are none. Raises nothing."""


def functions_run_eagerly() -> bool:
    """Whether functions of TensorFlow 2 run op by op. Raises nothing."""
    return False
