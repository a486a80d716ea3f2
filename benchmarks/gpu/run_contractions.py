"""Times the kernels of contraction_cases.py beside PyTorch, on the GPU of this machine.

In: the file of kernels. Out: one line a case: the largest difference from PyTorch relative to the
largest element, and TFLOP/s of both. Needs NumPy and PyTorch, nothing of flowc; takes a minute.

    python run_contractions.py contractions.json.gz
"""

from __future__ import annotations

import base64
import ctypes
import gzip
import json
import sys
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
import torch.nn.functional as F  # pyright: ignore[reportMissingImports]

SECONDS = 0.2  # for each time, about


class Kernels:
    """Loaded kernels, by name."""

    def __init__(self, images: dict[str, str]) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")  # makes the context
        self.images, self.found = images, {}

    def _check(self, code: int, what: str) -> None:
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{what}: {text.value}")

    def function(self, name: str) -> Any:
        if name not in self.found:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            image = base64.b64decode(self.images[name])
            self._check(self.cuda.cuModuleLoadData(ctypes.byref(module), image), "load")
            code = self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
            self._check(code, "function")
            self.found[name] = function
        return self.found[name]

    def launcher(self, launch: dict[str, Any], tensors: dict[str, Any]) -> Any:
        """A function that launches."""
        function = self.function(launch["kernel"])
        if launch["shared"] > 48 << 10:
            self._check(self.cuda.cuFuncSetAttribute(function, 8, launch["shared"]), "shared")
        numbers = [tensors[o].data_ptr() for o in launch["operands"]] + launch["ints"]
        values = [ctypes.c_int64(v) for v in numbers]
        table = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        shape = (*launch["grid"], launch["block"], 1, 1, launch["shared"])

        def run(values: Any = values) -> None:
            code = self.cuda.cuLaunchKernel(function, *shape, stream, table, None)
            self._check(code, "launch")

        return run


def seconds(run: Any) -> float:
    """The time of one run: the best of three rounds."""
    run()
    torch.cuda.synchronize()
    best, count = float("inf"), 1
    for _ in range(4):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            run()
        end.record()
        torch.cuda.synchronize()
        took = begin.elapsed_time(end) / 1e3 / count
        best = min(best, took) if count > 1 else best
        count = max(2, min(1000, int(SECONDS / 3 / took)))
    return best


def measured(kernels: Kernels, case: dict[str, Any]) -> str:
    dtype = getattr(torch, case["dtype"])
    generator = torch.Generator("cuda").manual_seed(1)
    tensors = {
        f"x{i}": torch.randn(s, device="cuda", generator=generator).to(dtype)
        for i, s in enumerate(case["shapes"])
    }
    inputs = dict(tensors)
    for i, dims in enumerate(case["results"]):
        tensors[f"y{i}"] = torch.full(dims, float("nan"), device="cuda", dtype=dtype)
    most = max(x["workspace"] for x in case["launches"])
    tensors["workspace"] = torch.empty(most + 64, dtype=torch.uint8, device="cuda")
    tensors["status"] = torch.zeros(4, dtype=torch.int64, device="cuda")
    runs = [kernels.launcher(x, tensors) for x in case["launches"]]

    def ours() -> None:
        for run in runs:
            run()

    scope = {"torch": torch, "F": F, **inputs}
    code = compile(case["torch"], "case", "eval")
    wide = {n: t.double() for n, t in inputs.items()}
    ours()
    torch.cuda.synchronize()
    exact = eval(code, {**scope, **wide})
    found = tensors[f"y{len(case['results']) - 1}"].double()
    scale = exact.abs().max().item()
    error = (found - exact).abs().max().item() / scale
    theirs = eval(code, scope).double()
    their_error = (theirs - exact).abs().max().item() / scale
    del exact, theirs, found, wide
    mine = seconds(ours)
    rates = [case["work"] / mine / 1e12]
    for tf32 in (False, True) if case["dtype"] == "float32" else (False,):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        rates.append(case["work"] / seconds(lambda: eval(code, scope)) / 1e12)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    shown = " ".join(f"{r:8.2f}" for r in rates)
    return f"{case['name']:48} {error:8.1e} ({their_error:7.1e}) {mine * 1e6:9.1f} us  {shown}"


def main() -> None:
    with gzip.open(sys.argv[1], "rt") as file:
        data = json.load(file)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__)
    print("case, error (PyTorch's), time, TFLOP/s: flowc, PyTorch f32, PyTorch tf32")
    kernels = Kernels(data["images"])
    for case in data["cases"]:
        if not any(word in case["name"] for word in sys.argv[2:] or [""]):
            continue
        try:
            print(measured(kernels, case), flush=True)
        except RuntimeError as error:
            print(f"{case['name']:48} FAILED: {error}", flush=True)
            if "illegal" in str(error) or "unspecified" in str(error):
                raise


if __name__ == "__main__":
    main()
