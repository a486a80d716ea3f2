"""Programs for the rows of the specification against what TensorFlow saw in them.

Recorded by `tests/oracle/record_rows.py`; no TensorFlow is needed here.
"""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any

import pytest
from pages.rows_page import PAGE, ROWS, SUITES, page, programs_of
from row_program import seen_by
from snippets.api_snippets import Snippet
from snippets.row_snippets import DIFFERENCES, ROW_SNIPPETS

import flowc as tf

ROOT = Path(__file__).parents[2]
RECORDED: dict[str, Any] = json.loads((ROOT / "tests" / "recorded" / "rows.json").read_text())


@pytest.mark.parametrize("snippet", ROW_SNIPPETS, ids=lambda s: s.name)
def test_row(snippet: Snippet, tmp_path: Path, own_registry: None) -> None:
    if snippet.name in DIFFERENCES:
        with pytest.raises((AssertionError, ValueError)):
            check(snippet, tmp_path)
    else:
        check(snippet, tmp_path)


def check(snippet: Snippet, tmp_path: Path) -> None:
    found = json.loads(json.dumps(seen_by(tf, snippet, f"{tmp_path}/")))
    assert _close(found, RECORDED[snippet.name]) == RECORDED[snippet.name]


def test_the_page_is_what_was_tried() -> None:
    assert PAGE.read_text() == page(), "make rows"


def test_every_program_has_its_row() -> None:
    mine = {name for n in ROWS for suite, name in programs_of(n) if suite == "rows"}
    assert mine == set(SUITES["rows"].programs)
    for number, row in ROWS.items():
        assert programs_of(number) or row.missing
        for wanted in row.also.split():
            suite, pattern = wanted.split(":", 1)
            assert fnmatch.filter(SUITES[suite].programs, pattern), wanted
        assert not row.checked or (ROOT / row.checked).exists(), row.checked


def _close(found: Any, recorded: Any) -> Any:
    """What was found, with numbers that agree to six digits as they were recorded."""
    if isinstance(found, list) and isinstance(recorded, list) and len(found) == len(recorded):
        return [_close(f, r) for f, r in zip(found, recorded)]
    if isinstance(found, float) and isinstance(recorded, float):
        return (
            recorded if found == pytest.approx(recorded, rel=2e-6, abs=1e-6, nan_ok=True) else found
        )
    return found
