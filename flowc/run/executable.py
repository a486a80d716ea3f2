"""A compiled program that Python can call.

In: a CompiledProgram. Out: NumPy arrays for NumPy arrays, one native call a run. Reentrant: every
run has its own arena and tables. What the shapes of the inputs decide is found once for each tuple
of shapes.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy import empty

from flowc import dtypes, errors
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link.loaded import load_objects
from flowc.codegen.string_table import Texts
from flowc.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    NegativeSizeError,
    ResourceExhaustedError,
    misfit,
)
from flowc.files.process import usable_cores
from flowc.ir.dims import Symbol, evaluate, lone_symbol
from flowc.run.host_steps import HostCalls, current, current_trace
from flowc_runtime.addresses import data_address
from flowc_runtime.interpreter import deadline_after, interpreter_table
from flowc_runtime.machine import memory_of_machine

STATUS_WORDS = 8
MOST_THREADS = 1024  # a run has memory for each, and the pool has no more
TIMED_OUT = 6  # a run that ended without an exception of Python
LAYOUTS = 256  # tuples of input shapes that are remembered
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]

Shape = tuple[int, ...]


class HasShape(Protocol):
    """An array of any kind of memory."""

    @property
    def shape(self) -> Shape: ...
    @property
    def ndim(self) -> int: ...


class _RunTables:
    """The tables of one run in one block of words: pointers of inputs and outputs, sizes, status.
    `arguments` are the native function's. `outputs` is the position of their first word."""

    __slots__ = ("arguments", "outputs", "sizes", "status", "words")

    def __init__(self, executable: Executable, layout: Layout) -> None:
        sizes = layout.sizes
        self.outputs = len(executable.inputs)
        self.sizes = self.outputs + len(executable.outputs)
        self.status = self.sizes + len(executable.metadata.sizes)
        self.words = (ctypes.c_int64 * (self.status + STATUS_WORDS))()
        self.words[self.sizes : self.sizes + len(sizes)] = sizes
        room = executable.max_memory - layout.bytes
        self.words[self.status + 1] = max(1, min(room, 1 << 62))
        base = ctypes.addressof(self.words)
        inputs, outputs, sizes_at, status = (
            ctypes.c_void_p(base + 8 * start)
            for start in (0, self.outputs, self.sizes, self.status)
        )
        weights = ctypes.c_void_p(executable.weights.ctypes.data)
        threads = ctypes.c_int64(executable.threads)
        interpreter = ctypes.c_void_p(ctypes.addressof(executable.interpreter))
        self.arguments = (inputs, outputs, sizes_at, weights, threads, status, interpreter)

    def write_addresses(
        self, used: Sequence[np.ndarray | None], last_inputs: list[int], last_outputs: list[int]
    ) -> None:
        """The addresses of inputs and outputs, of which some are known."""
        words, inputs = self.words, self.outputs
        known = inputs - len(last_inputs)
        end = self.sizes - len(last_outputs)
        words[known:inputs] = last_inputs
        words[end : self.sizes] = last_outputs
        for at in (*range(known), *range(inputs, end)):
            array = used[at]
            words[at] = 0 if array is None else data_address(array)
        for at in range(end, self.sizes):
            array = used[at]
            if not words[at] and array is not None:
                words[at] = data_address(array)

    def free_allocated(self, outputs: Sequence[Any]) -> None:
        """Gives back the outputs that a run allocated which has not ended well."""
        for at, array in enumerate(outputs, self.outputs):
            if array is None and self.words[at] > 0:  # below: memory of a GPU, which the caller has
                _free(self.words[at])


