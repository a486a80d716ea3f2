"""SavedModels of which something is missing, and what is no session to save: as in TensorFlow."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import flowc as tf


def load(folder: Path) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return tf.saved_model.loader.load(session, ["serve"], str(folder))


def test_values_or_the_graph_are_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        y = x * tf.Variable(2.0)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})
        with pytest.raises(TypeError, match="'sess' must be a Session; 3"):
            tf.saved_model.simple_save(3, str(tmp_path / "n"), {"x": x}, {"y": y})
    load(folder)
    shutil.rmtree(folder / "variables")
    with pytest.raises(ValueError, match=r"save_path is not a valid checkpoint: .*variables"):
        load(folder)
    (folder / "saved_model.pb").write_bytes(b"junk")
    with pytest.raises(OSError, match="not that of a graph") as told:
        load(folder)
    assert isinstance(told.value, tf.errors.InvalidModelError)


def test_a_model_without_variables_needs_no_values(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": x * 2.0})
    shutil.rmtree(tmp_path / "m" / "variables", ignore_errors=True)
    load(tmp_path / "m")
