"""`flowc bench`: batch and thread counts are measured, and compared with figures from before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowc.cli.entry import run_command_line

META = str(Path(__file__).parents[2] / "examples" / "digits" / "model.meta")


def test_a_model_and_a_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = str(tmp_path / "digits.so")
    args = ["compile", META, "-o", library, "--fetch", "probabilities"]
    assert run_command_line(args) == 0
    capsys.readouterr()
    args = ["bench", library, "--batch", "1,5", "--threads", "1,2", "--seconds", "0"]
    assert run_command_line(args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["1", "1"],
        ["5", "1"],
        ["1", "2"],
        ["5", "2"],
    ]
    args = ["bench", META, "--fetch", "probabilities", "--seconds", "0", "--json"]
    assert run_command_line(args) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["runs"]
    assert row["runs"] >= 10 and 0 < row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"]
    assert row["peak_bytes"] > 1 << 20
    for factor, code in ((1e9, 0), (1e-9, 1)):
        before = {"runs": [{**row, "p50_ms": row["p50_ms"] * factor}]}
        (tmp_path / "before.json").write_text(json.dumps(before))
        assert run_command_line([*args, "--baseline", str(tmp_path / "before.json")]) == code
    (tmp_path / "before.json").write_text("[]")
    assert run_command_line([*args, "--baseline", str(tmp_path / "before.json")]) == 4
    assert run_command_line(["bench", library, "--batch", "0"]) == 2
