"""A compiled program in memory -> a shared library, its C header and its weights file.

In: a `CompiledProgram`. Out: files. Invariant: each file is complete or absent, because it is
written beside its place and renamed; equal programs give equal bytes, whatever the folder and time.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from flowc.codegen.abi.c_abi import EXPORTS, c_abi_text
from flowc.codegen.abi.c_header import header_text, stem_of
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link import elf
from flowc.codegen.link.linker import Linker, find_linker, link
from flowc.codegen.link.weights_file import SUFFIX, WeightsFile
from flowc.codegen.llvm.compile import Processor, compile_module
from flowc.errors import UnsupportedError, UsageError
from flowc.files.safe_write import check_place, replacing, scratch_folder, sync_folder

# Code reaches data by 32-bit distances, and the embedded blob lies between the two.
MOST_EMBEDDED = 1900 << 20


@dataclass(frozen=True, slots=True)
class AotReport:
    """What was written, in bytes and seconds."""

    library: Path
    header: Path | None
    weights_file: Path | None
    library_bytes: int
    weights_bytes: int
    linker: str
    seconds: float


def write_library(
    program: CompiledProgram,
    out: Path,
    *,
    weights: Literal["embed", "file"] = "embed",
    header: Path | None = None,
    threads: int = 0,
    linker: Linker | None = None,
) -> AotReport:
    """Links the program into the shared library `out`.

    `weights`: inside the library, or in the file `<out>.weights`, which belongs beside it.
    `header`: where to write the C header, if anywhere. `threads`: the thread count a run starts
    with, 0 for one per core. Raises `UsageError` for a bad path or choice, `LinkError` when linking
    fails.
    """
    started = time.perf_counter()
    if weights not in ("embed", "file"):
        raise UsageError(f"weights={weights!r}: expected 'embed' or 'file'")
    size = program.metadata.weights_bytes
    if weights == "embed" and size > MOST_EMBEDDED:
        raise UsageError(
            f"{size} bytes of weights do not fit into a library: at most {MOST_EMBEDDED} do",
            hint="--weights file",
        )
    linker = linker or find_linker()
    metadata = replace(program.metadata, name=program.metadata.name or stem_of(out))
    machine = elf.machine_of(program.objects)
    baseline = _baseline(machine)
    side = Path(f"{out}{SUFFIX}") if size and weights == "file" else None
    if side is not None:
        check_place(side)
    parts = [data for data in (*program.objects, program.runtime) if data]
    # Beside the library, not in /tmp: the weights may be too large for a file system in memory. No
    # file takes its place before all are whole and on disk.
    with scratch_folder(out, sum(map(len, parts)) + size) as folder:
        objects = [folder / f"{index}.o" for index in range(len(parts))]
        for path, data in zip(objects, parts):
            path.write_bytes(data)
        known = None
        if side is not None:
            known = _write_weights_file(program, size, folder / side.name)
        elif size:
            objects.append(folder / "weights.o")
            with objects[-1].open("wb") as file:
                elf.write_weights_object(program.weights, size, machine, file)
        text = c_abi_text(metadata, baseline.triple, weights=known, threads=threads)
        objects.append(folder / "abi.o")
        objects[-1].write_bytes(compile_module([text], baseline, speed=2))
        made = link(objects, EXPORTS, folder, out.name, linker)
        if header is not None:
            text = header_text(metadata, stem_of(out)).encode()
            with replacing(header, len(text)) as file:
                file.write(text)
        if side is not None:
            os.replace(folder / side.name, side)
        os.replace(made, out)
    with suppress(OSError):  # all files are in their places: nothing can be taken back
        sync_folder(out.parent)
    return AotReport(
        library=out,
        header=header,
        weights_file=side,
        library_bytes=out.stat().st_size,
        weights_bytes=size,
        linker=str(linker),
        seconds=time.perf_counter() - started,
    )


def _baseline(machine: int) -> Processor:
    """The plainest CPU of an ELF machine: argument checks gain nothing from wide vectors."""
    if machine == elf.X86_64:
        return Processor("x86_64-unknown-linux-gnu", "x86-64-v2", "")
    if machine == elf.AARCH64:
        return Processor("aarch64-unknown-linux-gnu", "generic", "")
    raise UnsupportedError(f"no C ABI for ELF machine {machine}: expected x86-64 or AArch64")


def _write_weights_file(program: CompiledProgram, size: int, path: Path) -> WeightsFile:
    """The blob behind its header, which is written last."""
    with path.open("wb") as file:
        file.write(WeightsFile(size, bytes(32)).header())
        known = WeightsFile(size, elf.write_pieces(program.weights, size, file))
        file.seek(0)
        file.write(known.header())
        file.flush()
        os.fsync(file.fileno())
    return known
