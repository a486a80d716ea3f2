"""Pixels as image files: EncodePng, EncodeJpeg.

In: u8 (PNG: also u16) pixels [height, width, channels], of PNG any number of images. Out: host
steps that give the files as strings. Invariant: the files hold what TensorFlow's hold; their bytes
may be others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.image.jpeg_files import encode_jpeg
from flowc.ops.image.png_files import encode_png
from flowc.ops.strings.string_values import strings_of

Array = np.ndarray[Any, Any]
_LARGEST_JPEG = 65500  # pixels of a side
_CM = 2.54  # in an inch
_CHANNELS = {"grayscale": 1, "rgb": 3}


def _infer_png(c: Inference) -> Dims:
    if c.rank(0) < 3:
        raise c.fail(f"Shape must be at least rank 3 but is rank {c.rank(0)}")
    if not -1 <= c.attrs["compression"] <= 9:
        raise c.fail(f"compression should be in [-1,9], got {c.attrs['compression']}")
    return c.dims(0)[:-3]


def _encode_png(inputs: Sequence[Any], _: Sequence[DType], *, compression: int) -> list[Array]:
    images = np.asarray(inputs[0])
    *batch, height, width, channels = images.shape
    if channels not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise InvalidArgumentError(f"image must not be empty, got {height}x{width}")
    rows = images.reshape(math.prod(batch), height, width, channels)
    return [strings_of([encode_png(image, compression) for image in rows], tuple(batch))]


def _infer_jpeg(c: Inference) -> Dims:
    c.need_rank(0, 3)
    if not 0 <= c.attrs.get("quality", 0) <= 100:
        raise c.fail(f"quality must be in [0,100], got {c.attrs['quality']}")
    if len(c.inputs) > 1:
        c.need_rank(1, 0)
    return ()


def _check_size(image: Array, form: str) -> None:
    height, width, channels = image.shape
    if channels not in (1, 3):
        raise InvalidArgumentError(
            f"image must have 1 or 3 channels, got [{height},{width},{channels}]"
        )
    if form and channels != _CHANNELS[form]:
        raise InvalidArgumentError(
            f"format '{form}' expects {_CHANNELS[form]} channels, got {channels}"
        )
    if not 0 < height <= _LARGEST_JPEG or not 0 < width <= _LARGEST_JPEG:
        raise InvalidArgumentError(f"JPEG encoding failed: an image of {height}x{width}")


def _encode_jpeg(
    inputs: Sequence[Any], _: Sequence[DType], *, format: str, quality: int, density_unit: str,
    x_density: int, y_density: int, **settings: Any,
) -> list[Array]:  # fmt: skip
    image = np.asarray(inputs[0])
    _check_size(image, format)
    unit = _CM if density_unit == "cm" else 1
    density = (x_density * unit, y_density * unit)
    return [strings_of([encode_jpeg(image, quality, density=density, **settings)], ())]


def _encode_variable(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    image, quality = np.asarray(inputs[0]), int(inputs[1])
    _check_size(image, "")
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"quality must be in [0,100], got {quality}")
    return [strings_of([encode_jpeg(image, quality)], ())]


host_op(
    "encode_png",
    "EncodePng(image: T; compression: int = -1, T: {u8, u16} = u8) -> contents: string",
    _encode_png,
    infer=_infer_png,
)
host_op(
    "encode_jpeg",
    'EncodeJpeg(image: u8; format: {"", "grayscale", "rgb"} = "", quality: int = 95,'
    " progressive: bool = False, optimize_size: bool = False, chroma_downsampling: bool = True,"
    ' density_unit: {"in", "cm"} = "in", x_density: int = 300, y_density: int = 300,'
    ' xmp_metadata: string = "") -> contents: string',
    _encode_jpeg,
    infer=_infer_jpeg,
    settings=(
        "format", "quality", "progressive", "optimize_size", "chroma_downsampling",
        "density_unit", "x_density", "y_density", "xmp_metadata",
    ),
)  # fmt: skip
host_op(
    "encode_jpeg_variable_quality",
    "EncodeJpegVariableQuality(images: u8, quality: i32) -> contents: string",
    _encode_variable,
    infer=_infer_jpeg,
)
