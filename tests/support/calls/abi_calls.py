"""Calls of a library's C functions with arguments of which some are wrong.

In: a seed. Out: `CASES`: `SEED` -> a function that makes `CALLS` calls in this process and tells
what was wrong: a code that says nothing, a fault taken for a success or the other way round, an
error without a message. Run in a child. What C cannot see is not tried: a buffer that is too small.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import aot_programs
import numpy as np

from flowc.aot import write_library
from flowc_runtime.addresses import data_address

CALLS = 500  # of one seed
OK, BAD_ARGUMENT, INVALID, NO_MEMORY = 0, 2, 3, 5
MOST = 40  # rows of the buffers
HUGE = (2**62, 2**63 - 1)
BATCHES = (0, 1, 3, MOST, -1, -(2**63), *HUGE)
WIDTHS = (4, 4, 4, 4, 4, 4, 5, 0, -1, 2**62)
PORTS = (0, 1, 2, 3, -1, 2**31 - 1, -(2**31))

X = np.ones((MOST, 4), np.float32)
Y, KEPT = np.empty((MOST + 1, 4), np.float32), np.empty(MOST * 4 + 4, np.float32)


@cache
def library() -> ctypes.CDLL:
    """The program of aot_programs.py: x: f32[batch, 4], k: i64[] -> y, kept, steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hand.so"
        write_library(aot_programs.program(), path)
        found = ctypes.CDLL(str(path))
    found.flowc_last_error.restype = ctypes.c_char_p
    found.flowc_run.argtypes = [ctypes.c_void_p] * 4
    found.flowc_instance_run.argtypes = [ctypes.c_void_p] * 5
    found.flowc_output_dims_for.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p]
    for kind in ("input", "output"):
        getattr(found, f"flowc_{kind}_name").restype = ctypes.c_char_p
        getattr(found, f"flowc_{kind}_dim_name").restype = ctypes.c_char_p
        getattr(found, f"flowc_{kind}_dims").argtypes = [ctypes.c_int32, ctypes.c_void_p]
    return found


class Calls:
    """`wrong`: what was not as it must be."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.wrong: list[str] = []
        self.refused = 0
        self.instance = ctypes.c_void_p()
        code = library().flowc_instance_create(ctypes.byref(self.instance))
        self.expect("instance_create", code, True)

    def one_of(self, *found: Any) -> Any:
        return found[int(self.random.integers(len(found)))]

    def mostly(self, usual: Any, *rare: Any) -> Any:
        return usual if self.random.random() < 0.8 else self.one_of(*rare)

    def expect(self, what: str, code: int, is_right: bool) -> None:
        message = library().flowc_last_error()
        known = code in (OK, BAD_ARGUMENT, INVALID, NO_MEMORY)
        if not known or (code == OK) != is_right or (code != OK and not message):
            self.wrong.append(f"{what}: {code} {message!r}")
        self.refused += code != OK

    def run(self) -> None:
        batch, width = self.one_of(*BATCHES), self.one_of(*WIDTHS)
        has_dims, number = self.mostly(True, False), self.mostly(3, 0, 10, -1, 11, -(2**63))
        k, dims = np.array(number), np.array([batch, width])
        x = self.mostly(data_address(X), 0, data_address(X) + 1, data_address(X) + 2)
        y = self.mostly(data_address(Y), 0, data_address(Y) + 1)
        kept = self.mostly(data_address(KEPT), 0, data_address(KEPT) + 3)
        at_k = self.mostly(data_address(k), 0, data_address(k) + 4)
        steps = self.mostly(0, 8)
        inputs = (ctypes.c_void_p * 2)(x, at_k)
        all_dims = (ctypes.c_void_p * 2)(data_address(dims) if has_dims else 0, 0)
        outputs = (ctypes.c_void_p * 3)(y, kept, steps)
        tables = [self.mostly(t, None) for t in (inputs, all_dims, outputs)]
        sound = width == 4 and 0 <= batch <= MOST and has_dims and None not in tables
        buffers = all(a % 4 == 0 and (a or not batch) for a in (x, y, kept))
        right = sound and buffers and at_k % 8 == 0 and at_k and not steps and 0 <= number <= 10
        if self.random.random() < 0.3:
            instance = self.mostly(self.instance, None)
            right = right and instance
            code = library().flowc_instance_run(instance, *tables, None)
        else:
            code = library().flowc_run(*tables, None)
        self.expect(f"run {batch} {width} {number} {tables} {list(outputs)}", code, bool(right))
        if code == OK:
            library().flowc_free(ctypes.c_void_p(outputs[2]))
        elif (outputs[2] or 0) != steps:
            self.wrong.append("what a failed run had allocated was not given back")

    def dims_for(self) -> None:
        batch, width, port = self.one_of(*BATCHES), self.one_of(*WIDTHS), self.one_of(*PORTS)
        dims, found = np.array([batch, width]), (ctypes.c_int64 * 2)()
        all_dims = self.mostly((ctypes.c_void_p * 2)(data_address(dims), 0), None)
        place = self.mostly(found, None)
        right = all_dims and width == 4 and 0 <= batch <= MOST and 0 <= port <= 2 and place
        code = library().flowc_output_dims_for(all_dims, port, place)
        self.expect(f"dims_for {batch} {width} {port} {all_dims} {place}", code, bool(right))

    def description(self) -> None:
        kind, port = self.one_of("input", "output"), self.one_of(*PORTS)
        count = {"input": 2, "output": 3}[kind]
        there = 0 <= port < count
        function = lambda name: getattr(library(), f"flowc_{kind}_{name}")
        if (function("name")(port) is not None) != there:
            self.wrong.append(f"the name of {kind} {port}")
        function("dim_name")(port, self.one_of(*PORTS))
        rank = function("rank")(port)
        if (rank >= 0) != there:
            self.wrong.append(f"the rank of {kind} {port}")
        place = self.mostly((ctypes.c_int64 * 2)(), None)
        right = there and (place or rank == 0)
        self.expect(f"{kind}_dims {port} {place}", function("dims")(port, place), bool(right))

    def threads(self) -> None:
        count = self.one_of(0, 1, 2, 1024, 1025, -1, -(2**31), 2**31 - 1)
        code = library().flowc_set_threads(count)
        self.expect(f"set_threads {count}", code, 0 <= count <= 1024)
        library().flowc_set_threads(1)

    def memory(self) -> None:
        most = self.one_of(0, 1, 2**62, -1, -(2**63))
        code = library().flowc_set_max_memory(ctypes.c_int64(most))
        self.expect(f"set_max_memory {most}", code, most >= 0)
        library().flowc_set_max_memory(ctypes.c_int64(0))


def tried(seed: int) -> str:
    calls = Calls(seed)
    for _ in range(CALLS):
        rare = calls.dims_for, calls.description, calls.threads, calls.memory
        calls.one_of(*[calls.run] * 5, *rare)()
    library().flowc_instance_destroy(calls.instance)
    if not CALLS // 4 < calls.refused < CALLS:
        calls.wrong.append(f"{calls.refused} of {CALLS} calls were refused")
    return "; ".join(calls.wrong[:5]) or "right"


CASES = {str(seed): partial(tried, seed) for seed in range(200)}
