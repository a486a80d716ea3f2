"""The kernels of a registered op: which of them computes a node, and how.

In: lowerings, or functions over NumPy arrays, each for all dtypes or for some, for the CPU, a GPU,
or both. Out: the lowering of a node. Invariants: kernels of one op for one device take different
dtypes, so that one of them computes a node; a function of Python gives what the op's signature and
shapes say, or the run fails with the names of op and node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes as all_dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType, as_dtype
from flowc.errors import FlowcError, InvalidArgumentError
from flowc.extending.stamps import stamp_of
from flowc.ir.computation import Node, Value
from flowc.ir.lowering import Decompose, Extracted, Host, Lowering, Native
from flowc.ir.op import Op, bind_types, call_reference, define
from flowc.ir.signature import OpSignature
from flowc.ops.control.python_functions import failure_of, returned_array

if TYPE_CHECKING:
    from flowc.ir.builder import Builder

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
Choice = Lowering | Callable[..., Lowering]
Types = Mapping[str, frozenset[DType]]
CPU = "CPU"
GPU = "GPU"
BOTH = "CPU and GPU"  # but where a GPU has one of its own
DEVICE_TRAITS = {CPU: "on_cpu", GPU: "on_gpu"}
_PLAIN_ATTRS = {"int", "float", "bool", "string", "type"}


@dataclass(frozen=True, slots=True)
class RegisteredKernel:
    """`lowering`: None of what computes nothing, code in C for another device than the CPU.
    `dtypes`: those that it takes, by type attrs; of an attr that is not there, all. `source`: what
    it was made of, for the stamp. `own`: the op that it alone computes, whatever its dtypes become
    (decompose widens half to float); None of the lowering that came with the op, for all dtypes."""

    device: str
    lowering: Choice | None
    dtypes: Types
    source: Any
    own: Op | None = None

    def takes(self, attrs: Mapping[str, Any]) -> bool:
        return all(attrs.get(name) in allowed for name, allowed in self.dtypes.items())

    def lowered(self, node: Node) -> Lowering:
        assert self.lowering is not None
        return self.lowering(node) if callable(self.lowering) else self.lowering

    def __str__(self) -> str:
        code = "" if self.lowering is not None else ", in C, which runs on the CPU only"
        return f"device {self.device}: {_shown(self.dtypes)}{code}"


@dataclass(slots=True, eq=False)
class Kernels:
    """The lowering of a registered op, which kernels join one by one."""

    signature: OpSignature
    found: list[RegisteredKernel] = field(default_factory=list[RegisteredKernel])

    def __call__(self, node: Node) -> Lowering:
        """That of a CPU. Where there is none, it fails when it is expanded: programs for a GPU have
        another op in the node's place by then (`on_gpu`)."""
        kernel = self._for_types(CPU, _bound(node))
        if kernel is None:
            return Decompose(self._refuse)
        own = kernel.own
        if own is None:
            return kernel.lowered(node)
        return Decompose(lambda b, node: b.emit(own, node.inputs, node.attrs).outputs)

    def _refuse(self, b: Builder, node: Node) -> Sequence[Value]:
        raise self._no_kernel(CPU, _bound(node), node.name)

    def on_gpu(self, node: Node) -> Op | None:
        """The op that takes a node's place in programs for a GPU; None where the node stays what it
        is. Raises `InvalidArgumentError` where no kernel takes the node's dtypes."""
        from flowc.codegen.targets import gpu_reason

        bound, reason = _bound(node), None
        kernel = self._for_types(GPU, bound)
        if kernel is not None and kernel.device == GPU:
            reason = gpu_reason(node, kernel.lowered(node))
        if kernel is None or reason is not None:
            kernel = self._for_types(CPU, bound)
        if kernel is None:
            raise self._no_kernel(GPU, bound, node.name, reason)
        return None if kernel.device == BOTH else kernel.own

    @property
    def host_reason(self) -> str | None:
        """Why no node of the op runs on a GPU; None where one may."""
        there = any(k.lowering is not None and k.device != CPU for k in self.found)
        return None if there else "its kernels are for the CPU"

    def chosen(
        self, op: Op, dtypes: Sequence[DType], attrs: Mapping[str, Any], node: str
    ) -> RegisteredKernel:
        """That of the CPU. Raises `InvalidArgumentError` where no kernel takes the dtypes."""
        bound = bind_types(op, dtypes, attrs)
        kernel = self._for_types(CPU, bound)
        if kernel is None:
            raise self._no_kernel(CPU, bound, node)
        return kernel

    def _for_types(self, device: str, bound: Mapping[str, Any]) -> RegisteredKernel | None:
        """The kernel of a device for dtypes, by attrs: its own, else one of both devices."""
        takes = [k for k in self.found if k.lowering is not None and k.takes(bound)]
        wanted = (k for where in (device, BOTH) for k in takes if k.device == where)
        return next(wanted, None)

    def _no_kernel(
        self, device: str, bound: Mapping[str, Any], node: str, reason: str | None = None
    ) -> InvalidArgumentError:
        types = {n: a for n, a in bound.items() if isinstance(a, DType)}
        shown = ", ".join(f"{n}={t.name}" for n, t in types.items())
        known = "; ".join(sorted(map(str, self.found))) or "none"
        where = "nodes run on the device CPU"
        if device == GPU:
            where = "nodes run on the device GPU, or on the CPU beside it"
        left = f"; that of the GPU does not run there: {reason}" if reason is not None else ""
        return InvalidArgumentError(
            f"No OpKernel was registered to support Op '{self.signature.name}' used by node "
            f"'{node}' with these attrs: [{shown}]; {where}; registered kernels: {known}{left}",
            node=node,
        )

    def check_free(self, device: str, dtypes: Types) -> None:
        """Raises `ValueError` where the device has a kernel for some of these dtypes already."""
        taken = (CPU, BOTH) if device in (CPU, BOTH) else (device,)
        for other in (kernel.dtypes for kernel in self.found if kernel.device in taken):
            common = dtypes.keys() & other.keys()
            if all(dtypes[name] & other[name] for name in common):
                raise ValueError(
                    f"op {self.signature.name!r} has a kernel for {_shown(other)} already"
                )

    def add_elsewhere(self, device: str, dtypes: Types) -> None:
        """That a library has code for another device than the CPU. Raises as `check_free` does."""
        self.check_free(device, dtypes)
        self.found.append(RegisteredKernel(device, None, dtypes, None))

    def add_lowering(
        self, lowering: Choice, dtypes: Types, device: str = BOTH, record: Op | None = None
    ) -> None:
        """A lowering; with the `record` of the op once there is one. Raises as `check_free` does,
        and `ValueError` for a native kernel that could not be found again by its name."""
        check_native(lowering)
        self.check_free(device, dtypes)
        own = None
        if record is not None:
            traits = frozenset({DEVICE_TRAITS[device]} if device in DEVICE_TRAITS else ())
            own = self.define_beside(record, "Kernel", lowering, traits)
        self.found.append(RegisteredKernel(device, lowering, dtypes, lowering, own))

    def add_function(self, record: Op, function: Function, dtypes: Types) -> None:
        """A function `function(*arrays, **attrs)`, whose keyword-only parameters name the attrs
        that it wants. Raises as `check_free` does."""
        self.add_step(record, HostStep(record, function), dtypes, function)

    def add_step(
        self,
        record: Op,
        step: Function,
        dtypes: Types,
        source: Any,
        *,
        unlinked: str = "",
        linked: Callable[[Node], Native] | None = None,
    ) -> None:
        """A step of the host, as the lowering `Host` has it. `linked`: what libraries do, or
        `unlinked`: what they would need."""
        self.check_free(CPU, dtypes)  # what is refused defines nothing
        made = self.define_beside(record, "Linked", linked) if linked is not None else None
        name = made.name if made is not None else ""
        settings = settings_of(self.signature)
        host = Host(step, record.tf_name, settings, linked=name, unlinked=unlinked)
        made = self.define_beside(record, "Step", host)
        self.found.append(RegisteredKernel(CPU, host, dtypes, source, made))

    def define_beside(
        self, record: Op, kind: str, lowering: Choice, more: frozenset[str] = frozenset()
    ) -> Op:
        """The op of a kernel: a step, what takes its place in libraries, or what one device runs.
        `more`: its traits beside those of the record."""
        number = len(self.found)
        return define(
            f"{record.name}_{kind.lower()}{number}",
            "_" + record.tf.replace("(", f"{kind}{number}(", 1),
            infer=record.infer,
            lowering=lowering,
            traits=record.traits | more,
        )

    def stamp(self) -> str:
        return stamp_of([(k.device, k.source, sorted(_shown_types(k.dtypes))) for k in self.found])


