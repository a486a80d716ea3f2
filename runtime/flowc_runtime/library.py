"""Opens the shared library of a compiled model and checks that it is one.

In: a path. Out: a ctypes library with typed functions. Invariant: what is not a whole model library
of this ABI ends in a `LoadError`; a file that was replaced since it was last opened is opened anew.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import struct
from types import SimpleNamespace
from typing import Any

from flowc_runtime.errors import LoadError

ABI_VERSION = 3
NO_MODEL = "it is a library or program, but not a model compiled by flowc"
MARK = b"flowc_abi_version"
PIECE = 1 << 20
MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64", 21: "ppc64le"}  # as ELF numbers them

_opened: dict[str, list[tuple[int, int, int]]] = {}


def open_library(path: str) -> Any:
    """The library at an absolute path. Raises `LoadError`."""
    try:
        status = os.stat(path)
        # The loader knows libraries by the text of their path: a file that was replaced since needs
        # another text, or the old library would be given out again.
        versions = _opened.setdefault(path, [])
        identity = (status.st_dev, status.st_ino, status.st_mtime_ns)
        if identity not in versions:
            versions.append(identity)
        _check_whole(path, status.st_size)
        if not _names_model(path):  # before it is opened, which runs code that it has
            raise OSError(NO_MODEL)
        folder, name = os.path.split(path)
        library = ctypes.CDLL(os.path.join(folder, "./" * versions.index(identity) + name))
    except (OSError, ValueError) as error:
        raise LoadError(f"cannot load {path}: {error}") from error
    if not hasattr(library, "flowc_abi_version"):
        raise LoadError(f"cannot load {path}: {NO_MODEL}")
    library.flowc_abi_version.restype = ctypes.c_int32
    found = library.flowc_abi_version()
    if found != ABI_VERSION:
        raise LoadError(f"{path} has ABI version {found}, expected {ABI_VERSION}")
    return library


def described_library(
    path: str, signature: str | None = None
) -> tuple[SimpleNamespace, dict[str, Any]]:
    """The C functions of one of the models in the library at an absolute path, the first without a
    signature, and what it says of itself. Weights beside it are not read. Raises `LoadError`."""
    functions = functions_of(open_library(path))
    described = json.loads(functions.flowc_metadata())
    if signature is None:
        return functions, described
    prefixes = described.get("signatures", {})
    if signature not in prefixes:
        names = ", ".join(prefixes) or "one program, without the names of signatures"
        raise LoadError(f"{path} has no signature {signature!r}; it has {names}")
    functions = functions_of(functions.library, prefixes[signature])
    return functions, json.loads(functions.flowc_metadata())


def functions_of(library: Any, prefix: str = "flowc") -> SimpleNamespace:
    """The C functions of one of the library's models, ready to call, by their plain names."""
    pointer, number = ctypes.c_void_p, ctypes.c_int32
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "flowc_metadata": (ctypes.c_char_p, []),
        "flowc_last_error": (ctypes.c_char_p, []),
        "flowc_get_threads": (number, []),
        "flowc_set_threads": (number, [number]),
        "flowc_get_max_memory": (ctypes.c_int64, []),
        "flowc_set_max_memory": (number, [ctypes.c_int64]),
        "flowc_output_dims_for": (number, [pointer, number, pointer]),
        "flowc_run": (number, [pointer] * 4),
        "flowc_check_weights": (number, []),
        "flowc_free": (None, [pointer]),
        "flowc_instance_create": (number, [pointer]),
        "flowc_instance_destroy": (None, [pointer]),
        "flowc_instance_reset": (number, [pointer]),
        "flowc_instance_run": (number, [pointer] * 5),
        "flowc_instance_read": (number, [pointer, number, pointer]),
        "flowc_instance_write": (number, [pointer, number, pointer]),
        "flowc_instance_save": (number, [pointer, number, pointer, ctypes.c_int64, pointer]),
        "flowc_instance_restore": (number, [pointer, number, pointer, ctypes.c_int64]),
    }
    found = SimpleNamespace(library=library)
    for name, (result, args) in signatures.items():
        function = getattr(library, prefix + name.removeprefix("flowc"), None)
        if function is None:  # a library of an earlier flowc has fewer
            continue
        function.restype, function.argtypes = result, args
        setattr(found, name, function)
    return found


def _names_model(path: str) -> bool:
    """Whether a file has the name of the function that all models have."""
    kept = b""
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            if MARK in kept + piece:
                return True
            kept = piece[-len(MARK) :]
    return False


def _check_whole(path: str, size: int) -> None:
    """Raises `OSError` for a file cut short: the system's loader would crash on it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no plain file")
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01" or len(header) < 64:
            raise OSError("it is not a 64-bit shared library")
        (machine,) = struct.unpack_from("<H", header, 18)
        if machine in MACHINES and MACHINES[machine] != os.uname().machine:
            raise OSError(
                f"it is for {MACHINES[machine]}, and this machine is {os.uname().machine}"
            )
        (start,), (width, count) = (
            struct.unpack_from(form, header, place) for form, place in (("<Q", 32), ("<HH", 54))
        )
        file.seek(min(start, size))
        table = file.read(width * count)
    if width < 56 or len(table) < width * count:
        raise OSError("it is cut short")
    for index in range(count):
        offset, _, _, length = struct.unpack_from("<QQQQ", table, index * width + 8)
        if offset + length > size:
            raise OSError(f"it is cut short: {size} of at least {offset + length} bytes")
