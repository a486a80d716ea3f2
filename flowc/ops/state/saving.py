"""Checkpoints in a graph: SaveV2, RestoreV2 and their older forms, shards and their merging.

In: the prefix of a checkpoint, the names of tensors and which parts they are, values. Out: files,
and values read from files. Invariants: a run holds no variable while files are read or written;
what is not in the file as the graph wants it raises TensorFlow's error.

The graph does not tell the shapes of what is restored: they are found by the run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostRun, HostValue, StoredValue, held
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op, infer_shapes
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.checkpoint.bundle_writer import SavedTensor
    from flowc.checkpoint.reader import CheckpointReader
    from flowc.checkpoint.slices import Part

Array = np.ndarray[Any, Any]
FILES = STATE | {"may_block"}


def _texts(strings: Any) -> list[str]:
    return [os.fsdecode(s) for s in np.asarray(strings, object).reshape(-1)]


def _text(string: Any) -> str:
    found = _texts(string)
    if len(found) != 1:
        raise InvalidArgumentError(
            f"the path of a checkpoint must be a scalar string; got a tensor of size {len(found)}"
        )
    return found[0]


def _check_counts(names: Sequence[str], parts: Sequence[str], tensors: int) -> None:
    if not len(names) == len(parts) == tensors:
        raise InvalidArgumentError(
            f"found {len(names)} tensor names and {len(parts)} shapes and slices for {tensors} "
            "tensors; expected as many of each"
        )


def _part(text: str) -> Part | None:
    """The part of a tensor that a `shape_and_slice` names; None for the whole."""
    from flowc.checkpoint.slices import parse_part  # late: few programs save

    if not text:
        return None
    found = parse_part(text)
    if found is None:
        raise InvalidArgumentError(
            f"Need at least two elements in shape_and_slice specification: {text}"
            if " " not in text
            else f"Expected pairs of numbers or '-' for each dimension in shape_and_slice: {text}"
        )
    return found


# -- saving


def _tensors(names: Any, parts: Any, values: Sequence[Any]) -> list[SavedTensor]:
    from flowc.checkpoint.bundle_writer import SavedTensor

    found: list[SavedTensor] = []
    named, places = _texts(names), _texts(parts)
    _check_counts(named, places, len(values))
    for name, text, value in zip(named, places, values, strict=True):
        part, array = _part(text), held(value)
        if part is not None:
            place = part.place
            if place is None:
                raise InvalidArgumentError(f"the part {text!r} of tensor {name} is out of bounds")
            if tuple(s.stop - s.start for s in place) != array.shape:
                raise InvalidArgumentError(
                    "Slice in shape_and_slice specification does not match the shape of the tensor "
                    f"to save: {text}, tensor: {list(array.shape)}"
                )
        dtype = dtypes.string if array.dtype.hasobject else as_dtype(array.dtype)
        kinds = {type(v) for v in array.reshape(-1).tolist()} if array.dtype.hasobject else ()
        if StoredValue in kinds:
            dtype = dtypes.variant
        elif HostValue in kinds:
            raise UnimplementedError(f"{name} is a variant, which no checkpoint holds")
        found.append(SavedTensor(name, array, dtype, part))
    return found


def _save_bundle(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    from flowc.checkpoint.bundle_writer import write_bundle

    run.check()
    prefix, names, parts, *values = inputs
    write_bundle(_text(prefix), _tensors(names, parts, values))
    return []


def _save_slices(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun) -> list[Array]:
    from flowc.checkpoint.tensor_slices_writer import write_tensor_slices

    run.check()
    path, names, parts, *values = inputs
    write_tensor_slices(_text(path), _tensors(names, parts, values))
    return []


def _save_whole(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    path, names, *values = inputs
    return _save_slices((path, names, np.full(len(values), b"", object), *values), types, run=run)


def _merge(
    inputs: Sequence[Any],
    _: Sequence[DType],
    *,
    run: HostRun,
    delete_old_dirs: bool,
    allow_missing_files: bool,
) -> list[Array]:
    from flowc.checkpoint.bundle_writer import merge_bundles

    run.check()
    parts, prefix = _texts(inputs[0]), _text(inputs[1])
    merge_bundles(parts, prefix, allow_missing_files)
    if delete_old_dirs:
        for folder in {Path(part).parent for part in parts} - {Path(prefix).parent}:
            _remove_empty(folder)
    return []


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # something else is in it


def _check_names(c: Inference, first: int, vectors: int) -> list[Dims]:
    """The path is a scalar, and what speaks of the tensors has an element for each of them."""
    c.need_rank(0, 0)
    count = len(c.inputs) - first
    for i in range(1, 1 + vectors):
        c.need_rank(i, 1)
        c.equal(c.dims(i)[0], count, f"Dimension must be {count} but is {c.dims(i)[0]}")
    return []


def _infer_merge(c: Inference) -> list[Dims]:
    c.need_ranks(1, 0)
    return []


host_op(
    "save_v2",
    "SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes;"
    " dtypes: list(type) >= 1)",
    _save_bundle,
    infer=lambda c: _check_names(c, 3, 2),
    traits=FILES,
)
host_op(
    "save_slices",
    "SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: T;"
    " T: list(type) >= 1)",
    _save_slices,
    infer=lambda c: _check_names(c, 3, 2),
    traits=FILES,
)
host_op(
    "save",
    "Save(filename: string, tensor_names: string, data: T; T: list(type) >= 1)",
    _save_whole,
    infer=lambda c: _check_names(c, 2, 1),
    traits=FILES,
)
host_op(
    "merge_v2_checkpoints",
    "MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string;"
    " delete_old_dirs: bool = True, allow_missing_files: bool = False)",
    _merge,
    infer=_infer_merge,
    traits=FILES,
)


# -- names of shards


def _sharded(base: Any, shard: Any, count: Any) -> Array:
    from flowc.checkpoint.names import sharded_name

    found = np.empty((), object)
    found[()] = os.fsencode(sharded_name(_text(base), int(shard), int(count)))
    return found


def _sharded_step(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    return [_sharded(*inputs)]


def _all_shards_step(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    return [_sharded(inputs[0], -1, inputs[1])]


def _infer_scalars(c: Inference) -> Dims:
    for i in range(len(c.inputs)):
        c.need_rank(i, 0)
    return ()


host_op(
    "sharded_filename",
    "ShardedFilename(basename: string, shard: i32, num_shards: i32) -> filename: string",
    _sharded_step,
    infer=_infer_scalars,
    reference=lambda basename, shard, num_shards: _sharded(basename, shard, num_shards),
    only_reads=False,
    traits=frozenset({"begins_with"}),
)
host_op(
    "sharded_filespec",
    "ShardedFilespec(basename: string, num_shards: i32) -> filename: string",
    _all_shards_step,
    infer=_infer_scalars,
    reference=lambda basename, num_shards: _sharded(basename, -1, num_shards),
    only_reads=False,
)


# -- restoring


def _restored(reader: CheckpointReader, name: str, text: str, dtype: DType) -> Array:
    """A tensor of the file, or the part of it that is asked for."""
    held, part = reader.dtype(name), _part(text)
    if held is not dtype:
        raise InvalidArgumentError(
            f"tensor_name = {name}; expected dtype {dtype_shown(dtype)} does not equal original "
            f"dtype {dtype_shown(held)}"
        )
    if part is None:
        return _stored(reader.read(name)) if dtype is dtypes.variant else reader.read(name)
    if part.shape != reader.shape(name):
        raise InvalidArgumentError(
            f"tensor_name = {name}; shape in shape_and_slice spec {list(part.shape)} does not "
            f"match the shape stored in checkpoint: {list(reader.shape(name))}"
        )
    if part.place is None:
        raise InvalidArgumentError(f"the part {text!r} of tensor {name} is out of bounds")
    return reader.read(name, part.place)


def _stored(messages: Array) -> Array:
    found = np.empty(messages.shape, object)
    found.reshape(-1)[:] = [StoredValue(message) for message in messages.reshape(-1)]
    return found


def _restore(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    """What the file has under the names; without parts, the whole tensors."""
    from flowc.checkpoint.reader import open_checkpoint

    run.check()
    names = _texts(inputs[1])
    parts = _texts(inputs[2]) if len(inputs) > 2 else [""] * len(names)
    path = _text(inputs[0])
    _check_counts(names, parts, len(types))
    reader = open_checkpoint(path)
    given = zip(names, parts, types, strict=True)
    return [np.asarray(_restored(reader, *row), order="C") for row in given]


_step = Host(_restore, "RestoreV2", may_block=True, only_reads=True)
_restore_tensors = define(
    "restore_tensors",
    "_RestoreTensors(names: Tin; Tin: list(type), dtypes: list(type), shapes: list(shape))"
    " -> tensors: dtypes",
    infer=infer_shapes,
    lowering=_step,
    traits=STATE,
)


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, type_attr: str) -> Sequence[Bound]:
    stated = attrs[type_attr]
    types = (stated,) if isinstance(stated, DType) else tuple(stated)
    shapes = [tuple(shape or ()) for shape in x.output_shapes(0)]
    values = [value_of(x, bound) for bound in inputs]
    given = {"dtypes": types, "shapes": tuple(shapes)}
    node = x.b.emit(_restore_tensors, values, given)
    x.effect(node)
    return node.outputs


def _infer_unknown(c: Inference, vectors: bool) -> list[Dims]:
    c.need_rank(0, 0)
    for i in range(1, len(c.inputs)):
        c.need_rank(i, int(vectors))
    if vectors:
        names, parts = c.dims(1), c.dims(2)
        fault = "Dimension 0 in both shapes must be equal, but are {} and {}"
        c.match_dims(names, parts, fault.format(names[0], parts[0]))
        fault = "The number of shape_and_slice doesn't match tensor outputs."
        c.equal(parts[0], len(c.attrs["dtypes"]), fault)
    raise NeedsContent("the shapes of what is restored are found by the run")


for _name, _tf, _vectors, _type_attr in (
    (
        "restore_v2",
        "RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string;"
        " dtypes: list(type) >= 1) -> tensors: dtypes",
        True,
        "dtypes",
    ),
    (
        "restore",
        "Restore(file_pattern: string, tensor_name: string; dt: type, preferred_shard: int = -1)"
        " -> tensor: dt",
        False,
        "dt",
    ),
    (
        "restore_slice",
        "RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string;"
        " dt: type, preferred_shard: int = -1) -> tensor: dt",
        False,
        "dt",
    ),
):
    define(
        _name,
        _tf,
        infer=partial(_infer_unknown, vectors=_vectors),
        lowering=Extracted(partial(_emit, type_attr=_type_attr), _step),
        traits=FILES,
    )
