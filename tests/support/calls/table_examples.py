"""Examples of lookup tables and summaries, in the form of `session_examples.py`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import flowc as tf

r: Any = tf.raw_ops
Example = Callable[[], list[tuple[Any, Any]]]
I64 = tf.int64
OLD = ("", "HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable")


def _changed(op: str) -> Example:
    """A table of the op `op`, filled and looked up by the ops of its handle."""
    suffix = "" if op in OLD else "V2"
    dense, rows = "Dense" in op, "OfTensors" in op

    def built() -> list[tuple[Any, Any]]:
        attrs: dict[str, Any] = {"value_dtype": I64}
        if dense:
            attrs["empty_key"] = tf.constant(-1, I64)
            if suffix:
                attrs["deleted_key"] = tf.constant(-2, I64)
        else:
            attrs["key_dtype"] = I64
        if rows:
            attrs["value_shape"] = [2]
        table = getattr(r, op)(**attrs)
        keys, one = tf.constant([5, 6], I64), tf.constant([[1, 2], [3, 4]] if rows else [1, 2], I64)
        default = tf.constant([0, 0] if rows else 0, I64)
        put = getattr(r, f"LookupTableInsert{suffix}")
        with tf.control_dependencies([put(table_handle=table, keys=keys, values=one)]):
            find = getattr(r, f"LookupTableFind{suffix}")
            found = find(table_handle=table, keys=keys[:1], default_value=default)
            size = getattr(r, f"LookupTableSize{suffix}")(table_handle=table)
            export = getattr(r, f"LookupTableExport{suffix}")
            every = export(table_handle=table, Tkeys=I64, Tvalues=I64)
        shown = [(found, [[1, 2]] if rows else [1]), (size, 2), (tf.sort(every[0]), [5, 6])]
        with tf.control_dependencies([t for t, _ in shown]):
            load = getattr(r, f"LookupTableImport{suffix}")
            done = load(table_handle=table, keys=keys[:1], values=one[:1])
        if suffix:
            with tf.control_dependencies([done]):
                done = r.LookupTableRemoveV2(table_handle=table, keys=keys)
        return [*shown, (done, None)]

    return built


def _static(op: str) -> Example:
    suffix = "" if op in OLD else "V2"

    def built() -> list[tuple[Any, Any]]:
        table = getattr(r, op)(key_dtype=tf.string, value_dtype=I64)
        fill = getattr(r, f"InitializeTable{suffix}")
        done = fill(table_handle=table, keys=["a", "b"], values=tf.constant([1, 2], I64))
        with tf.control_dependencies([done]):
            find = getattr(r, f"LookupTableFind{suffix}")
            found = find(table_handle=table, keys=["b", "c"], default_value=tf.constant(-1, I64))
        return [(found, [2, -1])]

    return built


def _from_file(op: str) -> Example:
    suffix = op.removeprefix("InitializeTableFromTextFile")

    def built() -> list[tuple[Any, Any]]:
        path = Path(tempfile.mkdtemp()) / "words.txt"
        path.write_text("a\nb\n")
        table = getattr(r, f"HashTable{suffix}")(key_dtype=tf.string, value_dtype=I64)
        done = getattr(r, op)(table_handle=table, filename=str(path), key_index=-2, value_index=-1)
        with tf.control_dependencies([done]):
            size = getattr(r, f"LookupTableSize{suffix}")(table_handle=table)
        return [(size, 2)]

    return built


_STEPS = ("Find", "Insert", "Size", "Export", "Import")
_KINDS = ("MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable")
TABLES: dict[str, Example] = {
    **{op: _changed(op) for kind in _KINDS for op in (kind, f"{kind}V2", f"Anonymous{kind}")},
    **{op: _static(op) for op in ("HashTable", "HashTableV2", "AnonymousHashTable")},
    **{f"InitializeTable{v}": _static(f"HashTable{v}") for v in ("", "V2")},
    **{f"LookupTable{s}{v}": _changed(f"MutableHashTable{v}") for s in _STEPS for v in ("", "V2")},
    "LookupTableRemoveV2": _changed("MutableHashTableV2"),
    **{op: _from_file(op) for v in ("", "V2") for op in (f"InitializeTableFromTextFile{v}",)},
}
# Ops of the host -> the op of TensorFlow's for which they are made.
TABLES_MADE_OF = {
    "_MakeTable": "HashTableV2",
    "_MakeDenseTable": "MutableDenseHashTableV2",
    "_FindInTable": "LookupTableFindV2",
    "_SizeOfTable": "LookupTableSizeV2",
    "_ExportTable": "LookupTableExportV2",
    "_InitializeTable": "InitializeTableV2",
    "_InsertInTable": "LookupTableInsertV2",
    "_ImportTable": "LookupTableImportV2",
    "_RemoveFromTable": "LookupTableRemoveV2",
    "_InitializeTableFromFile": "InitializeTableFromTextFileV2",
    "_FillTable": "InitializeTableFromDataset",
}


def _begins(build: Callable[[], Any]) -> Example:
    """A summary begins with a value; test_summary_values.py sees the rest."""
    return lambda: [(r.Substr(input=build(), pos=np.int32(0), len=np.int32(1)), b"\n")]


SUMMARIES: dict[str, Example] = {
    "HistogramSummary": _begins(lambda: tf.summary.histogram("h", [1.0])),
    "ImageSummary": _begins(lambda: tf.summary.image("i", tf.ones([1, 2, 2, 1]))),
    "AudioSummary": _begins(
        lambda: r.AudioSummary(tag="a", tensor=tf.zeros([1, 2]), sample_rate=8000.0)
    ),
    "AudioSummaryV2": _begins(lambda: tf.summary.audio("a", tf.zeros([1, 2]), 8000.0)),
    "TensorSummary": _begins(lambda: r.TensorSummary(tensor=[1.0])),
    "TensorSummaryV2": _begins(lambda: tf.summary.tensor_summary("t", [1.0])),
}
