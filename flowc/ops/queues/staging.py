"""Staging areas: Stage, Unstage, StagePeek, StageSize, StageClear.

In: tuples of tensors. Out: the same, in the order in which they came. Invariant: an area holds at
most `capacity` tuples, and `memory_limit` bytes, where these are not 0.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, scalar_of
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.types import Dims
from flowc.ops.queues.handles import (
    Handle,
    define_step,
    infer_scalars,
    no_outputs,
    scalars,
)

Array = np.ndarray[Any, Any]


class StagingArea:
    """Tuples of one area."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tuples: deque[list[Array]] = deque()
        self._bytes = 0

    def put(self, run: HostRun, values: Sequence[Array], capacity: int, limit: int) -> None:
        size = _bytes(values)
        if limit and size > limit:
            raise ResourceExhaustedError(
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging "
                f"Area with a memory limit of '{limit}'."
            )

        def has_room() -> bool:
            fits = not limit or self._bytes + size <= limit
            return fits and (not capacity or len(self._tuples) < capacity)

        with self._changed:
            run.wait(self._changed, has_room)
            self._tuples.append(list(values))
            self._bytes += size
            self._changed.notify_all()

    def get(self, run: HostRun) -> list[Array]:
        with self._changed:
            run.wait(self._changed, lambda: bool(self._tuples))
            found = self._tuples.popleft()
            self._bytes -= _bytes(found)
            self._changed.notify_all()
            return found

    def peek(self, run: HostRun, index: int) -> list[Array]:
        """The tuple at a place, which stays."""
        if index < 0:
            raise InvalidArgumentError(f"index must be >= 0, not {index}")
        with self._changed:
            run.wait(self._changed, lambda: index < len(self._tuples))
            return [array.copy() for array in self._tuples[index]]

    def size(self) -> int:
        with self._changed:
            return len(self._tuples)

    def close(self) -> None:
        with self._changed:
            self._tuples.clear()
            self._bytes = 0
            self._changed.notify_all()


def _bytes(values: Sequence[Array]) -> int:
    return sum(array.nbytes for array in values)


def _area(run: HostRun, container: str, shared_name: str, name: str) -> StagingArea:
    return run.states.find(f"stage {container}/{shared_name or name}", StagingArea, StagingArea)


# -- steps


def _stage(
    inputs: Sequence[Any],
    _: Sequence[DType],
    *,
    run: HostRun,
    capacity: int,
    memory_limit: int,
    **named: str,
) -> list[Array]:
    values = [np.array(x, object) if isinstance(x, bytes) else np.asarray(x) for x in inputs]
    _area(run, **named).put(run, values, capacity, memory_limit)
    return []


def _unstage(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, **named: str
) -> list[Array]:
    return _checked(_area(run, **named).get(run), types)


def _peek(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, **named: str
) -> list[Array]:
    return _checked(_area(run, **named).peek(run, int(scalar_of(inputs[0], "index"))), types)


def _checked(found: list[Array], types: Sequence[DType]) -> list[Array]:
    if [array.dtype for array in found] != [t.numpy for t in types]:
        held = ", ".join(str(array.dtype) for array in found)
        raise InvalidArgumentError(f"the staging area holds {held}, and not {list(types)}")
    return found


def _size(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, **named: str) -> list[Array]:
    return [np.array(_area(run, **named).size(), np.int32)]


def _clear(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, **named: str) -> list[Array]:
    _area(run, **named).close()
    return []


# -- records


def _open(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [None] * len(attrs["dtypes"])


def _infer_nothing(c: Inference) -> list[Dims]:
    return []


_NAMED = ("container", "shared_name", "name")
_ATTRS = (
    "capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type){},"
    ' container: string = "", shared_name: string = ""'
)
_TYPED, _ANY = _ATTRS.format(" >= 1"), _ATTRS.format("")

define_step(
    "stage",
    f"Stage(values: dtypes; {_TYPED})",
    _stage,
    no_outputs,
    ("capacity", "memory_limit", *_NAMED),
    infer=_infer_nothing,
    forms={"": "Stage"},
)
define_step(
    "unstage",
    f"Unstage(; {_TYPED}) -> values: dtypes",
    _unstage,
    _open,
    _NAMED,
    forms={"": "Unstage"},
)
define_step(
    "stage_peek",
    f"StagePeek(index: i32; {_TYPED}) -> values: dtypes",
    _peek,
    _open,
    _NAMED,
    forms={"": "StagePeek"},
)
define_step(
    "stage_size",
    f"StageSize(; {_ANY}) -> size: i32",
    _size,
    scalars(1),
    _NAMED,
    infer=infer_scalars(1),
    forms={"": "StageSize"},
)
define_step(
    "stage_clear",
    f"StageClear(; {_ANY})",
    _clear,
    no_outputs,
    _NAMED,
    infer=_infer_nothing,
    forms={"": "StageClear"},
)
