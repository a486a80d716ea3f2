"""`tf.image` and `tf.io`: image files as pixels, and pixels as image files.

In: files as scalar strings, or pixels [height, width, channels]. Out: the other. Pillow reads and
writes JPEG and reads PNG and GIF: without it a run raises `UnimplementedError`.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.image.colors import convert_image_dtype
from flowc.api.math.elementwise import equal
from flowc.api.random.random_ops import random_uniform
from flowc.api.strings.text import substr
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output

_DECODED = (dtypes.u8, dtypes.u16, dtypes.f32)  # what DecodeImage gives


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.u8, name: str | None = None
) -> Tensor:
    """uint8 or uint16[height, width, channels] of a PNG file, or of a JPEG file or a GIF of one
    frame. `channels`: 0 for those of the file, 1 for gray, 3 for colours, 4 with alpha.

    Raises `ValueError` for other channels and ranks; a run raises `InvalidArgumentError` for what
    is no such file, and for a damaged one."""
    return output("DecodePng", **locals())


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """uint8[height, width, channels] of a JPEG file, or of a PNG file or a GIF of one frame.

    `ratio`: 1, 2, 4 or 8, by which the image is made smaller. `fancy_upscaling`: smooth colours
    between those that the file holds. `try_recover_truncated`: what is there of a file that was
    cut. `dct_method`: "", "INTEGER_FAST" or "INTEGER_ACCURATE"; flowc is always accurate, where
    TensorFlow's default differs by a few units. Raises as `decode_png` does."""
    return output("DecodeJpeg", **locals())


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG file's image: `crop_window` int32[4] is its top, left, height and width. The
    other arguments are those of `decode_jpeg`. A run raises `InvalidArgumentError` for a window
    that is not inside the image, too."""
    return output("DecodeAndCropJpeg", **locals())


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """uint8[frames, height, width, 3] of a GIF file; other images are one frame. A run raises
    `InvalidArgumentError` for a damaged file."""
    return output("DecodeGif", **locals())


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """uint8[height, width, channels] of a BMP file of 8, 24 or 32 bits a pixel. `channels`: 0 for
    those of the file, 3 or 4. A run raises `InvalidArgumentError` for a damaged file."""
    return output("DecodeBmp", **locals())


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = dtypes.u8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a PNG, JPEG, GIF or BMP file in a dtype, scaled as by `convert_image_dtype`:
    [height, width, channels], of a GIF [frames, height, width, 3] unless `expand_animations` is
    off. The rank is known where it is off; else the first run finds it.

    Raises `ValueError` for other channels
    than 0, 1, 3 and 4; a run raises `InvalidArgumentError` for a damaged file."""
    with name_scope(name, "decode_image"):
        wanted = dtypes.as_dtype(dtype)
        found = output(
            "DecodeImage",
            contents,
            channels=channels or 0,
            dtype=wanted if wanted in _DECODED else dtypes.u16,
            expand_animations=expand_animations,
        )
        return found if wanted in _DECODED else convert_image_dtype(found, wanted)


def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.i32, name: str | None = None
) -> Tensor:
    """Height, width and channels, int32[3] or int64[3], from the head of a JPEG file. A run raises
    `InvalidArgumentError` for what is none."""
    return output("ExtractJpegShape", **locals())


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether a string begins as JPEG files do: a bool scalar. Raises `TypeError` for what is no
    string."""
    with name_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name="Equal")


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """PNG files of uint8 or uint16[..., height, width, 1 to 4 channels]. `compression`: 0 to 9, -1
    for the usual one. Raises `ValueError` for another one and for fewer than three dimensions."""
    return output("EncodePng", image, compression=compression, name=name)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """A JPEG file of uint8[height, width, 1 or 3]. `format`: "grayscale" or "rgb" where it must be
    that; `quality`: 0 to 100; `density_unit`: "in" or "cm". Raises `ValueError` for other ones; a
    run raises `InvalidArgumentError` for other numbers of channels."""
    return output("EncodeJpeg", **locals())


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Tensor:
    """The image [height, width, 1 or 3] as JPEG of a quality, 0 to 100, keeps it, in its dtype.
    Raises `ValueError` for another rank; a run raises `InvalidArgumentError` for another quality.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        tensor = as_tensor(image, name="image")
        channels = tensor.shape.as_list()[-1] or 0
        pixels = convert_image_dtype(tensor, dtypes.u8, saturate=True)
        quality = as_tensor(jpeg_quality, dtypes.i32, name="Const")
        file = call("EncodeJpegVariableQuality", pixels, quality)
        found = decode_jpeg(file, channels, dct_method=dct_method)
        return convert_image_dtype(found, tensor.dtype, saturate=True)


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """The image as JPEG of a quality of [min_jpeg_quality, max_jpeg_quality) keeps it. Raises
    `ValueError` for qualities beyond 0 and 100, and for an empty range."""
    if not 0 <= min_jpeg_quality <= 100 or not 0 <= max_jpeg_quality <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    drawn = random_uniform([], min_jpeg_quality, max_jpeg_quality, dtypes.i32, seed)
    return adjust_jpeg_quality(image, drawn)
