"""A compiled program in memory, ready to run.

In: a CompiledProgram's objects, or the images that the cache has of them. Out: the functions of the
program and the object that keeps them alive. Images are loaded without importing llvmlite.

The pool and the arena are loaded once a process and never freed: threads wait inside their code.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.forks import loading
from flowc.codegen.link.image import LoadedImage, is_image, link_image
from flowc.dataclass import dataclass

RUNTIME_FUNCTIONS = (
    "flowc_parallel_for",
    "flowc_run_begin",
    "flowc_run_end",
    "flowc_arena_acquire",
    "flowc_arena_release",
    "flowc_arena_grow",
    "flowc_interpreter_release",
    "flowc_interpreter_poll",
    "flowc_interpreter_call",
    "flowc_interpreter_acquire",
)

# The run releases the interpreter itself, and may leave an exception behind.
_RUN = ctypes.PYFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
_DIMS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Loaded(Protocol):
    """Code in memory, which goes with this."""

    def address_of(self, name: str) -> int:
        """Where a function is."""
        ...

    def keep_for_good(self) -> None:
        """Has the memory stay until the process has ended, after Python has."""
        ...


@dataclass(slots=True, weakref_slot=True, eq=False)
class LoadedCode:
    """Native functions of a program; `owner` has their memory."""

    owner: Loaded
    run: Callable[..., int]
    output_dims: Callable[..., None]
    output_bounds: Callable[..., None]


_runtime: dict[str, int] = {}  # the addresses of `RUNTIME_FUNCTIONS`


def as_images(program: CompiledProgram) -> CompiledProgram:
    """The program as the cache keeps it: with images in place of objects where there are such."""
    image, runtime = link_image(program.objects), link_image([program.runtime])
    if image is None or runtime is None:
        return program
    return replace(program, objects=(image,), runtime=runtime)


def load_objects(
    objects: Sequence[bytes], runtime: bytes, *, has_device: bool = False
) -> LoadedCode:
    """Links relocatable objects in memory, or takes the image of them; `runtime` holds the pool and
    the arena. `has_device`: among the objects are kernels of a GPU, which is freed of them when the
    code is no more used."""
    with loading:
        if not _runtime:
            _load_runtime(runtime)
        owner = _loaded(objects)
    address_of = owner.address_of
    loaded = LoadedCode(
        owner,
        _RUN(address_of("flowc_program_run")),
        _DIMS(address_of("flowc_program_output_dims")),
        _DIMS(address_of("flowc_program_output_bounds")),
    )
    if has_device:
        close = ctypes.CFUNCTYPE(None)(address_of("flowc_cuda_close"))
        weakref.finalize(loaded, lambda owner: close(), owner)
    return loaded


def _load_runtime(data: bytes) -> None:
    owner = _loaded([data])
    _runtime.update({name: owner.address_of(name) for name in RUNTIME_FUNCTIONS})
    owner.keep_for_good()  # threads of the pool may be inside until the process ends
    if not is_image(data):
        _offer_runtime()


@cache
def _offer_runtime() -> None:
    """Has LLVM find the functions that all programs share."""
    from flowc.codegen.link.jit import offer

    offer(_runtime)


def _loaded(objects: Sequence[bytes]) -> Loaded:
    """The code of objects, or of an image."""
    if is_image(objects[0]):
        return LoadedImage(objects[0], _runtime)
    # Late: what comes from the cache does without LLVM.
    from flowc.codegen.link.jit import LoadedObjects

    if _runtime:
        _offer_runtime()
    return LoadedObjects(objects)
