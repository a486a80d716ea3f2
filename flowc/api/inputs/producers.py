"""Producers: queues that threads fill from a tensor, once an epoch.

In: a tensor: names of files, numbers of rows, rows. Out: a queue with a QueueRunner, or tensors
that each run takes from one. Invariants: each epoch has every row once, in another order if
shuffled; the epochs are counted by a local variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import shape, size
from flowc.api.framework.basics import cast, constant, identity
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import control_dependencies, name_scope
from flowc.api.inputs.queue_runner import QueueRunner, add_queue_runner
from flowc.api.inputs.queues import FIFOQueue
from flowc.api.io.decoding import matching_files
from flowc.api.math.elementwise import greater
from flowc.api.random.random_ops import random_shuffle
from flowc.api.summaries.merging import scalar
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variables import Variable
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

_EMPTY = "string_input_producer requires a non-null input tensor"


def match_filenames_once(pattern: Any, name: str | None = None) -> Variable:
    """The names of the files that match a pattern, in a local variable: they are those that its
    initializer found. `pattern`: a string, or a vector of them. Raises `TypeError` for what is
    none."""
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            name=scope,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor `num_epochs` times, then runs raise `OutOfRangeError`; for ever, if None. A local
    variable counts. Raises `ValueError` for numbers below 1."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.i64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of the rows of `input_tensor`, in each of `num_epochs` (default: endless) in another
    order with `shuffle`. Raises `ValueError` where the shape of a row is not known."""
    with name_scope(name, "input_producer", [input_tensor]):
        rows = as_tensor(input_tensor, None, "input_tensor")
        row_shape = rows.shape.with_rank_at_least(1)[1:].merge_with(TensorShape(element_shape))
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype], [row_shape], shared_name=shared_name, name=name or "FIFOQueueV2"
        )
        fill = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [fill], cancel_op=cancel_op))
        if summary_name is not None:
            scalar(summary_name, cast(queue.size(), dtypes.f32) * (1.0 / capacity))
        return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:
    """A queue of strings, such as names of files, for a reader. As `input_producer`; raises
    `ValueError` for an empty list, a run `InvalidArgumentError` for an empty tensor."""
    if isinstance(string_tensor, list | tuple | np.ndarray) and not len(string_tensor):
        raise ValueError(_EMPTY)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = as_tensor(string_tensor, dtypes.string)
        with control_dependencies([Assert(greater(size(strings), 0), [_EMPTY])]):
            strings = identity(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> FIFOQueue:
    """A queue of the numbers from 0 to `limit` - 1. As `input_producer`. int32 scalars. Raises as
    it does."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """One row of each tensor, all of one number, which each run takes from a queue. As
    `input_producer`; raises `ValueError` for no tensors."""
    with name_scope(name, "input_producer", list(tensor_list)):
        tensors = [as_tensor(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]
