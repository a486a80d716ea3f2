"""What docstrings say that functions raise, they raise."""

from __future__ import annotations

import inspect
import os
import re
from functools import cache
from typing import Any

import pytest
from calls.raising_calls import RaisingCall, outcome, raises, raising_calls

import flowc as tf

CALLS = list(raising_calls())
# Of names that share a call, the first one; and no runs, which compile.
ALL = "FLOWC_FUZZ" in os.environ
AT_ONCE = [c for c in CALLS if not c.in_run and (ALL or c.is_first)]


def _named(name: str) -> Any:
    found: Any = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


@cache
def _said(name: str) -> str:
    """A docstring, with those of the functions that it names: "Raises as `concat`"."""
    doc = inspect.getdoc(_named(name)) or ""
    others = [n for n in re.findall(r"`([A-Za-z_0-9.]+)`", doc) if n.split(".")[-1] != name]
    return "\n".join([doc, *(inspect.getdoc(f) or "" for n in others if (f := _found(n, name)))])


def _found(other: str, beside: str) -> Any:
    """What a docstring calls by its name, or a method by that of its class: the class."""
    scopes = [tf, _named(beside.rpartition(".")[0]), tf.data] if "." in beside else [tf]
    first = other.partition(".")[0]
    return next((getattr(s, first) for s in scopes if first in dir(s)), None)


def _fault(call: RaisingCall) -> str:
    error = outcome(tf, call)
    return "" if raises(error, call.error) else f"{call} -> {type(error).__name__}: {error}"


def test_calls_raise_what_is_said() -> None:
    assert [fault for c in AT_ONCE if (fault := _fault(c))] == []


@pytest.mark.skipif(not ALL, reason="make fuzz")
def test_runs_raise_what_is_said() -> None:
    assert [fault for c in CALLS if c.in_run and (fault := _fault(c))] == []


def test_docstrings_name_these_errors() -> None:
    """Theirs, or those of the functions that they lead to."""
    silent = [f"{c.name}: {c}" for c in CALLS if not re.search(rf"\b{c.error}\b", _said(c.name))]
    assert silent == []
