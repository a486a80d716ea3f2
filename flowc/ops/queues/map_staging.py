"""Staging areas whose tuples have keys: MapStage, MapUnstage and their kin, and OrderedMap's.

In: keys, and tuples of tensors, whole or in parts. Out: the same, by their keys. Invariants: who
takes gets a tuple once all its parts are there; an area holds at most `capacity` tuples, and
`memory_limit` bytes, where these are not 0; an ordered one gives the least key first.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.computation import Value
from flowc.ir.extraction import Extractor
from flowc.ir.host_run import HostRun, held
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.queues.handles import Handle, define_step, infer_scalars, no_outputs, scalars

Array = np.ndarray[Any, Any]
Tuple = list[Array | None]


class MapStagingArea:
    """Tuples of one area: those that are whole (or were, until a part was taken), and others."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._whole: dict[int, Tuple] = {}
        self._incomplete: dict[int, Tuple] = {}
        self._bytes = 0

    def put(
        self,
        run: HostRun,
        key: int,
        places: Sequence[int],
        values: Sequence[Array],
        width: int,
        capacity: int,
        limit: int,
    ) -> None:
        size = sum(value.nbytes for value in values)
        if limit and size > limit:
            raise ResourceExhaustedError(
                f"Attempted to insert tensors with combined size of '{size}' bytes into Staging "
                f"Area with a memory limit of '{limit}'."
            )

        def has_room() -> bool:
            fits = not limit or self._bytes + size <= limit
            begun = key in self._incomplete
            return fits and (begun or not capacity or len(self._whole) < capacity)

        with self._changed:
            run.wait(self._changed, has_room)
            parts: Tuple = self._incomplete.get(key) or [None] * width
            for place in places:
                if parts[place] is not None:
                    raise InvalidArgumentError(
                        f"The tensor for index '{place}' for key '{key}' was already initialized "
                        f"'{width}'."
                    )
            for place, value in zip(places, values):
                parts[place] = value
            if any(part is None for part in parts):
                self._incomplete[key] = parts
            else:
                self._incomplete.pop(key, None)
                self._whole.setdefault(key, parts)
            self._bytes += size
            self._changed.notify_all()

    def get(self, run: HostRun, key: int, places: Sequence[int], types: Sequence[DType]) -> Any:
        """Parts of the tuple with a key, which it holds no longer."""
        with self._changed:
            run.wait(self._changed, lambda: key in self._whole)
            return self._taken(key, places, types)

    def first(
        self, run: HostRun, places: Sequence[int], types: Sequence[DType], ordered: bool
    ) -> tuple[int, Sequence[Array]]:
        """A tuple and its key: the least one, or that which came first."""
        with self._changed:
            run.wait(self._changed, lambda: bool(self._whole))
            key = min(self._whole) if ordered else next(iter(self._whole))
            return key, self._taken(key, places, types)

    def _taken(self, key: int, places: Sequence[int], types: Sequence[DType]) -> Sequence[Array]:
        parts = self._whole[key]
        found = _parts(parts, key, places, types)
        for place in places:
            parts[place] = None
        self._bytes -= sum(array.nbytes for array in found)
        if all(part is None for part in parts):
            del self._whole[key]
        self._changed.notify_all()
        return found

    def peek(self, run: HostRun, key: int, places: Sequence[int], types: Sequence[DType]) -> Any:
        """Parts of the tuple with a key, which stay."""
        with self._changed:
            run.wait(self._changed, lambda: key in self._whole)
            return [a.copy() for a in _parts(self._whole[key], key, places, types)]

    def sizes(self) -> tuple[int, int]:
        """How many tuples are whole, and how many are not."""
        with self._changed:
            return len(self._whole), len(self._incomplete)

    def close(self) -> None:
        with self._changed:
            self._whole.clear()
            self._incomplete.clear()
            self._bytes = 0
            self._changed.notify_all()


def _parts(
    parts: Tuple, key: int, places: Sequence[int], types: Sequence[DType]
) -> Sequence[Array]:
    _check_places(places, key, len(parts))
    if len(types) != len(places):
        raise InvalidArgumentError(f"{len(places)} indices for outputs of {len(types)} dtypes")
    found: list[Array] = []
    for place, dtype in zip(places, types):
        part = parts[place]
        if part is None:
            raise InvalidArgumentError(
                f"Tensor at index '{place}' for key '{key}' has already been removed."
            )
        if part.dtype != dtype.numpy:
            raise InvalidArgumentError(
                f"the tensor at index {place} for key {key} is of dtype "
                f"{dtype_shown(as_dtype(part.dtype))}, and not {dtype_shown(dtype)}"
            )
        found.append(part)
    return found


def _check_places(places: Sequence[int], key: int, width: int) -> None:
    for place in places:
        if not 0 <= place < width:
            raise InvalidArgumentError(
                f"Index '{place}' for key '{key}' was out of bounds '{width}'."
            )


# -- steps


