"""A compiled program that Python can call.

In: a CompiledProgram. Out: NumPy arrays for NumPy arrays, one native call a run. Reentrant: every
run has its own arena and tables.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes, errors
from flowc.codegen.jit import load_objects
from flowc.codegen.compiled import CompiledProgram
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.dims import Dim, Expr, Symbol, evaluate, parse_dim

STATUS_WORDS = 8
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]


class Executable:
    """`run(arrays)` gives the outputs for inputs in the program's order.

    Arrays must have the dtypes of the inputs; any layout is taken (copied when not contiguous).
    """

    def __init__(self, program: CompiledProgram, threads: int | None = None) -> None:
        self.metadata = program.metadata
        self.code = load_objects(program.objects, program.runtime)
        self.weights = program.weights_image()
        self.threads = threads if threads is not None else os.cpu_count() or 1
        self.inputs = [_Slot(x) for x in self.metadata["inputs"]]
        self.outputs = [_Slot(x) for x in self.metadata["outputs"]]
        self._binders = _binders(self.inputs, self.metadata["sizes"])
        self._late = len(self.metadata["sizes"]) > self.metadata["input_sizes"]
        self._static = not self.metadata["sizes"]
        self._pointers_in = ctypes.c_void_p * max(1, len(self.inputs))
        self._pointers_out = ctypes.c_void_p * max(1, len(self.outputs))
        self._sizes = ctypes.c_int64 * max(1, len(self.metadata["sizes"]))
        self._status = ctypes.c_int64 * STATUS_WORDS
        self._weights_address = self.weights.ctypes.data
        self._dims = ctypes.c_int64 * max(1, sum(len(o.dims) for o in self.outputs))
        self._static_shapes = [o.static for o in self.outputs]

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs once. Raises `InvalidArgumentError` with the node for faults found by the run."""
        arrays = [a if a.flags.c_contiguous else np.ascontiguousarray(a) for a in arrays]
        sizes = self._sizes()
        for bind in self._binders:
            bind(arrays, sizes)
        if self._static:
            outputs: list[Any] = [
                np.empty(o.static, o.dtype.numpy)
                for o in self.outputs  # type: ignore[arg-type]
            ]
        else:
            outputs = self._allocate(sizes)
        status = self._status()
        pointers = self._pointers_out(*[None if o is None else _address(o) for o in outputs])
        code = self.code.run(  # type: ignore[operator]
            self._pointers_in(*[_address(a) for a in arrays]),
            pointers,
            sizes,
            self._weights_address,
            self.threads,
            status,
        )
        if code:
            raise self._error(code, status)
        if self._late:
            outputs = self._trimmed(outputs, pointers, sizes)
        return outputs

    def _allocate(self, sizes: Any) -> list[np.ndarray | None]:
        """Arrays of the outputs' upper bounds; None where there is none."""
        dims = self._dims()
        self.code.output_bounds(sizes, dims)  # type: ignore[operator]
        found: list[np.ndarray | None] = []
        at = 0
        for slot in self.outputs:
            shape = tuple(dims[at : at + len(slot.dims)])
            at += len(slot.dims)
            found.append(None if -1 in shape else np.empty(shape, slot.dtype.numpy))
        return found

    def _trimmed(self, outputs: list[Any], pointers: Any, sizes: Any) -> list[np.ndarray]:
        """Outputs cut to the sizes that the run found."""
        dims = self._dims()
        self.code.output_dims(sizes, dims)  # type: ignore[operator]
        at = 0
        for i, slot in enumerate(self.outputs):
            shape = tuple(dims[at : at + len(slot.dims)])
            at += len(slot.dims)
            if outputs[i] is None:
                outputs[i] = _owned(pointers[i], shape, slot.dtype.numpy)
            elif outputs[i].shape != shape:
                count = int(np.prod(shape))
                outputs[i] = outputs[i].reshape(-1)[:count].reshape(shape).copy()
        return outputs

    def _error(self, code: int, status: Any) -> Exception:
        row, a, b, c = status[1], status[2], status[3], status[4]
        if code == 5 or not 0 <= row < len(self.metadata["errors"]):
            return ResourceExhaustedError(f"out of memory: the run needs {a} bytes")
        found = self.metadata["errors"][row]
        message = found["message"].format(a=a, b=b, c=c)
        kind = getattr(errors, found["class"], InvalidArgumentError)
        return kind(message, node=found["node"] or None)