def _bound(node: Node) -> dict[str, Any]:
    return bind_types(node.op, [v.type.dtype for v in node.inputs], node.attrs)


def kernels_of(op: Op) -> Kernels | None:
    """The kernels of a registered op; None for one of flowc's own."""
    found = op.lowering.emit if isinstance(op.lowering, Extracted) else op.lowering
    return found if isinstance(found, Kernels) else None


def _shown_types(dtypes: Types) -> Iterable[str]:
    for name, allowed in dtypes.items():
        yield f"{name} in [{', '.join(sorted(d.name for d in allowed))}]"


def _shown(dtypes: Types) -> str:
    return " and ".join(_shown_types(dtypes)) or "all dtypes"


def check_native(lowering: Any) -> None:
    """Raises `ValueError` for a native kernel that could not be found again by its name."""
    if not isinstance(lowering, Native) or isinstance(lowering.kernel, str):
        return
    function = lowering.kernel
    if "<locals>" in function.__qualname__ or function.__closure__:
        raise ValueError(
            f"the native kernel {function.__qualname__} must be a function of a module: what it "
            "needs comes as arguments and constants"
        )


# -- functions of Python


def settings_of(signature: OpSignature) -> tuple[str, ...]:
    """The attrs that a step on the host may be told."""
    plain = {n for n, a in signature.attrs.items() if _is_plain(a.kind)}
    return tuple(n for n in signature.attrs if n in plain - signature.inferred_attrs)


