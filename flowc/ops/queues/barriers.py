"""Barriers: BarrierInsertMany, BarrierTakeMany, BarrierClose, BarrierReadySize,
BarrierIncompleteSize.

In: handles, keys, values of one component. Out: host steps. Invariant: the errors are TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, scalar_of
from flowc.ir.op import Attrs
from flowc.ops.queues.barrier_states import Barrier
from flowc.ops.queues.handles import (
    REFERENCE,
    Handle,
    define_handle,
    define_step,
    find_state,
    handle_of,
    infer_scalars,
    no_outputs,
    scalars,
    static_size,
)

Array = np.ndarray[Any, Any]


def _barrier(run: HostRun, text: bytes) -> Barrier:
    found = find_state(run, text, "barrier", Barrier, {"Barrier": Barrier})
    found.check_shared(handle_of(text))
    return found


# -- steps


def _insert_many(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, component_index: int
) -> list[Array]:
    text, keys, values = inputs
    given = (np.array(x, object) if isinstance(x, bytes) else np.asarray(x) for x in (keys, values))
    _barrier(run, text).insert_many(run, component_index, *given)
    return []


def _take_many(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, allow_small_batch: bool
) -> list[Array]:
    barrier = _barrier(run, inputs[0])
    barrier.check_taken(types)
    return barrier.take_many(run, int(scalar_of(inputs[1], "num_elements")), allow_small_batch)


def _close(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, cancel_pending_enqueues: bool
) -> list[Array]:
    _barrier(run, inputs[0]).close_barrier(run, cancel_pending_enqueues)
    return []


def _ready_size(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(_barrier(run, inputs[0]).ready_size(), np.int32)]


def _incomplete_size(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(_barrier(run, inputs[0]).incomplete_size(), np.int32)]


# -- records


def _taken(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    count = None if attrs["allow_small_batch"] else static_size(x, values[1])
    return [(count,), (count,), *((count, *(shape or ())) for shape in handle.shapes)]


def _form(op_type: str) -> dict[str, str]:
    return {REFERENCE: op_type}


define_handle(
    "barrier",
    "Barrier(; component_types: list(type) >= 1, shapes: list(shape) >= 0 = [],"
    ' capacity: int = -1, container: string = "", shared_name: string = "")',
    forms=_form("Barrier"),
)
define_step(
    "barrier_insert_many",
    "BarrierInsertMany(handle: HANDLE, keys: string, values: T; T: type, component_index: int)",
    _insert_many,
    no_outputs,
    ("component_index",),
    infer=infer_scalars(0),
    forms=_form("BarrierInsertMany"),
)
define_step(
    "barrier_take_many",
    "BarrierTakeMany(handle: HANDLE, num_elements: i32; component_types: list(type) >= 1,"
    " allow_small_batch: bool = False, wait_for_incomplete: bool = False, timeout_ms: int = -1)"
    " -> (indices: i64, keys: string, values: component_types)",
    _take_many,
    _taken,
    ("allow_small_batch",),
    forms=_form("BarrierTakeMany"),
)
define_step(
    "barrier_close",
    "BarrierClose(handle: HANDLE; cancel_pending_enqueues: bool = False)",
    _close,
    no_outputs,
    ("cancel_pending_enqueues",),
    infer=infer_scalars(0),
    forms=_form("BarrierClose"),
)
for _name, _op_type, _step in (
    ("barrier_ready_size", "BarrierReadySize", _ready_size),
    ("barrier_incomplete_size", "BarrierIncompleteSize", _incomplete_size),
):
    define_step(
        _name,
        f"{_op_type}(handle: HANDLE) -> size: i32",
        _step,
        scalars(1),
        infer=infer_scalars(1),
        forms=_form(_op_type),
    )