class Layout:
    """What the shapes of the inputs decide: the sizes in them, and the shape and dtype of each
    output's buffer, None for one that the run allocates. `spare`: tables with these sizes that no
    run is using. `scalars`: whether an output has rank 0. `names`: of the outputs. `bytes`: of all
    those buffers."""

    __slots__ = ("bytes", "names", "outputs", "scalars", "sizes", "spare")

    def __init__(
        self,
        sizes: Sequence[int],
        outputs: Sequence[tuple[Shape, np.dtype[Any]] | None],
        names: Sequence[str],
    ) -> None:
        self.sizes = sizes
        self.outputs = outputs
        self.names = names
        self.bytes = sum(math.prod(o[0]) * o[1].itemsize for o in outputs if o is not None)
        self.scalars = any(o is not None and o[0] == () for o in outputs)
        self.spare: list[_RunTables] = []

    def outputs_ending_in(self, buffers: Sequence[np.ndarray | None]) -> list[Any]:
        """Arrays for the outputs: the last ones are the buffers that fit, others are new."""
        return [*self.outputs_before(len(buffers)), *self.last_outputs(buffers)]

    def last_outputs(self, buffers: Sequence[np.ndarray | None]) -> list[Any]:
        """Arrays for as many of the last outputs: the buffers that fit, others are new."""
        made = len(self.outputs) - len(buffers)
        found: list[Any] = []
        for output, buffer in zip(self.outputs[made:], buffers):
            fits = buffer is not None and output == (buffer.shape, buffer.dtype)
            found.append(buffer if fits else self.new(output))
        return found

    def outputs_before(self, count: int) -> list[Any]:
        """New arrays for the outputs before the last `count`."""
        return [self.new(output) for output in self.outputs[: len(self.outputs) - count]]

    def fits(self, buffers: Sequence[np.ndarray]) -> bool:
        """Whether the last outputs can be written to the buffers."""
        written = self.outputs[len(self.outputs) - len(buffers) :]
        return all(o == (buffer.shape, buffer.dtype) for o, buffer in zip(written, buffers))

    def new(self, output: tuple[Shape, np.dtype[Any]] | None) -> np.ndarray | None:
        """An array for an output; None for one that the run allocates."""
        try:
            return None if output is None else empty(*output)
        except (MemoryError, ValueError):
            raise self.no_room() from None

    def no_room(self, most: int | None = None) -> ResourceExhaustedError:
        """The error of outputs that do not fit in memory, or in the `most` bytes that a run may
        take. It names the largest."""
        count, number = max(
            (math.prod(output[0]) * output[1].itemsize, number)
            for number, output in enumerate(self.outputs)
            if output is not None
        )
        name, output = self.names[number], self.outputs[number]
        assert output is not None
        text = f"no memory for {name!r}: shape {list(output[0])} of {output[1]} is {count} bytes"
        if most is not None:
            text += f", and a run may take {most} (max_memory)"
        return ResourceExhaustedError(text, node=name.partition(":")[0])


