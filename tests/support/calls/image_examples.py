"""A call of each op that reads or writes image files and sounds, as a Session runs it.

In: nothing. Out: `IMAGE_EXAMPLES`, an `ExampleTable`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from calls.example_table import ExampleTable

import flowc as tf

r: Any = tf.raw_ops
IMAGE_EXAMPLES = ExampleTable()
example = IMAGE_EXAMPLES.shows
PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
GRAY = np.full((8, 8, 1), 128, np.uint8)
# Two red pixels over two blue ones: 24 bits, rows from below.
BMP = (
    b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0" + bytes(24)
    + b"\xff\0\0\xff\0\0\0\0\0\0\xff\0\0\xff\0\0"
)  # fmt: skip
RED, BLUE = [255, 0, 0], [0, 0, 255]
# One frame of 2x1 pixels: black, white.
GIF = (
    b"GIF89a\x02\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x02\0\x01\0\0\x02\x02D\x0a\0;"
)  # fmt: skip


@example("EncodePng", "DecodePng", "DecodeImage")
def _png() -> list[tuple[Any, Any]]:
    file = r.EncodePng(image=PIXELS)
    return [(r.DecodePng(contents=file), PIXELS), (r.DecodeImage(contents=file), PIXELS)]


@example("EncodeJpeg", "EncodeJpegVariableQuality", "DecodeJpeg")
@example("DecodeAndCropJpeg", "ExtractJpegShape")
def _jpeg() -> list[tuple[Any, Any]]:
    file = r.EncodeJpeg(image=GRAY)
    other = r.EncodeJpegVariableQuality(images=GRAY, quality=np.int32(90))
    part = r.DecodeAndCropJpeg(contents=other, crop_window=[1, 2, 3, 4])
    shape = r.ExtractJpegShape(contents=file)
    return [(r.DecodeJpeg(contents=file), GRAY), (part, GRAY[1:4, 2:6]), (shape, [8, 8, 1])]


@example("DecodeBmp", "DecodeGif")
def _others() -> list[tuple[Any, Any]]:
    frames = [[[[0, 0, 0], [255, 255, 255]]]]
    return [
        (r.DecodeBmp(contents=BMP), [[RED, RED], [BLUE, BLUE]]),
        (r.DecodeGif(contents=GIF), frames),
    ]


@example("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2")
def _boxes() -> list[tuple[Any, Any]]:
    """The parts were read from TensorFlow."""
    size, box = tf.constant([40, 60, 3]), [[[0.1, 0.2, 0.5, 0.7]]]
    more = {"image_size": size, "bounding_boxes": box, "seed": 1, "seed2": 7}
    part = r.SampleDistortedBoundingBoxV2(min_object_covered=0.5, **more)
    with tf.control_dependencies([part.begin]):
        same = r.SampleDistortedBoundingBox(min_object_covered=0.5, **more)
    return [(part.begin, [2, 24, 0]), (part.size, [22, 27, -1]), (same.size, [22, 27, -1])]


@example("EncodeWav", "DecodeWav")
def _wav() -> list[tuple[Any, Any]]:
    file = r.EncodeWav(audio=[[0.0, 1.0], [0.5, -2.0]], sample_rate=8000)
    found = r.DecodeWav(contents=file, desired_samples=3, desired_channels=1)
    return [(found.audio, [[0], [0.5], [0]]), (found.sample_rate, 8000)]
