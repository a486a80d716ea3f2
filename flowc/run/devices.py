"""The devices of this process: what operations may ask for, and where they run.

In: the operations of a run, and the device names that the program wrote on them. Out: nothing, or
an error that names the first device that is not there. Invariant: one CPU runs everything; what a
file says of devices is where it was trained, and asks for nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flowc.errors import InvalidArgumentError
from flowc.graph import Operation
from flowc.graph.device import DeviceSpec, parse_device
from flowc_runtime.machine import memory_of_machine

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
_HERE = DeviceSpec("localhost", 0, 0, "CPU", 0)


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as `Session.list_devices` tells of it. `memory_limit_bytes`: what it has."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int


def devices() -> list[DeviceAttributes]:
    """Those that a Session can use."""
    return [DeviceAttributes(CPU, "CPU", memory_of_machine(), 1)]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a Session runs operations. `soft`: another kind or number of device than is there is
    replaced by the CPU, another machine is not. `logged`: on the standard error stream."""

    soft: bool = False
    logged: bool = False

    @classmethod
    def of(cls, config: Any) -> Placement:
        """As a `tf.ConfigProto` says, if there is one."""
        if config is None:
            return cls()
        return cls(config.allow_soft_placement, config.log_device_placement)

    def check(self, operations: Iterable[Operation]) -> None:
        """Raises `InvalidArgumentError` for the first operation that the program put on a device
        that is not there."""
        for op in operations:
            if op.device and op.encoded is None and not _is_here(op.device, self.soft):
                raise InvalidArgumentError(
                    f"Cannot assign a device for operation {op.name}: {{{{node {op.name}}}}} was "
                    f"explicitly assigned to {op.device} but available devices are [ {CPU} ]. "
                    "Make sure the device specification refers to a valid device.",
                    node=op.name,
                    hint="tf.ConfigProto(allow_soft_placement=True) runs it on the CPU",
                )
            if self.logged:
                print(f"{op.name}: ({op.type}): {CPU}", file=sys.stderr)


def _is_here(name: str, soft: bool) -> bool:
    wanted = parse_device(name)
    parts = ("job", "replica", "task") if soft else DeviceSpec.__slots__
    return all(getattr(wanted, p) in (None, "*", getattr(_HERE, p)) for p in parts)
