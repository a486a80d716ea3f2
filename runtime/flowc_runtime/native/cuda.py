"""The driver of NVIDIA's GPUs, found when it is first needed: contexts, memory, copies, launches.

In: an LLVM module. Out: the hidden functions that programs with device code call,

    i32 flowc_cuda_begin(weights, bytes)          every run begins with it, on its thread
    i64 flowc_cuda_weights()                      where the weights are on the device
    i32 flowc_cuda_acquire(place, bytes)          stores an address, or NULL
    i32 flowc_cuda_release(address)
    i32 flowc_cuda_zero(address, bytes)
    i32 flowc_cuda_upload(to, from, bytes), flowc_cuda_download(..), flowc_cuda_copy(..)
    i32 flowc_cuda_launch(kernel, images, name, blocks x, y, z, threads, shared, parameters, bytes)
    i32 flowc_cuda_wait(), flowc_cuda_finish()
    void flowc_cuda_close()                       also runs when a library is unloaded

All but `close` give 0, a result of the CUDA driver, or one of the negative numbers below. `libcuda`
is opened with dlopen, so that a library loads where there is none. Invariants: a program opens the
driver once; the work of a thread is in the order of its calls, on the thread's own default stream;
`kernel` is a word of the program that holds the loaded kernel, 0 at first. Source: CUDA Driver API.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc_runtime.native.writer import (
    I8,
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    i32,
    i64,
    new_global,
)

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
NO_DRIVER, NO_DEVICE, FORKED, NO_IMAGE = -1, -2, -3, -4
_CUDA_NO_DEVICE = 100
STREAM = 2  # CU_STREAM_PER_THREAD
_LAZY = 1  # RTLD_LAZY
_MAJOR, _MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_USUAL_SHARED = 48 << 10  # bytes that need no attribute
_HOST_CODE = -1  # the architecture of images for tests, which only their driver takes
_BUFFER, _BUFFER_SIZE, _END = 1, 2, 0  # CU_LAUNCH_PARAM_*
MUTEX_BYTES = 40

# Words of the state of a program.
READY, CONTEXT, ARCHITECTURE, PROCESS, WEIGHTS, MODULES = range(6)
_CALLS: dict[str, tuple[str, int]] = {
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
    "wait": ("cuStreamSynchronize", 1),
    "load": ("cuModuleLoadData", 2),
    "unload": ("cuModuleUnload", 1),
    "find": ("cuModuleGetFunction", 3),
    "shared": ("cuFuncSetAttribute", 3),
    "launch": ("cuLaunchKernel", 11),
}
_FIRST_CALL = 8  # the word of the first address
_WORDS = _FIRST_CALL + len(_CALLS)
# 32-bit arguments by their position; all others are 64 bits wide.
_NARROW = {
    "init": (0,),
    "device": (1,),
    "attribute": (1, 2),
    "retain": (1,),
    "pool": (1,),
    "set_pool": (1,),
    "fill": (1,),
    "shared": (1, 2),
    "launch": (1, 2, 3, 4, 5, 6, 7),
}


class CudaEmitter:
    """Adds the functions to a module."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        words = ir.ArrayType(I64, _WORDS)
        self.state = as_pointer(new_global(module, "flowc_cuda_state", words, align=64))
        lock = ir.ArrayType(I8, MUTEX_BYTES)
        self.lock = as_pointer(new_global(module, "flowc_cuda_lock", lock, align=16))

    def emit(self) -> ir.Function:
        """Gives the function that closes what the program has on the device."""
        self._open()
        self._begin()
        self._weights()
        self._memory()
        self._copies()
        self._find()
        self._launch()
        return self._close()

    # -- pieces

    def _function(self, name: str, result: ir.Type, args: dict[str, ir.Type]) -> FunctionWriter:
        full = f"flowc_cuda_{name}"
        return FunctionWriter(self.module, full, result, args, linkage="hidden")

    def _word(self, w: FunctionWriter, number: int) -> Any:
        return w.load(self.state, i64(number))

    def _call(self, w: FunctionWriter, name: str, *args: Any) -> Any:
        """Calls a function of the driver; gives its result."""
        number = _FIRST_CALL + list(_CALLS).index(name)
        narrow = _NARROW.get(name, ())
        kinds: list[ir.Type] = [I32 if i in narrow else I64 for i in range(_CALLS[name][1])]
        assert len(kinds) == len(args), name
        passed = [w.b.ptrtoint(a, I64) if a.type == PTR else a for a in args]
        signature = ir.FunctionType(I32, kinds)
        address = w.b.inttoptr(self._word(w, number), signature.as_pointer())
        return w.b.call(address, passed)

    def _must(self, w: FunctionWriter, code: Any) -> None:
        """Returns what a call gave where it failed."""
        with w.when(w.compare("!=", code, i32(0))):
            w.give(code)

    # -- opening

    def _open(self) -> None:
        """Opens the driver and the first GPU that it shows."""
        w = self._function("open", I32, {})
        library = w.call("dlopen", w.text("libcuda.so.1"), i32(_LAZY))
        with w.when(w.compare("==", library, NULL)):
            w.give(i32(NO_DRIVER))
        for i, (name, _) in enumerate(_CALLS.values()):
            found = w.call("dlsym", library, w.text(name))
            with w.when(w.compare("==", found, NULL)):
                w.give(i32(NO_DRIVER))
            w.store(w.b.ptrtoint(found, I64), self.state, i64(_FIRST_CALL + i))
        code = self._call(w, "init", i32(0))
        with w.when(w.compare("==", code, i32(_CUDA_NO_DEVICE))):
            w.give(i32(NO_DEVICE))
        self._must(w, code)
        found = w.block(8)
        w.store(i64(0), found, i64(0))
        self._must(w, self._call(w, "count", found))
        with w.when(w.compare("==", w.load(found, i64(0), I32), i32(0))):
            w.give(i32(NO_DEVICE))
        self._must(w, self._call(w, "device", found, i32(0)))
        device = w.load(found, i64(0), I32)
        self._must(w, self._call(w, "attribute", found, i32(_MAJOR), device))
        major = w.load(found, i64(0), I32)
        self._must(w, self._call(w, "attribute", found, i32(_MINOR), device))
        minor = w.load(found, i64(0), I32)
        architecture = w.b.add(w.b.mul(major, i32(10)), minor)
        w.store(w.b.zext(architecture, I64), self.state, i64(ARCHITECTURE))
        self._must(w, self._call(w, "retain", found, device))
        w.store(w.load(found, i64(0)), self.state, i64(CONTEXT))
        self._must(w, self._call(w, "current", w.load(found, i64(0))))
        # Memory that runs give back stays with the process, so that steady runs ask for none.
        self._must(w, self._call(w, "pool", found, device))
        pool = w.load(found, i64(0))
        w.store(i64(-1), found, i64(0))
        self._must(w, self._call(w, "set_pool", pool, i32(_THRESHOLD), found))
        w.store(w.b.sext(w.call("getpid"), I64), self.state, i64(PROCESS))
        w.give(i32(0))

    def _begin(self) -> None:
        w = self._function("begin", I32, {"weights": PTR, "bytes": I64})
        weights, size = w.args
        ready = w.atomic_load(w.element(self.state, i64(READY)))
        with w.when(w.compare("==", ready, i64(0))):
            w.call("pthread_mutex_lock", self.lock)
            ready = self._word(w, READY)
            result = w.variable(i32(0))
            with w.when(w.compare("==", ready, i64(0))):
                result.set(w.call("flowc_cuda_open"))
                with w.when(w.compare("==", result.get(), i32(0))):
                    result.set(self._upload_weights(w, weights, size))
                with w.when(w.compare("==", result.get(), i32(0))):
                    w.atomic_store(i64(1), w.element(self.state, i64(READY)))
            w.call("pthread_mutex_unlock", self.lock)
            self._must(w, result.get())
        process = w.b.sext(w.call("getpid"), I64)
        with w.when(w.compare("!=", process, self._word(w, PROCESS))):
            w.give(i32(FORKED))
        w.give(self._call(w, "current", self._word(w, CONTEXT)))

    def _upload_weights(self, w: FunctionWriter, weights: Any, size: Any) -> Any:
        """Within the lock: the weights on the device, which the program keeps."""
        result = w.variable(i32(0))
        with w.when(w.compare(">", size, i64(0))):
            place = w.element(self.state, i64(WEIGHTS))
            result.set(self._call(w, "allocate", place, size, i64(STREAM)))
            with w.when(w.compare("==", result.get(), i32(0))):
                address = self._word(w, WEIGHTS)
                result.set(self._call(w, "upload", address, weights, size, i64(STREAM)))
            with w.when(w.compare("==", result.get(), i32(0))):
                result.set(self._call(w, "wait", i64(STREAM)))
        return result.get()

    def _weights(self) -> None:
        w = self._function("weights", I64, {})
        w.give(self._word(w, WEIGHTS))

    # -- memory

    def _memory(self) -> None:
        w = self._function("acquire", I32, {"place": PTR, "bytes": I64})
        w.give(self._call(w, "allocate", *w.args, i64(STREAM)))
        w = self._function("release", I32, {"address": PTR})
        with w.when(w.compare("==", w.args[0], NULL)):
            w.give(i32(0))
        w.give(self._call(w, "free", w.args[0], i64(STREAM)))
        w = self._function("zero", I32, {"address": PTR, "bytes": I64})
        with w.when(w.compare("==", w.args[1], i64(0))):
            w.give(i32(0))
        w.give(self._call(w, "fill", w.args[0], i32(0), w.args[1], i64(STREAM)))

    def _copies(self) -> None:
        for name in ("upload", "download", "copy"):
            w = self._function(name, I32, {"target": PTR, "source": PTR, "bytes": I64})
            with w.when(w.compare("<=", w.args[2], i64(0))):
                w.give(i32(0))
            w.give(self._call(w, name, *w.args, i64(STREAM)))
        w = self._function("wait", I32, {})
        w.give(self._call(w, "wait", i64(STREAM)))
        w = self._function("finish", I32, {})
        with w.when(w.compare("==", self._word(w, READY), i64(0))):
            w.give(i32(0))
        w.give(self._call(w, "wait", i64(STREAM)))

    # -- kernels

    def _find(self) -> None:
        """The kernel of a table of images that fits the GPU best: machine code of its architecture
        or of an older one of its generation, else PTX. Within the lock."""
        w = self._function("find", I32, {"kernel": PTR, "images": PTR, "name": PTR})
        kernel, images, name = w.args
        own = self._word(w, ARCHITECTURE)
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
        self._must(w, self._call(w, "load", found, image.get()))
        # Loaded modules are a list of pairs: the next pair, the module.
        pair = w.call("malloc", i64(16))
        with w.when(w.compare("==", pair, NULL)):
            w.give(i32(OUT_OF_MEMORY))
        w.store(self._word(w, MODULES), pair, i64(0))
        w.store(w.load(found, i64(0)), pair, i64(1))
        w.store(w.b.ptrtoint(pair, I64), self.state, i64(MODULES))
        self._must(w, self._call(w, "find", found, w.load(found, i64(0)), name))
        w.atomic_store(w.load(found, i64(0)), kernel)
        w.give(i32(0))

    def _launch(self) -> None:
        args: dict[str, ir.Type] = {"kernel": PTR, "images": PTR, "name": PTR}
        args |= {"x": I64, "y": I64, "z": I64, "threads": I64, "shared": I64}
        w = self._function("launch", I32, args | {"parameters": PTR, "bytes": I64})
        kernel, images, name, x, y, z, threads, shared, parameters, size = w.args
        least = w.minimum(x, w.minimum(y, z))
        with w.when(w.compare("<=", least, i64(0))):
            w.give(i32(0))
        found = w.variable(w.atomic_load(kernel))
        with w.when(w.compare("==", found.get(), i64(0))):
            w.call("pthread_mutex_lock", self.lock)
            found.set(w.load(kernel, i64(0)))
            result = w.variable(i32(0))
            with w.when(w.compare("==", found.get(), i64(0))):
                result.set(w.call("flowc_cuda_find", kernel, images, name))
                found.set(w.load(kernel, i64(0)))
                large = w.compare(">", shared, i64(_USUAL_SHARED))
                with w.when(w.b.and_(w.compare("==", result.get(), i32(0)), large)):
                    narrow = w.b.trunc(shared, I32)
                    result.set(self._call(w, "shared", found.get(), i32(_MOST_SHARED), narrow))
            w.call("pthread_mutex_unlock", self.lock)
            self._must(w, result.get())
        bytes_at, extra = w.block(8), w.block(40)
        w.store(size, bytes_at, i64(0))
        words = [i64(_BUFFER), parameters, i64(_BUFFER_SIZE), bytes_at, i64(_END)]
        for i, word in enumerate(words):
            w.store(word, extra, i64(i))
        sizes = [w.b.trunc(v, I32) for v in (x, y, z, threads)]
        narrow = w.b.trunc(shared, I32)
        launched = self._call(
            w, "launch", found.get(), *sizes, i32(1), i32(1), narrow, i64(STREAM), NULL, extra
        )
        w.give(launched)

    def _close(self) -> ir.Function:
        """Frees the weights and unloads the kernels. A child of a fork has none of them."""
        w = self._function("close", VOID, {})
        ready = w.compare("!=", self._word(w, READY), i64(0))
        same = w.compare("==", w.b.sext(w.call("getpid"), I64), self._word(w, PROCESS))
        with w.when(w.b.and_(ready, same)):
            self._call(w, "current", self._word(w, CONTEXT))
            with w.when(w.compare("!=", self._word(w, WEIGHTS), i64(0))):
                self._call(w, "free", self._word(w, WEIGHTS), i64(STREAM))
            with w.loop() as loop:
                pair = w.b.inttoptr(self._word(w, MODULES), PTR)
                loop.leave_if(w.compare("==", pair, NULL))
                self._call(w, "unload", w.load(pair, i64(1)))
                w.store(w.load(pair, i64(0)), self.state, i64(MODULES))
                w.call("free", pair)
            w.store(i64(0), self.state, i64(WEIGHTS))
            w.atomic_store(i64(0), w.element(self.state, i64(READY)))
        w.give()
        return w.function
