"""Lookup tables do what TensorFlow does, as `tests/oracle/record_lookup_tables.py` recorded it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from api_snippets import Snippet
from row_program import seen_by
from table_snippets import TABLE_SNIPPETS

import flowc as tf

RECORDED = json.loads((Path(__file__).parents[1] / "recorded" / "lookup_tables.json").read_text())


@pytest.mark.parametrize("snippet", TABLE_SNIPPETS, ids=lambda s: s.name)
def test_as_in_tensorflow(snippet: Snippet, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen_by(tf, snippet, f"{tmp_path}/")))
    assert found == RECORDED[snippet.name]
