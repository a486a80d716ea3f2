"""Programs whose every access to memory is checked, in a process of its own.

In: Computations and arrays. Out: results and reports. Each value of a program is a piece of the
heap by itself, of exactly its size, and so are inputs, outputs and constants: what reads or writes
one byte beside it is seen. `environment` is for the process, which must preload the address
sanitizer of the C compiler; the code itself is instrumented by `instrumented_ir.py`.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from instrumented_ir import with_memory_checks, with_value_checks
from llvmlite import binding as llvm
from partitions import PartitionedProgram, bits

from flowc import compiler
from flowc.cache.disk import DiskCache
from flowc.cache.store import KernelCache
from flowc.codegen import program as compiled_program
from flowc.codegen.link import loaded
from flowc.codegen.llvm import compile as llvm_compile
from flowc.ir.dims import Dim
from flowc.plan import planner
from flowc.plan.plan import Heap, Place
from flowc.run import executable
from flowc.run.executable import Executable

SOURCE = Path(__file__).with_name("sanitizer.c")


def runtime_of_the_compiler() -> str | None:
    """The library of the C compiler's address sanitizer, None where it has none."""
    return _library("libasan.so")


def _library(name: str) -> str | None:
    """A library that comes with the C compiler, None where there is none."""
    try:
        done = subprocess.run(["cc", f"-print-file-name={name}"], capture_output=True, text=True)
    except OSError:
        return None
    path = done.stdout.strip()
    return path if os.path.isabs(path) and os.path.exists(path) else None


def environment() -> dict[str, str]:
    """What a child must be started with."""
    # The sanitizer looks for what throws exceptions when it is loaded, and Python is not C++:
    # those of SciPy would end it.
    preloaded = runtime_of_the_compiler(), _library("libstdc++.so.6")
    options = "detect_leaks=0:handle_segv=0:replace_intrin=0:allocator_may_return_null=1"
    return os.environ | {
        "LD_PRELOAD": os.pathsep.join(filter(None, preloaded)),
        "ASAN_OPTIONS": options,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "FLOWC_CACHE": "0",
    }


class _Report(ctypes.Structure):
    _fields_ = [
        ("where", ctypes.c_char_p),
        ("kind", ctypes.c_char_p),
        ("bytes", ctypes.c_int64),
    ]


class _ExactPools(planner._Pools):
    """Every value has a block of its own, which nothing else gets."""

    def slot(self, size: Dim) -> Any:
        return self.block()

    def cell(self, size: Dim) -> Any:
        return self.block()

    def block(self) -> Heap:
        self.plan.blocks += 1
        return Heap(self.plan.blocks - 1)

    def release(self, place: Place) -> None:
        pass


class Sanitizer:
    """The checks of this process, which there is one of."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sanitizer.so"
            command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(path), str(SOURCE)]
            subprocess.run(command, check=True)
            self.library = ctypes.CDLL(str(path))
        self.library.flowc_sanitizer_reports.restype = ctypes.POINTER(_Report)
        self.library.flowc_sanitizer_count.restype = ctypes.c_int64
        for name in ("flowc_check_memory", "flowc_check_value"):
            llvm.add_symbol(name, self._address(name))
        self.plain = llvm_compile.optimized_module

    def _address(self, name: str) -> int:
        found = ctypes.cast(getattr(self.library, name), ctypes.c_void_p).value
        assert found is not None
        return found

    @contextmanager
    def instrumenting(self, values: bool = False) -> Iterator[None]:
        """What is compiled and loaded meanwhile is checked. `values`: operations on numbers too, in
        code that LLVM has not optimised yet; else only what it has made of them."""

        def optimized(
            texts: Sequence[str], machine: llvm.TargetMachine, **asked: Any
        ) -> llvm.ModuleRef:
            if values:
                texts = [with_value_checks(_canonical(text)) for text in texts]
            text = str(self.plain(texts, machine, **asked))
            made = llvm.parse_assembly(with_memory_checks(text), llvm.create_context())
            made.verify()
            return made

        kernels = KernelCache(DiskCache(None))
        with (
            mock.patch.object(llvm_compile, "optimized_module", optimized),
            mock.patch.object(compiler, "kernel_cache", lambda: kernels),
            mock.patch.object(planner, "_Pools", _ExactPools),
            # What stands between constants is told by their pieces.
            mock.patch.object(compiled_program, "joined", lambda pieces, _: pieces),
            mock.patch.object(loaded, "_load_runtime", self._exact_arena(loaded._load_runtime)),
        ):
            yield

    def _exact_arena(self, load: Any) -> Any:
        def with_exact(data: bytes) -> Any:
            engine = load(data)
            for own, name in (
                ("acquire", "flowc_exact_acquire"),
                ("release", "flowc_exact_release"),
                ("grow", "flowc_exact_grow"),
            ):
                llvm.add_symbol(f"flowc_arena_{own}", self._address(name))
            return engine

        return with_exact

    def reports(self) -> list[str]:
        """What was found since they were last asked for."""
        rows = self.library.flowc_sanitizer_reports()
        found = [rows[i] for i in range(self.library.flowc_sanitizer_count())]
        texts = [f"{r.kind.decode()}: {r.where.decode()} ({r.bytes} bytes)" for r in found]
        self.library.flowc_sanitizer_forget()
        return texts

    def run(self, program: PartitionedProgram, arrays: Sequence[np.ndarray]) -> list[str]:
        """Runs a program whole and in odd pieces, with two patterns in all memory that nobody has
        written; gives the reports and the outputs that depend on the pattern."""
        exact = [np.array(a, order="C") for a in arrays]
        found: list[str] = []
        for way in (program.alone, program.in_pieces):
            with self._guarded_constants(program, way):
                first, second = (self._filled(way, exact, byte) for byte in (0x00, 0xA5))
            for i, (x, y) in enumerate(zip(first, second)):
                if bits(x) != bits(y):
                    found.append(f"output {i} is of memory that nothing has written")
        return [*self.reports(), *found]

    def _filled(self, way: Executable, arrays: Sequence[np.ndarray], byte: int) -> list[np.ndarray]:
        def filled(shape: Any, dtype: Any) -> np.ndarray:
            made = np.empty(shape, dtype)
            ctypes.memset(made.ctypes.data, byte, made.nbytes)
            return made

        self.library.flowc_sanitizer_fill(byte)
        with mock.patch.object(executable, "empty", filled):
            return way.run(arrays)

    @contextmanager
    def _guarded_constants(self, program: PartitionedProgram, way: Executable) -> Iterator[None]:
        """Poisons what stands between constants."""
        address = lambda offset: ctypes.c_void_p(way.weights.ctypes.data + offset)
        end = way.weights.nbytes
        pieces = [(offset, offset + array.nbytes) for offset, array in program.program.weights]
        for offset, used in sorted(pieces, reverse=True):
            self.library.flowc_sanitizer_poison(address(used), ctypes.c_int64(end - used))
            end = offset
        try:
            yield
        finally:
            size = ctypes.c_int64(way.weights.nbytes)
            self.library.flowc_sanitizer_unpoison(address(0), size)


def _canonical(text: str) -> str:
    """As LLVM writes it, with opaque pointers."""
    return str(llvm.parse_assembly(text))
