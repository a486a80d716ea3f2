"""Summaries of images and sounds: PNG and WAV files in serialized protos.

In: tags, images [batch, height, width, 1, 3 or 4], sounds [batch, frames] or [batch, frames,
channels]. Out: strings, made by host steps. Invariant: pixels and samples are TensorFlow's; PNG
files may be of other bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc.encoding.fields import bytes_field, float_field, given, varint_field
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.audio.wav_files import check_wav, encode_wav
from flowc.ops.image.png_files import encode_png
from flowc.ops.strings.string_values import host_step
from flowc.ops.strings.summaries import one_tag, value_of

Array = np.ndarray[Any, Any]

_IMAGE, _AUDIO = 4, 6  # fields of a value
_CHANNELS = (1, 3, 4)
BAD_COLOR = np.array([255, 0, 0, 255], np.uint8)
SMALL = 1e-6  # an image whose largest number is below this is black


def _tags(tag: Array, kind: str, most: int) -> Callable[[int], bytes]:
    name = bytes(tag.reshape(-1)[0])
    if most == 1:
        return lambda k: name + f"/{kind}".encode()
    return lambda k: name + f"/{kind}/{k}".encode()


# -- images


def _pixels(image: Array) -> Array:
    """Numbers scaled to u8: from 0 to the largest, or round 128 where some are negative. A pixel
    with a number that is not finite is red."""
    if image.dtype == np.uint8:
        return image
    good = np.isfinite(image).all(axis=-1)
    known = image[good]
    least, most = (known.min(), known.max()) if known.size else (0, 0)
    kind = image.dtype.type
    if least < 0:
        largest, span, offset = max(abs(least), abs(most)), 127, 128
    else:
        largest, span, offset = most, 255, 0
    scale = kind(0) if largest < SMALL else kind(span) / kind(largest)
    found = np.empty(image.shape, np.uint8)
    found[good] = (known * scale + kind(offset)).astype(np.uint8)
    found[~good] = BAD_COLOR[: image.shape[-1]]
    return found


def _image(tag: Array, tensor: Array, *, max_images: int) -> Array:
    tags = _tags(tag, "image", max_images)
    height, width, channels = tensor.shape[1:]
    found = b""
    for k, image in enumerate(tensor[:max_images]):
        numbers = (height, width, channels)
        fields = b"".join(given(varint_field(1 + i, n), n) for i, n in enumerate(numbers))
        fields += bytes_field(4, encode_png(_pixels(image)))
        found += value_of(tags(k), bytes_field(_IMAGE, fields))
    return np.array(found, object)


def _infer_image(c: Inference) -> Dims:
    one_tag(c)
    if c.rank(1) != 4 or (isinstance(c.dims(1)[3], int) and c.dims(1)[3] not in _CHANNELS):
        raise c.fail("Tensor must be 4-D with last dim 1, 3, or 4, not " + shown_dims(c.dims(1)))
    color = c.attrs.get("bad_color")
    if color is not None and not np.array_equal(np.asarray(color).reshape(-1), BAD_COLOR):
        raise c.fail(f"bad_color must be {BAD_COLOR.tolist()}, found {np.asarray(color).tolist()}")
    return ()


image_summary = define(
    "image_summary",
    "ImageSummary(tag: string, tensor: T; max_images: int >= 1 = 3, T: {u8, f32, f16, f64} = f32,"
    " bad_color: tensor = [255, 0, 0, 255]) -> summary: string",
    infer=_infer_image,
    reference=_image,
    lowering=host_step(_image, "ImageSummary", "max_images"),
)


# -- sounds


def _audio_of(tag: Array, tensor: Array, rate: float, most: int) -> Array:
    tags = _tags(tag, "audio", most)
    if not rate > 0:
        raise InvalidArgumentError(f"sample_rate must be > 0, found {rate}")
    sounds = tensor[:, :, None] if tensor.ndim == 2 else tensor
    frames, channels = sounds.shape[1:]
    check_wav(rate, channels)
    found = b""
    for k, samples in enumerate(sounds[:most]):
        fields = float_field(1, rate) + given(varint_field(2, channels), channels)
        fields += given(varint_field(3, frames), frames)
        fields += bytes_field(4, encode_wav(samples, int(rate))) + bytes_field(5, b"audio/wav")
        found += value_of(tags(k), bytes_field(_AUDIO, fields))
    return np.array(found, object)


def _audio(tag: Array, tensor: Array, sample_rate: Array, *, max_outputs: int) -> Array:
    if sample_rate.size != 1:
        raise InvalidArgumentError(f"sample_rate must be one number, found {sample_rate.size}")
    return _audio_of(tag, tensor, float(sample_rate.reshape(-1)[0]), max_outputs)


def _audio_v1(tag: Array, tensor: Array, *, sample_rate: float, max_outputs: int) -> Array:
    return _audio_of(tag, tensor, sample_rate, max_outputs)


def _infer_audio(c: Inference) -> Dims:
    one_tag(c)
    if c.rank(1) not in (2, 3):
        raise c.fail("Tensor must be 3-D or 2-D, got: " + shown_dims(c.dims(1)))
    return ()


define(
    "audio_summary_v2",
    "AudioSummaryV2(tag: string, tensor: f32, sample_rate: f32; max_outputs: int >= 1 = 3)"
    " -> summary: string",
    infer=_infer_audio,
    reference=_audio,
    lowering=host_step(_audio, "AudioSummaryV2", "max_outputs"),
)
define(
    "audio_summary",
    "AudioSummary(tag: string, tensor: f32; sample_rate: float, max_outputs: int >= 1 = 3)"
    " -> summary: string",
    infer=_infer_audio,
    reference=_audio_v1,
    lowering=host_step(_audio_v1, "AudioSummary", "sample_rate", "max_outputs"),
)
