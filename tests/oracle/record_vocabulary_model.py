#!/usr/bin/env python3
"""Records a SavedModel of TensorFlow 2 with tables, one of them filled from a file, and a variable.

    V/bin/python tests/oracle/record_vocabulary_model.py

V has tensorflow-cpu==2.21.0. Out: tests/recorded/vocabulary_model, with TensorFlow's answer for the
words of `asked.json` in it.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

OUT = Path(__file__).resolve().parents[1] / "recorded" / "vocabulary_model"
WORDS = ["good", "movie", "ante", "bad"]
ASKED = ["good bad", "movie", "unknown words of this movie", ""]


class Scores(tf.Module):
    def __init__(self, file: str) -> None:
        super().__init__()
        text = tf.lookup.TextFileInitializer
        index = tf.lookup.TextFileIndex
        lines = text(file, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
        self.ids = tf.lookup.StaticVocabularyTable(lines, 2)
        labels = tf.lookup.KeyValueTensorInitializer(tf.constant([0, 1], tf.int64), ["no", "yes"])
        self.labels = tf.lookup.StaticHashTable(labels, "none")
        start = tf.reshape(tf.range(12, dtype=tf.float32), [6, 2]) - 5.0
        self.weights = tf.Variable(start * start / 7.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def __call__(self, text: Any) -> dict[str, Any]:
        ids = self.ids.lookup(tf.strings.split(text).to_tensor("good"))
        scores = tf.reduce_sum(tf.gather(self.weights, ids), axis=1)
        return {"label": self.labels.lookup(tf.argmax(scores, axis=1)), "scores": scores}


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "words.txt"
        file.write_text("\n".join(WORDS) + "\n")
        model = Scores(str(file))
        tf.saved_model.save(model, str(OUT), signatures=model.__call__)
    loaded = tf.saved_model.load(str(OUT))
    found = loaded.signatures["serving_default"](text=tf.constant(ASKED))
    answer = {k: v.numpy().tolist() for k, v in found.items()}
    answer["label"] = [label.decode() for label in answer["label"]]
    (OUT / "asked.json").write_text(json.dumps({"text": ASKED, **answer}) + "\n")
    (OUT / "fingerprint.pb").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
