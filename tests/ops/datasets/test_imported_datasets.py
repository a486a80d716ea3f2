"""Graphs with datasets as TensorFlow writes them: imported, and run."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest
from snippets.dataset_snippets import IMPORTED, imported

import flowc as tf
from flowc.errors import PermissionDeniedError

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "dataset_graphs.json").read_text())


@pytest.mark.parametrize("name", IMPORTED)
def test_graph(name: str) -> None:
    text, expected = RECORDED[name]
    definition = tf.GraphDef.FromString(zlib.decompress(base64.b64decode(text)))
    for node in definition.node:  # what TensorFlow asks permission for is asked below
        assert "Py" not in node.op
    if name == "cache":
        with pytest.raises(PermissionDeniedError, match="CacheDataset"):
            imported(tf, definition)
        return
    assert json.loads(json.dumps(imported(tf, definition))) == expected
