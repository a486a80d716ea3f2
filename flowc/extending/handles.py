"""Kernels of ops that take handles of resources: they get the objects behind them.

In: functions of Python. Out: steps of the host. Invariants: an object belongs to a Session, which
closes it; a handle is a number, which in a library is the address of the object.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flowc import dtypes as all_dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.extending.kernels import (
    BOTH,
    Choice,
    Function,
    HostStep,
    Kernels,
    Types,
)
from flowc.files.cache_folder import digest
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.lowering import Host
from flowc.ir.op import Attrs, Op, define
from flowc.ir.signature import OpSignature
from flowc.ops import tf_op
from flowc.ops.state.variables import STATE, value_of

Array = np.ndarray[Any, Any]
KIND = "resource of a registered op"


@dataclass(slots=True, eq=False)
class HeldObject:
    """An object among the states of a Session. `op_type`: what made it."""

    value: Any
    op_type: str

    def close(self) -> None:
        """The Session is closed."""
        close = getattr(self.value, "close", None)
        if close is not None:
            close()


def handle_places(signature: OpSignature) -> tuple[int, ...]:
    """The inputs that are handles."""
    return tuple(i for i, a in enumerate(signature.inputs) if a.dtype is all_dtypes.resource)


@dataclass(slots=True, eq=False)
class HandleKernels(Kernels):
    """The kernels of an op with handles among its inputs, or of one whose nodes keep memory: what
    emits its nodes. `memory`: the step that gives the handle of a node's memory, which the steps of
    the kernels take as one more input."""

    memory: Op | None = None

    def __call__(self, x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        places = handle_places(self.signature)
        for i in places:
            bound = inputs[i]
            if not isinstance(bound, Resource) or bound.kind != KIND:
                raise InvalidArgumentError(
                    f"input '{self.signature.inputs[i].name}' of '{x.name}' "
                    f"({self.signature.name}) is no handle of a registered resource",
                    node=x.name,
                )
        values = [value_of(x, bound) for bound in inputs]
        dtypes = [all_dtypes.resource if i in places else v.dtype for i, v in enumerate(values)]
        record = tf_op(self.signature.name)
        assert record is not None
        step = self.chosen(record, dtypes, attrs, x.name).own
        assert step is not None, "a kernel of an op with handles is a step"
        if self.memory is not None:
            made = x.b.emit(self.memory, [], {"id": f"/{x.name}/memory"})
            x.effect(made)
            values.append(made.output)
        node = x.b.emit(step, values, attrs)
        x.effect(node)
        return node.outputs

    def add_lowering(
        self, lowering: Choice, dtypes: Types, device: str = BOTH, record: Op | None = None
    ) -> None:
        raise ValueError(
            f"op {self.signature.name!r} has a resource: its kernels are functions of Python, or C"
        )

    def add_function(self, record: Op, function: Function, dtypes: Types) -> None:
        if self.memory is not None:
            raise ValueError(f"op {self.signature.name!r} keeps memory: its kernels are in C")
        self.add_step(record, _HandleStep(record, function), dtypes, function)

    def define_beside(
        self, record: Op, kind: str, lowering: Choice, more: frozenset[str] = frozenset()
    ) -> Op:
        number = len(self.found)
        given, arrow, made = record.tf.partition("->")
        text = re.sub(r"(:\s*)resource\b", r"\1int64", given)
        infer = record.infer
        if self.memory is not None:
            text = re.sub(r"\(([^;)]*)", _with_memory, text, count=1)
            infer = _infer_without_memory(record.infer)
        if isinstance(lowering, Host):
            lowering = replace(lowering, may_block=True)
        return define(
            f"{record.name}_{kind.lower()}{number}",
            "_" + text.replace("(", f"{kind}{number}(", 1) + arrow + made,
            infer=infer,
            lowering=lowering,
            traits=STATE | more,
        )


def _with_memory(inputs: re.Match[str]) -> str:
    return f"{inputs[0]}, memory: int64" if inputs[1].strip() else "(memory: int64"


def _infer_without_memory(infer: Callable[[Inference], Any]) -> Callable[[Inference], Any]:
    def inferred(c: Inference) -> Any:
        seen = copy.copy(c)
        seen.inputs = c.inputs[:-1]
        return infer(seen)

    return inferred


@dataclass(frozen=True, slots=True)
class _HandleStep:
    """Calls a function of objects and arrays."""

    record: Op
    function: Function

    def __call__(
        self, inputs: Sequence[Any], dtypes: Sequence[DType], *, run: HostRun, **settings: Any
    ) -> list[Array]:
        run.check()
        places = handle_places(self.record.signature)
        given = [as_dtype(np.asarray(x).dtype) for x in inputs]
        found = list(inputs)
        for i in places:
            given[i] = all_dtypes.resource
            found[i] = object_of(run, int(inputs[i]))
        return HostStep(self.record, self.function).called(found, given, dtypes, settings)


def handle_of(id: str) -> int:
    """The handle of the object that a Session has under a name."""
    return int(digest(id.encode())[:15], 16)


def object_of(run: HostRun, handle: int) -> Any:
    """The object that a handle means."""

    def missing() -> HeldObject:
        raise InvalidArgumentError(f"no resource of this session has the handle {handle}")

    return held_under(run, handle, missing).value


def held_under(run: HostRun, handle: int, make: Callable[[], HeldObject]) -> HeldObject:
    """The object with a handle, made by whoever asks first."""
    return run.states.find(f"object {handle}", HeldObject, make)
