"""Image files against what TensorFlow reads of them, and files that flowc writes.

TensorFlow's answers are recorded by `tests/oracle/record_image_files.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from image_file_cases import ACCURATE, CASES, Case, case_name

import flowc as tf
from flowc.errors import UnimplementedError
from flowc.ops.image.png_files import decode_png, encode_png

RECORDED = Path(__file__).parents[2] / "recorded" / "image_files.npz"
JPEG_FILES = ("j420", "j444", "jgray", "jcmyk")
HAS_ONLY_ACCURATE = find_spec("simplejpeg") is None
FAST = 4  # how far TensorFlow's fast method is from the accurate one in these files
# The first words of an error are TensorFlow's.
WORDS = 24


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as arrays:
        return {name: arrays[name] for name in arrays.files}


def by_program() -> Iterator[tuple[str, dict[str, Any], list[Case]]]:
    """Calls with the same op and attrs are one program, whose file is fed."""
    groups: dict[str, list[Case]] = {}
    for case in CASES:
        groups.setdefault(case_name(("", *case[1:])), []).append(case)
    for cases in groups.values():
        yield cases[0][1], cases[0][2], cases


@pytest.mark.parametrize(
    ("op", "attrs", "cases"), [pytest.param(*p, id=case_name(("", *p[:2]))) for p in by_program()]
)
def test_read_as_tensorflow_reads_it(op: str, attrs: dict[str, Any], cases: list[Case]) -> None:
    wrong: list[str] = []
    with tf.Graph().as_default():
        contents = tf.placeholder(tf.string, [])
        image = getattr(tf.raw_ops, op)(contents=contents, **attrs)
        for case in cases:
            wanted = recorded()[case_name(case)]
            with tf.Session() as session:  # of its own: ranks differ between files
                try:
                    file = recorded()[f"file {case[0]}"].tobytes()
                    found = session.run(image, {contents: file})
                except tf.errors.InvalidArgumentError as error:
                    found = np.array(f"InvalidArgumentError: {error.message}")
            fault = difference(case, found, wanted)
            wrong += [f"{case_name(case)}: {fault}"] if fault else []
    assert not wrong


def difference(case: Case, found: np.ndarray, wanted: np.ndarray) -> str | None:
    if wanted.dtype.kind == "U" or found.dtype.kind == "U":
        ours, theirs = str(found), str(wanted)
        text = ours.partition(": ")[2]
        same = theirs.startswith("InvalidArgumentError: ") and text[:WORDS] in theirs
        return None if same else f"{ours}, expected {theirs}"
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    is_fast = case[0] in JPEG_FILES and not ACCURATE.items() <= case[2].items()
    is_fast = is_fast and HAS_ONLY_ACCURATE
    bound = FAST * (1 if wanted.dtype == np.uint8 else 1 / 255) if is_fast else 0
    far = np.abs(found.astype(float) - wanted).max()
    return f"{far} apart" if far > bound and case[1] != "ExtractJpegShape" else None


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_files_hold_what_was_written(kind: Any, channels: int) -> None:
    pixels = np.random.RandomState(channels).randint(0, np.iinfo(kind).max, (5, 7, channels))
    for compression in (-1, 0, 9):
        file = encode_png(pixels.astype(kind), compression)
        np.testing.assert_array_equal(decode_png(file, 0, kind is np.uint16), pixels)


def test_written_files_are_read_again() -> None:
    rows, columns = np.mgrid[0:16, 0:24]
    image = np.stack([rows * 9, columns * 8, rows + columns], -1).astype(np.uint8)
    with tf.Graph().as_default():
        batch = tf.image.encode_png(np.stack([image, image[::-1]]))
        jpeg = tf.image.encode_jpeg(image, quality=100, chroma_downsampling=False)
        worse = tf.image.adjust_jpeg_quality(image, 5)
        fetches = [batch, tf.image.decode_jpeg(jpeg, **ACCURATE), tf.image.is_jpeg(jpeg), worse]
        with tf.Session() as session:
            files, close, is_jpeg, far = session.run(fetches)
    assert is_jpeg and [decode_png(f, 0, False)[0, 0, 0] for f in files] == [0, 135]
    assert np.abs(close.astype(int) - image).max() <= 3 < np.abs(far.astype(int) - image).max()


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.image.decode_jpeg(recorded()["file j420"].tobytes())
        with pytest.raises(UnimplementedError, match="images") as raised:
            session.run(image)
        assert "flowc[images]" in str(raised.value)


def test_an_animation_where_images_came_before() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        contents = tf.placeholder(tf.string, [])
        image = tf.image.decode_image(contents, expand_animations=False)
        assert image.shape.as_list() == [None, None, None]
        shapes = [
            session.run(image, {contents: recorded()[f"file {f}"].tobytes()}).shape
            for f in ("rgba", "gif3", "bmp8")
        ]
    assert shapes == [(9, 13, 4), (9, 13, 3), (9, 13, 1)]
