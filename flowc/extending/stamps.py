"""What code a function is made of, as a text: for keys of caches.

In: functions of users. Out: a digest. Invariant: whatever a function can reach that may decide what
it computes is in the digest, or makes it another one in every process: the code, defaults, closures
and the globals that it names, those of flowc aside, which the toolchain stamps.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from flowc.dtypes import DType

_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...), np.generic, np.dtype, DType)


def stamp_of(*things: Any) -> str:
    """A digest of what functions and values are made of."""
    seen: dict[int, tuple[int, Any]] = {}  # which keeps the things, so that no other has their id
    digest = hashlib.sha256()
    waiting = list(reversed(things))
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, _PLAIN):
            digest.update(f"{type(thing).__name__} {thing!r};".encode())
            continue
        if id(thing) in seen:
            digest.update(f"again {seen[id(thing)][0]};".encode())
            continue
        seen[id(thing)] = len(seen), thing
        text, inner = _parts(thing)
        digest.update(f"{text};".encode())
        waiting += reversed(inner)
    return digest.hexdigest()[:32]


def _parts(thing: Any) -> tuple[str, list[Any]]:
    """A text for a thing itself, and the things that it holds."""
    match thing:
        case _ if isinstance(found := getattr(thing, "stamp", None), str):
            return f"stamp {found}", []
        case FunctionType():
            return _function_parts(thing)
        case CodeType():
            return f"code {thing.co_code.hex()} {thing.co_names}", list(thing.co_consts)
        case MethodType():
            return "method", [thing.__func__, thing.__self__]
        case BuiltinFunctionType() | np.ufunc():
            return f"builtin {getattr(thing, '__module__', '')} {thing.__name__}", []
        case ModuleType():
            return f"module {thing.__name__} {_file_stamp(thing)}", []
        case np.ndarray() if not thing.dtype.hasobject:
            return f"array {thing.dtype} {thing.shape} {thing.tobytes().hex()}", []
        case list() | tuple():
            return f"{type(thing).__name__} {len(thing)}", list(thing)
        case set() | frozenset():
            return f"set {len(thing)}", sorted(thing, key=repr)
        case Mapping():
            return f"mapping {len(thing)}", [x for pair in thing.items() for x in pair]
        case type() if thing.__module__.partition(".")[0] in ("flowc", "numpy", "builtins"):
            return f"class {thing.__module__} {thing.__qualname__}", []
        case type():
            members = {n: v for n, v in vars(thing).items() if not n.startswith("__")}
            return f"class {thing.__qualname__}", [members, *thing.__bases__]
        case _:
            state = getattr(thing, "__dict__", None)
            slots = list(_slots(thing))
            # What shows nothing of itself is another thing in every process.
            unknown = "" if state is not None or slots else f" {os.getpid()} {id(thing)}"
            return f"object{unknown}", [type(thing), state, slots]


def _slots(thing: Any) -> Iterator[Any]:
    for kind in type(thing).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if hasattr(thing, name):
                yield getattr(thing, name)


def _function_parts(function: FunctionType) -> tuple[str, list[Any]]:
    if function.__module__ is not None and function.__module__.partition(".")[0] == "flowc":
        return f"flowc {function.__module__} {function.__qualname__}", _held(function)
    names = sorted(set(_names(function.__code__)) & function.__globals__.keys())
    found = {name: function.__globals__[name] for name in names}
    return f"function {function.__name__}", [function.__code__, found, *_held(function)]


def _held(function: FunctionType) -> list[Any]:
    """What a function holds beside its code: defaults, and the variables around it."""
    cells = function.__closure__ or ()
    inside = [cell.cell_contents for cell in cells if _is_filled(cell)]
    return [function.__defaults__, function.__kwdefaults__, inside]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _file_stamp(module: ModuleType) -> str:
    """The state of a module's file."""
    path = getattr(module, "__file__", None)
    if path is None:
        return ""
    status = os.stat(path)
    return f"{status.st_size} {status.st_mtime_ns}"
