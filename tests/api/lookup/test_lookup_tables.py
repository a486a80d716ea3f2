"""Lookup tables do what TensorFlow does, as `tests/oracle/record_snippets.py` recorded it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from row_program import seen_by
from snippets.api_snippets import Snippet
from snippets.table_snippets import TABLE_SNIPPETS

import flowc as tf

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "lookup_tables.json").read_text())


@pytest.mark.parametrize("snippet", TABLE_SNIPPETS, ids=lambda s: s.name)
def test_as_in_tensorflow(snippet: Snippet, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen_by(tf, snippet, f"{tmp_path}/")))
    assert found == RECORDED[snippet.name]


def test_the_initializer_of_a_table_of_a_function_is_the_functions_own() -> None:
    def of_letter(letter: tf.Tensor) -> tf.Tensor:
        pairs = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([3, 4]))
        return tf.lookup.StaticHashTable(pairs, 0).lookup(letter)

    with tf.Graph().as_default() as graph, tf.Session() as session:
        letters = tf.data.Dataset.from_tensor_slices(["a", "c", "b"]).map(of_letter)
        found = tf.data.make_one_shot_iterator(letters.batch(3)).get_next()
        initialize = tf.tables_initializer()
        assert initialize.graph is graph
        session.run(initialize)
        assert session.run(found).tolist() == [3, 0, 4]
        assert not graph.get_collection(tf.GraphKeys.TABLE_INITIALIZERS)
