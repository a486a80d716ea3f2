"""The native part of every compiled program: thread pool, arena, Python's signals.

In: a target triple. Out: the LLVM IR text of one module that defines the hidden functions

    void  flowc_parallel_for(void* kernel, void** buffers, int64_t* dims,
                             int64_t total, int64_t grain, int64_t threads)
    void  flowc_run_begin(int64_t threads, int64_t wakes)
    void  flowc_run_end(int64_t threads)
    void* flowc_arena_acquire(int64_t bytes)      NULL when memory is short
    void  flowc_arena_release(void* block)
    int64_t flowc_arena_grow(void** block, int64_t bytes, int64_t kept, int64_t* room,
                             int64_t* status, int64_t row)      0, or why it cannot
    void  flowc_interpreter_release(int64_t* words, void* table, int64_t deadline)
    int   flowc_interpreter_poll(int64_t* words)          1 when the run must end
    int   flowc_interpreter_call(int64_t* words, int64_t step, int64_t* given)
    void  flowc_interpreter_acquire(int64_t* words)
    void  flowc_pool_stop(void), flowc_arena_clear(void)

where a kernel is `void (void** buffers, int64_t* dims, int64_t begin, int64_t end, int64_t worker)`
and `worker` < threads. `grain`: the steps of a range that are worth a thread, so that fewer of them
are not divided, nor worth waking one for, up to eight times as many; -c where each step is worth as
much as c chunks, 0 where nobody knows.
Invariant: the text is a pure function of the triple. The last two functions
also run when a library is unloaded. Only the compiler imports this package: it needs llvmlite.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir

from flowc_runtime.native.arena import ArenaEmitter
from flowc_runtime.native.interpreter import InterpreterEmitter
from flowc_runtime.native.pool import MACHINES, PoolEmitter
from flowc_runtime.native.writer import call_at_unload


def native_module_text(triple: str | None = None) -> str:
    """The runtime module for a target (default: this machine).

    Raises `ValueError` for a processor that the pool is not written for.
    """
    return _module_text(triple or llvm.get_default_triple())


@cache
def _module_text(triple: str) -> str:
    machine = MACHINES.get(triple.split("-")[0])
    if machine is None:
        raise ValueError(f"no thread pool for {triple}: expected one of {', '.join(MACHINES)}")
    module = ir.Module("flowc_native")
    module.triple = triple
    module.data_layout = data_layout(triple)
    stop = PoolEmitter(module, machine).emit()
    clear = ArenaEmitter(module).emit()
    InterpreterEmitter(module).emit()
    call_at_unload(module, [stop, clear])
    return str(module)


@cache
def cuda_module_text(triple: str) -> str:
    """The module that programs with kernels for an NVIDIA GPU have beside it."""
    from flowc_runtime.native.cuda import CudaEmitter  # late: most programs have none

    module = ir.Module("flowc_native_cuda")
    module.triple = triple
    module.data_layout = data_layout(triple)
    call_at_unload(module, [CudaEmitter(module).emit()])
    return str(module)


def data_layout(triple: str) -> str:
    """LLVM's layout of types in memory for a target; without it alignments are guessed."""
    llvm.initialize_all_targets()
    return str(llvm.Target.from_triple(triple).create_target_machine().target_data)