class _Slot:
    """One input or output."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.name: str = data["name"]
        self.dtype = dtypes.as_dtype(data["dtype"])
        self.dims: tuple[Dim, ...] = tuple(
            d if isinstance(d, int) else parse_dim(d) for d in data["dims"]
        )
        known = not any(isinstance(d, Expr) for d in self.dims)
        self.static: tuple[int, ...] | None = self.dims if known else None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _owned(pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """A copy of memory that the run allocated, which is given back."""
    count = int(np.prod(shape))
    raw = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(pointer)
    array = np.frombuffer(raw, dtype, count).reshape(shape).copy()
    _free(pointer)
    return array


def _binders(
    inputs: Sequence[_Slot], sizes: Sequence[str]
) -> list[Callable[[Sequence[np.ndarray], Any], None]]:
    """Steps that check the inputs' shapes and find the sizes in them."""
    index = {name: i for i, name in enumerate(sizes)}
    bound: set[str] = set()
    steps: list[Callable[[Sequence[np.ndarray], Any], None]] = []
    for number, slot in enumerate(inputs):
        if slot.static is not None:
            steps.append(_static_check(number, slot))
            continue
        steps.append(_rank_check(number, slot))
        for axis, dim in enumerate(slot.dims):
            name = _plain_symbol(dim)
            if name is not None and name not in bound:
                bound.add(name)
                steps.append(_take(number, axis, index[name]))
    for number, slot in enumerate(inputs):
        if slot.static is None:
            steps.append(_dims_check(number, slot, index))
    return steps


def _plain_symbol(dim: Dim) -> str | None:
    if isinstance(dim, Expr) and len(dim.terms) == 1 and dim.terms[0][1] == 1:
        monomial = dim.terms[0][0]
        if len(monomial) == 1 and isinstance(monomial[0], Symbol):
            return monomial[0].name
    return None


def _static_check(number: int, slot: _Slot) -> Callable[[Sequence[np.ndarray], Any], None]:
    wanted = slot.static

    def check(arrays: Sequence[np.ndarray], sizes: Any) -> None:
        if arrays[number].shape != wanted:
            raise _mismatch(slot, arrays[number].shape)

    return check


def _rank_check(number: int, slot: _Slot) -> Callable[[Sequence[np.ndarray], Any], None]:
    def check(arrays: Sequence[np.ndarray], sizes: Any) -> None:
        if arrays[number].ndim != len(slot.dims):
            raise _mismatch(slot, arrays[number].shape)

    return check


def _take(number: int, axis: int, place: int) -> Callable[[Sequence[np.ndarray], Any], None]:
    def take(arrays: Sequence[np.ndarray], sizes: Any) -> None:
        sizes[place] = arrays[number].shape[axis]

    return take


def _dims_check(
    number: int, slot: _Slot, index: dict[str, int]
) -> Callable[[Sequence[np.ndarray], Any], None]:
    def check(arrays: Sequence[np.ndarray], sizes: Any) -> None:
        env = {name: sizes[i] for name, i in index.items()}
        wanted = tuple(evaluate(d, env) for d in slot.dims)
        if arrays[number].shape != wanted:
            raise _mismatch(slot, arrays[number].shape)

    return check


def _mismatch(slot: _Slot, found: tuple[int, ...]) -> InvalidArgumentError:
    shown = ",".join(map(str, found))
    return InvalidArgumentError(
        f"input '{slot.name}' has the shape [{shown}], expected {slot}", node=slot.name
    )
