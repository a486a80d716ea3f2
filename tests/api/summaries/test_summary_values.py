"""Summaries are what TensorFlow makes of them (`tests/oracle/record_snippets.py`)."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from row_program import seen_by
from snippets.api_snippets import Snippet
from snippets.summary_snippets import SUMMARY_SNIPPETS

import flowc as tf

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "summaries.json").read_text())


@pytest.mark.parametrize("snippet", SUMMARY_SNIPPETS, ids=lambda s: s.name)
def test_as_in_tensorflow(snippet: Snippet, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen_by(tf, snippet, f"{tmp_path}/")))
    assert found == RECORDED[snippet.name]


def pixels_of(image: np.ndarray) -> np.ndarray:
    """The pixels of the PNG file that a run makes of one image."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.summary.image("i", tf.constant(image[None]), max_outputs=1))
    (value,) = tf.Summary.FromString(found).value
    return np.asarray(Image.open(io.BytesIO(value.image.encoded_image_string)))


def test_pixels() -> None:
    """The numbers were read from TensorFlow's files."""
    bytes_ = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    assert (pixels_of(bytes_) == bytes_).all()
    grown = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    assert (pixels_of(grown) == (grown * np.float32(15)).astype(np.uint8)).all()
    signed = np.array([[[-1.0], [2.0]]], np.float32)
    assert pixels_of(signed).tolist() == [[64, 255]]
    wrong = np.array([[[np.nan], [2.0]]], np.float32)
    assert pixels_of(wrong).tolist() == [[255, 255]]


def test_images_need_no_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with tf.Graph().as_default(), tf.Session() as session:
        summary = tf.summary.image("i", tf.ones([1, 2, 2, 1]))
        assert b"\x89PNG" in session.run(summary)


def test_the_older_sound() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        old = tf.raw_ops.AudioSummary(tag="s", tensor=tf.zeros([1, 2]), sample_rate=8000.0)
        new = tf.summary.audio("s", tf.zeros([1, 2]), 8000.0)
        assert session.run(old) == session.run(new)
