"""The devices of this process: what operations may ask for, and where they run.

In: the operations of a run, and the device names that the program wrote on them. Out: nothing, or
an error that names the first device that is not there. Invariant: a
Session has one CPU, and one GPU if it was made for it, where clusters run that have kernels there.
What a file says of devices is where it was trained, and asks for nothing.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection, Iterable
from dataclasses import field
from typing import Any

from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError, NotFoundError, UsageError
from flowc.graph import Graph, Operation
from flowc.graph.device import DeviceSpec, parse_device
from flowc.run.device_buffers import memory_of_gpu
from flowc_runtime.machine import memory_of_machine

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@dataclass(slots=True)
class ProcessSettings:
    """What `tf.config` says for Sessions that are made without a `tf.ConfigProto`."""

    soft_placement: bool = False
    intra_op_threads: int = 0
    inter_op_threads: int = 0
    jit: str = ""
    optimizer: dict[str, Any] = field(
        default_factory=lambda: {"disable_model_pruning": False, "disable_meta_optimizer": False}
    )

    def set(self, name: str, number: Any) -> None:
        """Sets a number. Raises `TypeError` for what is no integer."""
        setattr(self, name, operator.index(number))


PROCESS_SETTINGS = ProcessSettings()


def target_of(device: str) -> str:
    """The target that runs on a device. Raises `UsageError` for an unknown one."""
    name = device.lower().lstrip("/").removesuffix(":0")
    if name in ("cpu", "device:cpu"):
        return "native"
    if name in ("cuda", "gpu", "device:gpu"):
        from flowc.codegen.targets import GPU, target_named

        target_named(GPU)
        return GPU
    if name.startswith("cuda:"):
        return name
    raise UsageError(f"no device {device!r}", hint="cpu or cuda")


@dataclass(frozen=True, slots=True)
class DeviceAttributes:
    """A device as `Session.list_devices` tells of it. `memory_limit_bytes`: what it has."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int


def _is_source(op: Operation) -> bool:
    return not op.inputs and len(op.outputs) == 1 and not op.outputs[0].is_ref


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a Session runs operations. `soft`: another kind or number of device than is there is
    replaced by one that is, another machine is not. `logged`: on the standard error stream.
    `has_gpu`: clusters that can run on the GPU do, but for what the program put on the CPU. `cpus`:
    names that the CPU has. `pruned`: only what a run needs must be on a device that is there."""

    soft: bool = False
    logged: bool = False
    has_gpu: bool = False
    cpus: int = 1
    pruned: bool = False

    @classmethod
    def of(cls, config: Any, has_gpu: bool = False) -> Placement:
        """As a `tf.ConfigProto` says, if there is one."""
        if config is None:
            return cls(soft=PROCESS_SETTINGS.soft_placement, has_gpu=has_gpu)
        cpus = config.device_count.get("CPU", 1)
        if cpus < 1:
            raise NotFoundError("No CPU devices are available in this process")
        soft, logged = config.allow_soft_placement, config.log_device_placement
        return cls(soft, logged, has_gpu, cpus, config.graph_options.place_pruned_graph)

    def devices(self) -> list[DeviceAttributes]:
        """The devices that the Session can use."""
        whole = memory_of_machine()
        found = [DeviceAttributes(f"{CPU[:-1]}{k}", "CPU", whole, k + 1) for k in range(self.cpus)]
        if self.has_gpu:
            found.append(DeviceAttributes(GPU, "GPU", memory_of_gpu(), self.cpus + 1))
        return found

    def check(self, needed: Collection[Operation], graph: Graph) -> None:
        """Checks what a run needs, then the rest of the graph, as `check_all` does."""
        self.check_all(needed)
        if not self.pruned:
            self.check_all(graph.get_operations())

    def check_all(self, operations: Iterable[Operation]) -> None:
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
        """The names of operations that the program put on the CPU, in a Session that has a GPU."""
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
        return ", ".join(device.name for device in self.devices())

    @property
    def _specs(self) -> list[DeviceSpec]:
        kinds = [("CPU", k) for k in range(self.cpus)] + [("GPU", 0)] * self.has_gpu
        return [DeviceSpec("localhost", 0, 0, kind, k) for kind, k in kinds]

    def _is_here(self, name: str) -> bool:
        wanted = parse_device(name)
        parts = ("job", "replica", "task") if self.soft else DeviceSpec.__slots__
        return any(
            all(getattr(wanted, p) in (None, "*", getattr(here, p)) for p in parts)
            for here in self._specs
        )
