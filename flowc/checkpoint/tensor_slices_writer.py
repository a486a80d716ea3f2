"""Tensor slices (checkpoint V1), written: one table of messages that hold tensors.

In: tensors, or parts of them, by name. Out: the file. Invariant: the file takes its place whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from flowc import dtypes
from flowc.checkpoint.bundle_writer import SavedTensor, check_parts, writing
from flowc.checkpoint.slices import FULL, Extents, fill_extents, slice_key
from flowc.checkpoint.table_writer import table_pieces
from flowc.encoding.tensor_proto import FIELDS, data_type
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.files.safe_write import replacing
from flowc.proto.checkpoint_pb2 import SavedSliceMeta, SavedTensorSlices
from flowc.proto.tensor_pb2 import TensorProto

VERSION = 1


def write_tensor_slices(path: str, tensors: Sequence[SavedTensor]) -> None:
    """Saves tensors as a V1 checkpoint of one file. Raises as `write_bundle`."""
    check_parts(tensors)
    entries = [(b"", _meta(tensors).SerializeToString()), *sorted(_slices(tensors))]
    with writing(path, sum(len(value) for _, value in entries)) as place, replacing(place) as file:
        for piece in table_pieces(entries):
            file.write(piece)


def _extents(tensor: SavedTensor) -> Extents:
    if tensor.part is None or tensor.is_whole:
        return ((0, FULL),) * tensor.value.ndim
    return tensor.part.extents


def _is_utf8(name: str) -> bool:
    """Whether a name that was decoded holds no other bytes."""
    return not any("\ud800" <= c <= "\udfff" for c in name)


def _meta(tensors: Sequence[SavedTensor]) -> SavedTensorSlices:
    found: dict[str, SavedSliceMeta] = {}
    for tensor in tensors:
        shape = tensor.value.shape if tensor.part is None else tensor.part.shape
        meta = found.get(tensor.name)
        if meta is None:
            if not _is_utf8(tensor.name):
                raise InvalidArgumentError(
                    f"{tensor.name!r} is not UTF-8, as names in the older format must be"
                )
            meta = found[tensor.name] = SavedSliceMeta(
                name=tensor.name, type=data_type(tensor.dtype)
            )
            meta.shape.SetInParent()
            for size in shape:
                meta.shape.dim.add(size=size)
        elif tuple(d.size for d in meta.shape.dim) != shape:
            raise InvalidArgumentError(f"parts of two tensors are saved as {tensor.name!r}")
        fill_extents(meta.slice.add(), _extents(tensor))
    whole = SavedTensorSlices()
    whole.meta.tensor.extend(found.values())
    whole.meta.versions.producer = VERSION
    return whole


def _slices(tensors: Sequence[SavedTensor]) -> Iterator[tuple[bytes, bytes]]:
    for tensor in tensors:
        saved = SavedTensorSlices()
        saved.data.name = tensor.name
        fill_extents(saved.data.slice, _extents(tensor))
        _fill_values(saved.data.data, tensor)
        yield slice_key(tensor.name, _extents(tensor)), saved.SerializeToString()


def _fill_values(proto: TensorProto, tensor: SavedTensor) -> None:
    """Writes a tensor's elements into the field of their type."""
    dtype = tensor.dtype
    flat = np.ascontiguousarray(tensor.value).reshape(-1)
    if dtype is dtypes.string:
        proto.string_val.extend(s if isinstance(s, bytes) else str(s).encode() for s in flat)
        return
    if FIELDS.get(dtype) == "float8_val":
        proto.float8_val = flat.tobytes()
        return
    if not dtype.size:
        raise UnsupportedError(f"tensor {tensor.name!r} is a {dtype}, which has no content")
    if dtype in (dtypes.f16, dtypes.bf16):
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = flat.view(dtype.real_dtype.numpy)
    getattr(proto, FIELDS.get(dtype, "int_val")).extend(flat.tolist())
