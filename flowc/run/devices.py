"""The devices of this process: what operations may ask for, and where they run.

In: the operations of a run, and the device names that the program wrote on them. Out: nothing, or
an error that names the first device that is not there. Invariant: a
Session has one CPU, and one GPU if it was made for it, where clusters run that have kernels there.
What a file says of devices is where it was trained, and asks for nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from flowc.errors import InvalidArgumentError
from flowc.graph import Operation
from flowc.graph.device import DeviceSpec, parse_device
from flowc.run.device_buffers import memory_of_gpu
from flowc_runtime.machine import memory_of_machine

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
_CPU, _GPU = (DeviceSpec("localhost", 0, 0, kind, 0) for kind in ("CPU", "GPU"))


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as `Session.list_devices` tells of it. `memory_limit_bytes`: what it has."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int


def devices(has_gpu: bool = False) -> list[DeviceAttributes]:
    """Those that a Session can use."""
    found = [DeviceAttributes(CPU, "CPU", memory_of_machine(), 1)]
    if has_gpu:
        found.append(DeviceAttributes(GPU, "GPU", memory_of_gpu(), 2))
    return found


def _is_source(op: Operation) -> bool:
    return not op.inputs and len(op.outputs) == 1 and not op.outputs[0].is_ref


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a Session runs operations. `soft`: another kind or number of device than is there is
    replaced by one that is, another machine is not. `logged`: on the standard error stream.
    `has_gpu`: clusters that can run on the GPU do, but for what the program put on the CPU."""

    soft: bool = False
    logged: bool = False
    has_gpu: bool = False

    @classmethod
    def of(cls, config: Any, has_gpu: bool = False) -> Placement:
        """As a `tf.ConfigProto` says, if there is one."""
        if config is None:
            return cls(has_gpu=has_gpu)
        return cls(config.allow_soft_placement, config.log_device_placement, has_gpu)

    def check(self, operations: Iterable[Operation]) -> None:
        """Raises `InvalidArgumentError` for the first operation that the program put on a device
        that is not there; constants and placeholders are looked at last, as in TensorFlow."""
        placed = (op for op in operations if op.device and op.encoded is None)
        absent = [op for op in placed if not self._is_here(op.device)]
        if absent:
            op = next((op for op in absent if not _is_source(op)), absent[0])
            raise InvalidArgumentError(
                f"Cannot assign a device for operation {op.name}: {{{{node {op.name}}}}} was "
                f"explicitly assigned to {op.device} but available devices are [ {self._names} ]. "
                "Make sure the device specification refers to a valid device.",
                node=op.name,
                hint="tf.ConfigProto(allow_soft_placement=True) runs it on the CPU",
            )

    def on_host(self, operations: Iterable[Operation]) -> frozenset[str]:
        """Those that the program put on the CPU of a Session that has a GPU, by name."""
        if not self.has_gpu:
            return frozenset()
        placed = (op for op in operations if op.device and op.encoded is None)
        return frozenset(op.name for op in placed if parse_device(op.device).device_type == "CPU")

    def log(self, operations: Iterable[Operation], on_device: Collection[str]) -> None:
        """Says where operations run. `on_device`: those of which the GPU computes something."""
        for op in operations if self.logged else ():
            where = GPU if op.name in on_device else CPU
            print(f"{op.name}: ({op.type}): {where}", file=sys.stderr)

    @property
    def _names(self) -> str:
        return f"{CPU}, {GPU}" if self.has_gpu else CPU

    def _is_here(self, name: str) -> bool:
        wanted = parse_device(name)
        parts = ("job", "replica", "task") if self.soft else DeviceSpec.__slots__
        return any(
            all(getattr(wanted, p) in (None, "*", getattr(here, p)) for p in parts)
            for here in ((_CPU, _GPU) if self.has_gpu else (_CPU,))
        )
