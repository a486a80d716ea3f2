"""What a process keeps of programs that it compiled and ran: nothing that grows.

`FLOWC_GROWTH=1` takes 10^6 runs in place of 10^4, and 2,000 Sessions.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import flowc as tf
from flowc.cache import store
from flowc.codegen.compiled import CompiledProgram, ProgramMetadata
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.math import math_module_text
from flowc.codegen.targets import target_named

LONG = bool(os.environ.get("FLOWC_GROWTH"))
MB = 1 << 20


def grown(step: Callable[[int], object], count: int, warm: int = 10) -> int:
    """Bytes of memory that the process has more after `count` steps."""

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    for i in range(warm):
        step(i)
    before = resident()
    for i in range(warm, warm + count):
        step(i)
    return resident() - before


def test_llvm_gives_back_what_a_compilation_took() -> None:
    processor = target_named("native").processor
    text = math_module_text(["tanh_f32"])
    count = 60
    # A pipeline that stays is 28 KB, and what it ran over another 50 KB.
    assert grown(lambda _: compile_module([text], processor), count) < count * 14 * 1024


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not LONG, reason="takes minutes")
def test_sessions_that_are_dropped_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWC_CACHE", "0")

    def compile_and_drop(i: int) -> None:
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 8])
            y = tf.tanh(tf.matmul(x, tf.constant(np.eye(8, dtype="f") * i))) * float(i)
            with tf.Session(threads=1) as session:
                session.run(y, {x: np.ones((2, 8))})

    assert grown(compile_and_drop, 2000) < 20 * MB


def test_runs_leave_nothing() -> None:
    with tf.Graph().as_default(), tf.Session(threads=1) as session:
        x = tf.placeholder(tf.float32, [None, 8])
        y, given = tf.tanh(x), np.ones((2, 8), np.float32)
        count = 10**6 if LONG else 10**4
        assert grown(lambda _: session.run(y, {x: given}), count, 1000) < MB


def test_kernels_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "KEPT_BYTES", 250)

    class Disk:
        def load(self, key: str) -> CompiledProgram:
            return CompiledProgram((bytes(100),), [], ProgramMetadata())

    class Kernel:
        def __init__(self, key: str) -> None:
            self.key = key

    found, target = store.KernelCache(cast(Any, Disk())), target_named("native")
    for i in (0, 1, 1, 2, 3, 3):
        assert found.objects_of(cast(Any, Kernel(f"k{i}")), target) == (bytes(100),)
    assert (len(found.objects), found.kept) == (2, 200)
