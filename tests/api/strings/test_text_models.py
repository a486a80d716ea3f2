"""Models of texts, records and image files, as TensorFlow wrote them, in a Session.

`tests/oracle/record_text_models.py` built them and recorded TensorFlow's answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf

RECORDED = Path(__file__).parents[2] / "recorded" / "text_models.npz"
MODELS = ("wide_and_deep", "language_detection", "captcha", "classifier")


def _part(model: str, part: str) -> dict[str, Any]:
    prefix = f"{model}/{part}/"
    with np.load(RECORDED) as arrays:
        return {n.removeprefix(prefix): arrays[n] for n in arrays.files if n.startswith(prefix)}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_texts_gives_tensorflows_answers(model: str, tmp_path: Path) -> None:
    for name, content in _part(model, "file").items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.tobytes())
    feeds = {
        n: v.astype(object) if v.dtype.kind == "S" else v for n, v in _part(model, "feed").items()
    }
    answers = _part(model, "answer")
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        if (tmp_path / "graph.pb").exists():
            tf.import_graph_def(
                tf.GraphDef.FromString((tmp_path / "graph.pb").read_bytes()), name=""
            )
        else:
            graph.allow("files")  # the second kind restores its variables within a function
            tf.saved_model.load(session, ["serve"], str(tmp_path))
        found = session.run(list(answers), feeds)
    for name, value in zip(answers, found):
        wanted = answers[name]
        if wanted.dtype.kind == "S":
            assert np.asarray(value).astype("S").tolist() == wanted.tolist(), name
        else:
            assert value.dtype == wanted.dtype
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6, err_msg=name)
