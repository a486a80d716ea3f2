"""Tensor slices (checkpoint V1): tables whose values are messages that hold tensors.

In: the files of a checkpoint. Out: names, shapes, dtypes, arrays. Invariant: see reader.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError

from flowc.checkpoint.slices import (
    Extents,
    Place,
    extents_of,
    gathered,
    incomplete,
    resolve,
    slice_key,
    whole_place,
)
from flowc.checkpoint.table import damage, read_table
from flowc.dtypes import DType
from flowc.encoding.tensor_proto import data_type, decode_tensor, element_type, shape_of
from flowc.encoding.wire import FileBytes, open_region
from flowc.errors import DataLossError, InvalidModelError
from flowc.proto.checkpoint_pb2 import SavedTensorSlices
from flowc.proto.tensor_pb2 import TensorProto

MOST_IN_FILE = 1 << 47  # of a file, which holds the tensors too


class TensorSliceReader:
    """`shapes`: name -> shape, sorted by name. `within`: see `PlainFile`."""

    def __init__(self, prefix: str, files: list[Path], within: Path | None = None) -> None:
        self.prefix = prefix
        self._values: dict[bytes, tuple[memoryview, FileBytes]] = {}
        self._slices: dict[str, set[Extents]] = {}
        self._dtypes: dict[str, DType] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for path in files:
            self._open(open_region(path, within, most=MOST_IN_FILE), shapes)
        self.shapes = dict(sorted(shapes.items()))

    def _open(self, region: FileBytes, shapes: dict[str, tuple[int, ...]]) -> None:
        meta = None
        for key, value in read_table(region):
            if key == b"":
                meta = self._parse(value, region).meta
            else:
                self._values[key] = (value, region)
        if meta is None:
            raise damage(region, 0, "the file does not say which tensors it holds")
        for tensor in meta.tensor:
            try:
                shape = shape_of(tensor.shape, f"tensor {tensor.name!r}")
                dtype = element_type(tensor.type, f"tensor {tensor.name!r}")
            except InvalidModelError as error:
                raise damage(region, 0, error.message) from None
            old = shapes.setdefault(tensor.name, shape)
            if old != shape or self._dtypes.setdefault(tensor.name, dtype) is not dtype:
                raise damage(region, 0, f"tensor {tensor.name!r} has another type in another file")
            found = self._slices.setdefault(tensor.name, set())
            found.update(extents_of(s) for s in tensor.slice)

    def _parse(self, value: memoryview, region: FileBytes) -> SavedTensorSlices:
        try:
            return SavedTensorSlices.FromString(bytes(value))
        except DecodeError as error:
            raise damage(region, 0, f"an entry is damaged: {error}") from None

    def dtype(self, name: str) -> DType:
        return self._dtypes[name]

    def read(self, name: str, wanted: Place | None = None) -> np.ndarray:
        shape, dtype = self.shapes[name], self._dtypes[name]
        wanted = wanted or whole_place(shape)
        stored = [self._part(name, extents) for extents in sorted(self._slices[name])]
        whole = gathered(wanted, stored, dtype.numpy)
        if whole is None:
            raise incomplete(self.prefix, name, shape, wanted)
        whole.flags.writeable = False
        return whole

    def _part(self, name: str, extents: Extents) -> tuple[Place, Callable[[], np.ndarray]]:
        place = resolve(extents, self.shapes[name])
        stored = self._values.get(slice_key(name, extents))
        if place is None or stored is None:
            raise DataLossError(
                f"{self.prefix}: slice {extents} of tensor {name!r} "
                f"{list(self.shapes[name])} is missing"
            )
        return place, lambda: self._decoded(name, place, *stored)

    def _decoded(self, name: str, place: Place, value: memoryview, region: FileBytes) -> np.ndarray:
        proto = TensorProto()
        proto.CopyFrom(self._parse(value, region).data.data)
        proto.dtype = data_type(self._dtypes[name])
        sizes = tuple(s.stop - s.start for s in place)
        if math.prod(sizes) > len(value):  # every element takes a byte at least
            raise damage(region, 0, f"a slice of tensor {name!r} is cut off")
        proto.tensor_shape.Clear()
        for size in sizes:
            proto.tensor_shape.dim.add(size=size)
        try:
            return decode_tensor(proto, f"tensor {name!r}")
        except InvalidModelError as error:
            raise damage(region, 0, error.message) from None
