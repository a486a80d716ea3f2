"""Runs a compiled model (`model.so`) from Python, with NumPy and the standard library only.

In: the path of a library that flowc wrote, then arrays. Out: fresh arrays. Invariant: a `Model` has
no state that one call leaves to another, so any number of threads may call it at once; what a call
needs (pointer and dim tables) is taken from a free list and given back after. The variables of a
model are those of its `Instance`s.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from flowc_runtime.addresses import data_address
from flowc_runtime.element_types import as_dense, numpy_dtype
from flowc_runtime.errors import (
    InvalidArgumentError,
    LoadError,
    ModelError,
    ResourceExhaustedError,
    UnavailableError,
)
from flowc_runtime.library import described_library
from flowc_runtime.notebook import table_of

KNOWN_SHAPES = 256
_DENSE = 0x0001 | 0x0100  # NumPy's flag bits for C-contiguous and aligned


_ERRORS: dict[int, type[ModelError]] = {
    2: InvalidArgumentError,
    3: InvalidArgumentError,
    4: LoadError,
    5: ResourceExhaustedError,
    6: UnavailableError,
}

Array = np.ndarray[Any, Any]
Shapes = tuple[tuple[int, ...], ...]
Bounds = tuple[tuple[int, ...] | None, ...]
_Run = Callable[[int, int, int, "int | None"], int]


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: a dim is a number, or the text of a size that is known at run time."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.dims))}]"


class _Frame:
    """The tables of one call, and their addresses as plain numbers. Dims are written only when they
    changed since the last one."""

    __slots__ = (
        "at_input_dims", "at_inputs", "at_output_dims", "at_outputs",
        "dims", "inputs", "outputs", "result_dims", "shapes", "tables",
    )  # fmt: skip

    def __init__(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
        self.inputs = (ctypes.c_void_p * len(inputs))()
        self.outputs = (ctypes.c_void_p * len(outputs))()
        self.dims = [(ctypes.c_int64 * len(p.dims))() for p in inputs]
        self.result_dims = [(ctypes.c_int64 * len(p.dims))() for p in outputs]
        self.tables = _addresses(self.dims), _addresses(self.result_dims)
        self.at_inputs, self.at_outputs = map(ctypes.addressof, (self.inputs, self.outputs))
        self.at_input_dims, self.at_output_dims = map(ctypes.addressof, self.tables)
        self.shapes: Shapes | None = None


def _addresses(arrays: Sequence[Any]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*[ctypes.addressof(a) for a in arrays])


class Model:
    """A compiled model. Call it with arrays in the order of `inputs`, or by name.

    `model(x)` gives one array, or a tuple where the model has several outputs. `:0` may end a name
    or be left out. `threads`: how many threads a run may use. A model that has `variables`, or
    `objects` of ops in C, runs in an instance: `model.new_instance()`.
    """

    def __init__(self, path: str | os.PathLike[str], signature: str | None = None) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._library, described = described_library(self.path, signature)
        if hasattr(self._library, "flowc_check_weights"):  # else its runs say what is wrong
            self._check(self._library.flowc_check_weights())
        self.name: str = described["name"]
        self.metadata: dict[str, Any] = described
        self.inputs = tuple(map(_port, described["inputs"]))
        self.outputs = tuple(map(_port, described["outputs"]))
        self.variables = tuple(map(_port, described.get("variables", ())))
        self.objects: tuple[str, ...] = tuple(described.get("objects", ()))
        # Of libraries that do not say so, the C function does.
        refuses = described.get("needs_instance", False)
        self._run: _Run = self._needs_instance if refuses else self._library.flowc_run
        self._wanted = [(p.dtype, len(p.dims), p) for p in self.inputs]
        self._input_places = _places(self.inputs)
        self._frames: list[_Frame] = []
        self._output_shapes: dict[Shapes, Bounds] = {}
        fixed = {d for p in self.inputs for d in p.dims if isinstance(d, str)}
        self._has_late_sizes = any(
            isinstance(d, str) and d not in fixed for p in self.outputs for d in p.dims
        )

    def __repr__(self) -> str:
        ports = "; ".join(", ".join(map(str, p)) for p in (self.inputs, self.outputs))
        return f"<Model {self._title}: {ports.replace('; ', ' -> ')}>"

    @property
    def _title(self) -> str:
        """The name, and that of the signature in a library of several."""
        signature = self.metadata.get("signature")
        return repr(self.name) + (f", signature {signature!r}" if signature else "")

    @property
    def abi_version(self) -> int:
        """The version of the library's C interface."""
        return self._library.library.flowc_abi_version()

    @property
    def threads(self) -> int:
        return self._library.flowc_get_threads()

    @threads.setter
    def threads(self, count: int) -> None:
        if self._library.flowc_set_threads(count):
            raise InvalidArgumentError(self._last_error())

    @property
    def max_memory(self) -> int:
        """The bytes that one run may take beside weights, variables, inputs and outputs whose size
        has a bound; 0 for all that the system gives. A run that needs more raises
        `ResourceExhaustedError`."""
        return self._library.flowc_get_max_memory()

    @max_memory.setter
    def max_memory(self, count: int) -> None:
        if self._library.flowc_set_max_memory(count):
            raise InvalidArgumentError(self._last_error())

    def new_instance(self) -> Instance:
        """Variables of their own, with the values that the model was compiled with."""
        return Instance(self)

    def __call__(self, *arrays: Any, **by_name: Any) -> Any:
        """Raises `InvalidArgumentError` for inputs that do not fit, and for failing values."""
        return self._answer(arrays, by_name, self._run)

    def _repr_html_(self) -> str:
        sides = {"inputs": self.inputs, "outputs": self.outputs, "variables": self.variables}
        rows = {
            side: [(p.name, str(p).removeprefix(f"{p.name}: ")) for p in ports]
            for side, ports in sides.items()
        }
        return table_of(f"Model {self.name}", rows)

    def _needs_instance(self, *_: Any) -> int:
        """The run of a model whose variables have to be kept between runs."""
        kept = [*(p.name for p in self.variables), *self.objects]
        names, more = ", ".join(kept[:3]), ", ..." if len(kept) > 3 else ""
        raise InvalidArgumentError(
            f"the model has variables ({names}{more}), which an instance keeps: "
            "instance = model.new_instance(), then instance(...)"
        )

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name, for inputs by name."""
        return self._named_answer(feeds, self._run)

    def _answer(self, arrays: tuple[Any, ...], by_name: Mapping[str, Any], run: _Run) -> Any:
        if by_name or len(arrays) != len(self.inputs):
            arrays = self._in_order(arrays, by_name)
        results = self._call(arrays, run)
        return results[0] if len(results) == 1 else tuple(results)

    def _named_answer(self, feeds: Mapping[str, Any], run: _Run) -> dict[str, Array]:
        results = self._call(self._in_order((), feeds), run)
        return {port.name: result for port, result in zip(self.outputs, results)}

    def _in_order(self, arrays: Sequence[Any], by_name: Mapping[str, Any]) -> tuple[Any, ...]:
        given: dict[int, Any] = dict(enumerate(arrays))
        for name, value in by_name.items():
            place = self._input_places.get(name)
            if place is None:
                names = ", ".join(p.name for p in self.inputs)
                raise InvalidArgumentError(f"the model has no input {name!r}; it has {names}")
            if place in given:
                raise InvalidArgumentError(f"input {self.inputs[place].name!r} is given twice")
            given[place] = value
        missing = [p.name for i, p in enumerate(self.inputs) if i not in given]
        if missing or len(given) != len(self.inputs):
            found = f"missing: {', '.join(missing)}" if missing else f"found {len(given)}"
            raise InvalidArgumentError(f"the model takes {len(self.inputs)} inputs; {found}")
        return tuple(given[i] for i in range(len(self.inputs)))

    def _call(self, values: Sequence[Any], run: _Run) -> list[Array]:
        arrays = []
        for value, (dtype, rank, port) in zip(values, self._wanted):
            if (
                type(value) is not np.ndarray
                or value.dtype != dtype
                or value.flags.num & _DENSE != _DENSE
                or value.ndim != rank
            ):
                value = _convert(value, port)
            arrays.append(value)
        shapes = tuple([a.shape for a in arrays])
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self.inputs, self.outputs)
        if frame.shapes != shapes:
            for dims, shape in zip(frame.dims, shapes):
                dims[:] = shape
            frame.shapes = shapes
        for index, array in enumerate(arrays):
            frame.inputs[index] = data_address(array)
        out_shapes = self._output_shapes.get(shapes) or self._find_shapes(frame, shapes)
        results: list[Any] = [
            None if shape is None else _new(shape, port)
            for shape, port in zip(out_shapes, self.outputs)
        ]
        for index, array in enumerate(results):
            frame.outputs[index] = None if array is None else data_address(array)
        late = frame.at_output_dims if self._has_late_sizes else None
        self._check(run(frame.at_inputs, frame.at_input_dims, frame.at_outputs, late))
        if late is not None:
            for index, array in enumerate(results):
                shape = tuple(frame.result_dims[index])
                if array is None:
                    results[index] = self._adopt(frame.outputs[index], index, shape)
                elif array.shape != shape:
                    results[index] = _cut(array, shape)
        self._frames.append(frame)
        return results

    def _adopt(self, address: int, index: int, shape: tuple[int, ...]) -> Array:
        """An array of the output that the run allocated, whose memory is given back."""
        try:
            array = _new(shape, self.outputs[index])
            ctypes.memmove(data_address(array) or 0, address, array.nbytes)
        finally:
            self._library.flowc_free(address)
        return array

    def _find_shapes(self, frame: _Frame, shapes: Shapes) -> Bounds:
        """Shapes of the outputs, or their upper bounds, for these shapes of the inputs; None for an
        output without bound."""
        found: list[tuple[int, ...] | None] = []
        for index, dims in enumerate(frame.result_dims):
            self._check(self._library.flowc_output_dims_for(frame.at_input_dims, index, dims))
            found.append(None if -1 in dims else tuple(dims))
        if len(self._output_shapes) >= KNOWN_SHAPES:
            self._output_shapes.clear()
        self._output_shapes[shapes] = tuple(found)
        return tuple(found)

    def _check(self, code: int) -> None:
        if code:
            raise _ERRORS.get(code, ModelError)(self._last_error())

    def _last_error(self) -> str:
        return self._library.flowc_last_error().decode("utf-8", "replace")


class Instance:
    """One set of a model's variables and objects. Call it as the model is called.

    Calls from several threads wait for one another; a run that fails changes nothing. Closed by
    `close`, at the end of a `with`, or when it is no longer used.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._library = model._library
        self._handle: int | None = None
        made = ctypes.c_void_p()
        model._check(self._library.flowc_instance_create(ctypes.byref(made)))
        self._handle = made.value
        self._run = partial(self._library.flowc_instance_run, self._handle)

    def __repr__(self) -> str:
        return f"<Instance of {self.model!r}>"

    def __call__(self, *arrays: Any, **by_name: Any) -> Any:
        """As the call of a model."""
        self._open()
        return self.model._answer(arrays, by_name, self._run)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Array]:
        """Outputs by name, for inputs by name."""
        self._open()
        return self.model._named_answer(feeds, self._run)

    def read(self, name: str) -> Array:
        """A copy of a variable's value. Raises `InvalidArgumentError` for one without."""
        number, port = self._variable(name)
        value = np.empty(tuple(int(d) for d in port.dims), port.dtype)
        handle = self._open()
        self.model._check(self._library.flowc_instance_read(handle, number, data_address(value)))
        return value

    def write(self, name: str, value: Any) -> None:
        """Gives a variable a value of its shape."""
        number, port = self._variable(name)
        array = _convert(value, port, "variable")
        if array.shape != port.dims:
            raise InvalidArgumentError(
                f"variable {port.name!r} has dims {list(port.dims)}, found {list(array.shape)}"
            )
        handle = self._open()
        self.model._check(self._library.flowc_instance_write(handle, number, data_address(array)))

    def save(self, name: str) -> bytes:
        """What is to be kept of an object. Raises `InvalidArgumentError` for one that is never
        saved."""
        number, handle, needed = self._object(name), self._open(), ctypes.c_int64()
        room = ctypes.create_string_buffer(0)
        while True:
            save = self._library.flowc_instance_save
            size = len(room)
            self.model._check(save(handle, number, room, size, ctypes.byref(needed)))
            if needed.value <= size:
                return room.raw[: needed.value]
            room = ctypes.create_string_buffer(needed.value)

    def restore(self, name: str, data: bytes) -> None:
        """Gives an object the contents that `save` gave, here, in another instance, or in a
        checkpoint."""
        number, handle = self._object(name), self._open()
        self.model._check(self._library.flowc_instance_restore(handle, number, data, len(data)))

    def _object(self, name: str) -> int:
        if name not in self.model.objects:
            names = ", ".join(self.model.objects) or "none"
            raise InvalidArgumentError(f"the model has no object {name!r}; it has {names}")
        return self.model.objects.index(name)

    def reset(self) -> None:
        """All variables and objects as they were at first."""
        self.model._check(self._library.flowc_instance_reset(self._open()))

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.flowc_instance_destroy(handle)

    def __enter__(self) -> Instance:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _open(self) -> int:
        if self._handle is None:
            raise InvalidArgumentError("the instance is closed")
        return self._handle

    def _variable(self, name: str) -> tuple[int, Port]:
        for number, port in enumerate(self.model.variables):
            if name in (port.name, f"{port.name}:0"):
                return number, port
        names = ", ".join(p.name for p in self.model.variables) or "none"
        raise InvalidArgumentError(f"the model has no variable {name!r}; it has {names}")


