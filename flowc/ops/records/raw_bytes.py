"""Strings as what their bytes are: raw numbers, compressed data, tensors, examples in JSON.

In: strings. Out: host steps: arrays of numbers, other strings. Invariant: what TensorFlow writes
and reads, and its errors.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import scalar_of
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import value_of
from flowc.ops.strings.string_values import as_array, check_count, strings_of
from flowc.records.byte_stream import WINDOW_BITS, inflate_error

Array = np.ndarray[Any, Any]
_PADDED = "{f16, f32, f64, i32, u16, u8, i16, i8, i64, bf16}"
_RAW = "{f16, f32, f64, i32, u16, u8, i16, i8, i64, c64, c128, bool, bf16}"


def _numbers(data: bytes, dtype: DType, little_endian: bool) -> Array:
    found = np.frombuffer(data, dtype.numpy)
    if little_endian or dtype.size == 1:
        return found.copy()
    part = found.view(dtype.real_dtype.numpy) if dtype.is_complex else found
    return part.byteswap().view(dtype.numpy)


# -- raw numbers


def _decode_raw(
    inputs: Sequence[Any], types: Sequence[DType], *, little_endian: bool
) -> list[Array]:
    texts, dtype = np.asarray(inputs[0], object), types[0]
    rows = texts.reshape(-1).tolist()
    size = len(rows[0]) if rows else 0
    for i, row in enumerate(rows):
        if len(row) != size:
            raise InvalidArgumentError(
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{i} has size {size} != {len(row)}"
            )
    if size % dtype.size:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.size}, the "
            f"size of {dtype.name}"
        )
    found = _numbers(b"".join(rows), dtype, little_endian)
    return [found.reshape(*texts.shape, size // dtype.size)]


host_op(
    "decode_raw",
    f"DecodeRaw(bytes: string; out_type: {_RAW}, little_endian: bool = True) -> output: out_type",
    _decode_raw,
    infer=lambda c: (*c.dims(0), c.fresh("n")),
    traits=frozenset({"by_element"}),
)


def _decode_padded(
    inputs: Sequence[Any], types: Sequence[DType], *, little_endian: bool
) -> list[Array]:
    texts, dtype = np.asarray(inputs[0], object), types[0]
    length = int(scalar_of(inputs[1], "fixed_length"))
    if length <= 0:
        raise InvalidArgumentError(f"fixed_length ({length}) must be greater than zero.")
    if length % dtype.size:
        raise InvalidArgumentError(
            f"fixed_length ({length}) must be a multiple of the size of out_type ({dtype.size})"
        )
    check_count(length * texts.size, "bytes")
    rows = [row[:length].ljust(length, b"\0") for row in texts.reshape(-1).tolist()]
    found = _numbers(b"".join(rows), dtype, little_endian)
    return [found.reshape(*texts.shape, length // dtype.size)]


def _infer_padded(c: Inference) -> Dims:
    c.need_rank(1, 0)
    known, size = c.content(1), c.attrs["out_type"].size
    if known is not None and isinstance(length := known[()], int | np.integer) and length > 0:
        if length % size:
            raise c.fail(f"Dimension size must be evenly divisible by {size} but is {length}")
        return (*c.dims(0), int(length) // size)
    return (*c.dims(0), c.fresh("n"))


host_op(
    "decode_padded_raw",
    f"DecodePaddedRaw(input_bytes: string, fixed_length: i32; out_type: {_PADDED}, little_endian:"
    " bool = True) -> output: out_type",
    _decode_padded,
    infer=_infer_padded,
    traits=frozenset({"by_element"}),
)


# -- compressed data


def decompressed(data: bytes, compression: str) -> bytes:
    """What zlib makes of a string, as far as it goes. Raises `DataLossError`."""
    if not compression:
        return data
    inflate = zlib.decompressobj(WINDOW_BITS[compression])
    try:
        return inflate.decompress(data)
    except zlib.error as error:
        raise inflate_error(error) from None


def _decode_compressed(
    inputs: Sequence[Any], _: Sequence[DType], *, compression_type: str
) -> list[Array]:
    texts = np.asarray(inputs[0], object)
    if compression_type and compression_type not in WINDOW_BITS:
        raise InvalidArgumentError("Only ZLIB, GZIP or NONE are supported compressions")
    rows = [decompressed(row, compression_type) for row in texts.reshape(-1).tolist()]
    return [strings_of(rows, texts.shape)]


host_op(
    "decode_compressed",
    'DecodeCompressed(bytes: string; compression_type: string = "") -> output: string',
    _decode_compressed,
    infer=lambda c: c.dims(0),
)


# -- tensors


def _serialize(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    from flowc.encoding.tensor_message import tensor_bytes  # late: few graphs need it

    return [strings_of([tensor_bytes(as_array(inputs[0]))], ())]


host_op(
    "serialize_tensor",
    "SerializeTensor(tensor: T; T: type) -> serialized: string",
    _serialize,
    infer=lambda c: (),
)


def _parse_tensor(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    from flowc.encoding.tensor_message import array_of

    if np.ndim(inputs[0]):
        raise InvalidArgumentError(
            f"Expected `serialized` to be a scalar, got shape: {list(np.shape(inputs[0]))}"
        )
    data = np.asarray(inputs[0], object).item()
    try:
        found = array_of(data)
    except ValueError:
        shown = base64.b64encode(data).decode()
        raise InvalidArgumentError(
            f"Could not parse `serialized` as TensorProto, base64: {shown}"
        ) from None
    held = dtypes.string if found.dtype.hasobject else as_dtype(found.dtype)
    if held is not types[0]:
        raise InvalidArgumentError(
            f"Type mismatch between parsed tensor ({dtype_shown(held)}) and dtype "
            f"({dtype_shown(types[0])})"
        )
    return [np.require(found, requirements="C")]


_parsed = Host(_parse_tensor, "ParseTensor", only_reads=True)
_parsed_tensor = define(
    "parsed_tensor",
    "_ParsedTensor(serialized: string; out_type: type, shape: shape) -> output: out_type",
    infer=lambda c: c.stated(c.attrs["shape"]),
    lowering=_parsed,
)


def _emit_parsed(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    shape = x.output_shapes(0)[0]
    if shape is None:
        raise UnsupportedError(
            f"node '{x.name}' parses a tensor, and nothing in the graph says what rank it has",
            hint="run it in a Session, which finds out, or call set_shape on the tensor",
        )
    given = {"out_type": attrs["out_type"], "shape": tuple(shape)}
    return x.b.emit(_parsed_tensor, [value_of(x, inputs[0])], given).outputs


def _unknown(c: Inference) -> Dims:
    raise NeedsContent("the shape of a serialized tensor is found by the run")


define(
    "parse_tensor",
    "ParseTensor(serialized: string; out_type: type) -> output: out_type",
    infer=_unknown,
    lowering=Extracted(_emit_parsed, _parsed),
)


# -- examples in JSON


def _decode_json(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    from flowc.encoding.json_examples import example_of_json  # late: few graphs need it

    texts = np.asarray(inputs[0], object)
    found: list[bytes] = []
    for text in texts.reshape(-1).tolist():
        try:
            found.append(example_of_json(text))
        except ValueError as error:
            raise InvalidArgumentError(f"Error while parsing JSON: {error}") from None
    return [strings_of(found, texts.shape)]


host_op(
    "decode_json_example",
    "DecodeJSONExample(json_examples: string) -> binary_examples: string",
    _decode_json,
    infer=lambda c: c.dims(0),
)
