"""Times the kernels of loop_cases.py on the GPU of this machine.

In: the file of kernels. Out: one line a case: the largest difference from NumPy in f64, relative to
the largest element; microseconds; gigabytes a second, of what must be read and written at least,
beside those of a copy of as many bytes within the device. Needs NumPy and libcuda.so.1; takes a
minute.

    python run_loops.py loops.json.gz
"""

from __future__ import annotations

import base64
import ctypes
import gzip
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CUDA: Any = ctypes.CDLL("libcuda.so.1")


def check(code: int, what: str) -> None:
    if code:
        text = ctypes.c_char_p()
        CUDA.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{what}: {(text.value or b'').decode()}")


def start() -> str:
    """Makes a context; the name of the device."""
    device, context, name = ctypes.c_int(), ctypes.c_void_p(), ctypes.create_string_buffer(100)
    check(CUDA.cuInit(0), "init")
    check(CUDA.cuDeviceGet(ctypes.byref(device), 0), "device")
    check(CUDA.cuDeviceGetName(name, 100, device), "name")
    check(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "context")
    check(CUDA.cuCtxSetCurrent(context), "context")
    return name.value.decode()


def allocated(size: int) -> ctypes.c_uint64:
    place = ctypes.c_uint64()
    check(CUDA.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(max(size, 256))), "memory")
    return place


def uploaded(array: Array) -> ctypes.c_uint64:
    place = allocated(array.nbytes)
    check(CUDA.cuMemcpyHtoD_v2(place, ctypes.c_void_p(array.ctypes.data), array.nbytes), "upload")
    return place


def seconds(run: Callable[[], None]) -> float:
    """The time of one run: the best of five rounds."""
    begin, end, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
    check(CUDA.cuEventCreate(ctypes.byref(begin), 0), "event")
    check(CUDA.cuEventCreate(ctypes.byref(end), 0), "event")
    best, count = float("inf"), 1
    for round_number in range(6):
        check(CUDA.cuEventRecord(begin, None), "event")
        for _ in range(count):
            run()
        check(CUDA.cuEventRecord(end, None), "event")
        check(CUDA.cuEventSynchronize(end), "run")
        check(CUDA.cuEventElapsedTime(ctypes.byref(took), begin, end), "event")
        each = took.value / 1e3 / count
        best = min(best, each) if round_number else best
        count = max(1, min(200, int(0.05 / max(each, 1e-6))))
    return best


class Kernels:
    """Loaded kernels, by name."""

    def __init__(self, images: dict[str, str]) -> None:
        self.images = images

    def launcher(self, launch: dict[str, Any], places: dict[str, Any]) -> Callable[[], None]:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        name = launch["kernel"]
        image = base64.b64decode(self.images[name])
        check(CUDA.cuModuleLoadData(ctypes.byref(module), image), "load")
        code = CUDA.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        check(code, "function")
        own = {"scratch": allocated(launch["scratch"])}
        numbers = [(own | places)[o].value for o in launch["operands"]]
        values = [ctypes.c_int64(v) for v in (*numbers, *launch["ints"], launch["total"])]
        table = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        shape = (*launch["grid"], launch["block"], 1, 1, launch["shared"])

        def run(values: Any = values) -> None:
            check(CUDA.cuLaunchKernel(function, *shape, None, table, None), "launch")

        return run


# -- the same in NumPy, in f64


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-6) * gamma + beta


def max_pool(x: Array) -> Array:
    n, h, w, c = x.shape
    wide = np.full((n, h + 1, w + 1, c), -np.inf)
    wide[:, :h, :w] = x
    views = [wide[:, i : i + h : 2, j : j + w : 2] for i in range(3) for j in range(3)]
    return np.max(np.stack([v[:, : h // 2, : w // 2] for v in views]), axis=0)


EXPECTED: dict[str, Callable[..., Array]] = {
    "add": lambda x, y: x + y,
    "relu of sum": lambda x, y: np.maximum(x + y, 0),
    "gelu": gelu,
    "bias": lambda x, y: np.maximum(x + y, 0),
    "softmax 1024": softmax,
    "softmax 128": softmax,
    "softmax 10": softmax,
    "layer norm 768": layer_norm,
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.sum(0),
    "sum of 64 columns": lambda x: x.sum(0),
    "sum of all": lambda x: x.sum(),
    "transpose": lambda x: x.T,
    "transpose of heads": lambda x: x.transpose(0, 2, 1, 3),
    "NHWC to NCHW": lambda x: x.transpose(0, 3, 1, 2),
    "concat": lambda x, y: np.concatenate([x, y], 1),
    "max pool": max_pool,
}


def measured(kernels: Kernels, case: dict[str, Any]) -> str:
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(s, np.float32) for s in case["shapes"]]
    outputs = [np.full(s, np.nan, np.float32) for s in case["results"]]
    places = {f"x{i}": uploaded(a) for i, a in enumerate(arrays)}
    places |= {f"y{i}": uploaded(a) for i, a in enumerate(outputs)}
    places["status"] = uploaded(np.zeros(4, np.int64))
    places["workspace"] = allocated(max(x["workspace"] for x in case["launches"]))
    runs = [kernels.launcher(x, places) for x in case["launches"]]

    def ours() -> None:
        for run in runs:
            run()

    ours()
    check(CUDA.cuCtxSynchronize(), "run")
    found = outputs[0]
    code = CUDA.cuMemcpyDtoH_v2(ctypes.c_void_p(found.ctypes.data), places["y0"], found.nbytes)
    check(code, "download")
    expected = EXPECTED[case["name"]](*(a.astype(np.float64) for a in arrays))
    error = np.abs(found - expected).max() / np.abs(expected).max()
    took = seconds(ours)
    moved = sum(a.nbytes for a in (*arrays, *outputs))
    half = ctypes.c_size_t(moved // 2)
    source, target = allocated(moved // 2), allocated(moved // 2)
    copied = seconds(lambda: check(CUDA.cuMemcpyDtoD_v2(target, source, half), "copy"))
    for place in (*places.values(), source, target):
        check(CUDA.cuMemFree_v2(place), "free")
    rates = f"{moved / took / 1e9:7.0f} GB/s, copy {moved / copied / 1e9:7.0f}"
    return f"{case['name']:20} {error:8.1e} {took * 1e6:9.1f} us {rates}"


def main() -> None:
    with gzip.open(sys.argv[1], "rt") as file:
        data = json.load(file)
    begin = time.perf_counter()
    print(start())
    kernels = Kernels(data["images"])
    for case in data["cases"]:
        if any(word in case["name"] for word in sys.argv[2:] or [""]):
            print(measured(kernels, case), flush=True)
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
