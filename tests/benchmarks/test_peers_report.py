"""What the comparison with other engines makes of rows, without any engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.peers.engine_worker import error_of
from benchmarks.peers.machine import described_machine
from benchmarks.peers.report import ahead, markdown_of
from benchmarks.peers.shares import summed


def _engine(ms: float, error: float = 0.0) -> dict[str, Any]:
    return {"version": "1", "min_ms": ms, "median_ms": 2 * ms, "error": error, "first_s": 1.0}


def test_who_is_right_is_told_by_f64_where_it_is_known() -> None:
    right = {**_engine(3, 0.1), "wide_error": 1e-6}
    wrong = {**_engine(1, 0.0), "wide_error": 0.1}
    row = _row("rewritten", flowc={**_engine(2, 0.1), "wide_error": 1e-6}, right=right, wrong=wrong)
    assert ahead(row, "min_ms") == 1.5


def _row(name: str, **engines: dict[str, Any]) -> dict[str, Any]:
    told = {"kind": "networks", "convolutional": True, "threads": 1, "target": "native"}
    return {"name": name, **told, "engines": engines}


def test_who_gives_other_results_is_no_peer() -> None:
    failed = {"version": "1", "failed": "no kernel for a|b"}
    level = _row("level", flowc=_engine(2), right=_engine(4), wrong=_engine(1, 0.1))
    behind = _row("behind", flowc=_engine(2), right=_engine(1), wrong=failed)
    ours = _row("ours", flowc=_engine(2, 0.1), right=_engine(1))
    assert [ahead(r, "min_ms") for r in (level, behind, ours)] == [2.0, 0.5, None]
    text = markdown_of({"machine": described_machine(), "rows": [level, behind, ours]})
    assert "| networks and models | 2 | 1.00 | 1.00 | 1 |" in text
    assert (
        "| level | 2 / 4 | 4 / 8 | 1 / 2 (other results) | 2.00 | 2.00 | 1.00 | 0e+00 / 1e-01 |"
        in (text)
    )
    assert "- behind, wrong: no kernel for a\\|b" in text


def test_errors_beside_f64_and_first_results_beside_xla() -> None:
    engines = {"flowc": (1.0, 2e-6), "right": (2.0, 1e-6), "xla": (8.0, 4e-6)}
    row = _row(
        "net", **{n: _engine(2) | {"first_s": s, "wide_error": e} for n, (s, e) in engines.items()}
    )
    unknown = _row("other", flowc=_engine(2) | {"wide_error": None}, right=_engine(2))
    text = markdown_of({"machine": described_machine(), "rows": [row, unknown]})
    assert "| 1.00 / 8.00 | 0e+00 / 0e+00 | 2.0e-06 / 1.0e-06 / 4.0e-06 |" in text
    assert "| 1.00 | 0e+00 / 0e+00 |  |" in text
    assert "First results sooner than XLA's: 1 of 1 from opening the graph." in text


def test_first_results_from_the_start_of_a_process() -> None:
    ours, xla = _engine(2) | {"ready_s": 0.25}, _engine(2) | {"first_s": 0.5, "ready_s": 2.0}
    text = markdown_of({"machine": described_machine(), "rows": [_row("n", flowc=ours, xla=xla)]})
    assert "| 1.00 (1.25) / 0.50 (2.50) |" in text
    assert "0 of 1 from opening the graph, 1 of 1 from the start of a process" in text
    assert "; after it, from opening: n." in text


def test_where_the_time_of_a_run_goes() -> None:
    """Winograd's more than the peak counts as the peak, a kernel without figures as nothing."""
    kernels = [
        {"kernel": "winograd+depthwise_rows", "share": 0.25, "roofline": 0.5},
        {"kernel": "winograd", "share": 0.5, "roofline": 2.0},
        {"kernel": "sort", "share": 0.125},
    ]
    outside = {"before_ms": 0.5, "between_ms": 0.25, "after_ms": 0.25, "run_ms": 8.0}
    peaks = {"peak_gflops": 200.0, "peak_gb_per_s": 40.0}
    shares = summed({"kernels": kernels, **outside, **peaks})
    assert shares["reached"] == 0.625
    assert {k: v["share"] for k, v in shares["kinds"].items()} == {
        "depthwise": 0.25,
        "convolutions": 0.5,
        "loops": 0.125,
        "between kernels": 0.125,
    }
    rows = [{**_row("net", flowc=_engine(2), right=_engine(4)), "shares": shares}]
    text = markdown_of({"machine": described_machine(), "rows": rows})
    assert "| net | 62% | 25% (50%) | 50% (100%) | 12% | 12% |" in text


@pytest.mark.parametrize(
    ("found", "expected", "error"),
    [
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([1, 2], [1, 3], 0.5),
        ([b"a"], [b"a"], 0.0),
        ([1.0], [[1.0]], np.inf),
        ([np.nan, 1.0], [1.0, 1.0], np.inf),
        ([np.nan, np.inf], [np.nan, np.inf], 0.0),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
    ],
)
def test_errors_of_results(found: Any, expected: Any, error: float) -> None:
    assert error_of(np.array(found), np.array(expected)) == error
