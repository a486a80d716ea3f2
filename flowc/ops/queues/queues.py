"""The ops of queues: those that make one of each of `KINDS`, and what runs do to them.

In: handles, components of elements. Out: host steps. Invariant: the errors are TensorFlow's.
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
from flowc.ops.queues.handles import (
    Handle,
    Shape,
    define_handle,
    define_step,
    find_state,
    handle_of,
    infer_scalars,
    no_outputs,
    scalars,
    static_size,
)
from flowc.ops.queues.queue_states import KINDS, Queue

Array = np.ndarray[Any, Any]


def queue_of(run: HostRun, text: bytes) -> Queue:
    """The queue that a handle names. Raises `InvalidArgumentError` where nodes that share it say
    different things of it."""
    found = find_state(run, text, "queue", Queue, KINDS)
    found.check_shared(handle_of(text))
    return found


def _components(handle: Handle) -> Sequence[Shape | None]:
    """The shapes of an element's components; nothing where they may be any."""
    shapes = [None if s is None else tuple(s) for s in handle.shapes]
    kind = KINDS.get(handle.op)
    return shapes if kind is None else kind.components(shapes)


def _one(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return list(_components(handle)) or [None] * len(attrs["component_types"])


def _many(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    count = static_size(x, values[1])
    return [(count, *(shape or ())) for shape in _one(x, handle, values, attrs)]


def _up_to(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [(None, *(shape or ())) for shape in _one(x, handle, values, attrs)]


# -- steps


def _enqueue(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    queue_of(run, inputs[0]).enqueue(run, inputs[1:])
    return []


def _enqueue_many(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    queue_of(run, inputs[0]).enqueue_many(run, inputs[1:])
    return []


def _dequeue(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    queue = queue_of(run, inputs[0])
    queue.check_taken(types)
    return queue.dequeue(run)


def _dequeue_many(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    queue = queue_of(run, inputs[0])
    queue.check_taken(types, ", int32")
    return queue.dequeue_many(run, int(scalar_of(inputs[1], "n")))


def _dequeue_up_to(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    queue = queue_of(run, inputs[0])
    queue.check_taken(types, ", int32")
    return queue.dequeue_many(run, int(scalar_of(inputs[1], "n")), up_to=True)


def _close(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, cancel_pending_enqueues: bool
) -> list[Array]:
    queue_of(run, inputs[0]).close_queue(run, cancel_pending_enqueues)
    return []


def _size(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(queue_of(run, inputs[0]).size(), np.int32)]


def _is_closed(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(queue_of(run, inputs[0]).is_closed)]


# -- records

for _kind in KINDS.values():
    define_handle(_kind.record, f"{_kind.kind}(; {_kind.attrs})")

_PUT = "(handle: HANDLE, components: Tcomponents; Tcomponents: list(type) >= 1,"
_TAKEN = "component_types: list(type) >= 1, timeout_ms: int = -1) -> components: component_types"

define_step("queue_enqueue", f"QueueEnqueue{_PUT} timeout_ms: int = -1)", _enqueue, no_outputs)
define_step(
    "queue_enqueue_many",
    f"QueueEnqueueMany{_PUT} timeout_ms: int = -1)",
    _enqueue_many,
    no_outputs,
)
define_step("queue_dequeue", f"QueueDequeue(handle: HANDLE; {_TAKEN}", _dequeue, _one)
define_step(
    "queue_dequeue_many",
    f"QueueDequeueMany(handle: HANDLE, n: i32; {_TAKEN}",
    _dequeue_many,
    _many,
)
define_step(
    "queue_dequeue_up_to",
    f"QueueDequeueUpTo(handle: HANDLE, n: i32; {_TAKEN}",
    _dequeue_up_to,
    _up_to,
)
define_step(
    "queue_close",
    "QueueClose(handle: HANDLE; cancel_pending_enqueues: bool = False)",
    _close,
    no_outputs,
    ("cancel_pending_enqueues",),
    infer=infer_scalars(0),
)
define_step(
    "queue_size",
    "QueueSize(handle: HANDLE) -> size: i32",
    _size,
    scalars(1),
    infer=infer_scalars(1),
)
define_step(
    "queue_is_closed",
    "QueueIsClosed(handle: HANDLE) -> is_closed: bool",
    _is_closed,
    scalars(1),
    infer=infer_scalars(1),
)
