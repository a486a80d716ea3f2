"""Kernels and shape functions in C, called by a Session.

In: a loaded library, arrays, attrs. Out: arrays. Invariants: a kernel is given memory of its own
for its outputs, with guards around, so that what it writes beside them is an error and changes
nothing else; an error names the op and the library. The interpreter is released meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flowc import dtypes as all_dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType, as_dtype
from flowc.errors import (
    DataLossError,
    InvalidArgumentError,
    OpError,
    UnknownError,
    exception_type_from_error_code,
)
from flowc.extending import c_structs as c
from flowc.extending.handles import handle_places, object_of
from flowc.extending.kernels import attr_values, settings_of
from flowc.ir.dims import Dim
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.op import Op, bind_types
from flowc.ir.signature import OpSignature
from flowc.ir.types import MAX_RANK, Dims, TensorType

Array = np.ndarray[Any, Any]
GUARD = 64  # bytes before and after an output, and its alignment
_PATTERN = 0xA5
BY_KERNEL = -1  # a size that the kernel decides
_KNOWN_CODES = {3, 5, 8, 9, 11, 12, 15}


@dataclass(frozen=True, slots=True, eq=False)
class COps:
    """A loaded library. `path`: the file that was asked for; `archive`: whether that is what
    libraries link; `digest`: of its bytes. `loaded` keeps it in memory."""

    path: Path
    archive: bool
    digest: str
    loaded: ctypes.CDLL

    def failure(self, op_type: str, status: int, message: bytes) -> OpError:
        kind = exception_type_from_error_code(status) if status in _KNOWN_CODES else UnknownError
        text = message.decode("utf-8", "replace") or f"failed with status {status}"
        return kind(f"{op_type} ({self.path.name}): {text}")


@dataclass(frozen=True, slots=True, eq=False)
class CObject:
    """An object that C made for a Session."""

    pointer: int
    destroy: Any

    def close(self) -> None:
        """The Session is closed."""
        if self.destroy:
            self.destroy(self.pointer)


@dataclass(frozen=True, slots=True)
class CShape:
    """A shape function: that of an op in C, or the shape of input 0 for each output."""

    library: COps
    signature: OpSignature
    address: int | None

    @property
    def stamp(self) -> str:
        return self.library.digest

    def __call__(self, inference: Inference) -> list[Dims]:
        sizes: list[Dim] = []  # those that only the run knows, of which C sees -2, -3...

        def shown(dim: Dim) -> int:
            if isinstance(dim, int):
                return dim
            sizes.append(dim)
            return -1 - len(sizes)

        def meant(size: int) -> Dim:
            if size == BY_KERNEL:
                return inference.fresh("n", None)
            if -1 - len(sizes) <= size < BY_KERNEL:
                return sizes[-size - 2]
            if size < 0:
                raise inference.fail(f"its shape function gives the size {size}")
            return size

        given = [tuple(map(shown, t.dims)) for t in inference.inputs]
        wanted = {n: inference.attrs[n] for n in settings_of(self.signature)}
        return [tuple(map(meant, dims)) for dims in self._dims(given, wanted)]

    def _dims(
        self, inputs: Sequence[Sequence[int]], attrs: Mapping[str, Any]
    ) -> list[tuple[int, ...]]:
        """The sizes of the outputs, for sizes of inputs."""
        count = len(self.signature.outputs)
        if self.address is None:
            return [tuple(inputs[0]) for _ in range(count)]
        given = [c.dims_array(dims) for dims in inputs]
        rooms = [c.dims_array([0] * c.MOST_DIMS) for _ in range(count)]
        in_shapes = (c.OpShape * len(inputs))(*[(len(d), a) for d, a in zip(inputs, given)])
        out_shapes = (c.OpShape * count)(*[(0, room) for room in rooms])
        message = ctypes.create_string_buffer(c.MESSAGE_SIZE)
        array = c.attr_array(attrs)
        call = c.OpShapes(
            ctypes.sizeof(c.OpShapes),
            len(inputs),
            count,
            len(array),
            in_shapes,
            out_shapes,
            array,
            ctypes.addressof(message),
            c.MESSAGE_SIZE,
            0,
        )
        c.ShapeCall(self.address)(ctypes.byref(call))
        if call.status:
            raise self.library.failure(self.signature.name, call.status, message.value)
        ranks = [shape.rank for shape in out_shapes]
        if any(not 0 <= rank <= MAX_RANK for rank in ranks):
            raise InvalidArgumentError(
                f"{self.signature.name} ({self.library.path.name}): its shape function gives "
                f"outputs of {ranks} dimensions, expected at most {MAX_RANK}"
            )
        return [tuple(room[:rank]) for room, rank in zip(rooms, ranks)]


class GuardedOutput:
    """Memory for one output, and whether something was written beside it."""

    def __init__(self, shape: Sequence[int], dtype: DType) -> None:
        self.bytes = int(np.prod(shape, dtype=object)) * dtype.size
        self.raw = np.full(self.bytes + 3 * GUARD, _PATTERN, np.uint8)
        self.start = GUARD + -self.raw.ctypes.data % GUARD
        inside = self.raw[self.start : self.start + self.bytes]
        inside[:] = 0
        self.array: Array = inside.view(dtype.numpy).reshape(tuple(shape))

    @property
    def is_whole(self) -> bool:
        before, after = self.raw[: self.start], self.raw[self.start + self.bytes :]
        return bool((before == _PATTERN).all() and (after == _PATTERN).all())


@dataclass(frozen=True, slots=True)
class CStep:
    """Calls a kernel in C, as a step of the host. `persistent`: its last input is the handle of
    what the node keeps."""

    library: COps
    record: Op
    address: int
    persistent: bool

    def __call__(
        self,
        inputs: Sequence[Any],
        dtypes: Sequence[DType],
        *,
        run: HostRun | None = None,
        **settings: Any,
    ) -> list[Array]:
        signature = self.record.signature
        attrs = attr_values(signature, settings)
        places = handle_places(signature)
        memory: CObject | None = None
        if self.persistent and run is not None:
            *inputs, handle = inputs
            memory = object_of(run, int(handle))
        handles = {i: object_of(run, int(inputs[i])) for i in places if run is not None}
        arrays = [np.asarray(x, order="C") for x in inputs]
        types = [
            TensorType(all_dtypes.resource, ())
            if i in places
            else TensorType(as_dtype(a.dtype), a.shape)
            for i, a in enumerate(arrays)
        ]
        outputs = [
            None if BY_KERNEL in dims else GuardedOutput(dims, dtype)
            for dims, dtype in zip(self._dims(types, attrs), dtypes, strict=True)
        ]
        self._call(arrays, handles, attrs, outputs, dtypes, memory)
        return [self._checked(k, output) for k, output in enumerate(outputs)]

    def _dims(self, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> list[Any]:
        """The sizes of the outputs; `BY_KERNEL` for those that the kernel finds."""
        bound = bind_types(self.record, [t.dtype for t in types], attrs)
        inference = Inference(self.record, types, bound, fresh=lambda *_: BY_KERNEL)
        found = self.record.infer(inference)
        return found if isinstance(found, list) else [found]

    def _call(
        self,
        arrays: Sequence[Array],
        handles: Mapping[int, Any],
        attrs: Mapping[str, Any],
        outputs: list[GuardedOutput | None],
        dtypes: Sequence[DType],
        memory: CObject | None,
    ) -> None:
        kept: list[Any] = []  # what C reads and writes, until it returns

        def view(array: Array) -> Any:
            dims = c.dims_array(array.shape)
            kept.append((array, dims))
            return array.ctypes.data, dims, array.ndim, c.dtype_number(array.dtype)

        def of_handle(value: Any) -> Any:
            return value.pointer, c.dims_array(()), 0, all_dtypes.resource.enum

        def allocate(call: Any, k: int, rank: int, dims: Any) -> int | None:
            if not 0 <= k < len(outputs) or not 0 <= rank <= MAX_RANK:
                return None
            shape = tuple(dims[:rank])
            if any(size < 0 for size in shape):
                return None
            made = outputs[k] = GuardedOutput(shape, dtypes[k])
            out_views[k] = view(made.array)
            return made.array.ctypes.data or None

        given = [of_handle(handles[i]) if i in handles else view(a) for i, a in enumerate(arrays)]
        in_views = (c.OpTensor * len(given))(*given)
        none = (None, c.dims_array(()), 0, 0)
        empty = [none if output is None else view(output.array) for output in outputs]
        out_views = (c.OpTensor * len(outputs))(*empty)
        array = c.attr_array(attrs)
        message = ctypes.create_string_buffer(c.MESSAGE_SIZE)
        call = c.OpCall(
            ctypes.sizeof(c.OpCall),
            len(given),
            len(outputs),
            len(array),
            in_views,
            out_views,
            array,
            ctypes.addressof(message),
            c.MESSAGE_SIZE,
            0,
            None,
            c.Allocate(allocate),
            None,
            None if memory is None else memory.pointer,
        )
        c.ComputeCall(self.address)(ctypes.byref(call))
        c.free_scratch(call)
        if call.status:
            raise self.library.failure(self.record.tf_name, call.status, message.value)

    def _checked(self, k: int, output: GuardedOutput | None) -> Array:
        where = f"{self.record.tf_name} ({self.library.path.name})"
        if output is None:
            raise InvalidArgumentError(f"{where}: the kernel has not allocated its output {k}")
        if not output.is_whole:
            raise DataLossError(f"{where}: the kernel wrote beside its output {k}")
        return output.array
