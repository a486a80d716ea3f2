"""LLVM compiles modules of several threads side by side, and a fork waits for all of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from llvmlite import binding as llvm
from llvmlite.binding import ffi

from flowc.codegen.forks import SideBySide
from flowc.codegen.llvm.compile import _long_step, compile_module
from flowc.codegen.math import math_module_text
from flowc.codegen.targets import target_named

PROCESSOR = target_named("native").processor
NAMES = ("tanh_f32", "exp_f64", "erf_f32", "lgamma_f32")
LONG = 120  # seconds, on a machine that is busy


def test_objects_do_not_depend_on_threads() -> None:
    texts = [[math_module_text([name])] for name in NAMES]
    alone = [compile_module(text, PROCESSOR) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: compile_module(text, PROCESSOR), texts * 3))
    assert found == alone * 3


@pytest.mark.parametrize("step", ["passes", "code"])
def test_long_steps_do_not_wait_for_the_lock_of_llvmlite(step: str) -> None:
    machine = PROCESSOR.target_machine()
    module = llvm.parse_assembly(math_module_text(["tanh_f32"]), llvm.create_context())
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = builder.getModulePassManager()
    with ThreadPoolExecutor(1) as threads, ffi.OutputString() as fault, ffi.lib._lock:
        if step == "passes":
            name, operands = "LLVMPY_RunNewModulePassManager", (passes, module, builder)
        else:
            name, operands = "LLVMPY_TargetMachineEmitToMemory", (machine, module, 1, fault)
        found = threads.submit(_long_step, name, *operands).result(LONG)
    if step == "code":
        ffi.lib.LLVMPY_DisposeMemoryBuffer(found)


def test_steps_run_side_by_side_and_what_excludes_them_waits() -> None:
    steps, meeting, go_on = SideBySide(), threading.Barrier(3), threading.Event()
    seen: list[str] = []

    def take_step() -> None:
        with steps.step():
            meeting.wait(LONG)
            go_on.wait(LONG)
            seen.append("step")

    def exclude() -> None:
        with steps:
            seen.append("alone")

    threads = [threading.Thread(target=take_step) for _ in range(2)]
    for thread in threads:
        thread.start()
    meeting.wait(LONG)  # both are in their steps
    alone = threading.Thread(target=exclude)
    alone.start()
    go_on.set()
    for thread in (*threads, alone):
        thread.join(LONG)
    assert seen == ["step", "step", "alone"]


def test_a_thread_in_a_step_excludes_the_others_only() -> None:
    steps = SideBySide()
    with steps.step(), steps:
        pass