def _is_plain(kind: str) -> bool:
    return kind.removeprefix("list(").removesuffix(")") in _PLAIN_ATTRS


def attr_values(signature: OpSignature, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Attrs as functions get them: types as `DType`, where steps are told names."""
    found = dict(settings)
    for name, value in settings.items():
        kind = signature.attrs[name].kind
        if kind == "type":
            found[name] = as_dtype(value)
        elif kind == "list(type)":
            found[name] = tuple(as_dtype(v) for v in value)
    return found


@dataclass(frozen=True, slots=True)
class HostStep:
    """Calls a function of arrays, and checks what it returns."""

    record: Op
    function: Function

    def __call__(
        self, inputs: Sequence[Any], dtypes: Sequence[DType], **settings: Any
    ) -> list[Array]:
        given = [all_dtypes.as_dtype(np.asarray(x).dtype) for x in inputs]
        return self.called(inputs, given, dtypes, settings)

    def called(
        self,
        inputs: Sequence[Any],
        given: Sequence[DType],
        dtypes: Sequence[DType],
        settings: Mapping[str, Any],
    ) -> list[Array]:
        """The arrays for inputs of the dtypes `given`."""
        attrs = attr_values(self.record.signature, settings)
        try:
            found = call_reference(self.record, self.function, inputs, attrs, given)
        except FlowcError:
            raise
        except Exception as error:
            raise failure_of(error, f"the kernel of {self.record.tf_name}: ") from error
        return checked_results(self.record.tf_name, found, dtypes)


def checked_results(op_type: str, found: Sequence[Any], dtypes: Sequence[DType]) -> list[Array]:
    """What a function returned, as arrays of the dtypes of the outputs."""
    if not dtypes and len(found) == 1 and found[0] is None:
        return []
    if len(found) != len(dtypes):
        raise InvalidArgumentError(
            f"the kernel of {op_type} returns {len(found)} values, expected {len(dtypes)}"
        )
    arrays = [returned_array(value) for value in found]
    for k, (array, dtype) in enumerate(zip(arrays, dtypes)):
        if array.dtype != dtype.numpy:
            name = array.dtype.name
            raise InvalidArgumentError(
                f"the kernel of {op_type} returns {name} as its output {k}, expected {dtype.name}"
            )
    return arrays
