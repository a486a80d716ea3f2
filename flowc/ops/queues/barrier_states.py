"""The barriers of a Session: elements whose components come one by one, by keys.

In: keys with the values of one component. Out: batches of the elements that have all components.
Invariants: an element leaves once; those that are complete wait in a queue by the index of the
insertion that named the key first.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType, as_dtype
from flowc.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from flowc.ir.host_run import HostRun
from flowc.ir.text.shape_text import shown_dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.queues.handles import Handle
from flowc.ops.queues.queue_states import (
    Element,
    PrioritizedQueue,
    rows_of,
    shapes_shown,
    types_shown,
)

Array = np.ndarray[Any, Any]


class _Incomplete:
    """The components that a key has so far, None where it has none."""

    __slots__ = ("components", "index")

    def __init__(self, index: int, count: int) -> None:
        self.index = index
        self.components: list[Any] = [None] * count


class _Ready(PrioritizedQueue):
    """A batch is in order: it waits for all of its elements."""

    def _takable(self, wanted: int = 1) -> int:
        size = len(self._elements)
        return 0 if size < wanted else size


class Barrier:
    """Elements by keys, and the queue of those that are complete."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.dtypes = handle.dtypes
        self.shapes = handle.shapes
        if len(self.shapes) != len(self.dtypes) or any(s is None or None in s for s in self.shapes):
            raise InvalidArgumentError("All of the component shapes must be specified")
        if handle.attrs["capacity"] != -1:
            raise InvalidArgumentError(
                "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a "
                "queue to enforce a limited capacity."
            )
        element = {
            **handle.attrs,
            "component_types": ["string", *handle.attrs["component_types"]],
            "shapes": [(), *self.shapes],
            "shared_name": f"{handle.name}_queue",
        }
        self._ready = _Ready(Handle("PriorityQueue", handle.node, element))
        self._lock = threading.Lock()
        self._incomplete: dict[bytes, _Incomplete] = {}
        self._next_index = -(2**63)
        self._is_closed = False
        self._is_cancelled = False

    # -- what runs do

    def insert_many(self, run: HostRun, component: int, keys: Array, values: Array) -> None:
        """Gives each key its component. Raises `InvalidArgumentError` for a key that has it, and
        `CancelledError` for what a closed barrier does not take."""
        self._check_insertion(component, keys, values)
        with self._lock:
            if self._is_closed and (self._is_cancelled or (keys.size and not self._incomplete)):
                raise CancelledError(
                    f"Barrier {self.handle.name} is closed.  Pending enqueues cancelled: "
                    f"{self._is_cancelled:d}.  Number of new insertions: {keys.size}.  Number of "
                    f"incomplete keys: {len(self._incomplete)}."
                )
            complete = self._completed(component, keys, rows_of(values))
            for element in complete:
                self._ready.check(element, 0)
            self._ready.enqueue_elements(run, complete)
            if self._is_closed and not self._incomplete and not self._ready.is_closed:
                self._ready.close_queue(run, False)

    def take_many(self, run: HostRun, count: int, allow_small: bool) -> list[Array]:
        """Indices, keys and components of so many elements, once they are complete; with
        `allow_small`, of those that a closed barrier has. Raises `OutOfRangeError` where they will
        never be."""
        with self._lock:
            if self._is_closed:
                available = self._ready.size()
                if allow_small:
                    count = min(count, available)
                else:
                    available += len(self._incomplete)
                if available < max(count, 1):
                    raise OutOfRangeError(
                        f"Barrier '{self.handle.name}' is closed and has insufficient elements "
                        f"(requested {count}, total size {available})"
                    )
        return self._ready.dequeue_many(run, count, up_to=allow_small)

    def close_barrier(self, run: HostRun, cancel_pending: bool) -> None:
        """No new keys come; where it cancels, those that are incomplete are dropped. A barrier that
        is closed can still be cancelled, once."""
        with self._lock:
            if self._is_closed and (self._is_cancelled or not cancel_pending):
                raise CancelledError(f"Barrier '{self.handle.name}' is already closed.")
            self._is_closed = True
            self._is_cancelled = cancel_pending
            if cancel_pending:
                self._incomplete.clear()
            if not self._incomplete:
                self._ready.close_queue(run, cancel_pending)

    def ready_size(self) -> int:
        return self._ready.size()

    def incomplete_size(self) -> int:
        with self._lock:
            return len(self._incomplete)

    def close(self) -> None:
        """The Session is closed."""
        self._ready.close()

    # -- insertions

    def _completed(self, component: int, keys: Array, values: Sequence[Any]) -> deque[Element]:
        """The elements that get their last component, by the order of the keys."""
        complete: deque[Element] = deque()
        has_new = False
        for at, (key, value) in enumerate(zip(keys, values, strict=True)):
            if key not in self._incomplete:
                if self._is_closed:
                    raise CancelledError(
                        f"Barrier {self.handle.name} is closed, but attempted to insert a brand "
                        f"new key: {key.decode(errors='replace')}.  Pending enqueues cancelled: 0."
                        f"  Insertion index: {at}.  Number of incomplete keys: "
                        f"{len(self._incomplete)}."
                    )
                self._incomplete[key] = _Incomplete(self._next_index, len(self.dtypes))
                has_new = True
            held = self._incomplete[key]
            if held.components[component] is not None:
                raise InvalidArgumentError(
                    f"Key {key.decode(errors='replace')} already has a value for component "
                    f"{component} in barrier {self.handle.name}"
                )
            held.components[component] = value
            if all(x is not None for x in held.components):
                del self._incomplete[key]
                complete.append((np.int64(held.index), key, *held.components))
        self._next_index += has_new
        return complete

    def _check_insertion(self, component: int, keys: Array, values: Array) -> None:
        if not 0 <= component < len(self.dtypes):
            raise InvalidArgumentError(
                f"The component ID is out of range {component} > num_components "
                f"(= {len(self.dtypes)})"
            )
        given, wanted = as_dtype(values.dtype), self.dtypes[component]
        if given != wanted:
            raise InvalidArgumentError(
                f"Signature mismatch, have: string_ref, string, {dtype_shown(given)}-> expected: "
                f"string_ref, string, {dtype_shown(wanted)}->"
            )
        if keys.ndim != 1 or values.shape[:1] != keys.shape:
            raise InvalidArgumentError(
                "keys must be a vector and values have a row for each of them, not "
                f"{shown_dims(keys.shape)} and {shown_dims(values.shape)}"
            )

    # -- what handles and nodes say of it

    def check_shared(self, other: Handle) -> None:
        """Raises `InvalidArgumentError` where another handle that names this barrier says different
        things of it."""
        wanted = self if other is self.handle else Barrier(other)
        for name, mine, theirs in (
            ("types", types_shown(self.dtypes), types_shown(wanted.dtypes)),
            ("shapes", shapes_shown(self.shapes), shapes_shown(wanted.shapes)),
        ):
            if mine != theirs:
                raise InvalidArgumentError(
                    f"Shared barrier '{self.handle.name}' has component {name} {mine} but "
                    f"requested component {name} were {theirs}"
                )

    def check_taken(self, types: Sequence[DType]) -> None:
        """Raises `InvalidArgumentError` for other types than those of indices, keys and
        components."""
        held = (dtypes.i64, dtypes.string, *self.dtypes)
        if tuple(types) != held:
            raise InvalidArgumentError(
                f"Signature mismatch, have: string_ref, int32->{types_shown(types)} expected: "
                f"string_ref, int32->{types_shown(held)}"
            )
