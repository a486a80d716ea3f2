"""Batches: tensors that each run of a pipeline computes, gathered in a queue by threads.

In: tensors of one element, or of several. Out: tensors of a batch, in the structure of the input.
Invariant: nodes and names are TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from flowc import dtypes
from flowc.api.arrays.selection import dynamic_partition
from flowc.api.framework.basics import cast
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.scopes import name_scope, no_op
from flowc.api.inputs.queue_runner import QueueRunner, add_queue_runner
from flowc.api.inputs.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from flowc.api.inputs.sparse_batches import restored, stored
from flowc.api.layers.layer import smart_cond
from flowc.api.math.elementwise import maximum
from flowc.api.summaries.merging import scalar
from flowc.dataclass import dataclass
from flowc.dtypes import name_of
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor


@dataclass(frozen=True)
class _Batching:
    """The arguments that the functions below have in common. Without `min_after_dequeue`, elements
    leave the queue in the order in which they came."""

    batch_size: Any
    keep_input: Any
    capacity: int
    enqueue_many: bool
    shapes: Any
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str | None
    dynamic_pad: bool = False
    min_after_dequeue: int | None = None
    seed: int | None = None
    num_threads: int = 1

    def queue(self, types: list[Any], shapes: list[TensorShape]) -> QueueBase:
        shared = self.shared_name
        if self.min_after_dequeue is not None:
            return RandomShuffleQueue(
                self.capacity, self.min_after_dequeue, types, shapes, None, self.seed, shared
            )
        kind = PaddingFIFOQueue if self.dynamic_pad else FIFOQueue
        return kind(self.capacity, types, shapes, shared_name=shared)


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of `batch_size` elements: a list or dictionary of tensors, each of one more
    dimension, or one tensor where one is given.

    `num_threads` threads compute elements, up to `capacity` at once; with `enqueue_many` the
    tensors hold several already. `shapes`: of elements, if the tensors do not tell. `dynamic_pad`:
    elements may differ in open dimensions. `allow_smaller_final_batch`: the last one may be
    smaller. Raises `ValueError` where the rank of a tensor, or a shape, is not known.
    """
    return maybe_batch(keep_input=True, **locals())


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` of those elements for which `keep_input` holds: bool[], or bool[n] with
    `enqueue_many`. Raises as `batch`, and `ValueError` for a `keep_input` of another shape."""
    return _batched("batch", [tensors], locals())


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch` of elements from several sources, each of which has a thread of its own: as many
    tensors as the shortest source has. Raises `TypeError` where their dtypes differ."""
    return maybe_batch_join(keep_input=True, **locals())


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch_join` of those elements for which `keep_input` holds. Raises as `batch_join`, and
    `ValueError` for a `keep_input` of another shape."""
    return _batched("batch_join", tensors_list, locals())


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of elements in random order: each is taken from more than `min_after_dequeue`. As
    `batch`; raises `ValueError` where the capacity is not larger than that."""
    return maybe_shuffle_batch(keep_input=True, **locals())


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of those elements for which `keep_input` holds. Raises as `shuffle_batch`,
    and `ValueError` for a `keep_input` of another shape."""
    return _batched("shuffle_batch", [tensors], locals())


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of elements from several sources, each of which has a thread of its own: as
    many tensors as the shortest source has. Raises `TypeError` where their dtypes differ."""
    return maybe_shuffle_batch_join(keep_input=True, **locals())


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch_join` of those elements for which `keep_input` holds. Raises as
    `shuffle_batch_join`, and `ValueError` for a `keep_input` of another shape."""
    return _batched("shuffle_batch_join", tensors_list, locals())


# -- the graph


