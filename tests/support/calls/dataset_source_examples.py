"""A call of each op of datasets that read files or other state, and of iterators, for
`session_examples.py`.

In: nothing. Out: `SOURCES`, as `DATASETS` of `dataset_examples.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from calls.dataset_examples import ROW, N, first, numbers
from snippets.dataset_snippets import write_files

import flowc as tf

r: Any = tf.raw_ops
TEXT = {"output_types": [tf.string], "output_shapes": [[]]}
HELD = TemporaryDirectory()
FOLDER = HELD.name + "/"
SOURCES: dict[str, Callable[[], list[tuple[Any, Any]]]] = {}


def _file(op: str, name: str, expected: Any, **given: Any) -> list[tuple[Any, Any]]:
    if not Path(FOLDER, "a.txt").exists():
        write_files(FOLDER)
    made = getattr(r, op)(filenames=FOLDER + name, buffer_size=0, **given)
    return first(made, expected, **TEXT)


FIXED = {"header_bytes": 2, "record_bytes": 3, "footer_bytes": 1}
PLAIN = {"compression_type": ""}
for _op, _name, _expected, _given in (
    ("TextLineDataset", "a.txt", b"one", PLAIN),
    ("TFRecordDataset", "a.tfr", b"first", PLAIN),
    ("TFRecordDatasetV2", "a.tfr", b"first", {**PLAIN, "byte_offsets": np.zeros(0, np.int64)}),
    ("FixedLengthRecordDataset", "a.bin", b"abc", FIXED),
    ("FixedLengthRecordDatasetV2", "a.bin", b"abc", {**FIXED, **PLAIN}),
):
    SOURCES[_op] = partial(_file, _op, _name, _expected, **_given)


def _csv(op: str) -> list[tuple[Any, Any]]:
    write_files(FOLDER)
    says = {"output_types": [tf.int32, tf.int32], "output_shapes": [[], []]}
    given = {"exclude_cols": np.zeros(0, np.int64)} if op.endswith("V2") else {}
    made = getattr(r, op)(
        filenames=FOLDER + "bad.csv",
        compression_type="",
        buffer_size=0,
        header=False,
        field_delim=",",
        use_quote_delim=True,
        na_value="",
        select_cols=np.zeros(0, np.int64),
        record_defaults=[np.array([0], np.int32)] * 2,
        output_shapes=[[], []],
        **given,
    )
    return first(made, (1, 2), **says)


for _op in ("CSVDataset", "CSVDatasetV2"):
    SOURCES[_op] = partial(_csv, _op)


def _matching() -> list[tuple[Any, Any]]:
    write_files(FOLDER)
    made = r.MatchingFilesDataset(patterns=FOLDER + "*.tfr")
    return first(made, (FOLDER + "a.tfr").encode(), **TEXT)


SOURCES["MatchingFilesDataset"] = _matching


def _query(op: str) -> list[tuple[Any, Any]]:
    write_files(FOLDER)
    query = "select b, a from t order by a desc"
    says = {"output_types": [tf.string, tf.int64], "output_shapes": [[], []]}
    made = getattr(r, op)(
        driver_name="sqlite", data_source_name=FOLDER + "a.db", query=query, **says
    )
    return first(made, (b"7.9", 300), **says)


def _list() -> list[tuple[Any, Any]]:
    held = [np.array([4, 5], np.int64), np.array([6], np.int64)]
    return first(r.ListDataset(tensors=held, **ROW), [4, 5], **ROW)


def _written(op: str) -> list[tuple[Any, Any]]:
    """A file is written, and read."""
    given = [tf.constant(["a", "bc"])]
    made = r.TensorSliceDataset(components=given, Toutput_types=[tf.string], output_shapes=[[]])
    name = FOLDER + "written"
    wrote = getattr(r, op)(input_dataset=made, filename=name, compression_type="")
    with tf.control_dependencies([wrote]):
        names = tf.identity(name)
    read = r.TFRecordDataset(filenames=names, compression_type="", buffer_size=0)
    last = r.SkipDataset(input_dataset=read, count=1, **TEXT)
    return first(last, b"bc", **TEXT)


def _table() -> list[tuple[Any, Any]]:
    table = r.HashTableV2(shared_name="", key_dtype=tf.int64, value_dtype=tf.int64)
    pair = {"output_types": [tf.int64] * 2, "output_shapes": [[], []]}
    made = r.ZipDataset(input_datasets=[numbers(), numbers()], **pair)
    fill = r.InitializeTableFromDataset(table_handle=table, dataset=made)
    with tf.control_dependencies([fill]):
        return [(r.LookupTableSizeV2(table_handle=table), 5)]


def _optional() -> list[tuple[Any, Any]]:
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    optional = r.IteratorGetNextAsOptional(iterator=iterator._iterator_resource, **N)
    found = r.OptionalGetValue(optional=optional, **N)
    return [(r.OptionalHasValue(optional=optional), True), (found[0], 0)]


SOURCES["SqlDataset"] = partial(_query, "SqlDataset")
SOURCES["ListDataset"] = _list
for _op in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"):
    SOURCES[_op] = partial(_written, _op)
SOURCES["InitializeTableFromDataset"] = _table
SOURCES["IteratorGetNextAsOptional"] = SOURCES["OptionalHasValue"] = _optional


def _iterator(op: str) -> list[tuple[Any, Any]]:
    handle = getattr(r, op)(shared_name="", container="", **N)
    text = r.IteratorToStringHandle(resource_handle=handle)
    begin = r.MakeIterator(dataset=numbers(), iterator=handle)
    again = r.IteratorFromStringHandleV2(string_handle=text, **N)
    old = r.IteratorFromStringHandle(string_handle=text, **N)
    with tf.control_dependencies([begin]):
        one = r.IteratorGetNext(iterator=again, **N)
    with tf.control_dependencies(one):
        two = r.IteratorGetNextSync(iterator=old, **N)
    return [(one[0], 0), (two[0], 1), (text, None)]


def _saved_iterator() -> list[tuple[Any, Any]]:
    """An iterator is told to go on where it is, and goes on."""
    handle = r.IteratorV2(shared_name="", container="", **N)
    begin = r.MakeIterator(dataset=numbers(), iterator=handle)
    with tf.control_dependencies([begin]):
        one = r.IteratorGetNext(iterator=handle, **N)
    with tf.control_dependencies(one):
        state = r.SerializeIterator(resource_handle=handle)
    move = r.DeserializeIterator(resource_handle=handle, serialized=state)
    with tf.control_dependencies([move]):
        two = r.IteratorGetNext(iterator=handle, **N)
    return [(one[0], 0), (two[0], 1)]


def _one_shot() -> list[tuple[Any, Any]]:
    return [(tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next(), 0)]


for _op in ("IteratorV2", "IteratorToStringHandle", "MakeIterator", "IteratorGetNextSync"):
    SOURCES[_op] = partial(_iterator, "IteratorV2")
for _op in ("IteratorFromStringHandleV2", "IteratorFromStringHandle", "IteratorGetNext"):
    SOURCES[_op] = partial(_iterator, "IteratorV2")
SOURCES["Iterator"] = partial(_iterator, "Iterator")
SOURCES["OneShotIterator"] = _one_shot
SOURCES["SerializeIterator"] = SOURCES["DeserializeIterator"] = _saved_iterator
