"""The ops that TensorFlow registers, those that flowc has no record of among them.

Recorded by `tests/oracle/record_op_names.py`; without internal ops, whose names begin with `_`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def tensorflow_ops() -> frozenset[str]:
    """Their names."""
    text = Path(__file__).with_suffix(".txt").read_text()
    return frozenset(text.split())
