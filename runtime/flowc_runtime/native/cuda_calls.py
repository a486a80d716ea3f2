"""What the functions of `cuda.py` share: the calls of libcuda, and the words that a program keeps.

In: an LLVM module. Out: writers of its functions, and calls by the addresses that `open` has found.
Invariant: a word of the state is changed within the lock, once the program is open. Source: CUDA
Driver API.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc_runtime.native.writer import (
    I8,
    I32,
    I64,
    PTR,
    FunctionWriter,
    as_pointer,
    i32,
    i64,
    new_global,
)

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
NO_DRIVER, NO_DEVICE, FORKED, NO_IMAGE = -1, -2, -3, -4
STREAM = 2  # CU_STREAM_PER_THREAD
MUTEX_BYTES = 40

# Words of the state of a program: what `cuda.py` keeps, then `cuda_runs.py`, then `cuda_graphs.py`.
READY, CONTEXT, ARCHITECTURE, PROCESS, WEIGHTS, MODULES = range(6)
SPARE_BUFFERS = 6
GRAPHS, LOOKS, PLAIN_ONLY, RECORDING = 7, 8, 9, 10
_FIRST_CALL = 16  # the word of the first address
CALLS: dict[str, tuple[str, int]] = {
    # name here -> (name in libcuda, how many arguments)
    "init": ("cuInit", 1),
    "count": ("cuDeviceGetCount", 1),
    "device": ("cuDeviceGet", 2),
    "attribute": ("cuDeviceGetAttribute", 3),
    "retain": ("cuDevicePrimaryCtxRetain", 2),
    "current": ("cuCtxSetCurrent", 1),
    "pool": ("cuDeviceGetDefaultMemPool", 2),
    "set_pool": ("cuMemPoolSetAttribute", 3),
    "allocate": ("cuMemAllocAsync", 3),
    "free": ("cuMemFreeAsync", 2),
    "upload": ("cuMemcpyHtoDAsync_v2", 4),
    "download": ("cuMemcpyDtoHAsync_v2", 4),
    "copy": ("cuMemcpyDtoDAsync_v2", 4),
    "fill": ("cuMemsetD8Async", 4),
    "fill_words": ("cuMemsetD32Async", 4),
    "wait": ("cuStreamSynchronize", 1),
    "load": ("cuModuleLoadData", 2),
    "unload": ("cuModuleUnload", 1),
    "find": ("cuModuleGetFunction", 3),
    "shared": ("cuFuncSetAttribute", 3),
    "launch": ("cuLaunchKernel", 11),
    "pin": ("cuMemHostAlloc", 3),
    "unpin": ("cuMemFreeHost", 1),
    "wait_all": ("cuCtxSynchronize", 0),
    "new_stream": ("cuStreamCreate", 2),
    "end_stream": ("cuStreamDestroy_v2", 1),
    "record": ("cuStreamBeginCapture_v2", 2),
    "recorded": ("cuStreamEndCapture", 2),
    "instantiate": ("cuGraphInstantiateWithFlags", 3),
    "replay": ("cuGraphLaunch", 2),
    "end_graph": ("cuGraphDestroy", 1),
    "end_instance": ("cuGraphExecDestroy", 1),
}
STATE_WORDS = _FIRST_CALL + len(CALLS)
# 32-bit arguments by their position; all others are 64 bits wide.
_NARROW = {
    "init": (0,),
    "device": (1,),
    "attribute": (1, 2),
    "retain": (1,),
    "pool": (1,),
    "set_pool": (1,),
    "fill": (1,),
    "fill_words": (1,),
    "shared": (1, 2),
    "launch": (1, 2, 3, 4, 5, 6, 7),
    "pin": (2,),
    "new_stream": (1,),
    "record": (1,),
}


class CudaModule:
    """The module, the state of a program in it, and its lock."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        words = ir.ArrayType(I64, STATE_WORDS)
        self.state = as_pointer(new_global(module, "flowc_cuda_state", words, align=64))
        lock = ir.ArrayType(I8, MUTEX_BYTES)
        self.lock = as_pointer(new_global(module, "flowc_cuda_lock", lock, align=16))

    def function(self, name: str, result: ir.Type, args: dict[str, ir.Type]) -> FunctionWriter:
        full = f"flowc_cuda_{name}"
        return FunctionWriter(self.module, full, result, args, linkage="hidden")

    def word(self, w: FunctionWriter, number: int) -> Any:
        return w.load(self.state, i64(number))

    def keep(self, w: FunctionWriter, value: Any, number: int) -> None:
        """Stores a word of the state."""
        w.store(w.b.ptrtoint(value, I64) if value.type == PTR else value, self.state, i64(number))

    def place_of(self, w: FunctionWriter, number: int) -> Any:
        """The address of a word of the state."""
        return w.element(self.state, i64(number))

    def keep_address(self, w: FunctionWriter, name: str, found: Any) -> None:
        """Stores where libcuda has a function."""
        self.keep(w, found, _FIRST_CALL + list(CALLS).index(name))

    def call(self, w: FunctionWriter, name: str, *args: Any) -> Any:
        """Calls a function of the driver; gives its result."""
        number = _FIRST_CALL + list(CALLS).index(name)
        narrow = _NARROW.get(name, ())
        kinds: list[ir.Type] = [I32 if i in narrow else I64 for i in range(CALLS[name][1])]
        assert len(kinds) == len(args), name
        passed = [w.b.ptrtoint(a, I64) if a.type == PTR else a for a in args]
        signature = ir.FunctionType(I32, kinds)
        address = w.b.inttoptr(self.word(w, number), signature.as_pointer())
        return w.b.call(address, passed)

    def must(self, w: FunctionWriter, code: Any) -> None:
        """Returns what a call gave where it failed."""
        with w.when(w.compare("!=", code, i32(0))):
            w.give(code)
