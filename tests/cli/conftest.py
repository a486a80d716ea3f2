"""A command to call, and a small model on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import SCALE, Command


@pytest.fixture
def flowc(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.pbtxt"
    path.write_text(SCALE)
    return path
