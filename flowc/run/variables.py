"""The variables of a Session: what they hold between runs, and which runs wait for one another.

In: what a run reads and writes. Out: values to read, buffers to write. Invariants: no array of a
caller is ever a variable's, nor the other way round; a run sees the values of all variables at one
moment, and what it writes appears at once, when it has ended well; a buffer is written only where
no run can be reading it. Rows of a variable may be changed in place: a run that does so and fails
may leave them half changed, as in TensorFlow. docs/internals/state.md says why it is so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.codegen.forks import keepers
from flowc.dataclass import dataclass
from flowc.errors import FailedPreconditionError
from flowc.ir.cached_property import cached_property
from flowc.run.device_buffers import DeviceBuffer
from flowc_runtime.addresses import data_address

if TYPE_CHECKING:
    from flowc.ir.program_spec import ProgramSpec
    from flowc.ir.types import TensorType

MOST_BOUND = 1024

Array = np.ndarray[Any, Any]
Addresses = tuple[list[int], list[int]]
# Runs with the values of the variables that are read, buffers for those that are written, and the
# addresses of both where every variable has a buffer.
Run = Callable[[list[Array], list[Array | None], Addresses | None], Sequence[Array]]


def type_of(array: Array) -> TensorType:
    from flowc.ir.types import TensorType  # late: a Session without a program needs none

    return TensorType(dtypes.as_dtype(array.dtype), array.shape)


@dataclass(frozen=True, eq=False)
class Access:
    """What a run does with variables. `in_place`: those of `writes` that it changes where they
    are; `on_device`: those that it reads, and writes, in the memory of a GPU."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    in_place: frozenset[str] = frozenset()
    on_device: frozenset[str] = frozenset()

    @classmethod
    def of(cls, spec: ProgramSpec) -> Access:
        reads, writes = (tuple(v.name for v in found) for found in (spec.reads, spec.writes))
        in_place = frozenset(v.name for v in spec.variables if spec.in_place(v))
        on_device = frozenset(v.name for v in spec.variables if v.on_device)
        return cls(reads, writes, in_place, on_device)

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(self.writes)

    @cached_property
    def touched(self) -> frozenset[str]:
        return self.written.union(self.reads)

    def conflicts(self, other: Access) -> bool:
        """Whether two runs may not be under way at once: where both write, one of them what the
        other touches; and where one changes in place what the other touches."""
        mine = self.written if other.writes else self.in_place
        theirs = other.written if self.writes else other.in_place
        return not (mine.isdisjoint(other.touched) and theirs.isdisjoint(self.touched))


class _Held:
    """One variable: its value, and the buffer that it had before, to write the next one into. A
    buffer's address is 0 where there is none. `device`: its value on a GPU, which runs there have
    given it since the host had it, or before; `is_there`: the value on the GPU is right, `is_here`:
    that of the host is."""

    __slots__ = (
        "address",
        "device",
        "is_here",
        "is_own",
        "is_there",
        "spare",
        "spare_address",
        "spare_device",
        "type",
        "value",
    )

    def __init__(self, value: Array, is_own: bool) -> None:
        self.device: DeviceBuffer | None = None
        self.spare_device: DeviceBuffer | None = None
        self.put(value, is_own)
        self.type = type_of(value)

    def put(self, value: Array, is_own: bool, spare: Array | None = None) -> None:
        self.value, self.is_own, self.spare = value, is_own, spare
        self.address = data_address(value) or 0
        self.spare_address = 0 if spare is None else data_address(spare) or 0
        self.is_here, self.is_there = True, False

    def swap(self) -> None:
        """The buffer has been written and is the value."""
        assert self.spare is not None
        self.value, self.spare = self.spare, self.value
        self.address, self.spare_address = self.spare_address, self.address
        self.is_here, self.is_there = True, False

    def bring_here(self) -> None:
        """Has the value on the host."""
        if not self.is_here:
            assert self.device is not None
            self.device.download(self.value)
            self.is_here = True

    def bring_there(self) -> int:
        """Has the value on the GPU; its address there."""
        size = self.value.nbytes
        if self.device is None or self.device.bytes != size:
            self.device = DeviceBuffer(size)
            self.is_there = False
        if not self.is_there:
            self.device.upload(self.value)
            self.is_there = True
        return self.device.address

    def room_there(self, is_spare_free: bool) -> DeviceBuffer:
        """Where a run can write the next value on the GPU."""
        found = self.spare_device
        if found is None or found.bytes != self.value.nbytes or not is_spare_free:
            found = DeviceBuffer(self.value.nbytes)
        return found

    def written_there(self, room: DeviceBuffer | None) -> None:
        """A run has written the value on the GPU: to `room`, or where it was."""
        if room is not None:
            self.device, self.spare_device = room, self.device
        self.is_here, self.is_there = False, True
        if not self.is_own:  # the host's copy is another's, and will be written
            self.value, self.is_own = np.empty_like(self.value), True
            self.address = data_address(self.value) or 0