def _area(run: HostRun, container: str, shared_name: str, name: str) -> MapStagingArea:
    name = f"map stage {container}/{shared_name or name}"
    return run.states.find(name, MapStagingArea, MapStagingArea)


def _key_of(given: Any) -> int:
    key = held(given)
    if not key.size:
        raise InvalidArgumentError("key must not be empty")
    if key.size != 1:
        raise InvalidArgumentError(
            f"key must be an int64 scalar, got tensor with shape: {shown_dims(key.shape)}"
        )
    return int(key.reshape(-1)[0])


def _places(given: Any) -> list[int]:
    found = held(given).reshape(-1).tolist()
    if not found:
        raise InvalidArgumentError("Indices are empty")
    if any(one >= other for one, other in itertools.pairwise(found)):
        raise InvalidArgumentError("Indices are not strictly ordered")
    return found


def _stage(
    inputs: Sequence[Any],
    _: Sequence[DType],
    *,
    run: HostRun,
    dtypes: Sequence[str],
    capacity: int,
    memory_limit: int,
    **named: str,
) -> list[Array]:
    key, places = _key_of(inputs[0]), _places(inputs[1])
    values = [np.array(held(x)) for x in inputs[2:]]
    if len(places) != len(values):
        raise InvalidArgumentError(f"{len(places)} indices for {len(values)} values")
    types = [as_dtype(name) for name in dtypes]
    _check_places(places, key, len(types))
    for place, value in zip(places, values):
        if value.dtype != types[place].numpy:
            raise InvalidArgumentError(
                f"the value at index {place} is of dtype {dtype_shown(as_dtype(value.dtype))}, and "
                f"not {dtype_shown(types[place])}"
            )
    _area(run, **named).put(run, key, places, values, len(types), capacity, memory_limit)
    return []


def _unstage(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, **named: str
) -> Sequence[Array]:
    return _area(run, **named).get(run, _key_of(inputs[0]), _places(inputs[1]), types)


def _peek(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, **named: str
) -> Sequence[Array]:
    return _area(run, **named).peek(run, _key_of(inputs[0]), _places(inputs[1]), types)


def _unstage_first(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, ordered: bool, **named: str
) -> Sequence[Array]:
    key, found = _area(run, **named).first(run, _places(inputs[0]), types[1:], ordered)
    return [np.array(key), *found]


def _size(
    inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, which: int, **named: str
) -> list[Array]:
    return [np.array(_area(run, **named).sizes()[which], np.int32)]


def _clear(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, **named: str) -> list[Array]:
    _area(run, **named).close()
    return []


# -- records


def _unknown_shapes(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> Any:
    return [None] * len(attrs["dtypes"])


def _key_and_unknown_shapes(
    x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs
) -> Any:
    return [(), *[None] * len(attrs["dtypes"])]


def _infer_nothing(c: Inference) -> list[Dims]:
    return []


_NAMED = ("container", "shared_name", "name")
_ATTRS = (
    "capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type){},"
    ' container: string = "", shared_name: string = ""'
)
_TYPED, _ANY = _ATTRS.format(" >= 1"), _ATTRS.format("")
_STAGED = _ANY.replace("dtypes: list(type)", "dtypes: list(type), fake_dtypes: list(type) >= 1")
_PUT = ("dtypes", "capacity", "memory_limit", *_NAMED)

for _prefix, _kind in (("map", "Map"), ("ordered_map", "OrderedMap")):
    _first = partial(_unstage_first, ordered=_kind != "Map")
    for _name, _tf, _step, _shapes, _settings, _infer in (
        (
            "stage",
            f"Stage(key: i64, indices: i32, values: fake_dtypes; {_STAGED})",
            _stage,
            no_outputs,
            _PUT,
            _infer_nothing,
        ),
        (
            "unstage",
            f"Unstage(key: i64, indices: i32; {_TYPED}) -> values: dtypes",
            _unstage,
            _unknown_shapes,
            _NAMED,
            None,
        ),
        (
            "peek",
            f"Peek(key: i64, indices: i32; {_TYPED}) -> values: dtypes",
            _peek,
            _unknown_shapes,
            _NAMED,
            None,
        ),
        (
            "unstage_no_key",
            f"UnstageNoKey(indices: i32; {_TYPED}) -> (key: i64, values: dtypes)",
            _first,
            _key_and_unknown_shapes,
            _NAMED,
            None,
        ),
        (
            "size",
            f"Size(; {_ANY}) -> size: i32",
            partial(_size, which=0),
            scalars(1),
            _NAMED,
            infer_scalars(1),
        ),
        (
            "incomplete_size",
            f"IncompleteSize(; {_ANY}) -> size: i32",
            partial(_size, which=1),
            scalars(1),
            _NAMED,
            infer_scalars(1),
        ),
        ("clear", f"Clear(; {_ANY})", _clear, no_outputs, _NAMED, _infer_nothing),
    ):
        define_step(
            f"{_prefix}_{_name}",
            _kind + _tf,
            _step,
            _shapes,
            _settings,
            infer=_infer,
            forms={"": _kind + _tf.partition("(")[0]},
        )
