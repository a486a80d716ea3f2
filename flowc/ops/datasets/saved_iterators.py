"""Iterators in checkpoints: where one is, as a variant that `SaveV2` writes, and back.

In: a handle. Out: a position; or the iterator, which goes on from one. Invariant: the dataset is
that of the iterator's own initializer; a checkpoint holds what was gathered of it, no functions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import FailedPreconditionError, InvalidArgumentError
from flowc.ir.host_run import HostRun, StoredValue, held
from flowc.ops.datasets.dataset import Array, Captured, HostDataset
from flowc.ops.datasets.iterators import blocking_host, define_iterator_step, iterator_state
from flowc.ops.datasets.positions import position_bytes, position_of

WARN, IGNORE, FAIL = range(3)  # where results depend on more than the elements of the input


def _functions(value: Any) -> Iterator[Captured]:
    """The functions of a dataset, and of those that it is made of."""
    if isinstance(value, Captured):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _functions(part)
    elif isinstance(value, HostDataset):
        yield from _functions(list(vars(value).values()))


def _serialize(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, external_state_policy: Any
) -> list[Array]:
    run.check()
    policy = int(external_state_policy)

    def check(dataset: HostDataset) -> None:
        found = (run.functions.stateful(function.name) for function in _functions(dataset))
        op_type = next((t for t in found if t is not None), None)
        if op_type is not None and policy == FAIL:
            raise FailedPreconditionError(
                f"{op_type} is stateful.",
                hint="what it holds is not saved with the iterator; external_state_policy='warn' "
                "saves the rest",
            )
        if op_type is not None and policy == WARN:
            logging.getLogger("flowc").warning(
                "an iterator is saved without the state of %s in a function of its dataset", op_type
            )

    position = iterator_state(inputs[0], run).position(run, check)
    return [held(StoredValue(position_bytes(position)))]


def _deserialize(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    # TensorFlow's states are vectors of variants, whose first one says whose they are.
    stored = held(inputs[1]).reshape(-1).tolist()
    if not stored or not isinstance(stored[0], StoredValue):
        raise InvalidArgumentError("a variant is no state of an iterator, where one is expected")
    iterator_state(inputs[0], run).move(position_of(stored[0]), run)
    return []


define_iterator_step(
    "SerializeIterator",
    "(resource_handle: resource; external_state_policy: int = 0) -> serialized: variant",
    blocking_host(_serialize, "SerializeIterator", "external_state_policy"),
    ("SerializeIterator",),
    ((dtypes.variant, ()),),
)
define_iterator_step(
    "DeserializeIterator",
    "(resource_handle: resource, serialized: variant)",
    blocking_host(_deserialize, "DeserializeIterator"),
    ("DeserializeIterator",),
    (),
)
