"""What is written down of a fault of flowc."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from flowc.errors import InternalError
from flowc.files import fault_report
from flowc.files.fault_report import KEPT, write_report


def raised(detail: str = "") -> InternalError:
    try:
        raise InternalError("the pass failed")
    except InternalError as error:
        error.detail = detail
        return error


def test_a_report_holds_request_traceback_and_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path))
    error = raised("the body of the kernel")
    write_report(error, "fetches: y:0", lambda: b"the model")
    assert error.report is not None
    folder = Path(error.report)
    assert folder.parent == tmp_path / "faults" and folder.name.startswith("fault-")
    assert (folder.parent.stat().st_mode & 0o777) == 0o700
    text = (folder / "report.txt").read_text()
    for part in ("flowc", "Python 3.", "fetches: y:0", "in raised", "the body of the kernel"):
        assert part in text
    assert (folder / "model.pb").read_bytes() == b"the model"
    write_report(error, "another", lambda: b"")  # one report an error
    assert len(list(folder.parent.iterdir())) == 1 and error.report == str(folder)


def test_the_oldest_reports_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path))
    faults = tmp_path / "faults"
    faults.mkdir()
    for i in range(KEPT + 2):
        (faults / f"old-{i:02}").mkdir()
        os.utime(faults / f"old-{i:02}", (i, i))
    write_report(raised(), "", lambda: b"")
    left = sorted(p.name for p in faults.iterdir() if p.name.startswith("old"))
    assert left == [f"old-{i:02}" for i in range(3, KEPT + 2)]
    assert len(list(faults.iterdir())) == KEPT


def test_a_report_that_cannot_be_written_hides_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path))

    def no_model() -> bytes:
        raise RuntimeError("the graph cannot be exported")

    error = raised()
    with caplog.at_level(logging.WARNING, logger="flowc"):
        write_report(error, "", no_model)
    assert error.report is not None and Path(error.report, "report.txt").exists()
    assert "the graph cannot be exported" in caplog.text


def test_without_a_cache_reports_lie_among_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fault_report, "cache_folder", lambda: None)
    monkeypatch.setattr(fault_report.tempfile, "tempdir", str(tmp_path))
    error = raised()
    write_report(error, "", lambda: b"")
    assert error.report is not None and Path(error.report).parent == tmp_path
