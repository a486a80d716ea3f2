"""Object files -> one shared library, by the C compiler, a linker, or that of the `cc` extra.

In: object files, the names to export, a folder. Out: a shared library in it, whole and on disk.
Invariant: the library exports exactly those names, needs libc and libm only, and its bytes depend
on the objects, the names and the library's file name, not on folders or times.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flowc.dataclass import dataclass
from flowc.errors import FlowcError, InternalError
from flowc.files.safe_write import current_umask

COMPILERS = ("cc", "gcc", "clang")
LINKERS = ("ld.lld", "ld")  # of LLVM and of binutils, which weigh less than a compiler

NO_START_FILES, CPP = "-nostartfiles", "-lstdc++"
_FLAGS = (
    "-z", "noexecstack",
    "-z", "relro",
    "-z", "now",
    "--build-id=none",
    "-Bsymbolic",  # another model in the program has functions of the same names
    "--no-undefined",
    "--hash-style=gnu",
    "--as-needed",
)  # fmt: skip

_LIBRARY_FOLDERS = (
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
)  # fmt: skip


class LinkError(FlowcError):
    """The linker could not be run, or refused."""

    code = "FL0600"
    exit_code = 5


@dataclass(frozen=True, slots=True)
class Linker:
    """A command that links; `is_compiler`: it takes linker options behind -Wl and knows libc."""

    command: tuple[str, ...]
    is_compiler: bool

    def __str__(self) -> str:
        return " ".join(self.command)


def find_linker() -> Linker:
    """The C compiler ($CC, cc, gcc, clang), else a linker (ld.lld, ld), else `ziglang ld.lld`;
    `LinkError` for none."""
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        if shutil.which(named[0]) is None:
            raise LinkError(f"$CC names {named[0]!r}, which is not a command")
        return Linker(tuple(named), True)
    for name in COMPILERS:
        if found := shutil.which(name):
            return Linker((found,), True)
    for name in LINKERS:
        if found := shutil.which(name):
            return Linker((found,), False)
    if importlib.util.find_spec("ziglang") is not None:
        return Linker((sys.executable, "-m", "ziglang", "ld.lld"), False)
    raise LinkError(
        "no linker: a C compiler (cc, gcc, clang), a linker (ld.lld, ld) or the package ziglang is "
        "needed to write a .so",
        hint="install binutils (5 MB), a C compiler, or `pip install ziglang` (400 MB)",
    )


def link(
    objects: Sequence[Path],
    exports: Iterable[str],
    folder: Path,
    name: str,
    linker: Linker,
    linked: Mapping[str, tuple[str, Path]] | None = None,
) -> Path:
    """Makes a shared library that calls itself `name` in a folder of one's own; gives its path.
    `linked`: for symbols that the objects want, what they are called in which archive.

    Raises `LinkError` with the linker's words when it fails.
    """
    script = folder / "exports.map"
    names = "".join(f"    {symbol};\n" for symbol in sorted(exports))
    script.write_text("{\n  global:\n" + names + "  local:\n    *;\n};\n")
    made = folder / "library.so"
    options = [*_FLAGS, "-soname", name, f"--version-script={script}"]
    for symbol, (inner, _) in (linked or {}).items():
        options += [f"--undefined={inner}", f"--defsym={symbol}={inner}"]
    archives = sorted({path for _, path in (linked or {}).values()})
    command = _command(linker, options, [*objects, *archives], made)
    if archives and linker.is_compiler:
        libraries = _libraries_of(archives)
        if CPP in libraries:  # objects that live as long as the library want `__dso_handle`
            command.remove(NO_START_FILES)
        command += libraries
    _run(command)
    _check_made(made, command)
    os.chmod(made, 0o777 & ~current_umask())
    with made.open("rb") as file:
        os.fsync(file.fileno())
    return made


def link_archive(archive: Path, folder: Path) -> Path:
    """A shared library of all that an archive or an object holds, for this process to load. Raises
    `LinkError` without a C compiler, or with the linker's words."""
    linker = find_linker()
    if not linker.is_compiler:
        raise LinkError(f"{archive}: a C compiler is needed to load an archive")
    made = folder / f"{archive.stem}.so"
    whole = ("-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive")
    libraries = _libraries_of([archive])
    _run([*linker.command, "-shared", "-Wl,--no-undefined", "-o", str(made), *whole, *libraries])
    return made


def _libraries_of(archives: Sequence[Path]) -> list[str]:
    """What code of archives may need beside libc: that of C++ its library."""
    is_cpp = any(
        b"__cxa_" in path.read_bytes() or b"_ZSt" in path.read_bytes() for path in archives
    )
    return ([CPP] if is_cpp else []) + ["-lm"]


def _command(
    linker: Linker, options: Sequence[str], objects: Sequence[Path], made: Path
) -> list[str]:
    files = [str(path) for path in objects]
    if linker.is_compiler:
        wrapped = [f"-Wl,{','.join(pair)}" for pair in _pairs(options)]
        tail = [NO_START_FILES, "-o", str(made), *wrapped, *files, "-lm"]
        return [*linker.command, "-shared", *tail]
    libraries = [str(_system_library(name)) for name in ("libm.so.6", "libc.so.6")]
    return [*linker.command, "-shared", "-o", str(made), *options, *files, *libraries]


def _pairs(options: Sequence[str]) -> list[tuple[str, ...]]:
    """Options with their separate values, so that the compiler passes both on together."""
    found: list[tuple[str, ...]] = []
    for option in options:
        if option.startswith("-"):
            found.append((option,))
        else:
            found[-1] += (option,)
    return found


def _system_library(name: str) -> Path:
    for folder in _LIBRARY_FOLDERS:
        path = Path(folder, name)
        if path.exists():
            return path
    raise LinkError(f"{name} was not found in {', '.join(_LIBRARY_FOLDERS)}")


def _run(command: Sequence[str]) -> None:
    environment = os.environ | {"LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    except OSError as error:
        raise LinkError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        words = (done.stderr or done.stdout).strip()[-2000:]
        text = f"the linker {command[0]} failed with exit code {done.returncode}"
        raise LinkError(f"{text}:\n{words}" if words else f"{text}, and said nothing")


def _check_made(made: Path, command: Sequence[str]) -> None:
    if not made.is_file() or made.stat().st_size == 0:
        raise InternalError(f"the linker wrote nothing: {shlex.join(command)}")
