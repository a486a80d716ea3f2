"""A device kernel as images for GPUs, and the images as an object that a program is linked with.

In: a DeviceKernel and architectures. Out: PTX, cubins, and an ELF object for the host with one
constant under the kernel's key:

    { i64 count, { i64 architecture, i64 bytes, ptr image } * count }

A cubin has the number of its architecture; PTX, which stands last, has 0, and a zero at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from flowc.codegen.cuda.intrinsics import gpu_intrinsics
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.ptxas import UnknownArchitectureError, assemble
from flowc.codegen.llvm.compile import compile_module, module_text
from flowc.codegen.llvm.processor import Processor

_ROW = "{ i64, i64, ptr }"

# Architecture -> the first PTX that has it: an old one asks for no new driver.
_PTX = {70: 63, 72: 63, 75: 63, 80: 70, 86: 71, 87: 74, 89: 78, 90: 78, 100: 86, 103: 88,
        110: 90, 120: 87, 121: 88}  # fmt: skip
ARCHITECTURES = tuple(_PTX)


def gpu(architecture: int) -> Processor:
    """An architecture as LLVM knows it."""
    version = f"+ptx{_PTX[architecture]}"
    return Processor("nvptx64-nvidia-cuda", f"sm_{architecture}", version)


def device_text(kernel: DeviceKernel, architecture: int, form: Literal["llvm", "asm"]) -> str:
    """LLVM IR (`llvm`) or PTX (`asm`) of a kernel, optimised."""
    return _text(kernel, kernel.module_texts(), architecture, form)


def _text(
    kernel: DeviceKernel, texts: Sequence[str], architecture: int, form: Literal["llvm", "asm"]
) -> str:
    head = f"void @{kernel.key}("
    first = texts[0].replace(f"define {head}", f"define ptx_kernel {head}", 1)
    return module_text([first, *texts[1:], gpu_intrinsics()], gpu(architecture), form)


def image_object(
    kernel: DeviceKernel, architectures: Sequence[int], ptxas: str | None, host: Processor
) -> bytes:
    """The object with a cubin for each architecture that an assembler knows, if there is one, and
    PTX for the lowest, which later ones run too."""
    texts = kernel.module_texts()
    ptx = {a: _text(kernel, texts, a, "asm") for a in sorted(set(architectures))}
    images: list[tuple[int, bytes]] = []
    if ptxas is not None:
        for architecture, text in ptx.items():
            with suppress(UnknownArchitectureError):
                images.append((architecture, assemble(ptxas, text, architecture).image))
    images.append((0, ptx[min(ptx)].encode() + b"\0"))
    return compile_module([_constants(kernel.key, images)], host)


def _constants(name: str, images: Sequence[tuple[int, bytes]]) -> str:
    rows, lines = [], []
    for i, (architecture, image) in enumerate(images):
        kind = f"[{len(image)} x i8]"
        text = "".join(f"\\{byte:02X}" for byte in image)
        lines.append(f'@image{i} = internal constant {kind} c"{text}", align 16')
        rows.append(f"{_ROW} {{ i64 {architecture}, i64 {len(image)}, ptr @image{i} }}")
    kind = f"{{ i64, [{len(rows)} x {_ROW}] }}"
    value = f"{{ i64 {len(rows)}, [{len(rows)} x {_ROW}] [{', '.join(rows)}] }}"
    return "\n".join([*lines, f"@{name} = constant {kind} {value}, align 16", ""])
