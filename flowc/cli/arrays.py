"""Arrays as commands take and give them.

In: `NAME=FILE.npy`, `NAME=FILE.npz`, `NAME=LITERAL`. Out: arrays; an .npz file, or text. Nothing is
unpickled, and literals are only read, never evaluated.
"""

from __future__ import annotations

import ast
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from flowc.errors import (
    FlowcError,
    InvalidArgumentError,
    InvalidModelError,
    NotFoundError,
    ResourceExhaustedError,
    UsageError,
    did_you_mean,
    misfit,
)
from flowc.files.plain_file import PlainFile

Key = TypeVar("Key")
# What an input is to be: its name, dtype and dims, under any key.
Wishes = Mapping[Key, tuple[str, np.dtype[Any], Sequence[Any]]]
FILES = (".npy", ".npz")
MOST_UNPACKED = 1 << 30  # bytes of an array in an archive, or so many times what it takes there
MOST_RATIO = 64


def parse_inputs(texts: Sequence[str], option: str = "--input") -> dict[str, Any]:
    """Values by name: an array from a file, or what a literal says (its dtype still open).

    Raises `UsageError` for any other text, `NotFoundError` and `InvalidModelError` for files.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals or not value:
            raise UsageError(
                f"{option} {text!r}: expected NAME=FILE.npy, NAME=FILE.npz or NAME=LITERAL"
            )
        if name in found:
            raise UsageError(f"{option} {name!r} is given twice")
        found[name] = _file(name, Path(value)) if value.endswith(FILES) else _literal(name, value)
    return found


def _file(name: str, path: Path) -> np.ndarray:
    try:
        file = PlainFile(path)
    except NotFoundError:
        raise NotFoundError(f"{path}: there is no such file (for the input {name!r})") from None
    try:
        with file.stream() as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                entry = _entry(name, path, loaded.files)
                _check_unpacked(path, loaded.zip, entry)
                return loaded[entry]
    except FlowcError:
        raise
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidModelError(
            f"{path}: not an array file that can be read: {_first_line(error)}",
            hint="write it with numpy.save or numpy.savez, without pickled objects",
        ) from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _check_unpacked(path: Path, archive: Any, entry: str) -> None:
    """Raises `ResourceExhaustedError` for a small archive that would fill the memory."""
    for info in archive.infolist():
        limit = max(MOST_UNPACKED, MOST_RATIO * info.compress_size)
        if info.filename in (entry, f"{entry}.npy") and info.file_size > limit:
            raise ResourceExhaustedError(
                f"{path}: {entry!r} would unpack from {info.compress_size} to {info.file_size} "
                f"bytes, and at most {limit} are unpacked",
                hint="save the array with numpy.save",
            )


def _entry(name: str, path: Path, entries: Sequence[str]) -> str:
    short = name.removesuffix(":0")
    for key in (name, short, f"{short}:0"):
        if key in entries:
            return key
    if len(entries) == 1:
        return entries[0]
    raise UsageError(
        f"{path} has no array named {name!r}; it has {', '.join(entries) or 'none'}",
        hint=did_you_mean(name, entries),
    )


def _literal(name: str, text: str) -> Any:
    words = {"true": "True", "false": "False"}
    try:
        return ast.literal_eval(words.get(text, text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise UsageError(
            f"{name}={text}: neither a .npy or .npz file nor a literal",
            hint='for example x=3.5, x=[[1,2],[3,4]], x=\'["some","words"]\' or x=images.npy',
        ) from None


def array_of(name: str, value: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    """The value with an input's dtype. Raises `UsageError` when its elements do not become that."""
    from flowc_runtime.element_types import as_dense

    if dtype is None:
        return np.asarray(value)
    if dtype.hasobject:
        found = np.asarray(value)
        if found.size and found.dtype.kind not in "OSU":
            raise UsageError(
                f"input {name!r}: the values are {found.dtype}, where strings are expected",
                hint=f"""--input '{name}=["some","words"]'""",
            )
        return found.astype(dtype)
    try:
        return as_dense(value, dtype)
    except (TypeError, ValueError) as error:
        raise UsageError(f"input {name!r}: {error}") from error


def check_dims(name: str, value: np.ndarray, dims: Sequence[Any]) -> None:
    """Raises `InvalidArgumentError` when the sizes that are known do not fit."""
    fits = value.ndim == len(dims)
    if not fits or any(isinstance(d, int) and d != s for d, s in zip(dims, value.shape)):
        raise misfit(name, dims, value.shape)


def complete(
    missing: Wishes[Key], given: Iterable[tuple[Sequence[Any], np.ndarray]], seed: int | None
) -> dict[Key, np.ndarray]:
    """Random values for the missing inputs: floats in [0, 1), small integers. A named size is what
    the given arrays (with their dims) have for it, else 1. Raises `UsageError` that names every
    missing input where there is no seed."""
    if missing and seed is None:
        listed = ", ".join(
            f"{n}: {'string' if dtype.hasobject else dtype}[{','.join(map(str, dims))}]"
            for n, dtype, dims in missing.values()
        )
        raise UsageError(
            f"no value is given for {listed}", hint="--input NAME=FILE.npy, or --random-seed N"
        )
    sizes: dict[str, int] = {}
    for dims, array in given:
        sizes |= {str(d): s for d, s in zip(dims, array.shape) if not isinstance(d, int)}
    random = np.random.default_rng(seed)
    found = {}
    for key, (name, dtype, dims) in missing.items():
        shape = tuple(d if isinstance(d, int) else sizes.get(str(d), 1) for d in dims)
        found[key] = _random(name, random, dtype, shape)
    return found


@contextmanager
def with_random(names: Collection[str]) -> Iterator[None]:
    """Adds to errors about values that do not fit a hint that these inputs were random."""
    from flowc_runtime import errors as runtime

    try:
        yield
    except (InvalidArgumentError, runtime.InvalidArgumentError) as error:
        if not names or getattr(error, "hint", None):
            raise
        were = "was random" if len(names) == 1 else "were random"
        hint = f"--input {next(iter(names))}=..., for values that fit: {', '.join(names)} {were}"
        if isinstance(error, InvalidArgumentError):
            error.hint = hint
            raise
        raise InvalidArgumentError(str(error), hint=hint) from error


def _random(
    name: str, random: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> np.ndarray:
    if dtype.hasobject:
        raise UsageError(f"input {name!r}: random strings cannot be made", hint="--input NAME=...")
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(0, 10, shape).astype(dtype)
    return random.random(shape, np.float32).astype(dtype)


def write_npz(path: Path, results: Mapping[str, Any]) -> None:
    """An .npz file whose keys are the names as they are, whatever is in them."""
    from flowc.files.safe_write import replacing

    arrays = {name: np.asarray(value) for name, value in results.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            arrays[name] = array.astype(np.bytes_)
    size = sum(array.nbytes for array in arrays.values())
    with replacing(path, size) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def print_results(results: Mapping[str, Any], stream: TextIO) -> None:
    """Name, type and values of each result."""
    for name, value in results.items():
        array = np.asarray(value)
        kind = "string" if array.dtype.hasobject else array.dtype
        print(f"{name}: {kind}{list(array.shape)}", file=stream)
        print(np.array2string(array, threshold=1000, separator=", "), file=stream)
