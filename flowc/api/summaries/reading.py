"""`tf.train.summary_iterator`: the events of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from flowc.encoding.summary_messages import Event, SummaryDescription
from flowc.records.record_reader import RecordReader


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Event]:
    """The Event messages of an event file, one after another.

    Raises `NotFoundError` without the file, and `DataLossError` where it is damaged."""
    for record in RecordReader(path):
        yield Event.FromString(record)


def get_summary_description(node_def: Any) -> SummaryDescription:
    """What the node of a TensorSummary says of itself. Raises `ValueError` for another node."""
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    text = node_def.attr["description"].s if "description" in node_def.attr else b""
    stated = json.loads(text) if text else {}
    return SummaryDescription(type_hint=stated.get("typeHint", ""))
