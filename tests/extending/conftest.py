"""Ops that tests register are gone when the test is over: other tests look at all records."""

from __future__ import annotations

import pytest

import flowc.ops
from flowc.ir import op as records

assert flowc.ops  # the records


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of this test's own."""
    monkeypatch.setattr(records, "_BY_NAME", dict(records._BY_NAME))
    monkeypatch.setattr(records, "_BY_TF_NAME", dict(records._BY_TF_NAME))
