"""The CUDA driver without a GPU (`fake_cuda.c`), built and loaded where `libcuda.so.1` is sought.

In: a C compiler. Out: a FakeCuda, which has the log of the driver's calls. Invariant: once loaded,
every `dlopen("libcuda.so.1")` of this process finds it, so it is loaded only where no GPU is.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("fake_cuda.c")


class FakeCuda:
    """`log()`: the calls since the last `reset()`, in order. `fail(k, result)`: the k-th call from
    now on gives a CUresult. `taken`: bytes of the device that are allocated; `pinned`: of the host;
    `graphs`: how many there are, and what can be launched of them."""

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
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


def build_fake_cuda(folder: Path) -> Path:
    """The path of the library, for processes of their own."""
    found = folder / "libcuda.so.1"
    compiler = os.environ.get("CC") or shutil.which("cc") or "cc"
    flags = ["-O1", "-g", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]
    subprocess.run([compiler, *flags, str(SOURCE), "-o", str(found)], check=True)
    return found


@cache
def fake_cuda() -> FakeCuda:
    """That of this process."""
    folder = tempfile.mkdtemp(prefix="flowc-fake-cuda-")
    found = FakeCuda(build_fake_cuda(Path(folder)))
    shutil.rmtree(folder)
    return found
