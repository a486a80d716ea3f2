"""Programs for the rows of the specification against what TensorFlow saw in them.

Recorded by `tests/oracle/record_rows.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from api_snippets import Snippet
from row_program import seen_by
from row_snippets import ROW_SNIPPETS

import flowc as tf

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "rows.json").read_text()
)


@pytest.mark.parametrize("snippet", ROW_SNIPPETS, ids=lambda s: s.name)
def test_row(snippet: Snippet, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen_by(tf, snippet, f"{tmp_path}/")))
    assert _close(found, RECORDED[snippet.name]) == RECORDED[snippet.name]


def _close(found: Any, recorded: Any) -> Any:
    """What was found, with numbers that agree to six digits as they were recorded."""
    if isinstance(found, list) and isinstance(recorded, list) and len(found) == len(recorded):
        return [_close(f, r) for f, r in zip(found, recorded)]
    if isinstance(found, float) and isinstance(recorded, float):
        return recorded if found == pytest.approx(recorded, rel=2e-6, abs=1e-6, nan_ok=True) else found
    return found
