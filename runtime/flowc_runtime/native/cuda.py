"""The driver of NVIDIA's GPUs, found when it is first needed: contexts, weights, kernels.

In: an LLVM module. Out: the hidden functions that programs with device code call,

    i32 flowc_cuda_begin(run, weights, bytes)     every run begins with it, on its thread
    i64 flowc_cuda_weights()                      where the weights are on the device
    i32 flowc_cuda_launch(run, kernel, images, name, blocks x, y, z, threads, shared, parameters,
                          bytes)
    void flowc_cuda_close()                       also runs when a library is unloaded

beside those of `cuda_runs.py`. All but `close` give 0, a result of the CUDA driver, or one of the
negative numbers of `cuda_calls.py`. `libcuda` is opened with dlopen, so that a library loads where
there is none. Invariants: a program opens the driver once; the work of a thread is in the order of
its calls, on the thread's own default stream; `kernel` is a word of the program that holds the
loaded kernel, 0 at first. Source: CUDA Driver API.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc_runtime.native.cuda_calls import (
    ARCHITECTURE,
    CALLS,
    CONTEXT,
    FORKED,
    MODULES,
    NO_DEVICE,
    NO_DRIVER,
    NO_IMAGE,
    OUT_OF_MEMORY,
    PROCESS,
    READY,
    STREAM,
    WEIGHTS,
    CudaModule,
)
from flowc_runtime.native.cuda_graphs import GraphEmitter
from flowc_runtime.native.cuda_runs import RunEmitter
from flowc_runtime.native.writer import I32, I64, NULL, PTR, VOID, FunctionWriter, i32, i64

_CUDA_NO_DEVICE = 100
_LAZY = 1  # RTLD_LAZY
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_USUAL_SHARED = 48 << 10  # bytes that need no attribute
_HOST_CODE = -1  # the architecture of images for tests, which only their driver takes


class CudaEmitter:
    """Adds the functions to a module."""

    def __init__(self, module: ir.Module) -> None:
        self.cuda = CudaModule(module)
        self.graphs, self.runs = GraphEmitter(self.cuda), RunEmitter(self.cuda)

    def emit(self) -> ir.Function:
        """Gives the function that closes what the program has on the device."""
        self.graphs.emit()
        self.runs.emit()
        self._open()
        self._begin()
        self._weights()
        self._find()
        self._launch()
        return self._close()

    # -- opening

    def _open(self) -> None:
        """Opens the driver and the first GPU that it shows."""
        w = self.cuda.function("open", I32, {})
        library = w.call("dlopen", w.text("libcuda.so.1"), i32(_LAZY))
        with w.when(w.compare("==", library, NULL)):
            w.give(i32(NO_DRIVER))
        for name, (exported, _) in CALLS.items():
            found = w.call("dlsym", library, w.text(exported))
            with w.when(w.compare("==", found, NULL)):
                w.give(i32(NO_DRIVER))
            self.cuda.keep_address(w, name, found)
        code = self.cuda.call(w, "init", i32(0))
        with w.when(w.compare("==", code, i32(_CUDA_NO_DEVICE))):
            w.give(i32(NO_DEVICE))
        self.cuda.must(w, code)
        found = w.block(8)
        w.store(i64(0), found, i64(0))
        self.cuda.must(w, self.cuda.call(w, "count", found))
        with w.when(w.compare("==", w.load(found, i64(0), I32), i32(0))):
            w.give(i32(NO_DEVICE))
        self.cuda.must(w, self.cuda.call(w, "device", found, i32(0)))
        device = w.load(found, i64(0), I32)
        self.cuda.must(w, self.cuda.call(w, "attribute", found, i32(_MAJOR), device))
        major = w.load(found, i64(0), I32)
        self.cuda.must(w, self.cuda.call(w, "attribute", found, i32(_MINOR), device))
        minor = w.load(found, i64(0), I32)
        architecture = w.b.add(w.b.mul(major, i32(10)), minor)
        self.cuda.keep(w, w.b.zext(architecture, I64), ARCHITECTURE)
        self.cuda.must(w, self.cuda.call(w, "retain", found, device))
        self.cuda.keep(w, w.load(found, i64(0)), CONTEXT)
        self.cuda.must(w, self.cuda.call(w, "current", w.load(found, i64(0))))
        # Memory that runs give back stays with the process, so that steady runs ask for none.
        self.cuda.must(w, self.cuda.call(w, "pool", found, device))
        pool = w.load(found, i64(0))
        w.store(i64(-1), found, i64(0))
        self.cuda.must(w, self.cuda.call(w, "set_pool", pool, i32(_THRESHOLD), found))
        self.cuda.keep(w, w.b.sext(w.call("getpid"), I64), PROCESS)
        w.give(i32(0))

    def _begin(self) -> None:
        w = self.cuda.function("begin", I32, {"run": PTR, "weights": PTR, "bytes": I64})
        run, weights, size = w.args
        ready = w.atomic_load(self.cuda.place_of(w, READY))
        with w.when(w.compare("==", ready, i64(0))):
            w.call("pthread_mutex_lock", self.cuda.lock)
            ready = self.cuda.word(w, READY)
            result = w.variable(i32(0))
            with w.when(w.compare("==", ready, i64(0))):
                result.set(w.call("flowc_cuda_open"))
                with w.when(w.compare("==", result.get(), i32(0))):
                    result.set(self._upload_weights(w, weights, size))
                with w.when(w.compare("==", result.get(), i32(0))):
                    w.atomic_store(i64(1), self.cuda.place_of(w, READY))
            w.call("pthread_mutex_unlock", self.cuda.lock)
            self.cuda.must(w, result.get())
        process = w.b.sext(w.call("getpid"), I64)
        with w.when(w.compare("!=", process, self.cuda.word(w, PROCESS))):
            w.give(i32(FORKED))
        self.cuda.must(w, self.cuda.call(w, "current", self.cuda.word(w, CONTEXT)))
        w.give(w.call("flowc_cuda_take", run))

    def _upload_weights(self, w: FunctionWriter, weights: Any, size: Any) -> Any:
        """Within the lock: the weights on the device, which the program keeps."""
        result = w.variable(i32(0))
        with w.when(w.compare(">", size, i64(0))):
            place = self.cuda.place_of(w, WEIGHTS)
            result.set(self.cuda.call(w, "allocate", place, size, i64(STREAM)))
            with w.when(w.compare("==", result.get(), i32(0))):
                address = self.cuda.word(w, WEIGHTS)
                result.set(self.cuda.call(w, "upload", address, weights, size, i64(STREAM)))
            with w.when(w.compare("==", result.get(), i32(0))):
                result.set(self.cuda.call(w, "wait", i64(STREAM)))
        return result.get()

    def _weights(self) -> None:
        w = self.cuda.function("weights", I64, {})
        w.give(self.cuda.word(w, WEIGHTS))

    # -- kernels

    def _find(self) -> None:
        """The kernel of a table of images that fits the GPU best: machine code of its architecture
        or of an older one of its generation, else PTX. Within the lock."""
        w = self.cuda.function("find", I32, {"kernel": PTR, "images": PTR, "name": PTR})
        kernel, images, name = w.args
        own = self.cuda.word(w, ARCHITECTURE)
        best, image = w.variable(i64(-2)), w.variable(i64(0))
        with w.count(w.load(images, i64(0))) as row:
            first = w.b.add(w.b.mul(row, i64(3)), i64(1))
            architecture = w.load(images, first)
            generation = w.b.sdiv(architecture, i64(10))
            same = w.compare("==", generation, w.b.sdiv(own, i64(10)))
            runs = w.b.and_(same, w.compare("<=", architecture, own))
            runs = w.b.or_(runs, w.compare("==", architecture, i64(0)))
            if_host = w.b.and_(
                w.compare("==", architecture, i64(_HOST_CODE)), w.compare("==", own, i64(0))
            )
            better = w.compare(">", architecture, best.get())
            with w.when(w.b.and_(w.b.or_(runs, if_host), better)):
                best.set(architecture)
                image.set(w.load(images, w.b.add(first, i64(2))))
        with w.when(w.compare("==", image.get(), i64(0))):
            w.give(i32(NO_IMAGE))
        found = w.block(8)
        self.cuda.must(w, self.cuda.call(w, "load", found, image.get()))
        # Loaded modules are a list of pairs: the next pair, the module.
        pair = w.call("malloc", i64(16))
        with w.when(w.compare("==", pair, NULL)):
            w.give(i32(OUT_OF_MEMORY))
        w.store(self.cuda.word(w, MODULES), pair, i64(0))
        w.store(w.load(found, i64(0)), pair, i64(1))
        self.cuda.keep(w, w.b.ptrtoint(pair, I64), MODULES)
        self.cuda.must(w, self.cuda.call(w, "find", found, w.load(found, i64(0)), name))
        w.atomic_store(w.load(found, i64(0)), kernel)
        w.give(i32(0))

    def _launch(self) -> None:
        args: dict[str, ir.Type] = {"run": PTR, "kernel": PTR, "images": PTR, "name": PTR}
        args |= {"x": I64, "y": I64, "z": I64, "threads": I64, "shared": I64}
        w = self.cuda.function("launch", I32, args | {"parameters": PTR, "bytes": I64})
        run, kernel, images, name, x, y, z, threads, shared, parameters, size = w.args
        least = w.minimum(x, w.minimum(y, z))
        with w.when(w.compare("<=", least, i64(0))):
            w.give(i32(0))
        found = w.variable(w.atomic_load(kernel))
        with w.when(w.compare("==", found.get(), i64(0))):
            w.call("pthread_mutex_lock", self.cuda.lock)
            found.set(w.load(kernel, i64(0)))
            result = w.variable(i32(0))
            with w.when(w.compare("==", found.get(), i64(0))):
                result.set(w.call("flowc_cuda_find", kernel, images, name))
                found.set(w.load(kernel, i64(0)))
                large = w.compare(">", shared, i64(_USUAL_SHARED))
                with w.when(w.b.and_(w.compare("==", result.get(), i32(0)), large)):
                    narrow = w.b.trunc(shared, I32)
                    result.set(self.cuda.call(w, "shared", found.get(), i32(_MOST_SHARED), narrow))
            w.call("pthread_mutex_unlock", self.cuda.lock)
            self.cuda.must(w, result.get())
        sizes = (x, y, z, threads, shared)
        w.give(w.call("flowc_cuda_enqueue", run, found.get(), *sizes, parameters, size))

    def _close(self) -> ir.Function:
        """Frees what the program has on the device and unloads the kernels. A child of a fork has
        nothing there."""
        w = self.cuda.function("close", VOID, {})
        ready = w.compare("!=", self.cuda.word(w, READY), i64(0))
        same = w.compare("==", w.b.sext(w.call("getpid"), I64), self.cuda.word(w, PROCESS))
        with w.when(w.b.and_(ready, same)):
            self.cuda.call(w, "current", self.cuda.word(w, CONTEXT))
            self.graphs.close(w)
            self.runs.close(w)
            with w.when(w.compare("!=", self.cuda.word(w, WEIGHTS), i64(0))):
                self.cuda.call(w, "free", self.cuda.word(w, WEIGHTS), i64(STREAM))
            with w.loop() as loop:
                pair = w.b.inttoptr(self.cuda.word(w, MODULES), PTR)
                loop.leave_if(w.compare("==", pair, NULL))
                self.cuda.call(w, "unload", w.load(pair, i64(1)))
                self.cuda.keep(w, w.load(pair, i64(0)), MODULES)
                w.call("free", pair)
            self.cuda.keep(w, i64(0), WEIGHTS)
            w.atomic_store(i64(0), self.cuda.place_of(w, READY))
        w.give()
        return w.function
