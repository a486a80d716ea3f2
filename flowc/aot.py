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
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np

from flowc.codegen.abi.c_abi import EXPORTS
from flowc.codegen.abi.c_header import exported_name, header_text, identifier, stem_of
from flowc.codegen.abi.model_objects import LibraryMember, named, separate_objects
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link import elf
from flowc.codegen.link.archive import archive_of
from flowc.codegen.link.linker import find_linker, link
from flowc.codegen.link.symbols import with_more_names
from flowc.codegen.link.weights_file import (
    HEADER_BYTES,
    OWN_DIGITS,
    SUFFIX,
    WeightsFile,
    checksum_of,
)
from flowc.codegen.llvm.processor import Processor
from flowc.dataclass import dataclass
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
CHECKED_ELEMENTS = 4096  # of each constant, by which headers of other weights differ


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
    program: CompiledProgram | Mapping[str, CompiledProgram],
    out: Path,
    *,
    weights: Literal["embed", "file", "map"] = "embed",
    header: Path | None = None,
    threads: int = 0,
    texts: Mapping[Path, bytes] | None = None,
    linked: Mapping[str, tuple[str, Path]] | None = None,
    prefix: str | None = None,
    about: Mapping[str, Any] | None = None,
    archive: Path | None = None,
    shared: bool = True,
) -> AotReport:
    """Links a program into the shared library `out`, or one a signature, by the signatures' names.

    `weights`: inside the library, or in the file `<out>.weights`, which belongs beside it.
    `header`: where to write the C header, if anywhere. `threads`: the thread count a run starts
    with, 0 for one per core. `texts`: other files that take their places with the library, or
    none does. `prefix`: what the names of its C functions begin with (default: the name of `out`);
    those of a signature have its name behind that. `about`: what the library says of itself beside
    its metadata. `archive`: where to write the static library, if anywhere; `shared`: whether to
    write the shared one. `linked`: for symbols that programs want, their names in archives, and
    these. Raises `UsageError` for a bad path or choice, `LinkError` when linking fails.
    """
    started = time.perf_counter()
    models = _models(program, out, prefix, about or {}, threads)
    size = _weights_bytes(models, weights, archive is not None)
    machine = elf.machine_of([data for m in models for data in m.program.objects])
    baseline = _baseline(machine)
    side = Path(f"{out}{SUFFIX}") if size and weights != "embed" else None
    if side is not None:
        check_place(side)
    written = dict(texts or {})
    if header is not None:
        rows = [(m.prefix, m.program.metadata) for m in models]
        names = {m.prefix: m.about["signature"] for m in models if "signature" in m.about}
        written[header] = header_text(rows, stem_of(out), _checksum(models), names).encode()
    if archive is not None and linked:
        raise UsageError(
            f"a static library cannot hold the kernels of {', '.join(linked)}",
            hint="--emit so, or link their archives yourself with the program that uses it",
        )
    if archive is not None:
        parts = [o for m in models for o in separate_objects(m, baseline, machine, True)]
        written[archive] = archive_of([(f"{n}.o", data) for n, data in enumerate(parts)])
    if not shared:
        return _report(out, None, header, started, size, _write_texts(written))
    linker = find_linker()
    # Beside the library, not in /tmp: the weights may be too large for a file system in memory. No
    # file takes its place before all are whole and on disk.
    with scratch_folder(out, _bytes_of(models) + size) as folder:
        known = None
        if side is not None:
            known = _write_weights_file(
                models[0].program, size, folder / side.name, is_mapped=weights == "map"
            )
        objects = _written_objects(models, folder, baseline, machine, known)
        made = link(objects, _exports(models), folder, out.name, linker, linked)
        beside = {p: d for p, d in written.items() if p.parent.samefile(out.parent)}
        ready = [(_made_text(folder, n, p, d), p) for n, (p, d) in enumerate(beside.items())]
        own = None if side is None or known is None else Path(f"{out}{known.own_suffix}")
        _write_texts(dict(written.items() - beside.items()))
        with signals_waiting():
            _publish(made, out, ready, (folder / side.name, own, side) if side and own else None)
    _sync(out.parent)
    return _report(out, side, header, started, size, str(linker))


def _report(
    out: Path, side: Path | None, header: Path | None, started: float, size: int, linker: str
) -> AotReport:
    return AotReport(
        library=out,
        header=header,
        weights_file=side,
        library_bytes=out.stat().st_size if linker else 0,
        weights_bytes=size,
        linker=linker,
        seconds=time.perf_counter() - started,
    )


