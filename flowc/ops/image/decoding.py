"""Image files as pixels: DecodePng and its like, ExtractJpegShape.

In: a file as a scalar string. Out: host steps: [height, width, channels], of GIFs [frames, height,
width, 3]. Invariant: an op reads the formats that TensorFlow's op reads (DecodePng and DecodeJpeg
each other's, and single GIF frames), and refuses the others in its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, define
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.image import bmp_files, gif_files, jpeg_files, png_files
from flowc.ops.state.variables import value_of

Array = np.ndarray[Any, Any]
f32 = np.float32
_KINDS = {
    "JPEG": jpeg_files.MAGIC,
    "PNG": png_files.MAGIC,
    "GIF": gif_files.MAGIC,
    "BMP": bmp_files.MAGIC,
}
_METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
_JPEG_ATTRS = (
    "channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,"
    " try_recover_truncated: bool = False, acceptable_fraction: float = 1.0,"
    ' dct_method: string = ""'
)
_JPEG_SETTINGS = ("channels", "ratio", "fancy_upscaling", "try_recover_truncated", "dct_method")


# -- shapes


def _check(c: Inference) -> None:
    c.need_rank(0, 0)
    channels = c.attrs.get("channels", 0)
    if channels not in (0, 1, 3, 4):
        raise c.fail(f"`channels` must be 0, 1, 3 or 4 but got {channels}")
    if c.attrs.get("ratio", 1) not in (1, 2, 4, 8):
        raise c.fail(f"ratio must be 1, 2, 4, or 8, got {c.attrs['ratio']}")
    if c.attrs.get("dct_method", "") not in _METHODS:
        raise c.fail("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")


def _infer_pixels(c: Inference) -> Dims:
    _check(c)
    channels = c.attrs["channels"] or c.fresh("channels")
    return (c.fresh("height"), c.fresh("width"), channels)


def _infer_cropped(c: Inference) -> Dims:
    _check(c)
    c.need_rank(1, 1)
    c.equal(c.dims(1)[0], 4)
    window = c.content(1)
    known = [] if window is None else [n for n in window[2:] if isinstance(n, int | np.integer)]
    if len(known) == 2 and min(known) > 0:
        sizes: Dims = (int(known[0]), int(known[1]))
    else:
        sizes = (c.fresh("height"), c.fresh("width"))
    return (*sizes, c.attrs["channels"] or c.fresh("channels"))


def _infer_frames(c: Inference) -> Dims:
    _check(c)
    return (c.fresh("frames"), c.fresh("height"), c.fresh("width"), 3)


def _infer_any(c: Inference) -> Dims:
    if c.attrs["expand_animations"]:
        _check(c)
        raise NeedsContent("whether an image is an animation is found by the run")
    return _infer_pixels(c)


# -- steps


def _kind(data: bytes) -> str:
    if not data:
        raise InvalidArgumentError("Input is empty.")
    for kind, magic in _KINDS.items():
        if data.startswith(magic):
            return kind
    raise InvalidArgumentError("Unknown image file format. One of JPEG, PNG, GIF, BMP required.")


def _contents(inputs: Sequence[Any]) -> bytes:
    return np.asarray(inputs[0], object).item()


def _image(data: bytes, op: str, channels: int, deep: bool, **jpeg: Any) -> Array:
    """Pixels as `op` gives them, u8 or u16; a GIF's frames stay apart. u16 of formats that have
    only u8 are their pixels times 256, of PNG times 257."""
    kind = _kind(data)
    if kind == "PNG":
        return png_files.decode_png(data, channels, deep)
    if kind == "JPEG":
        found = jpeg_files.decode_jpeg(data, channels, **jpeg)
    elif kind == "GIF":
        if channels not in (0, 3):
            raise InvalidArgumentError(f"channels must be 0 or 3 for GIF, got {channels}")
        found = gif_files.decode_gif(data)
    else:
        if op not in ("DecodeBmp", "DecodeImage") and channels != 1:
            raise InvalidArgumentError(
                "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
                f"instead. Op used: {op}"
            )
        found = bmp_files.decode_bmp(data, channels)
    return found.astype(np.uint16) << 8 if deep else found


def _one_frame(image: Array) -> Array:
    """Raises `InvalidArgumentError` for animations."""
    if image.ndim == 4 and len(image) > 1:
        raise InvalidArgumentError(
            f"Got {len(image)} frames, but animated gifs can only be decoded by tf.io.decode_gif "
            "or tf.io.decode_image"
        )
    return image[0] if image.ndim == 4 else image


def _decode_png(inputs: Sequence[Any], types: Sequence[DType], *, channels: int) -> list[Array]:
    deep = types[0] is dtypes.u16
    return [_one_frame(_image(_contents(inputs), "DecodePng", channels, deep))]


def _decode_jpeg(inputs: Sequence[Any], _: Sequence[DType], **jpeg: Any) -> list[Array]:
    channels = jpeg.pop("channels")
    return [_one_frame(_image(_contents(inputs), "DecodeJpeg", channels, False, **jpeg))]


def _decode_cropped(inputs: Sequence[Any], _: Sequence[DType], **jpeg: Any) -> list[Array]:
    data, crop = _contents(inputs), np.asarray(inputs[1]).tolist()
    if _kind(data) != "JPEG":
        raise InvalidArgumentError(jpeg_files.FAULT)
    return [jpeg_files.decode_jpeg(data, **jpeg, crop=crop)]


def _decode_gif(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    found = _image(_contents(inputs), "DecodeGif", 3, False)
    return [found if found.ndim == 4 else found[None]]


def _decode_bmp(inputs: Sequence[Any], _: Sequence[DType], *, channels: int) -> list[Array]:
    data = _contents(inputs)
    kind = _kind(data)
    if kind != "BMP":
        raise InvalidArgumentError(
            f"Trying to decode {kind} format using DecodeBmp op. Use `decode_{kind.lower()}` or "
            "`decode_image` instead."
        )
    return [bmp_files.decode_bmp(data, channels)]


def _decode_image(
    inputs: Sequence[Any], types: Sequence[DType], *, channels: int, expand_animations: bool
) -> list[Array]:
    data = _contents(inputs)
    in_floats = types[0] is dtypes.f32
    is_png = _kind(data) == "PNG"
    deep = types[0] is dtypes.u16 or (in_floats and is_png)
    found = _image(data, "DecodeImage", channels, deep)
    if in_floats:
        found = found.astype(f32) * f32(1 / 65535 if is_png else 1 / 255)
    return [found[0] if found.ndim == 4 and not expand_animations else found]


def _shape(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    return [np.array(jpeg_files.jpeg_shape(_contents(inputs)), types[0].numpy)]


# -- records

host_op(
    "decode_png",
    "DecodePng(contents: string; channels: int = 0, dtype: {u8, u16} = u8) -> image: dtype",
    _decode_png,
    infer=_infer_pixels,
)
host_op(
    "decode_jpeg",
    f"DecodeJpeg(contents: string; {_JPEG_ATTRS}) -> image: u8",
    _decode_jpeg,
    infer=_infer_pixels,
    settings=_JPEG_SETTINGS,
)
host_op(
    "decode_and_crop_jpeg",
    f"DecodeAndCropJpeg(contents: string, crop_window: i32; {_JPEG_ATTRS}) -> image: u8",
    _decode_cropped,
    infer=_infer_cropped,
    settings=_JPEG_SETTINGS,
)
host_op(
    "decode_gif",
    "DecodeGif(contents: string) -> image: u8",
    _decode_gif,
    infer=_infer_frames,
)
host_op(
    "decode_bmp",
    "DecodeBmp(contents: string; channels: int = 0) -> image: u8",
    _decode_bmp,
    infer=_infer_pixels,
)
host_op(
    "extract_jpeg_shape",
    "ExtractJpegShape(contents: string; output_type: {i32, i64} = i32) -> image_shape: output_type",
    _shape,
    infer=lambda c: (_check(c), (3,))[1],
)

_any_image = Host(_decode_image, "DecodeImage", ("channels", "expand_animations"), only_reads=True)
_IMAGE_ATTRS = "channels: int = 0, dtype: {u8, u16, f32} = u8, expand_animations: bool = True"
_decoded_image = define(
    "decoded_image",
    f"_DecodedImage(contents: string; {_IMAGE_ATTRS}, shape: shape) -> image: dtype",
    infer=lambda c: c.stated(c.attrs["shape"]),
    lowering=_any_image,
)


def _emit_decoded(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    shape = x.output_shapes(0)[0]
    if shape is None and attrs["expand_animations"]:
        raise UnsupportedError(
            f"node '{x.name}' decodes an image, and nothing in the graph says whether it is an "
            "animation",
            hint="decode it with expand_animations=False, or call set_shape on the tensor",
        )
    known = (None, None, attrs["channels"] or None) if shape is None else tuple(shape)
    given = {name: attrs[name] for name in ("channels", "dtype", "expand_animations")}
    return x.b.emit(_decoded_image, [value_of(x, inputs[0])], given | {"shape": known}).outputs


define(
    "decode_image",
    f"DecodeImage(contents: string; {_IMAGE_ATTRS}) -> image: dtype",
    infer=_infer_any,
    lowering=Extracted(_emit_decoded, _any_image),
)
