"""A folder with a model, opened in TensorFlow.

In: `graph.pb`, `saved_model` or `model.meta`, and `ref_case0.npz` (`names`: JSON of feeds and
fetches, `in_0`, ...). Out: a Session, what to feed, what to fetch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


def open_model(folder: Path, config: Any = None) -> tuple[Any, dict[str, Any], list[str]]:
    data = np.load(folder / "ref_case0.npz", allow_pickle=True)  # strings are objects
    names = json.loads(str(data["names"]))
    session = v1.Session(graph=v1.Graph(), config=config)
    with session.graph.as_default():
        if (folder / "graph.pb").exists():
            definition = v1.GraphDef.FromString((folder / "graph.pb").read_bytes())
            tf.import_graph_def(definition, name="")
        elif (folder / "saved_model").exists():
            v1.saved_model.load(session, ["serve"], str(folder / "saved_model"))
        else:
            v1.train.import_meta_graph(str(folder / "model.meta")).restore(
                session, str(folder / "model")
            )
    feeds = {name: data[f"in_{i}"] for i, name in enumerate(names["feeds"])}
    return session, feeds, names["fetches"]
