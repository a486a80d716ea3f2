"""The queues of a Session: first in first out, padded, shuffled, by priority.

In: elements, each a tuple of components. Out: the same, singly or in batches. Invariants: an
element goes to one run; nobody takes more than `capacity` lets in; the order of a shuffled queue is
TensorFlow's for its seeds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType, as_dtype
from flowc.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from flowc.ir.host_run import HostRun
from flowc.ir.text.shape_text import shown_dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.queues.attempts import Attempt, Outcome, TwoEnds
from flowc.ops.queues.handles import Handle, Shape
from flowc.ops.random.bits import philox_words

Array = np.ndarray[Any, Any]
Element = tuple[Any, ...]
ENDLESS = 2**31 - 1
_COMPONENTS = "component_types: list(type) >= 1, shapes: list(shape) >= 0 = []"
_SHARED = 'container: string = "", shared_name: string = ""'


class Queue(TwoEnds):
    """First in, first out. `kind`: the type of the op that makes one; `record`: the name of its
    record; `attrs`: of the op, as in a signature."""

    kind = "FIFOQueue"
    record = "fifo_queue"
    attrs = f"{_COMPONENTS}, capacity: int = -1, {_SHARED}"
    pads = False

    def __init__(self, handle: Handle) -> None:
        super().__init__()
        self.handle = handle
        self.dtypes: tuple[DType, ...] = handle.dtypes
        self.shapes: tuple[Shape | None, ...] = handle.shapes
        capacity = int(handle.attrs["capacity"])
        self.capacity = capacity if capacity >= 0 else ENDLESS
        self._elements: Any = deque[Element]()
        self.shown = f"{self.kind} '{handle.name}'"
        self._agreeing: set[Handle] = set()
        if self.shapes and len(self.shapes) != len(self.dtypes):
            raise InvalidArgumentError(
                f"{self.shown} has {len(self.dtypes)} component types and {len(self.shapes)} shapes"
            )
        if any(s is None or (None in s and not self.pads) for s in self.shapes):
            raise InvalidArgumentError(
                f"{self.shown} has a shape that is not fully defined: {shapes_shown(self.shapes)}"
            )

    # -- what queues differ in

    @staticmethod
    def components(shapes: Sequence[Shape | None]) -> tuple[Shape | None, ...]:
        """The shapes of an element's components, of those that the op states."""
        return tuple(shapes)

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        return self._elements.popleft()

    def _give_back(self, elements: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def _takable(self, wanted: int = 1) -> int:
        """How many elements may be taken now, by a run that wants so many."""
        return len(self._elements)

    # -- what runs do

    def enqueue(self, run: HostRun, components: Sequence[Any]) -> None:
        self.check(components, 0)
        element = tuple(components)

        def step(attempt: Attempt) -> Outcome:
            if self.is_closed:
                return attempt.fail(self._closed_error())
            if len(self._elements) >= self.capacity:
                return Outcome.NO_PROGRESS
            self._put(element)
            return attempt.finish()

        self.perform(run, self.enqueuing, Attempt(step))

    def enqueue_many(self, run: HostRun, components: Sequence[Any]) -> None:
        self.check(components, 1)
        self.enqueue_elements(run, deque(zip(*map(rows_of, components), strict=True)))

    def enqueue_elements(self, run: HostRun, elements: deque[Element]) -> None:
        """Puts in elements that `check` has seen, and takes each from `elements` as it does."""
        if not elements:
            return

        def step(attempt: Attempt) -> Outcome:
            if self.is_closed:
                return attempt.fail(self._closed_error())
            outcome = Outcome.NO_PROGRESS
            while len(self._elements) < self.capacity:
                outcome = Outcome.PROGRESS
                self._put(elements.popleft())
                if not elements:
                    return attempt.finish()
            return outcome

        self.perform(run, self.enqueuing, Attempt(step))

    def dequeue(self, run: HostRun) -> list[Array]:
        def step(attempt: Attempt) -> Outcome:
            if self.is_closed and not self._elements:
                return attempt.fail(self._end_error(1, 0))
            if self._takable() <= 0:
                return Outcome.NO_PROGRESS
            return attempt.finish(self._take())

        element = self.perform(run, self.dequeuing, Attempt(step))
        return [as_array(x, dtype) for x, dtype in zip(element, self.dtypes)]

    def dequeue_many(self, run: HostRun, count: int, up_to: bool = False) -> list[Array]:
        """A batch of so many elements; with `up_to`, of those that a closed queue has left."""
        op = "DequeueUpToOp" if up_to else "DequeueManyOp"
        if not self.shapes:
            raise InvalidArgumentError(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have "
                "specified shapes."
            )
        if count < 0:
            raise InvalidArgumentError(f"{op} requested {count} < 0 elements")
        if not count:
            return self._batch([])
        batch = _Batch(self, count, up_to)
        found = self.perform(run, self.dequeuing, Attempt(batch.step, batch.undo))
        return self._batch(found)

    def size(self) -> int:
        with self.lock:
            return len(self._elements)

    def room(self) -> int:
        """How many elements may be put in now."""
        return self.capacity - self.size()

    def close_queue(self, run: HostRun, cancel_pending: bool) -> None:
        closed = f"Queue '{self.handle.name}' is already closed."
        self.close_for(run, cancel_pending, closed)

    # -- errors

    def _closed_error(self) -> CancelledError:
        return CancelledError(f"{self.shown} is closed.")

    def _end_error(self, wanted: int, size: int) -> OutOfRangeError:
        return OutOfRangeError(
            f"{self.shown} is closed and has insufficient elements (requested {wanted}, current "
            f"size {size})"
        )

    def check_shared(self, other: Handle) -> None:
        """Raises `InvalidArgumentError` where another handle that names this queue says different
        things of it."""
        if other is self.handle or other in self._agreeing:
            return
        if other.op != self.kind:
            raise InvalidArgumentError(f"Expected {self.kind}, found {other.op}V2")
        wanted = type(self)(other)
        said = f"Shared queue '{self.handle.name}' has "
        for name, mine, theirs in (
            ("capacity", self.capacity, wanted.capacity),
            ("component types", types_shown(self.dtypes), types_shown(wanted.dtypes)),
            ("component shapes", shapes_shown(self.shapes), shapes_shown(wanted.shapes)),
        ):
            if mine != theirs:
                verb = "was" if name == "capacity" else "were"
                raise InvalidArgumentError(
                    f"{said}{name} {mine} but requested {name} {verb} {theirs}"
                )
        self._agreeing.add(other)

    def check_taken(self, types: Sequence[DType], inputs: str = "") -> None:
        """Raises `InvalidArgumentError` for other types than those of the components."""
        if tuple(types) != self.dtypes:
            raise InvalidArgumentError(
                f"Signature mismatch, have: resource{inputs}->{types_shown(types)} expected: "
                f"resource{inputs}->{types_shown(self.dtypes)}"
            )

    def check(self, components: Sequence[Any], leading: int) -> None:
        """Raises `InvalidArgumentError` for components that the queue does not take."""
        if not leading and self._is_plain(components):
            return
        types = [dtypes.string if isinstance(c, bytes) else as_dtype(c.dtype) for c in components]
        if types != [*self.dtypes]:
            raise InvalidArgumentError(
                f"Signature mismatch, have: resource, {types_shown(types)}-> expected: resource, "
                f"{types_shown(self.dtypes)}->"
            )
        shapes: list[tuple[int, ...]] = [
            c.shape if isinstance(c, np.ndarray) else () for c in components
        ]
        if leading and () in shapes:
            raise InvalidArgumentError(
                f"Tuple component {shapes.index(())} of several elements must have a dimension"
            )
        rows = shapes[0][:leading]
        for k, shape in enumerate(shapes):
            wanted = self.shapes[k] if self.shapes else None
            if wanted is not None and not _fits((*rows, *wanted), shape, self.pads):
                expected, found = shown_dims((*rows, *wanted)), shown_dims(shape)
                raise InvalidArgumentError(
                    f"Shape mismatch in tuple component {k}. Expected {expected}, got {found}"
                )
            if shape[:leading] != rows:
                raise InvalidArgumentError(
                    "All input tensors must have the same size in the 0th dimension. Component "
                    f"{k} has {shape[0]}, and should have {rows[0]}"
                )

    def _is_plain(self, components: Sequence[Any]) -> bool:
        """Whether components are just those that the queue states, as they nearly always are."""
        if len(components) != len(self.dtypes) or not self.shapes:
            return False
        for value, dtype, shape in zip(components, self.dtypes, self.shapes):
            if type(value) is bytes:
                if shape != () or dtype is not dtypes.string:
                    return False
            elif value.shape != shape or value.dtype != dtype.numpy:
                return False
        return True

    def _batch(self, elements: Sequence[Element]) -> list[Array]:
        columns = list(zip(*elements)) if elements else [()] * len(self.dtypes)
        shapes = [tuple(d or 0 for d in shape or ()) for shape in self.shapes]
        return [self._stacked(c, t, s) for c, t, s in zip(columns, self.dtypes, shapes)]

    def _stacked(self, values: Sequence[Any], dtype: DType, shape: tuple[int, ...]) -> Array:
        found = np.empty((len(values), *shape), dtype.numpy)
        if not shape:
            found[:] = values
            return found
        for row, value in enumerate(values):
            found[row] = value
        return found


class _Batch:
    """An attempt to take several elements, as they come."""

    def __init__(self, queue: Queue, count: int, up_to: bool) -> None:
        self._queue = queue
        self._left = count
        self._up_to = up_to
        self._taken: list[Element] = []

    def undo(self) -> None:
        taken, self._taken = self._taken, []
        self._queue._give_back(taken)

    def step(self, attempt: Attempt) -> Outcome:
        queue = self._queue
        size = len(queue._elements)
        if queue.is_closed and size < self._left:
            self.undo()
            found = len(queue._elements)
            if not self._up_to or not found:
                if self._up_to and queue.enqueuing:
                    return Outcome.PROGRESS
                return attempt.fail(queue._end_error(self._left, size))
            self._left = found
        outcome = Outcome.NO_PROGRESS
        for _ in range(queue._takable(self._left)):
            outcome = Outcome.PROGRESS
            self._taken.append(queue._take())
            self._left -= 1
            if not self._left:
                return attempt.finish(self._taken)
        return outcome


class PaddingQueue(Queue):
    """First in, first out; a batch is as large in each open dim as its largest element."""

    kind = "PaddingFIFOQueue"
    record = "padding_fifo_queue"
    pads = True

    def _stacked(self, values: Sequence[Any], dtype: DType, shape: tuple[int, ...]) -> Array:
        if shape and values:
            shape = tuple(max(v.shape[axis] for v in values) for axis in range(len(shape)))
        fill = b"" if dtype.numpy == np.dtype(object) else 0
        found = np.full((len(values), *shape), fill, dtype.numpy)
        for row, value in enumerate(values):
            found[(row, *map(slice, np.shape(value)))] = value
        return found


class ShuffleQueue(Queue):
    """Elements leave in random order; as long as it is open, so many stay behind."""

    kind = "RandomShuffleQueue"
    record = "random_shuffle_queue"
    attrs = (
        f"{_COMPONENTS}, capacity: int = -1, min_after_dequeue: int = 0, seed: int = 0,"
        f" seed2: int = 0, {_SHARED}"
    )

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._elements = list[Element]()
        self._least = int(handle.attrs["min_after_dequeue"])
        if self._least < 0:
            raise InvalidArgumentError(f"min_after_dequeue {self._least} must be >= 0")
        if self._least >= self.capacity:
            raise InvalidArgumentError(
                f"min_after_dequeue {self._least} must be < capacity {self.capacity}"
            )
        self._draws = _draws(int(handle.attrs["seed"]), int(handle.attrs["seed2"]))

    def _take(self) -> Element:
        elements = self._elements
        at = next(self._draws) % len(elements)
        last = elements.pop()
        if at == len(elements):
            return last
        found, elements[at] = elements[at], last
        return found

    def _give_back(self, elements: Sequence[Element]) -> None:
        self._elements.extend(reversed(elements))

    def _takable(self, wanted: int = 1) -> int:
        return len(self._elements) - (0 if self.is_closed else self._least)


def _draws(seed: int, seed2: int) -> Iterator[int]:
    """TensorFlow's stream of 32-bit words for two seeds; any stream where both are 0."""
    if not seed and not seed2:
        seed, seed2 = np.random.SeedSequence().generate_state(2, np.uint64).tolist()
    mask = 2**64 - 1
    first = 0
    while True:
        counters = np.empty((256, 2), np.uint64)
        counters[:, 0] = np.arange(first, first + 256)
        counters[:, 1] = seed2 & mask
        yield from philox_words(seed & mask, counters).reshape(-1).tolist()
        first += 256


class _Prior:
    """An element by its first component."""

    __slots__ = ("element", "priority")

    def __init__(self, element: Element) -> None:
        self.element = element
        self.priority = int(element[0])

    def __lt__(self, other: _Prior) -> bool:
        return self.priority < other.priority


class PrioritizedQueue(Queue):
    """The element with the least first component leaves first."""

    kind = "PriorityQueue"
    record = "priority_queue"
    attrs = (
        "component_types: list(type) >= 0 = [], shapes: list(shape) >= 0, capacity: int = -1,"
        f" {_SHARED}"
    )

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._elements = list[_Prior]()
        self.dtypes = (dtypes.i64, *self.dtypes)
        self.shapes = self.components(self.shapes)

    @staticmethod
    def components(shapes: Sequence[Shape | None]) -> tuple[Shape | None, ...]:
        return ((), *shapes)

    def _put(self, element: Element) -> None:
        heapq.heappush(self._elements, _Prior(element))

    def _take(self) -> Element:
        return heapq.heappop(cast(list[_Prior], self._elements)).element

    def _give_back(self, elements: Sequence[Element]) -> None:
        for element in elements:
            self._put(element)

    def _takable(self, wanted: int = 1) -> int:
        # A batch is sorted: none of it leaves before the whole is there.
        size = len(self._elements)
        return size if size >= wanted else 0


KINDS: dict[str, type[Queue]] = {
    kind.kind: kind for kind in (Queue, PaddingQueue, ShuffleQueue, PrioritizedQueue)
}


def as_array(value: Any, dtype: DType) -> Array:
    """A component as an array of its own dtype."""
    if isinstance(value, np.ndarray):
        return value
    return np.array(value, dtype.numpy)


def rows_of(array: Array) -> list[Any]:
    """Copies of the rows of an array, which do not keep its memory."""
    if array.ndim == 1:
        return list(array)
    return [row.copy() for row in array]


def _fits(wanted: Shape, given: Sequence[int], pads: bool) -> bool:
    if len(wanted) != len(given):
        return False
    return all(w == g or (pads and w is None) for w, g in zip(wanted, given))


def types_shown(types: Sequence[DType]) -> str:
    return ", ".join(map(dtype_shown, types))


def shapes_shown(shapes: Sequence[Shape | None]) -> str:
    return f"[{', '.join(map(shown_dims, shapes))}]"