def _batched(default_name: str, sources: Sequence[Any], given: Mapping[str, Any]) -> Any:
    """A batch of elements from each source, in the structure of the first. `given`: the arguments
    of a function above, by name."""
    s = _Batching(**{f.name: given[f.name] for f in fields(_Batching) if f.name in given})
    if not sources:
        raise ValueError("Expected at least one set of tensors")
    if any(isinstance(x, Mapping) and x.keys() != sources[0].keys() for x in sources):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    rows = [_listed(x) for x in sources]
    every = [*(t for row in rows for t in row), s.keep_input]
    with name_scope(s.name, default_name, every) as name:
        found = [[_element(t) for t in row] for row in rows]
        if not all(found):
            raise ValueError(f"Expected at least one tensor in {default_name.split('/')[0]}().")
        keep = _keep_input(s.keep_input, s.enqueue_many)
        tensors, sparse = stored(found, s.enqueue_many, keep)
        types = _types(tensors)
        shapes = _shapes(tensors, s.shapes, s.enqueue_many)
        least = s.min_after_dequeue
        if least is not None and s.capacity <= least:
            raise ValueError(
                f"capacity {s.capacity} must be bigger than min_after_dequeue {least}."
            )
        queue = s.queue(types, shapes)
        ops = [_enqueued(queue, row, s.enqueue_many, keep) for row in tensors] * s.num_threads
        add_queue_runner(QueueRunner(queue, ops))
        _summarize(queue, s)
        take = queue.dequeue_up_to if s.allow_smaller_final_batch else queue.dequeue_many
        taken = take(s.batch_size, name=name)
        batch = restored(taken if isinstance(taken, list) else [taken], sparse)
        return _structured(sources[0], batch)


def _listed(tensors: Any) -> list[Any]:
    if isinstance(tensors, Mapping):
        return [tensors[key] for key in sorted(tensors)]
    return list(tensors) if isinstance(tensors, list | tuple) else [*_single(tensors)]


def _single(tensors: Any) -> Sequence[Any]:
    if isinstance(tensors, Tensor | SparseTensor) or hasattr(tensors, "_as_tensor"):
        return (tensors,)
    return tuple(tensors)


def _structured(given: Any, batch: list[Any]) -> Any:
    if isinstance(given, Mapping):
        return dict(zip(sorted(given), batch))
    return batch[0] if len(batch) == 1 else batch


def _element(value: Any) -> Any:
    return value if isinstance(value, SparseTensor) else as_tensor(value)


def _keep_input(keep: Any, enqueue_many: bool) -> Tensor:
    found = as_tensor(keep)
    rank = found.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return found


def _types(rows: Sequence[Sequence[Tensor]]) -> list[Any]:
    found = [t.base_dtype for t in rows[0]]
    for row in rows:
        for mine, tensor in zip(found, row, strict=True):
            if tensor.base_dtype is not mine:
                raise TypeError(
                    f"Expected types to be consistent: {name_of(mine)} vs. {name_of(tensor.dtype)}."
                )
    return found


def _shapes(rows: Sequence[Sequence[Tensor]], given: Any, enqueue_many: bool) -> list[TensorShape]:
    """The shapes of elements, open where sources differ."""
    if given is not None:
        return [TensorShape(shape) for shape in given]
    found: list[TensorShape] = []
    for column in zip(*rows):
        for tensor in column:
            if tensor.shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
        shapes = [t.shape for t in column]
        if enqueue_many:
            shapes = [shape.with_rank_at_least(1)[1:] for shape in shapes]
        if len({shape.ndims for shape in shapes}) > 1:
            found.append(TensorShape(None))
            continue
        dims = zip(*(shape.as_list() for shape in shapes))
        found.append(TensorShape([d[0] if len(set(d)) == 1 else None for d in dims]))
    return found


def _enqueued(queue: QueueBase, row: Sequence[Tensor], many: bool, keep: Tensor) -> Any:
    put = queue.enqueue_many if many else queue.enqueue
    if keep.shape.ndims == 1:
        kept = cast(keep, dtypes.i32)
        return put([dynamic_partition(t, kept, num_partitions=2)[1] for t in row])
    return smart_cond(keep, lambda: put(list(row)), no_op)


def _summarize(queue: QueueBase, s: _Batching) -> None:
    """How full the queue is, of what it may hold beyond what stays."""
    size, room = queue.size(), s.capacity
    name = f"fraction_of_{room}_full"
    if s.min_after_dequeue is not None:
        room -= s.min_after_dequeue
        size = maximum(0, size - s.min_after_dequeue)
        name = f"fraction_over_{s.min_after_dequeue}_of_{room}_full"
    scalar(name, cast(size, dtypes.f32) * (1.0 / room))
