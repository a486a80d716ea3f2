"""`tf.QueueBase` and the queues: elements that some runs put in and others take out.

In: tensors, one for each component of an element. Out: operations that enqueue and dequeue.
Invariant: nodes and names are TensorFlow's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.framework.scopes import name_scope
from flowc.api.random.random_ops import get_seed
from flowc.dtypes import DType, as_dtype
from flowc.graph import Operation, Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create, output
from flowc.graph.shape_inference import constant_elements


class QueueBase:
    """What all queues have. Elements are tuples of components; dictionaries, where the queue has
    `names`. `shapes` are those of components, unknown where they may be any.

    A run that enqueues waits for room, one that dequeues for elements. Once the queue is closed,
    enqueuing raises `CancelledError`, and dequeuing raises `OutOfRangeError` where too few elements
    are left.
    """

    def __init__(
        self, dtypes: Any, shapes: Any, names: Sequence[str] | None, queue_ref: Tensor
    ) -> None:
        self._dtypes: list[DType] = dtypes
        self._shapes: list[TensorShape] = shapes or [TensorShape(None)] * len(dtypes)
        if names is not None and len(names) != len(dtypes):
            raise ValueError(
                "List of names must have the same length as the list of dtypes, received "
                f"len(names)={len(names)},len(dtypes)={len(dtypes)}"
            )
        self._names = list(names) if names else None
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rpartition("/")[2]

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """The queue that stands at `index`, which the run tells, in a list of queues of the same
        dtypes. Raises `TypeError` for others."""
        if not queues or not isinstance(queues, list) or not all(map(_is_queue, queues)):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        columns = zip(*(q.shapes for q in queues))
        shapes = [_common_shape(column) for column in columns]
        found = output(
            "GatherV2", as_tensor([q.queue_ref for q in queues], None, "stack"), index, 0
        )
        return QueueBase(first.dtypes, shapes, first.names, found)

    @property
    def queue_ref(self) -> Tensor:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        return self._names

    # -- in

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Puts one element in. Raises `ValueError` for shapes and names that do not fit,
        `TypeError` for dtypes; a run raises `CancelledError` where the queue is closed."""
        with self._scope(name, "enqueue") as scope:
            values = self._components(vals)
            for value, shape in zip(values, self._shapes):
                value.shape.assert_is_compatible_with(shape)
            return create("QueueEnqueueV2", [self._queue_ref, values], None, scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Puts elements in: each component has one more dimension, which counts them. Raises as
        `enqueue`."""
        with self._scope(name, "EnqueueMany") as scope:
            values = self._components(vals)
            rows = values[0].shape.with_rank_at_least(1)[0]
            for value in values:
                rows = rows.merge_with(value.shape.with_rank_at_least(1)[0])
            for value, shape in zip(values, self._shapes):
                value.shape[1:].assert_is_compatible_with(shape)
            return create("QueueEnqueueManyV2", [self._queue_ref, values], None, scope)

    def _components(self, vals: Any) -> list[Tensor]:
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                    f"{sorted(vals)},Queue: {sorted(self._names)}"
                )
            vals = [vals[n] for n in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        found: list[Tensor] = []
        for k, (value, dtype) in enumerate(zip(vals, self._dtypes)):
            try:
                found.append(as_tensor(value, dtype, f"component_{k}"))
            except ValueError as error:
                raise ValueError(f"component_{k}: {error}") from None
        return found

    # -- out

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element: a tensor, a list of them, or a dictionary. A run raises
        `OutOfRangeError` where the queue is closed and empty."""
        return self._taken("Dequeue", "QueueDequeueV2", [], name)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes `n` elements: components have one more dimension. A run raises `OutOfRangeError`
        where the queue is closed and has fewer; `ValueError` for fewer than 0."""
        return self._taken("DequeueMany", "QueueDequeueManyV2", [n], name)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Takes `n` elements, or those that are left in a closed queue."""
        return self._taken("DequeueUpTo", "QueueDequeueUpToV2", [n], name)

    def _taken(self, role: str, op_type: str, count: list[Any], name: Any) -> Any:
        with self._scope(name, role) as scope:
            given = [as_tensor(n, dtypes.i32, "n") for n in count]
            rows = _constant(given[0]) if given else None
            if rows is not None and rows < 0 and op_type == "QueueDequeueManyV2":
                raise ValueError(f"Input 'n' must be >= 0, but is {rows} for '{scope[:-1]}'")
            rows = None if op_type == "QueueDequeueUpToV2" else rows
            leading = TensorShape([rows] if given else [])
            shapes = [leading.concatenate(shape) for shape in self._shapes]
            attrs = {"component_types": tuple(self._dtypes), "timeout_ms": -1}
            op = get_default_graph().add_operation(
                op_type,
                [self._queue_ref, *given],
                attrs,
                scope,
                output_types=list(zip(self._dtypes, shapes)),
            )
        if self._names:
            return dict(zip(self._names, op.outputs))
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    # -- the rest

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Lets nothing more in. Runs that wait for room go on; with `cancel_pending_enqueues` they
        raise `CancelledError`."""
        attrs = {"cancel_pending_enqueues": cancel_pending_enqueues}
        return create("QueueCloseV2", [self._queue_ref], attrs, name or f"{self._name}_Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed: bool[]."""
        return output("QueueIsClosedV2", self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are in the queue: int32[]."""
        return output("QueueSizeV2", self._queue_ref, name=name or f"{self._name}_Size")

    def _scope(self, name: str | None, role: str) -> Any:
        return name_scope(name, f"{self._name}_{role}")


class FIFOQueue(QueueBase):
    """A queue whose elements leave in the order in which they came. `capacity`: how many it holds,
    any number if below 0. `shared_name`: queues of one name are one in a Session. `dtypes`,
    `shapes`: of the components of an element. Raises `ValueError` where they differ in number; runs
    raise `OutOfRangeError` and `CancelledError` where the queue is closed."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = _types(dtypes)
        known = _shapes(shapes, types)
        given = _names(names, types)
        handle = _new("FIFOQueueV2", types, known, capacity, shared_name, name)
        super().__init__(types, known, given, handle)


class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order; as long as it is open, at least
    `min_after_dequeue` of them stay. Equal seeds give TensorFlow's order. Raises and ends runs as
    `FIFOQueue`."""

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = _types(dtypes)
        known = _shapes(shapes, types)
        given = _names(names, types)
        first, second = get_seed(seed)
        if seed is None and shared_name is not None and first is not None:
            digest = hashlib.md5(f"{first}{shared_name}".encode(), usedforsecurity=False)
            second = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
        more = {"min_after_dequeue": min_after_dequeue, "seed": first or 0, "seed2": second or 0}
        handle = _new("RandomShuffleQueueV2", types, known, capacity, shared_name, name, **more)
        super().__init__(types, known, given, handle)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose components may differ in the dimensions that `shapes` leave open: a batch
    is as large as its largest element, padded with zeros. Raises `ValueError` without shapes."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _types(dtypes)
        known = _shapes(shapes, types, is_open=True)
        given = _names(names, types)
        handle = _new("PaddingFIFOQueueV2", types, known, capacity, shared_name, name)
        super().__init__(types, known, given, handle)


class PriorityQueue(QueueBase):
    """A queue of which the element with the least priority leaves first: an int64, which stands
    before the components of `types`. Raises and ends runs as `FIFOQueue`."""

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        given_types = _types(types)
        known = _shapes(shapes, given_types)
        handle = _new("PriorityQueueV2", given_types, known, capacity, shared_name, name)
        every = [dtypes.i64, *given_types]
        all_shapes = [TensorShape([]), *known] if known else []
        super().__init__(every, all_shapes, names, handle)


def _new(
    op_type: str,
    types: Sequence[DType],
    shapes: Sequence[TensorShape],
    capacity: int,
    shared_name: str | None,
    name: str,
    **more: Any,
) -> Tensor:
    if not types:
        raise ValueError(
            f"Attr 'component_types' of '{op_type}' Op passed list of length 0 less than minimum 1."
        )
    return output(
        op_type,
        component_types=tuple(types),
        shapes=tuple(shapes),
        capacity=capacity,
        shared_name=shared_name or "",
        name=name,
        **more,
    )


def _types(given: Any) -> list[DType]:
    return [as_dtype(t) for t in (given if isinstance(given, list | tuple) else [given])]


def _shapes(given: Any, types: Sequence[DType], is_open: bool = False) -> list[TensorShape]:
    """The shapes of components, empty where none are given; sizes are those of the one component.
    Raises `ValueError` for another number, and for open ones where they must be known."""
    listed = isinstance(given, list | tuple)
    sizes = listed and all(shape is None or isinstance(shape, int) for shape in given)
    if is_open and (not listed or not given or any(s is None or isinstance(s, int) for s in given)):
        raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if given is None:
        return []
    if not listed and not isinstance(given, TensorShape):
        raise TypeError(
            "Shapes must be a TensorShape or a list or tuple of TensorShapes, "
            f"got {type(given)} instead."
        )
    found = [TensorShape(shape) for shape in ([given] if sizes or not listed else given)]
    if not is_open and not all(shape.is_fully_defined() for shape in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    if len(found) != len(types):
        if is_open:
            raise ValueError(
                "Shapes must be provided for all components, but received "
                f"{len(types)} dtypes and {len(found)} shapes."
            )
        raise ValueError(
            "Queue shapes must have the same length as dtypes, received "
            f"len(shapes)={len(found)}, len(dtypes)={len(types)}"
        )
    return found


def _names(given: Any, types: Sequence[DType]) -> list[str] | None:
    """The names of components. Raises `ValueError` for another number."""
    if given is None:
        return None
    found = list(given) if isinstance(given, list | tuple) else [given]
    if len(found) != len(types):
        raise ValueError(
            "List of names must have the same length as the list of dtypes, received "
            f"len(names)={len(found)},len(dtypes)={len(types)}"
        )
    return found


def _is_queue(value: Any) -> bool:
    return isinstance(value, QueueBase)


def _common_shape(shapes: Sequence[TensorShape]) -> TensorShape:
    first = shapes[0]
    if first.ndims is None or any(s.ndims != first.ndims for s in shapes):
        return TensorShape(None)
    columns = zip(*(s.as_list() for s in shapes))
    return TensorShape([d[0] if len(set(d)) == 1 else None for d in columns])


def _constant(tensor: Tensor) -> int | None:
    found = constant_elements(tensor)
    return None if found is None else int(found.reshape(-1)[0])
