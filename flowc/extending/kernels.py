"""The kernels of a registered op: which of them computes a node, and how.

In: lowerings, or functions over NumPy arrays, each for all dtypes or for some. Out: the lowering of
a node. Invariants: kernels of one op take different dtypes, so that one of them computes a node; a
function of Python gives what the op's signature and shapes say, or the run fails with the names of
op and node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flowc import dtypes as all_dtypes
from flowc.dtypes import DType, as_dtype
from flowc.errors import FlowcError, InvalidArgumentError
from flowc.extending.stamps import stamp_of
from flowc.ir.computation import Node
from flowc.ir.lowering import Decompose, Extracted, Host, Lowering, Native
from flowc.ir.op import Op, bind_types, call_reference, define
from flowc.ir.signature import OpSignature
from flowc.ops.control.python_functions import failure_of, returned_array

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
Choice = Lowering | Callable[..., Lowering]
Types = Mapping[str, frozenset[DType]]
CPU = "CPU"
_PLAIN_ATTRS = {"int", "float", "bool", "string", "type"}


@dataclass(frozen=True, slots=True)
class RegisteredKernel:
    """`dtypes`: those that it takes, by type attrs; of an attr that is not there, all. `source`:
    what it was made of, for the stamp. `step`: the op of the host that it is, if it is one."""

    lowering: Choice
    dtypes: Types
    source: Any
    step: Op | None = None

    def takes(self, attrs: Mapping[str, Any]) -> bool:
        return all(attrs.get(name) in allowed for name, allowed in self.dtypes.items())


@dataclass(frozen=True, slots=True)
class KernelElsewhere:
    """That there is a kernel for a device which is not the CPU: no node is computed by it."""

    device: str
    dtypes: Types


@dataclass(slots=True, eq=False)
class Kernels:
    """The lowering of a registered op, which kernels join one by one. `found`: those for the CPU;
    `elsewhere`: those for other devices."""

    signature: OpSignature
    found: list[RegisteredKernel] = field(default_factory=list[RegisteredKernel])
    elsewhere: list[KernelElsewhere] = field(default_factory=list[KernelElsewhere])

    def __call__(self, node: Node) -> Lowering:
        dtypes = [v.type.dtype for v in node.inputs]
        choice = self.chosen(node.op, dtypes, node.attrs, node.name).lowering
        return choice(node) if callable(choice) else choice

    def chosen(
        self, op: Op, dtypes: Sequence[DType], attrs: Mapping[str, Any], node: str
    ) -> RegisteredKernel:
        """Raises `InvalidArgumentError` where no kernel takes the node's dtypes."""
        bound = bind_types(op, dtypes, attrs)
        for kernel in self.found:
            if kernel.takes(bound):
                return kernel
        types = {n: a for n, a in bound.items() if isinstance(a, DType)}
        shown = ", ".join(f"{n}={t.name}" for n, t in types.items())
        kernels = [(CPU, k.dtypes) for k in self.found]
        kernels += [(k.device, k.dtypes) for k in self.elsewhere]
        known = "; ".join(f"device {d}: {_shown(dtypes)}" for d, dtypes in kernels) or "none"
        raise InvalidArgumentError(
            f"No OpKernel was registered to support Op '{self.signature.name}' used by node "
            f"'{node}' with these attrs: [{shown}]; nodes run on the device {CPU}; registered "
            f"kernels: {known}",
            node=node,
        )

    def check_free(self, dtypes: Types) -> None:
        """Raises `ValueError` where there is a kernel for some of these dtypes already."""
        self._check_among(dtypes, [kernel.dtypes for kernel in self.found])

    def _check_among(self, dtypes: Types, taken: Sequence[Types]) -> None:
        for other in taken:
            common = dtypes.keys() & other.keys()
            if all(dtypes[name] & other[name] for name in common):
                raise ValueError(
                    f"op {self.signature.name!r} has a kernel for {_shown(other)} already"
                )

    def add_elsewhere(self, device: str, dtypes: Types) -> None:
        """A kernel for another device than the CPU. Raises as `check_free` does."""
        self._check_among(dtypes, [k.dtypes for k in self.elsewhere if k.device == device])
        self.elsewhere.append(KernelElsewhere(device, dtypes))

    def add_lowering(self, lowering: Choice, dtypes: Types) -> None:
        """Raises as `check_free` does, and `ValueError` for a native kernel that could not be found
        again by its name."""
        check_native(lowering)
        self.check_free(dtypes)
        self.found.append(RegisteredKernel(lowering, dtypes, lowering))

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
        shown: str | None = None,
        linked: Callable[[Node], Native] | None = None,
    ) -> None:
        """A step of the host, as the lowering `Host` has it. `linked`: what libraries do."""
        self.check_free(dtypes)  # what is refused defines nothing
        made = self.define_beside(record, "Linked", linked) if linked is not None else None
        name = made.name if made is not None else ""
        host = Host(step, shown or record.tf_name, settings_of(self.signature), linked=name)
        made = self.define_beside(record, "Step", host)
        lowering = Decompose(lambda b, node: b.emit(made, node.inputs, node.attrs).outputs)
        self.found.append(RegisteredKernel(lowering, dtypes, source, made))

    def define_beside(self, record: Op, kind: str, lowering: Choice) -> Op:
        """The op of a kernel: a step, or what takes its place in libraries."""
        number = len(self.found)
        return define(
            f"{record.name}_{kind.lower()}{number}",
            "_" + record.tf.replace("(", f"{kind}{number}(", 1),
            infer=record.infer,
            lowering=lowering,
            traits=record.traits,
        )

    def stamp(self) -> str:
        return stamp_of([(k.source, sorted(_shown_types(k.dtypes))) for k in self.found])


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