def _write_texts(texts: Mapping[Path, bytes]) -> str:
    for place, data in texts.items():
        with replacing(place, len(data)) as file:
            file.write(data)
    return ""


def _models(
    program: CompiledProgram | Mapping[str, CompiledProgram],
    out: Path,
    prefix: str | None,
    about: Mapping[str, Any],
    threads: int,
) -> list[LibraryMember]:
    """The models of a library; the first one also has the plain names."""
    stem = prefix or identifier(stem_of(out))
    if identifier(stem) != stem:
        raise UsageError(f"the prefix {stem!r} is no name in C", hint=f"{identifier(stem)!r}")
    if isinstance(program, CompiledProgram):
        return [named(LibraryMember(stem, program, about, threads), stem_of(out))]
    prefixes = {name: f"{stem}_{identifier(name)}" for name in program}
    if len(set(prefixes.values())) < len(prefixes):
        raise UsageError(f"signatures have one name in C: {', '.join(program)}")
    more = {**about, "signatures": prefixes}
    return [
        named(LibraryMember(prefixes[n], p, {**more, "signature": n}, threads), stem_of(out))
        for n, p in program.items()
    ]


def _weights_bytes(models: Sequence[LibraryMember], weights: str, is_archived: bool) -> int:
    """The bytes of all weights. Raises `UsageError` where they cannot be where they are wanted."""
    size = sum(m.program.metadata.weights_bytes for m in models)
    if weights not in ("embed", "file", "map"):
        raise UsageError(f"weights={weights!r}: expected 'embed', 'file' or 'map'")
    if weights != "embed" and (is_archived or len(models) > 1):
        what = "a static library" if is_archived else "a library of several signatures"
        raise UsageError(f"{what} has its weights inside", hint="--weights embed")
    if weights == "embed" and size > MOST_EMBEDDED:
        raise UsageError(
            f"{size} bytes of weights do not fit into a library: at most {MOST_EMBEDDED} do",
            hint="--weights file",
        )
    return size


def _checksum(models: Sequence[LibraryMember]) -> int:
    """A number of the code and of the beginnings of the weights."""
    found = 0
    for model in models:
        for data in model.program.objects:
            found = zlib.crc32(data, found)
        for _, array in model.program.weights:
            first = np.ascontiguousarray(array.reshape(-1)[:CHECKED_ELEMENTS])
            found = zlib.crc32(first.tobytes(), found)
    return found


def _bytes_of(models: Sequence[LibraryMember]) -> int:
    return sum(len(data) for m in models for data in (*m.program.objects, m.program.runtime))


def _exports(models: Sequence[LibraryMember]) -> list[str]:
    return [*EXPORTS, *(exported_name(m.prefix, name) for m in models for name in EXPORTS)]


def _written_objects(
    models: Sequence[LibraryMember],
    folder: Path,
    baseline: Processor,
    machine: int,
    weights: WeightsFile | None,
) -> list[Path]:
    """The objects of a library in a folder. Those of one model keep their names."""
    first = models[0]
    runtime = [first.program.runtime] if first.program.runtime else []
    if len(models) > 1:
        parts = [o for m in models for o in separate_objects(m, baseline, machine, False)]
        plain = {exported_name(first.prefix, name): name for name in EXPORTS}
        parts = [with_more_names(p, lambda n: [plain[n]] if n in plain else []) for p in parts]
        return _numbered(folder, [*parts, *runtime])
    abi = first.with_own_names(first.abi_object(baseline, weights))
    objects = _numbered(folder, [*filter(None, first.program.objects), *runtime, abi])
    size = first.program.metadata.weights_bytes
    if size and weights is None:
        objects.append(folder / "weights.o")
        with objects[-1].open("wb") as file:
            elf.write_weights_object(first.program.weights, size, machine, file)
    return objects


def _numbered(folder: Path, parts: Iterable[bytes]) -> list[Path]:
    objects = []
    for index, data in enumerate(parts):
        objects.append(folder / f"{index}.o")
        objects[-1].write_bytes(data)
    return objects


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


def _write_weights_file(
    program: CompiledProgram, size: int, path: Path, *, is_mapped: bool
) -> WeightsFile:
    """The blob behind its header, which is written last."""
    with path.open("wb") as file:
        file.write(bytes(HEADER_BYTES))
        digest = elf.write_pieces(program.weights, size, file)
        file.flush()
        known = WeightsFile(size, digest, checksum_of(path), is_mapped)
        file.seek(0)
        file.write(known.header())
        file.flush()
        os.fsync(file.fileno())
    return known
