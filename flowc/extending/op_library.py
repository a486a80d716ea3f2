"""`tf.load_op_library`: ops and kernels in C and C++, from a shared library or an archive.

In: a file. Out: a module with a function for each op. Invariants: code of a library runs because a
program, or a user on the command line, names it, never because a model does; a library is loaded
once, registers all of its ops or none, and must have this flowc's layout of `flowc/op.h`.

An archive (`.a`, `.o`) is linked to a shared library to be loaded, and its kernels are linked into
the libraries that flowc makes.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from flowc import dtypes as all_dtypes
from flowc.codegen.link.linker import link_archive
from flowc.errors import InvalidArgumentError, NotFoundError, ResourceExhaustedError
from flowc.extending import c_structs as c
from flowc.extending.c_kernels import CObject, COps, CShape, CStep
from flowc.extending.handles import HandleKernels, handle_places
from flowc.extending.kernels import CPU, GPU
from flowc.extending.linked import LinkedFunctions, LinkedKernel, linked_functions
from flowc.extending.registration import define_registered, registered, type_choices
from flowc.extending.resources import define_maker, register_resource
from flowc.extending.signatures import ir_name
from flowc.files.cache_folder import digest
from flowc.ir.op import Op, all_or_none
from flowc.ir.signature import parse_signature, tensor_dtype

ENTRY = "flowc_op_library_of"
log = logging.getLogger("flowc.ops")
ARCHIVES = (".a", ".o")
_loading = Lock()
Definition = TypeVar("Definition", c.OpDefinition, c.KernelDefinition, c.ResourceDefinition)


def load_op_library(library_filename: str | os.PathLike[str]) -> ModuleType:
    """Loads ops and kernels, and returns a module with a function for each op: `zero_out` for
    `ZeroOut`. The same file gives the same module again.

    Raises `NotFoundError` for a file that is not there or cannot be loaded, `InvalidArgumentError`
    for a library without ops, one made with another `flowc/op.h`, or invalid definitions, and
    `AlreadyExistsError` for an op that is registered already."""
    path = Path(library_filename)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NotFoundError(f"{path}: cannot open shared object file: {error.strerror}") from None
    with _loading:  # whoever comes second finds what is loaded
        return _loaded(path.resolve(), digest(data))


def load_library(library_location: str | os.PathLike[str]) -> None:
    """Loads the ops and kernels of a library, or of every `.so` in a folder. Raises as
    `load_op_library` does."""
    path = Path(library_location)
    files = sorted(path.glob("*.so")) if os.path.isdir(path) else [path]
    if not files:
        raise NotFoundError(f"{path}: no libraries in the folder")
    for file in files:
        load_op_library(file)


@cache
def _loaded(path: Path, key: str) -> ModuleType:
    is_archive = path.suffix in ARCHIVES
    if is_archive:
        with TemporaryDirectory() as folder:
            loaded = _opened(link_archive(path, Path(folder)))
    else:
        loaded = _opened(path)
    library = COps(path, is_archive, key, loaded)
    ops, kernels, resources = _definitions(library)
    made = ModuleType(ir_name(path.stem), f"Ops of {path}.")
    with all_or_none():
        functions = [_register_op(library, definition) for definition in ops]
        functions += [_register_resource(library, definition) for definition in resources]
        for definition in kernels:
            _register_kernel(library, definition)
    for function in functions:
        setattr(made, function.__name__, function)
    return made


def _opened(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path), os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise NotFoundError(str(error)) from None


def _definitions(library: COps) -> tuple[list[Any], list[Any], list[Any]]:
    """The ops, kernels and resources of a library."""
    entry = getattr(library.loaded, ENTRY, None)
    if entry is None:
        raise InvalidArgumentError(
            f"{library.path}: the library has no ops that are registered with flowc/op.h"
        )
    found = c.OpLibrary()
    entry.restype = None
    entry(ctypes.byref(found))
    _check_abi(library, found.abi)
    listed = (
        list(_listed(found.ops, found.ops_end, c.OpDefinition)),
        list(_listed(found.kernels, found.kernels_end, c.KernelDefinition)),
        list(_listed(found.resources, found.resources_end, c.ResourceDefinition)),
    )
    for definition in (d for many in listed for d in many):
        _check_abi(library, definition.abi)
    return listed


def _check_abi(library: COps, abi: int) -> None:
    if abi != c.ABI:
        raise InvalidArgumentError(
            f"{library.path}: built with version {abi} of flowc/op.h, and this flowc has version "
            f"{c.ABI}: build it again"
        )


def _listed(start: int | None, end: int | None, kind: type[Definition]) -> Iterator[Definition]:
    for address in range(start or 0, end or 0, ctypes.sizeof(ctypes.c_void_p)):
        place = ctypes.c_void_p.from_address(address).value
        assert place is not None
        yield kind.from_address(place)


def _text(value: bytes | None) -> str:
    return (value or b"").decode()


# -- registration


def _register_op(library: COps, definition: c.OpDefinition) -> Any:
    """The function of an op."""
    text = _text(definition.signature)
    signature = parse_signature(text)
    for arg in (*signature.inputs, *signature.outputs):
        if arg.dtype is all_dtypes.string or arg.is_ref:
            raise InvalidArgumentError(
                f"{library.path}: {signature.name}: kernels in C take numbers and resources, and "
                f"{arg.name!r} is none"
            )
    shape = CShape(library, signature, definition.shape)
    keeps = definition.is_stateful == c.PERSISTENT
    memory = _define_memory(library, signature.name) if keeps else None
    stateful = bool(definition.is_stateful)
    return define_registered(text, shape, None, stateful=stateful, memory=memory)


def _define_memory(library: COps, op_type: str) -> Op:
    """The step that gives the handle of what a node of an op keeps."""
    create, destroy = library.loaded.flowc_op_memory_create, library.loaded.flowc_op_memory_destroy
    create.argtypes, create.restype = [ctypes.c_void_p, ctypes.c_int32], ctypes.c_void_p
    destroy.argtypes, destroy.restype = [ctypes.c_void_p], None

    def make() -> CObject:
        pointer = create(None, 0)
        if not pointer:
            raise ResourceExhaustedError(f"{op_type} ({library.path.name}): no memory for a node")
        return CObject(pointer, destroy)

    own = {"create": create.__name__, "destroy": destroy.__name__, "save": "", "restore": ""}
    functions = linked_functions(library, own) if library.archive else None
    return define_maker(f"{op_type}Memory", "", make, functions)


def _register_kernel(library: COps, definition: c.KernelDefinition) -> None:
    record, kernels = registered(_text(definition.op))
    types: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in _text(definition.types).split(";"))):
        name, _, words = part.partition(":")
        types[name.strip()] = [tensor_dtype(word.strip()) for word in words.split(",")]
    persistent = isinstance(kernels, HandleKernels) and kernels.memory is not None
    taken = type_choices(record, types)
    is_told = definition.size >= ctypes.sizeof(c.KernelDefinition)
    device = _text(definition.device) if is_told else CPU if definition.compute else GPU
    if definition.compute is None or device != CPU:
        log.warning(
            "%s: the kernel of %s for the %s computes nothing: code in C runs on the CPU only; a "
            "kernel for the GPU is a lowering, given to register_kernel(..., target='GPU')",
            library.path.name,
            record.tf_name,
            device,
        )
        kernels.add_elsewhere(device, taken)
        return
    step = CStep(library, record, definition.compute, persistent)
    linked, unlinked = None, _without_archive(library.path)
    if library.archive:
        symbol = _symbol_at(definition.compute)
        if symbol is None:
            raise InvalidArgumentError(
                f"{library.path}: the kernel of {record.tf_name} is static or in an anonymous "
                "namespace, where no linker finds it"
            )
        places = handle_places(record.signature)
        linked = LinkedKernel(library, record.tf_name, symbol, places, persistent)
        unlinked = ""
    kernels.add_step(record, step, taken, library.digest, unlinked=unlinked, linked=linked)


def _without_archive(path: Path) -> str:
    """What is said of a kernel that a compiled library would need from an archive."""
    archive, made = path.with_suffix(".a").name, path.with_suffix(".o").name
    return (
        f", whose kernel is in {path.name}: a library links archives (ar rc {archive} {made}; "
        f"--op-library {archive})"
    )


def _symbol_at(address: int) -> str | None:
    """The symbol of a function; None where no linker could find it."""
    found = c.SymbolInfo()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(found))
    if found.symbol is None or found.symbol_address != address:
        return None
    return found.symbol.decode()


def _register_resource(library: COps, definition: c.ResourceDefinition) -> Any:
    """The function of a resource's handle."""
    name = _text(definition.name)

    def save(found: CObject) -> tuple[Any]:
        size = definition.save(found.pointer, None, 0)
        while True:
            room = ctypes.create_string_buffer(max(size, 1))
            needed = definition.save(found.pointer, room, size)
            if needed <= size:
                return (np.frombuffer(room.raw[:needed], np.uint8),)
            size = needed  # it has grown meanwhile

    def restore(found: CObject, data: Any) -> None:
        definition.restore(found.pointer, data.tobytes(), data.size)

    def make(**attrs: Any) -> CObject:
        array = c.attr_array(attrs)
        pointer = definition.create(array, len(array))
        if not pointer:
            raise InvalidArgumentError(f"{name} ({library.path.name}): cannot be created")
        return CObject(pointer, definition.destroy)

    is_saved = bool(definition.save) and bool(definition.restore)
    return register_resource(
        name,
        make,
        attrs=_text(definition.attrs),
        saves={"bytes": (all_dtypes.u8, [None])} if is_saved else None,
        save=save if is_saved else None,
        restore=restore if is_saved else None,
        stamp=library.digest,
        functions=_functions_of(library, definition) if library.archive else None,
    )


def _functions_of(library: COps, definition: c.ResourceDefinition) -> LinkedFunctions | None:
    """What instances of libraries call; None where a linker could not find it."""
    own: dict[str, str] = {}
    for what in ("create", "destroy", "save", "restore"):
        address = ctypes.cast(getattr(definition, what), ctypes.c_void_p).value
        found = "" if address is None else _symbol_at(address)
        if found is None:
            return None
        own[what] = found
    return linked_functions(library, own) if own["create"] else None