class Executable:
    """`run(arrays)` gives the outputs for inputs in the program's order.

    Arrays must have the dtypes of the inputs; any layout is taken (copied when not contiguous).
    `key`: where the program is in the disk cache, or empty.
    """

    def __init__(self, program: CompiledProgram, threads: int | None = None, key: str = "") -> None:
        self.key = key
        self.metadata = program.metadata
        self.spec = program.metadata.spec
        self.code = load_objects(
            program.objects, program.runtime, has_device=self.metadata.has_device
        )
        self.weights = program.weights_image()
        wanted = threads if threads is not None else usable_cores()
        self.threads = min(wanted, MOST_THREADS)
        self.max_memory = memory_of_machine()
        self.calls = HostCalls(self.metadata.calls) if self.metadata.calls else None
        self.interpreter = interpreter_table(self.calls)
        self.inputs = self.spec.inputs
        self.outputs = self.spec.outputs
        self.finds_sizes = len(self.metadata.sizes) > self.metadata.input_sizes
        self._dims = ctypes.c_int64 * max(1, sum(len(o.dims) for o in self.outputs))
        self._native = self.code.run
        self._layouts: dict[tuple[Shape, ...], Layout] = {}

    def trace_runs(self) -> None:
        """Has the runs of a traced program give their notes to the trace of their thread."""
        from flowc.run.traces import TracedCode  # late: hardly any program is traced

        self._native = TracedCode(self.code.run, self.metadata, current_trace)

    def limit_memory(self, most: int | None) -> None:
        """What one run may take, its outputs among it, if that is less than the machine has. For a
        program that has not run yet."""
        if most is not None:
            self.max_memory = min(most, self.max_memory)

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs once. Raises `InvalidArgumentError` with the node for faults found by the run. What
        a host step or the handler of a signal raises ends the run and comes out."""
        arrays = [a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in arrays]
        return self.run_laid_out(self.layout_of(arrays), arrays)

    def layout_of(self, arrays: Sequence[HasShape]) -> Layout:
        """What the shapes of the inputs decide, for any number of runs. Raises
        `InvalidArgumentError` for shapes that the program does not take."""
        found = self._layouts.get(tuple([a.shape for a in arrays]))
        return found if found is not None else self._layout_for(arrays)

    def run_laid_out(
        self,
        layout: Layout,
        arrays: Iterable[np.ndarray | None],
        outputs: list[Any] | None = None,
        timeout: float = 0,
        addresses: tuple[list[int], list[int]] | None = None,
    ) -> list[np.ndarray]:
        """Runs contiguous arrays of the shapes of `layout`. `outputs`: where results go, new arrays
        if they are not given. `timeout`: milliseconds after which the run ends with a
        `DeadlineExceededError`, if not 0. `addresses`: where the last arrays and the last outputs
        are, if that is known."""
        if outputs is None:
            try:
                outputs = [None if o is None else empty(*o) for o in layout.outputs]
            except (MemoryError, ValueError):
                raise layout.no_room() from None
        try:
            tables = layout.spare.pop()
        except IndexError:
            tables = _RunTables(self, layout)
        words = tables.words
        used = (*arrays, *outputs)  # alive until the run has ended
        if addresses is None:
            for at, array in enumerate(used):
                words[at] = 0 if array is None else data_address(array)
        else:
            tables.write_addresses(used, *addresses)
        if timeout:
            words[tables.status] = deadline_after(timeout)
        try:
            code = self._native(*tables.arguments)
        except BaseException:  # raised by the handler of a signal, or by a host step
            tables.free_allocated(outputs)
            raise
        if code:
            tables.free_allocated(outputs)
            if code == TIMED_OUT:
                text = f"Timed out waiting for notification: a run of more than {timeout} ms"
                raise DeadlineExceededError(text)
            raise self._error(words[tables.status : tables.status + 5])
        if self.finds_sizes:
            try:
                outputs = self._trimmed(outputs, tables)
            except MemoryError as error:
                tables.free_allocated(outputs)
                raise ResourceExhaustedError(f"no memory for results: {error}") from None
        if not timeout:
            layout.spare.append(tables)
        return outputs

    def _layout_for(self, arrays: Sequence[HasShape]) -> Layout:
        """Checks the shapes and finds what they decide."""
        bound = self._sizes_in(arrays)
        sizes = (ctypes.c_int64 * max(1, len(bound)))(*bound.values())
        dims = self._dims()
        self.code.output_bounds(sizes, dims)
        outputs: list[tuple[Shape, np.dtype[Any]] | None] = []
        for slot, shape in zip(self.outputs, self._shapes(dims)):
            outputs.append(None if -1 in shape else (shape, slot.held))
        names = [slot.name for slot in self.outputs]
        layout = Layout(tuple(sizes[: self.metadata.input_sizes]), tuple(outputs), names)
        if layout.bytes > self.max_memory:
            raise layout.no_room(self.max_memory)
        if len(self._layouts) >= LAYOUTS:
            self._layouts.clear()
        self._layouts[tuple([a.shape for a in arrays])] = layout
        return layout

    def _sizes_in(self, arrays: Sequence[HasShape]) -> dict[Symbol, int]:
        """The program's sizes, as far as the inputs' shapes tell them; checks the shapes."""
        found = dict.fromkeys(map(Symbol, self.metadata.sizes), 0)
        bound: set[Symbol] = set()
        for slot, array in zip(self.inputs, arrays):
            static = slot.static_dims
            if array.ndim != len(slot.dims) or static not in (None, array.shape):
                raise misfit(slot.name, slot.dims, array.shape)
            for dim, size in zip(slot.dims, array.shape):
                symbol = lone_symbol(dim)
                if symbol is not None and symbol not in bound:
                    bound.add(symbol)
                    found[symbol] = size
        for slot, array in zip(self.inputs, arrays):
            wanted = tuple(evaluate(d, found) for d in slot.dims)
            if array.shape != wanted:
                raise misfit(slot.name, slot.dims, array.shape, wanted)
        return found

    def _shapes(self, dims: Any) -> list[Shape]:
        """The outputs' shapes from the table of all their dims."""
        found, at = [], 0
        for slot in self.outputs:
            found.append(tuple(dims[at : at + len(slot.dims)]))
            at += len(slot.dims)
        return found

    def _trimmed(self, outputs: list[Any], tables: _RunTables) -> list[np.ndarray]:
        """Outputs cut to the sizes that the run found."""
        dims = self._dims()
        self.code.output_dims(tables.arguments[2], dims)
        for i, (slot, shape) in enumerate(zip(self.outputs, self._shapes(dims))):
            if outputs[i] is None:
                pointer = tables.words[tables.outputs + i]
                outputs[i] = _owned(pointer, shape, slot.held)
            elif outputs[i].shape != shape:
                count = math.prod(shape)
                outputs[i] = outputs[i].reshape(-1)[:count].reshape(shape).copy()
        return outputs

    def _error(self, status: Any) -> Exception:
        row, a, b, c = status[1], status[2], status[3], status[4]
        found = self.metadata.errors[row]
        text = _taken_text(a) if "{text}" in found.message else ""
        message = found.message.format(a=a, b=b, c=c, text=text)
        kind = getattr(errors, found.kind, InvalidArgumentError)
        if kind is NegativeSizeError and self.calls is not None:
            kind = InvalidArgumentError  # what it called is not called twice: no other attempt
        return kind(message, node=found.node or None)