def load(path: str | os.PathLike[str], signature: str | None = None) -> Model:
    """The compiled model at `path`; of a library of several signatures that one, or the first.

    Raises `LoadError` when the file is not a model library, or one of another ABI version, and when
    the weights file that belongs beside it is missing, damaged or another one's.
    """
    return Model(path, signature)


def _convert(value: Any, port: Port, role: str = "input") -> Array:
    try:
        array = as_dense(value, port.dtype)
    except (TypeError, ValueError, BufferError) as error:
        raise InvalidArgumentError(f"{role} {port.name!r}: {error}") from error
    if array.ndim != len(port.dims):
        expected = ", ".join(map(str, port.dims))
        raise InvalidArgumentError(
            f"{role} {port.name!r} has dims {list(array.shape)}, expected [{expected}]"
        )
    return array


def _new(shape: tuple[int, ...], port: Port) -> Array:
    try:
        return np.empty(shape, port.dtype)
    except (MemoryError, ValueError):
        text = f"no memory for output {port.name!r}: shape {list(shape)} of {port.dtype}"
        raise ResourceExhaustedError(text) from None


def _cut(array: Array, shape: tuple[int, ...]) -> Array:
    """The leading elements as an array of the real shape, of which `array` was the upper bound."""
    return array.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape).copy()


def _port(row: Mapping[str, Any]) -> Port:
    return Port(row["name"], numpy_dtype(row["dtype"]), tuple(row["dims"]))


def _places(ports: Sequence[Port]) -> dict[str, int]:
    short = {p.name.removesuffix(":0"): i for i, p in enumerate(ports)}
    tensors = {f"{name}:0": i for name, i in short.items() if ":" not in name}
    return tensors | short | {p.name: i for i, p in enumerate(ports)}
