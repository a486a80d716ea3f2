"""PTX -> machine code of one architecture, by NVIDIA's assembler where there is one.

In: PTX as text. Out: a cubin. The assembler is $FLOWC_PTXAS, that of an installed wheel
`nvidia-cuda-nvcc`, or `ptxas` on the PATH. Without it libraries hold PTX alone, which the driver of
a GPU compiles when they are loaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from flowc.dataclass import dataclass
from flowc.errors import FlowcError, InternalError

_IN_WHEELS = ("cuda_nvcc/bin/ptxas", "cu13/bin/ptxas")  # of CUDA 12, of CUDA 13
_RESOURCES = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill")
_REGISTERS = re.compile(r"Used (\d+) registers")
_UNKNOWN = "is not defined for option 'gpu-name'"
_SHARED = re.compile(r"(\d+) bytes smem")


class AssemblerError(FlowcError):
    """The assembler could not be run."""

    code = "FL0610"
    exit_code = 5


class UnknownArchitectureError(AssemblerError):
    """The assembler is older or newer than an architecture."""


@dataclass(frozen=True, slots=True)
class Cubin:
    """Machine code, and what its entry takes: `registers` of a thread, bytes of its `stack`, of
    registers that it `spills` to memory, and of the `shared` memory of a block."""

    image: bytes
    registers: int
    stack: int
    spills: int
    shared: int


def find_ptxas() -> str | None:
    """The path of the assembler."""
    named = os.environ.get("FLOWC_PTXAS")
    if named:
        return named
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for path in _IN_WHEELS:
            found = Path(folder, path)
            if os.access(found, os.X_OK):
                return str(found)
    return shutil.which("ptxas")


@cache
def ptxas_version(path: str) -> str:
    """The number of a release, such as `12.9.86`. Raises `AssemblerError`."""
    text = _run([path, "--version"])
    found = re.search(r"V([\d.]+)", text)
    if found is None:
        raise AssemblerError(f"{path} is no assembler for PTX: --version says {text[:200]!r}")
    return found[1]


def assemble(path: str, ptx: str, architecture: int) -> Cubin:
    """Raises `UnknownArchitectureError` where the assembler has no such architecture, and
    `InternalError` with what it says where it refuses the text."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        said = _run(
            [path, "-v", f"-arch=sm_{architecture}", "-o", str(target), str(source)],
            f"\n{ptx[:4000]}",
        )
        image = target.read_bytes()
    resources = _RESOURCES.search(said)
    stack, stores, loads = map(int, resources.groups()) if resources else (0, 0, 0)
    registers, shared = _REGISTERS.search(said), _SHARED.search(said)
    return Cubin(
        image,
        int(registers[1]) if registers else 0,
        stack,
        stores + loads,
        int(shared[1]) if shared else 0,
    )


def _run(command: list[str], shown: str = "") -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise AssemblerError(f"the assembler for PTX cannot be run: {error}") from error
    if _UNKNOWN in done.stderr:
        raise UnknownArchitectureError(f"{command[0]}: {done.stderr.strip()}")
    if done.returncode:
        raise InternalError(f"ptxas refuses a kernel: {done.stderr or done.stdout}{shown}")
    return done.stdout + done.stderr