class _TextExecutable(Executable):
    """A program that holds strings: each run has a table of them, to which native code has numbers;
    callers give and get strings."""

    def __init__(self, program: CompiledProgram, threads: int | None, key: str) -> None:
        super().__init__(program, threads, key)
        self.texts = Texts.of_rows(self.metadata.strings or ())

    def run_laid_out(
        self,
        layout: Layout,
        arrays: Iterable[np.ndarray],
        outputs: list[Any] | None = None,
        timeout: float = 0,
        addresses: tuple[list[int], list[int]] | None = None,
    ) -> list[np.ndarray]:
        texts = self.texts.copy()
        given = [
            texts.numbers(array) if slot.dtype is dtypes.string else array
            for slot, array in zip(self.inputs, arrays)
        ]
        with current(texts=texts):
            found = super().run_laid_out(layout, given, outputs, timeout)
        return [
            texts.strings(array) if slot.dtype is dtypes.string else array
            for slot, array in zip(self.outputs, found)
        ]


def open_program(program: CompiledProgram, threads: int | None = None, key: str = "") -> Executable:
    """A program, ready to run."""
    kind = Executable if program.metadata.strings is None else _TextExecutable
    found = kind(program, threads, key)
    if program.metadata.steps:
        found.trace_runs()
    return found


def _taken_text(address: int) -> str:
    """The text that a kernel left for its error, which is freed."""
    if not address:
        return ""
    found = ctypes.string_at(address).decode("utf-8", "replace")
    _free(address)
    return found


def _owned(pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """A copy of memory that the run allocated, which is given back once there is one."""
    count = math.prod(shape)
    raw = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(pointer)
    array = np.frombuffer(memoryview(raw), dtype, count).reshape(shape).copy()
    _free(pointer)
    return array