class _Bound:
    """The variables of an Access; `writes` say of each whether it is changed in place. `is_whole`:
    all of them are held."""

    __slots__ = ("in_place", "is_whole", "reads", "writes")

    def __init__(self, access: Access, held: Mapping[str, _Held]) -> None:
        self.reads = [held[name] for name in access.reads]
        self.in_place = [held[name] for name in access.in_place]
        writes = [name for name in access.writes if name in held]
        self.writes = [(held[name], name in access.in_place) for name in writes]
        self.is_whole = len(writes) == len(access.writes)

    def addresses(self) -> Addresses | None:
        """The addresses of the values to read and of the buffers to write; None if some variable
        has none."""
        written = [h.address if changed else h.spare_address for h, changed in self.writes]
        if not self.is_whole or not all(written):
            return None
        return [h.address for h in self.reads], written


Entry = tuple[Access, int]  # a run that is under way or waits, and its thread


class HeldVariables:
    """`version` changes with the types of what is held, and with nothing else.

    `initial`: values that variables have before any run assigns them (a checkpoint's).
    """

    def __init__(self, initial: Callable[[], Mapping[str, Array]]) -> None:
        self.version = 0
        self._initial = initial
        self._held: dict[str, _Held] = {}
        self._bound: dict[Access, _Bound] = {}  # while the types are what they are
        self._has_device = False  # whether a run has had variables on a GPU
        self._active: list[Entry] = []
        self._waiting: list[Entry] = []  # in the order in which they came
        self._lock = threading.Lock()  # of all the above; never held while a run is under way
        self._changed = threading.Condition(self._lock)
        keepers().add(self)

    def forked(self) -> None:
        """In a forked child no other thread runs; assignments that were under way are dropped."""
        self._active.clear()
        self._waiting.clear()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def types(self) -> tuple[int, dict[str, TensorType]]:
        """The version, and the types that belong to it."""
        with self._lock:
            return self.version, {name: v.type for name, v in self._held.items()}

    def values(self) -> dict[str, Array]:
        """Copies of what is held, at one moment."""
        while True:
            version, types = self.types()
            found = self.run(version, Access(tuple(types)), lambda x, *_: [a.copy() for a in x])
            if found is not None:
                return dict(zip(types, found))

    def adopt(self, names: Iterable[str]) -> None:
        """Holds the initial values of variables that nothing has assigned yet."""
        for name in names:
            if name in self._held:
                continue
            value = np.asarray(self._initial()[name], order="C")
            with self._lock:
                if name not in self._held:
                    self._held[name] = _Held(value, is_own=False)
                    self._types_change()

    def forget(self) -> None:
        with self._lock:
            self._held.clear()
            self._types_change()

    def _types_change(self) -> None:
        self._bound.clear()
        self.version += 1

    def run(self, version: int, access: Access, run: Run) -> Sequence[Array] | None:
        """What `run` gives, less the new values of what it writes, which come last and are kept.
        None where types have changed since `version`: the program is another one now."""
        entry = (access, threading.get_ident())
        with self._lock:
            if self._active or self._waiting:
                self._wait(entry)
            if version != self.version:
                return None
            bound = self._bound.get(access)
            if bound is None:
                bound = self._bind(access)
            for held in bound.in_place:
                if not held.is_own:
                    held.put(held.value.copy(), is_own=True)
            rooms: dict[str, DeviceBuffer] = {}
            if access.on_device or self._has_device:
                self._bring(access, bound)
            values = [held.value for held in bound.reads]
            addresses = None if self._active else bound.addresses()
            if access.on_device:
                buffers = [self._buffer(name, access) for name in access.writes]
                addresses = self._addresses(access, buffers, rooms)
            elif addresses is not None:
                buffers = [h.value if changed else h.spare for h, changed in bound.writes]
            else:
                buffers = [self._buffer(name, access) for name in access.writes]
            self._active.append(entry)
        results: Sequence[Array] = ()
        try:
            results = run(values, buffers, addresses)
        finally:
            with self._lock:
                if entry in self._active:  # not in a child that this run forked
                    self._active.remove(entry)
                if access.writes and results:
                    self._keep_all(access, bound, buffers, results[-len(access.writes) :], rooms)
                if self._waiting:
                    self._changed.notify_all()
        return results[: len(results) - len(access.writes)]

    def _bind(self, access: Access) -> _Bound:
        if len(self._bound) >= MOST_BOUND:
            self._bound.clear()
        found = self._bound[access] = _Bound(access, self._held)
        return found

    def _keep_all(
        self,
        access: Access,
        bound: _Bound,
        buffers: Sequence[Array | None],
        results: Sequence[Array],
        rooms: Mapping[str, DeviceBuffer],
    ) -> None:
        """What a run has written is what the variables hold."""
        if access.on_device:
            for name, value in zip(access.writes, results):
                if name in access.on_device:
                    self._held[name].written_there(rooms.get(name))
                else:
                    self._keep(name, value)
        elif bound.is_whole and all(map(is_, results, buffers)):
            for held, changed in bound.writes:
                if not changed:
                    held.swap()
        else:
            for name, value in zip(access.writes, results):
                self._keep(name, value)

    # -- memory of a GPU

    def _bring(self, access: Access, bound: _Bound) -> None:
        """Has what a run reads where it reads it."""
        self._has_device = True
        for name, held in zip(access.reads, bound.reads):
            if name in access.on_device:
                held.bring_there()
            else:
                held.bring_here()
        for name in access.in_place - access.on_device:
            self._held[name].is_there = False

    def _addresses(
        self, access: Access, buffers: Sequence[Array | None], rooms: dict[str, DeviceBuffer]
    ) -> Addresses:
        """Where a run finds what it reads and where it writes: 0 where that is for it to say. Rooms
        are those of the next values on the GPU."""
        read: list[int] = []
        for name in access.reads:
            held = self._held[name]
            there = name in access.on_device
            read.append(held.bring_there() if there else held.address)
        written: list[int] = []
        for name, buffer in zip(access.writes, buffers):
            if name not in access.on_device:
                written.append(0 if buffer is None else data_address(buffer) or 0)
            elif name in access.in_place:
                written.append(self._held[name].bring_there())
            else:
                is_read = any(name in other.touched for other, _ in self._active)
                rooms[name] = self._held[name].room_there(not is_read)
                written.append(rooms[name].address)
        return read, written

    def _wait(self, entry: Entry) -> None:
        """Waits in line: until no run under way conflicts with this one, nor one that has waited
        for longer, so that none starves."""
        if any(thread == entry[1] for _, thread in self._active):
            self._check_nested(entry)
        self._waiting.append(entry)
        try:
            self._changed.wait_for(lambda: not self._is_blocked(entry))
        finally:
            self._waiting.remove(entry)
            self._changed.notify_all()

    def _is_blocked(self, entry: Entry) -> bool:
        # A run inside another one passes those that wait for the outer one.
        is_nested = any(thread == entry[1] for _, thread in self._active)
        earlier = [] if is_nested else self._waiting[: self._waiting.index(entry)]
        return any(access.conflicts(entry[0]) for access, _ in (*self._active, *earlier))

    def _check_nested(self, entry: Entry) -> None:
        outer = [access for access, thread in self._active if thread == entry[1]]
        if any(access.conflicts(entry[0]) for access in outer):
            raise FailedPreconditionError(
                "a function of Python that a run calls started another run of the session, and one "
                "of the two assigns variables: it would wait for itself",
                hint="give the function what it needs as inputs, and assign what it returns",
            )

    def _buffer(self, name: str, access: Access) -> Array | None:
        """Where the next value is written: in place, or to a buffer that no run reads."""
        held = self._held.get(name)
        if held is None or name in access.in_place:
            return None if held is None else held.value
        is_read = any(name in other.touched for other, _ in self._active)
        return None if is_read else held.spare

    def _keep(self, name: str, value: Array) -> None:
        held = self._held.get(name)
        if held is None:
            self._held[name] = _Held(value, is_own=True)
            self._types_change()
            return
        if held.value is value:
            return
        fits = held.value.dtype == value.dtype and held.value.shape == value.shape
        held.put(value, is_own=True, spare=held.value if held.is_own and fits else None)
        if not fits:
            held.type = type_of(value)
            self._types_change()
