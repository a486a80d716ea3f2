"""Programs whose kernels share even the smallest range, and odd ways of cutting a range.

In: a Computation. Out: `PartitionedProgram`, which runs it on one thread, on threads of the pool
with pieces of one task each, or in pieces of odd lengths from the end to the beginning, each with
the memory of another worker. Invariant: only the driver is another one than in an ordinary
program; the kernels, and so their objects in the cache, are the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np
from llvmlite import binding as llvm

from flowc import dtypes
from flowc.codegen import program
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link import loaded
from flowc.compiler import compile_computation
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable, open_program

PARALLEL_FOR = "flowc_parallel_for"
LENGTHS = (1, 3, 2, 7, 5, 11)  # of the pieces, over and over

_I64, _POINTER = ctypes.c_int64, ctypes.c_void_p
_KERNEL = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _I64, _I64, _I64)
_PARALLEL_FOR = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, _I64, _I64, _I64)


def pieces(total: int) -> list[tuple[int, int]]:
    """Begins and ends of odd pieces that make up [0, total), the last one first."""
    found: list[tuple[int, int]] = []
    begin = 0
    while begin < total:
        length = LENGTHS[len(found) % len(LENGTHS)] * (1 + len(found) // len(LENGTHS))
        found.append((begin, min(begin + length, total)))
        begin += length
    return found[::-1]


@_PARALLEL_FOR
def _in_pieces(kernel: int, buffers: int, ints: int, total: int, grain: int, threads: int) -> None:
    """What stands in for the pool: the pieces one after another."""
    call = _KERNEL(kernel)
    for number, (begin, end) in enumerate(pieces(total)):
        call(buffers, ints, begin, end, number % threads)


@contextmanager
def _linked_to_pieces(compiled: CompiledProgram) -> Iterator[None]:
    """What is loaded meanwhile calls `_in_pieces` for the pool's function."""
    own = llvm.address_of_symbol(PARALLEL_FOR)
    if own is None:
        loaded.load_objects(compiled.objects, compiled.runtime)  # with the runtime
        own = llvm.address_of_symbol(PARALLEL_FOR)
    address = ctypes.cast(_in_pieces, _POINTER).value
    assert own is not None and address is not None
    llvm.add_symbol(PARALLEL_FOR, address)
    try:
        yield
    finally:
        llvm.add_symbol(PARALLEL_FOR, own)


def _always_shared(launches_of: Callable[..., Any]) -> Callable[..., Any]:
    """`launches_of` with ranges that are shared however small they are."""

    def shared(*arguments: Any, **more: Any) -> Any:
        found = launches_of(*arguments, **more)
        return {n: tuple(replace(x, grain=0) for x in each) for n, each in found.items()}

    return shared


class PartitionedProgram:
    """A Computation compiled once, for every way of sharing the ranges of its kernels."""

    def __init__(self, c: Computation, options: Options) -> None:
        names = [p.attrs["name"] for p in c.parameters], [f"y{i}" for i in range(len(c.results))]
        with mock.patch.object(program, "launches_of", _always_shared(program.launches_of)):
            self.program = compile_computation(c, options, spec_of(c, *names))

    @cached_property
    def alone(self) -> Executable:
        """The whole of every range in one piece."""
        return open_program(self.program, 1)

    @cached_property
    def on_threads(self) -> Executable:
        """Two threads of the pool, each of which takes one task after another."""
        return open_program(self.program, 2)

    @cached_property
    def in_pieces(self) -> Executable:
        """The odd pieces, with the memory of three workers."""
        with _linked_to_pieces(self.program):
            return open_program(self.program, 3)

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs, which every way of sharing gives to the bit."""
        outputs = self.alone.run(arrays)
        for way, executable in (("2 threads", self.on_threads), ("odd pieces", self.in_pieces)):
            for i, (found, wanted) in enumerate(zip(executable.run(arrays), outputs, strict=True)):
                same = found.shape == wanted.shape and bits(found) == bits(wanted)
                assert same, f"{way}: output {i} is {found}, on one thread {wanted}"
        return outputs


def bits(array: np.ndarray) -> Any:
    """What equal elements have in common, the signs of zeros too. All NaN are one: which operand's
    sign and payload an operation keeps is not defined."""
    if array.dtype.hasobject:
        return array.tolist()
    kind = dtypes.as_dtype(array.dtype)
    if kind.is_complex:
        return bits(array.real) + bits(array.imag)
    if kind.is_floating:
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()
