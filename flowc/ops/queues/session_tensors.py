"""Tensors that stay in a Session: GetSessionHandle, GetSessionTensor, DeleteSessionTensor.

In: a tensor, or the text of a handle. Out: a handle, or the tensor. Invariant: a handle names one
tensor as long as its Session lives, and no other Session knows it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, held, text_of
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.queues.handles import Handle, define_step, infer_scalars, no_outputs, scalars

Array = np.ndarray[Any, Any]
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


class SessionTensors:
    """The tensors of a Session by their handles."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tensors: dict[str, Array] = {}
        self._count = 0

    def keep(self, name: str, value: Array) -> str:
        with self._lock:
            handle = f"{name};{self._count};{_DEVICE}"
            self._count += 1
            self._tensors[handle] = value
            return handle

    def get(self, handle: str) -> Array:
        with self._lock:
            found = self._tensors.get(handle)
        if found is None:
            raise InvalidArgumentError(
                f"The tensor with handle '{handle}' is not in the session store."
            )
        return found

    def delete(self, handle: str) -> None:
        with self._lock:
            if self._tensors.pop(handle, None) is None:
                raise InvalidArgumentError(
                    f"Failed to delete a non-existing tensor '{handle}' in the session store."
                )

    def close(self) -> None:
        with self._lock:
            self._tensors.clear()


def _tensors(run: HostRun) -> SessionTensors:
    return run.states.find("session tensors", SessionTensors, SessionTensors)


def _keep(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, name: str) -> list[Array]:
    handle = _tensors(run).keep(name, held(inputs[0]).copy())
    return [np.array(handle.encode(), object)]


def _get(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    handle = text_of(inputs[0], "handle")
    found = _tensors(run).get(handle)
    if found.dtype != types[0].numpy:
        raise InvalidArgumentError(
            f"the tensor with handle '{handle}' is {dtype_shown(as_dtype(found.dtype))}, and not "
            f"{dtype_shown(types[0])}"
        )
    return [found]


def _delete(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    _tensors(run).delete(text_of(inputs[0], "handle"))
    return []


def _open(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [None]


def _infer_nothing(c: Inference) -> list[Dims]:
    return []


define_step(
    "get_session_handle",
    "GetSessionHandle(value: T; T: type) -> handle: string",
    _keep,
    scalars(1),
    ("name",),
    infer=infer_scalars(1),
    forms={"": "GetSessionHandle"},
)
define_step(
    "get_session_tensor",
    "GetSessionTensor(handle: string; dtype: type) -> value: dtype",
    _get,
    _open,
    forms={"": "GetSessionTensor"},
)
define_step(
    "delete_session_tensor",
    "DeleteSessionTensor(handle: string)",
    _delete,
    no_outputs,
    infer=_infer_nothing,
    forms={"": "DeleteSessionTensor"},
)
