"""Files of other programs are named, with the way to what flowc reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowc as tf

FILES = {
    "a.onnx": (b"\x08\x08\x12\x07pytorch", "this is an ONNX model", "TensorFlow model that"),
    "a.onnx2": (b"\x08\x03\x3a\x05graph", "this is an ONNX model", "TensorFlow model that"),
    "a.tflite": (b"\x1c\0\0\0TFL3", "a TensorFlow Lite model", "converted from"),
    "a.h5": (b"\x89HDF\r\n\x1a\n", "an HDF5 file", r"model.export\('FOLDER'\)"),
    "a.pkl": (b"\x80\x04\x95\x10", "a pickle of Python", "hold no graphs"),
    "model.json": (
        b'{"format": "graph-model", "modelTopology": {}, "weightsManifest": []}',
        "a model of TensorFlow.js",
        "converted from",
    ),
    "layers.json": (
        b'{"class_name": "Sequential", "keras_version": "2.2.4", "config": []}',
        "the architecture of a Keras model",
        r"model.export\('FOLDER'\)",
    ),
    "fingerprint.pb": (
        b"\x08\xa0\x8f\xfe\x95\xb0\xfe\xfb\x8a\xd0\x01",
        "the fingerprint of a SavedModel",
        "the folder",
    ),
    "keras_metadata.pb": (b"\n\x05\x08\x01*\x01{", "what Keras says of a SavedModel", "folder"),
    "a.keras": (b"PK\x03\x04", "a .keras file", r"model.export\('FOLDER'\)"),
}


@pytest.mark.parametrize("name", FILES)
def test_they_are_named_with_the_way_out(name: str, tmp_path: Path) -> None:
    data, what, way_out = FILES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(tf.errors.InvalidModelError, match=f"(?s){what}.*{way_out}"):
        tf.load_graph(tmp_path / name)


def test_files_of_a_checkpoint_name_its_meta_file(tmp_path: Path) -> None:
    (tmp_path / "m-6.meta").write_bytes(b"")
    for name, data, said, hint in (
        ("m-6", None, "m-6: no such file", "name the file: .*m-6.meta"),
        ("m-6.data-00000-of-00001", b"\x3f\x80", "a data file of a checkpoint", "m-6.meta"),
        ("checkpoint", b'model_checkpoint_path: "m-6"', "the state file of checkp", ".meta file"),
    ):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(tf.errors.FlowcError, match=f"(?s){said}.*{hint}"):
            tf.load_graph(tmp_path / name)


def test_names_that_are_near_are_those_of_tensors() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.placeholder(tf.int32, [], name="ids")
        with pytest.raises(ValueError, match="did you mean 'ids:0'"):
            session.run("idz:0")
        with pytest.raises(TypeError, match="did you mean 'ids:0'"):
            session.run("ids:0", {"idz": 1})
