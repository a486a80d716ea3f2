"""The CUDA driver that tests ask, built and loaded where `libcuda.so.1` is sought.

In: a C compiler. Out: a FakeCuda, which has the log of the driver's calls: of a driver without a
GPU (`fake_cuda.c`), or with `FLOWC_GPU=1` (`make gpu-test`) of the GPU's own, which is asked by way
of `watched_cuda.c`. Invariant: once loaded, every `dlopen("libcuda.so.1")` of this process finds
it, so it is loaded before anything else has opened the driver.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
IS_ON_GPU = bool(os.environ.get("FLOWC_GPU"))
# What libraries are compiled for that the driver is to run.
TARGET = "cuda" if IS_ON_GPU else "cuda:simt"


class FakeCuda:
    """`log()`: the calls since the last `reset()`, in order. `fail(k, result)`: the k-th call from
    now on gives a CUresult. `taken`: bytes of the device that are allocated; `pinned`: of the host;
    `graphs`: how many there are, and what can be launched of them."""

    def __init__(self, path: Path, behind: str | None = None) -> None:
        self.library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        if self.library.fake_cuda_open(behind and behind.encode()):
            raise OSError(f"{path} does not open {behind}")
        self.library.fake_cuda_log.restype = ctypes.c_char_p
        self.library.fake_cuda_taken.restype = ctypes.c_size_t
        self.library.fake_cuda_pinned.restype = ctypes.c_size_t
        self.library.fake_cuda_graphs.restype = ctypes.c_long

    def log(self) -> list[str]:
        return self.library.fake_cuda_log().decode().splitlines()

    def reset(self) -> None:
        self.library.fake_cuda_reset()

    def fail(self, k: int, result: int) -> None:
        self.library.fake_cuda_fail(ctypes.c_long(k), result)

    def fail_next(self, start: str, result: int) -> None:
        """The next call whose line of the log begins so gives a CUresult."""
        self.library.fake_cuda_fail_next(start.encode(), result)

    def lose(self, result: int) -> None:
        """Every call from now on gives a result."""
        self.library.fake_cuda_lose(result)

    def show(self, devices: int) -> None:
        self.library.fake_cuda_devices(devices)

    @property
    def taken(self) -> int:
        return self.library.fake_cuda_taken()

    @property
    def pinned(self) -> int:
        return self.library.fake_cuda_pinned()

    @property
    def graphs(self) -> int:
        return self.library.fake_cuda_graphs()


def build_driver(folder: Path, source: str = "fake_cuda.c") -> Path:
    """The path of the library, for processes of their own."""
    found = folder / "libcuda.so.1"
    compiler = os.environ.get("CC") or shutil.which("cc") or "cc"
    flags = ["-O1", "-g", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([compiler, *flags, str(FOLDER / source), "-o", str(found), "-ldl"], check=True)
    return found


@cache
def fake_cuda() -> FakeCuda:
    """That of this process."""
    folder = Path(tempfile.mkdtemp(prefix="flowc-fake-cuda-"))
    try:
        if IS_ON_GPU:
            return FakeCuda(build_driver(folder, "watched_cuda.c"), path_of_driver())
        return FakeCuda(build_driver(folder))
    finally:
        shutil.rmtree(folder)


_SEEK = """
import ctypes
ctypes.CDLL("libcuda.so.1")
print(next(x.split()[-1] for x in open("/proc/self/maps") if "libcuda.so" in x))
"""


def path_of_driver() -> str:
    """Where the GPU's driver is, which another process opens: once it is open in this one, it is
    what programs find."""
    command = [sys.executable, "-c", _SEEK]
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout.strip()
