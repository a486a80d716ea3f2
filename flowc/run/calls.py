"""Calls of a program: what depends only on the structure, dtypes and shapes of the feeds is
computed once.

In: arrays in the order of a program's feeds. Out: results in the structure that a caller asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError
from flowc.graph import Tensor
from flowc.ir.host_run import CancelToken, ChosenTensor, HostRun, WouldWaitError
from flowc.run.device_buffers import DeviceArray
from flowc.run.fetches import Rebuild, feed_array
from flowc.run.host_ranks import Outdated
from flowc.run.host_steps import host_run
from flowc.run.variables import Access, Addresses, HeldVariables
from flowc_runtime.addresses import ON_DEVICE, data_address

if TYPE_CHECKING:
    from concurrent.futures import Future

    from flowc.ir.program_spec import TensorSpec
    from flowc.run.executable import Executable, Layout
    from flowc.run.programs import SessionProgram
    from flowc.run.segments import Segment
    from flowc.run.state import RunState

    # Makes a call: of a program and its version, the Session's state, feeds, the structure of
    # results.
    CallMaker = Callable[[SessionProgram, int, RunState, Sequence[Any], Rebuild], "Call"]

Array = np.ndarray[Any, Any]


class Call(Protocol):
    """Runs a program with feeds of one form; `timeout` in milliseconds, 0 for none. `into`: arrays
    that results may be written to, all of them, if they fit; these are given back then."""

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any: ...


class PlainCall:
    """A program with all that the form of its feeds decides: their shapes, strides and dtypes."""

    __slots__ = ("contiguous", "executable", "layout", "rebuild")

    def __init__(self, executable: Executable, arrays: Sequence[Array], rebuild: Rebuild) -> None:
        self.executable = executable
        self.layout = executable.layout_of(arrays)
        self.contiguous = all(a.flags.c_contiguous for a in arrays)
        if any(o.dtype is dtypes.string and not o.dims for o in executable.outputs):
            rebuild = partial(_with_chosen, rebuild)
        self.rebuild = rebuild

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        if not self.contiguous:
            arrays = map(np.ascontiguousarray, arrays)
        fits = into and len(into) == len(self.layout.outputs) and self.layout.fits(into)
        outputs: list[Any] | None = [*into] if fits else None
        results = self.executable.run_laid_out(self.layout, arrays, outputs, timeout)
        if self.layout.scalars:
            results = [r if r.ndim else r[()] for r in results]
        return self.rebuild(results)


@dataclass(slots=True, eq=False)
class StatefulCall:
    """A call of a program that reads or writes variables, whose types have a version. `fits`:
    whether what it writes has the types that the variables have, None where that is not known."""

    call: PlainCall
    access: Access
    variables: HeldVariables
    version: int
    fits: bool | None = None

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        call = self.call
        given = list(arrays) if call.contiguous else [np.ascontiguousarray(a) for a in arrays]

        def run(
            values: list[Array], buffers: list[Any], addresses: Addresses | None
        ) -> list[Array]:
            layout, every = call.layout, [*given, *values]
            if self.access.on_device:
                outputs = layout.outputs_ending_in(buffers)
            elif addresses is not None and self._fits(buffers):
                outputs = [*layout.outputs_before(len(buffers)), *buffers]
            else:
                addresses, outputs = None, layout.outputs_ending_in(buffers)
            return call.executable.run_laid_out(layout, every, outputs, timeout, addresses)

        results = self.variables.run(self.version, self.access, run)
        if results is None:
            raise Outdated
        return call.rebuild([r if r.ndim else r[()] for r in results])

    def _fits(self, buffers: Sequence[Array]) -> bool:
        if self.fits is None:
            self.fits = self.call.layout.fits(buffers)
        return self.fits


@dataclass(slots=True, eq=False)
class DeviceCall:
    """A call of a program with feeds that may be on a GPU. `stays`: whether its results are to be
    there. What the plan has on the device goes by no way of the host."""

    program: SessionProgram
    executable: Executable
    state: RunState
    version: int
    rebuild: Rebuild
    stays: bool

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        executable, variables = self.executable, self.program.spec.variables
        taken = executable.metadata.crossing[0]
        given = [
            a if i in taken or isinstance(a, np.ndarray) else a.numpy()
            for i, a in enumerate(arrays)
        ]
        given = [np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in given]

        def run(
            values: list[Array], buffers: list[Any], addresses: Addresses | None
        ) -> list[Array]:
            there = addresses if access.on_device else None
            return self._run([*given, *values], buffers, there, timeout)

        if not variables:
            return self.rebuild(self._run(given, [], None, timeout))
        access = Access.of(self.program.spec)
        results = self.state.variables.run(self.version, access, run)
        if results is None:
            raise Outdated
        return self.rebuild(results)

    def _run(
        self,
        every: Sequence[Array | DeviceArray],
        buffers: Sequence[Array | None],
        variables: Addresses | None,
        timeout: float,
    ) -> list[Any]:
        """Runs once. `variables`: where the last of `every` and the last outputs are, where not on
        the host."""
        executable = self.executable
        layout = executable.layout_of(every)
        results = [*self._new_results(layout, len(buffers)), *layout.last_outputs(buffers)]
        read, written = [_address(a) for a in every], [_address(a) for a in results]
        if variables is not None:
            for own, on_device in zip((read, written), variables):
                first = len(own) - len(on_device)
                own[first:] = [b or a for a, b in zip(own[first:], on_device)]
        found = executable.run_laid_out(
            layout, map(_on_host, every), [_on_host(a) for a in results], timeout, (read, written)
        )
        # What the run left on the device is not among what it gives back.
        return [b if a is None else a for a, b in zip(found, results)]

    def _new_results(self, layout: Layout, updates: int) -> Iterator[Any]:
        """Memory for what is fetched, on the device where that is to stay there. `updates`: so many
        outputs behind are new values of variables."""
        executable = self.executable
        stays = () if executable.finds_sizes or not self.stays else executable.metadata.crossing[1]
        for k, output in enumerate(layout.outputs[: len(layout.outputs) - updates]):
            yield DeviceArray.new(*output) if output and k in stays else layout.new(output)


@dataclass(slots=True, eq=False)
class BroughtCall:
    """A call with copies on the host of what is fed."""

    call: Call

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        return self.call(_brought(arrays), timeout, into)


def _brought(arrays: Iterable[Array | DeviceArray]) -> list[Array]:
    return [a if isinstance(a, np.ndarray) else a.numpy() for a in arrays]


def _on_host(array: Array | DeviceArray | None) -> Array | None:
    return array if isinstance(array, np.ndarray) else None


def _address(array: Array | DeviceArray | None) -> int:
    """The address of an array, as native code takes it."""
    if isinstance(array, DeviceArray):
        return array.address | ON_DEVICE
    return 0 if array is None else data_address(array) or 0


@dataclass(slots=True, eq=False)
class HostedCall:
    """A call of a program with host steps that may block, which are told of their run."""

    call: Call
    state: RunState

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        run = self.state.host_run(timeout)
        try:
            with host_run(run):
                return self.call(arrays, timeout, into)
        finally:
            run.end()


def _texts_as_bytes(array: Array) -> Array:
    """What is fed as the steps of segments take it: the elements of strings are bytes."""
    if not array.dtype.hasobject or str not in set(map(type, array.flat)):
        return array
    found = [x.encode() if isinstance(x, str) else x for x in array.flat]
    made = np.empty(len(found), object)
    made[:] = found
    return made.reshape(array.shape)


@dataclass(slots=True, eq=False)
class SegmentedCall:
    """Runs what may block apart from what touches variables: a step that waits holds no lock."""

    segments: Sequence[Segment]
    tensors: Sequence[Tensor]
    feeds: Sequence[Tensor]
    run: Callable[..., Sequence[Any]]
    state: RunState
    rebuild: Rebuild

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        whole = self.state.host_run(timeout)
        try:
            return self._run(whole, arrays, into)
        finally:
            whole.end()

    def _run(self, whole: HostRun, arrays: Iterable[Array], into: Sequence[Array]) -> Any:
        found = dict(zip(self.feeds, map(_texts_as_bytes, arrays)))
        if any(segment.may_wait for segment in self.segments):
            with _SideBySide(whole, self.run, found) as run:
                run.all(self.segments)
        else:
            for segment in self.segments:
                whole.check()
                places = into if segment.tensors == self.tensors else ()
                _keep(found, segment, self.run(segment, _given(found, segment), whole, places))
        results = [found[t] for t in self.tensors]
        return self.rebuild([r if r.ndim else r[()] for r in results])


def _with_chosen(rebuild: Rebuild, results: Sequence[Any]) -> Any:
    """The results with tensors in the places of those that hold one of a rank that the run knew."""
    return rebuild([r.value[()] if isinstance(r, ChosenTensor) else r for r in results])


def _given(found: Mapping[Tensor, Array], segment: Segment) -> dict[Tensor, Array]:
    return {t: found[t] for t in segment.feeds}


def _keep(found: dict[Tensor, Array], segment: Segment, results: Sequence[Any]) -> None:
    """Adds what a segment computed."""
    try:
        for tensor, value in zip(segment.tensors, results):
            found[tensor] = feed_array(tensor, value)
    except (TypeError, ValueError) as error:  # the graph says other things of a step
        raise InvalidArgumentError(str(error)) from error


class _SideBySide:
    """Segments of a run of which some wait for what others do, or other runs do.

    A step that would wait is left until nothing else can go on. Then each that is left waits in a
    thread of its own, as in TensorFlow, until one of them ends. What is raised ends them all, and
    no thread is left behind.
    """

    def __init__(
        self,
        run: HostRun,
        run_segment: Callable[[Segment, Mapping[Tensor, Array], HostRun], Sequence[Any]],
        found: dict[Tensor, Array],
    ) -> None:
        self._whole, self._run_segment, self._found = run, run_segment, found
        self._cancel = CancelToken()
        self._run = run.until(self._cancel)
        self._waiting: dict[Future[Sequence[Any]], Segment] = {}
        self._done: set[Segment] = set()
        self._open = ExitStack()

    def __enter__(self) -> _SideBySide:
        self._open.enter_context(self._whole.cancel.waking(self._cancel.cancel))
        return self

    def __exit__(self, *_: object) -> None:
        self._cancel.cancel()
        self._open.close()

    def all(self, segments: Sequence[Segment]) -> None:
        """Runs them."""
        left = list(segments)
        while left or self._waiting:
            deferred = [segment for segment in left if not self._goes_on(segment)]
            if len(deferred) == len(left):
                left = [s for s in deferred if not s.after <= self._done]
                self._wait_for_one([s for s in deferred if s.after <= self._done])
            else:
                left = deferred

    def _goes_on(self, segment: Segment) -> bool:
        """Whether a segment ran now, without waiting."""
        self._whole.check()
        if not segment.after <= self._done or (segment.may_wait and not segment.is_retriable):
            return False
        run = self._run.impatient() if segment.is_retriable else self._run
        try:
            results = self._run_segment(segment, _given(self._found, segment), run)
        except WouldWaitError:
            return False
        self._finish(segment, results)
        return True

    def _wait_for_one(self, segments: Sequence[Segment]) -> None:
        """Lets these wait beside those that do already, until one of them has run."""
        # Late: hardly any run waits.
        from concurrent.futures import FIRST_COMPLETED, wait

        from flowc.codegen.worker_threads import in_thread

        if len(segments) == 1 and not self._waiting:
            segment = segments[0]
            given = _given(self._found, segment)
            self._finish(segment, self._run_segment(segment, given, self._run))
            return
        for segment in segments:
            given = _given(self._found, segment)
            thread, future = in_thread("flowc-step", self._run_segment, segment, given, self._run)
            self._open.callback(thread.join)
            self._waiting[future] = segment
        for future in wait(self._waiting, return_when=FIRST_COMPLETED).done:
            self._finish(self._waiting.pop(future), future.result())

    def _finish(self, segment: Segment, results: Sequence[Any]) -> None:
        _keep(self._found, segment, results)
        self._done.add(segment)


def call_of(
    program: SessionProgram,
    version: int,
    state: RunState,
    given: Sequence[Array],
    rebuild: Rebuild,
) -> Call:
    """A call of a program with feeds of the form of `given`, while variables have the types of a
    version."""
    assert program.executable is not None
    held = [_outline(v.tensor) for v in program.spec.reads]
    call = PlainCall(program.executable, [*given, *held], rebuild)
    if not program.spec.variables:
        return hosted(call, program.executable, state)
    call.contiguous = all(a.flags.c_contiguous for a in given)
    stateful = StatefulCall(call, Access.of(program.spec), state.variables, version)
    return hosted(stateful, program.executable, state)


def device_call_of(
    program: SessionProgram,
    version: int,
    state: RunState,
    given: Sequence[Array | DeviceArray],
    rebuild: Rebuild,
    stays: bool,
) -> Call:
    """A call of a program with feeds that may be on a GPU. One that calls Python, or holds strings,
    computes with copies on the host."""
    executable = program.executable
    assert executable is not None
    if executable.calls is None and executable.metadata.strings is None:
        return DeviceCall(program, executable, state, version, rebuild, stays)
    return BroughtCall(call_of(program, version, state, _brought(given), rebuild))


def hosted(call: Call, executable: Executable, state: RunState) -> Call:
    """The call, with what its host steps need if they may block."""
    blocks = executable.calls is not None and executable.calls.may_block
    return HostedCall(call, state) if blocks else call


def _outline(tensor: TensorSpec) -> Array:
    """Something with the dtype and shape of a variable's value."""
    return np.broadcast_to(np.zeros((), tensor.dtype.numpy), tensor.static_dims or ())
