"""libflowc_rt.so: built where a program is about to be linked, for the Python that flowc is in.

In: the C source and headers beside this module, the running interpreter. Out: the library, whole or
not there. Invariant: one key, one content: the source, the interpreter and where flowc lies.

It is built when its flags are asked for, not when flowc is installed: users of C++ have a compiler,
those who install a wheel may have none, and the library holds the paths of one interpreter.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

from flowc.codegen.link.linker import COMPILERS, LinkError
from flowc.errors import NotFoundError, UsageError
from flowc.files.cache_folder import cache_folder, digest, package_folders
from flowc.files.safe_write import current_umask, make_folder, scratch_folder, sync_folder

HERE = Path(__file__).parent
INCLUDE = HERE / "include"
SOURCE = HERE / "session_runtime.c"
NAME = "libflowc_rt.so"
FOLDER = "cc"  # of the cache


def built_library(folder: Path | None = None) -> Path:
    """The library, built if it is not there. `folder`: where it is to be (default: in the cache).
    Raises `LinkError` without a C compiler or where it refuses, `NotFoundError` for a Python
    without a shared library, `UsageError` where there is no cache and no folder is named."""
    settings = _settings()
    source = SOURCE.read_bytes() + b"".join(h.read_bytes() for h in sorted(INCLUDE.rglob("*.h")))
    key = digest(source + settings.encode())[:16]
    if folder is None:
        folder = _cached(key)
        if (folder / NAME).exists():
            return folder / NAME
    make_folder(folder)
    out = folder / NAME
    with scratch_folder(out, len(source)) as scratch:
        (scratch / "settings.h").write_text(settings)
        made = scratch / NAME
        _compile(scratch, made)
        os.chmod(made, 0o777 & ~current_umask())
        os.replace(made, out)
    with suppress(OSError):  # the library is in its place: nothing can be taken back
        sync_folder(folder)
    return out


def _cached(key: str) -> Path:
    cache = cache_folder()
    if cache is None:
        raise UsageError(
            "there is no cache folder for libflowc_rt.so", hint="flowc config --libs --folder DIR"
        )
    make_folder(cache / FOLDER)
    return cache / FOLDER / key


def _settings() -> str:
    """`settings.h`: what the library knows of its interpreter."""
    folders = dict.fromkeys(str(Path(f).parent) for f in package_folders().values())
    path = "\0".join(folders).encode().hex()
    values = {"LIBPYTHON": _python_library(), "PYTHON": sys.executable, "PATH": path}
    return "".join(f'#define FLOWC_{name} "{_escaped(v)}"\n' for name, v in values.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _python_library() -> str:
    """The shared library of the running interpreter."""
    config = sysconfig.get_config_var
    names = [config("INSTSONAME"), config("LDLIBRARY"), f"libpython{config('LDVERSION')}.so.1.0"]
    folders = [config("LIBDIR"), f"{config('LIBDIR')}/{config('MULTIARCH')}", config("LIBPL")]
    places = [Path(f, n) for f in folders if f for n in names if n and ".so" in n]
    for place in places:
        if place.is_file():
            return str(place)
    raise NotFoundError(
        f"{sys.executable}: this Python has no shared library, which a Session in C++ runs in; "
        f"looked for {', '.join(map(str, places))}",
        hint="install it (Debian: libpython3-dev), or use a Python built with --enable-shared",
    )


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CC", ""))
    for command in [named] if named else [[name] for name in COMPILERS]:
        if shutil.which(command[0]):
            return command
    raise LinkError(
        "no C compiler, which libflowc_rt.so is built with", hint="install cc, gcc or clang"
    )


def _compile(scratch: Path, made: Path) -> None:
    options = ["-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=default", "-Wl,-z,nodelete"]
    places = [f"-I{INCLUDE}", f"-I{scratch}", str(SOURCE), "-o", str(made), "-ldl", "-pthread"]
    command = [*_compiler(), *options, f"-Wl,-soname,{NAME}", *places]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip()[-2000:]
        raise LinkError(f"{command[0]} failed with exit code {done.returncode}:\n{words}")


def flags(cflags: bool, libs: bool, folder: Path | None = None) -> list[str]:
    """What a compiler needs for programs that use `flowc/session.h`."""
    found = [f"-I{INCLUDE}"] if cflags else []
    if libs:
        place = built_library(folder).parent.resolve()
        found += [f"-L{place}", f"-Wl,-rpath,{place}", "-lflowc_rt", "-pthread"]
    return found
