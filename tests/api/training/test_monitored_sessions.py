"""Monitored sessions, hooks and coordinators against what TensorFlow did with the same programs
(`session_snippets.py`), recorded by `tests/oracle/record_training.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from snippets.session_snippets import SESSIONS, seen

import flowc

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "recorded" / "training.json").read_text()
)["logs"]


@pytest.mark.parametrize("name", SESSIONS)
def test_as_tensorflow(name: str, tmp_path: Path) -> None:
    found = seen(flowc, name, str(tmp_path))
    for ours, theirs in zip(found, RECORDED[name]):
        assert ours == theirs
    assert len(found) == len(RECORDED[name])
