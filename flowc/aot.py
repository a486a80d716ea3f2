"""A compiled program in memory -> a shared library, its C header and its weights file.

In: a `CompiledProgram`. Out: files. Invariants: each file is complete or absent; all are written
beside their places and renamed when the last one is whole, so that what fails or is interrupted
leaves what was there, and a process that is killed between the names leaves a library with the
weights that it was built with. Equal programs give equal bytes, whatever the folder and time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from flowc.codegen.abi.c_abi import EXPORTS, c_abi_text
from flowc.codegen.abi.c_header import header_text, stem_of
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link import elf
from flowc.codegen.link.linker import Linker, find_linker, link
from flowc.codegen.link.weights_file import OWN_DIGITS, SUFFIX, WeightsFile
from flowc.codegen.llvm.compile import Processor, compile_module
from flowc.errors import UnsupportedError, UsageError
from flowc.files.safe_write import (
    check_place,
    current_umask,
    replacing,
    scratch_folder,
    signals_waiting,
    sync_folder,
)

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
    texts: Mapping[Path, bytes] | None = None,
    linked: Mapping[str, tuple[str, Path]] | None = None,
) -> AotReport:
    """Links the program into the shared library `out`.

    `weights`: inside the library, or in the file `<out>.weights`, which belongs beside it.
    `header`: where to write the C header, if anywhere. `threads`: the thread count a run starts
    with, 0 for one per core. `texts`: other files that take their places with the library, or
    none does. `linked`: for `program.symbols`, their names in archives, and these. Raises
    `UsageError` for a bad path or choice, `LinkError` when linking fails.
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
        made = link(objects, EXPORTS, folder, out.name, linker, linked)
        written = dict(texts or {})
        if header is not None:
            written[header] = header_text(metadata, stem_of(out)).encode()
        beside = {p: d for p, d in written.items() if p.parent.samefile(out.parent)}
        ready = [(_made_text(folder, n, p, d), p) for n, (p, d) in enumerate(beside.items())]
        own = None if side is None or known is None else Path(f"{out}{known.own_suffix}")
        for place, data in written.items() - beside.items():
            with replacing(place, len(data)) as file:
                file.write(data)
        with signals_waiting():
            _publish(made, out, ready, (folder / side.name, own, side) if side and own else None)
    _sync(out.parent)
    return AotReport(
        library=out,
        header=header,
        weights_file=side,
        library_bytes=out.stat().st_size,
        weights_bytes=size,
        linker=str(linker),
        seconds=time.perf_counter() - started,
    )


def _publish(
    made: Path,
    out: Path,
    texts: Iterable[tuple[Path, Path]],
    weights: tuple[Path, Path, Path] | None,
) -> None:
    """Gives the files their names. `weights`: the file, its own name, its last one."""
    if weights is not None:
        file, own, _ = weights
        os.replace(file, own)
        _sync(out.parent)
    try:
        for text, place in texts:
            os.replace(text, place)
        os.replace(made, out)
    except OSError:
        if weights is not None:
            weights[1].unlink(missing_ok=True)
        raise
    _sync(out.parent)
    _remove_other_weights(out, weights[1] if weights is not None else None)
    if weights is not None:
        with suppress(OSError):  # the library finds them under either name
            os.replace(weights[1], weights[2])


def _made_text(folder: Path, number: int, place: Path, data: bytes) -> Path:
    """A text in the scratch folder, on disk; errors name its place."""
    check_place(place)
    path = folder / f"{number}.text"
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), 0o666 & ~current_umask())
    return path


def _sync(folder: Path) -> None:
    with suppress(OSError):  # what is in its place cannot be taken back
        sync_folder(folder)


def _remove_other_weights(out: Path, own: Path | None) -> None:
    """Removes weights under names of their own, which killed processes left: no library but the
    one that was replaced looks for them."""
    pattern = re.compile(re.escape(f"{out.name}{SUFFIX}-") + f"[0-9a-f]{{{OWN_DIGITS}}}")
    for found in out.parent.iterdir():
        if pattern.fullmatch(found.name) and found != own:
            with suppress(OSError):
                found.unlink()


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
