"""Queues, readers, datasets, tables, texts and records with something wrong in them end in an error
of flowc's, or in a result: no signal, no hang, no other exception, in no thread.

`FLOWC_FUZZ=1000` tries 2^14 of them. The fixed cases are faults that campaigns found.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls.dataset_examples import SEEDS, N, function, numbers
from campaigns.mutant_trials import faults
from campaigns.session_trials import CALLS

import flowc as tf
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.proto.graph_pb2 import GraphDef

COUNT = int(os.environ.get("FLOWC_FUZZ", "2")) * 2**14 // 1000
AT_ONCE = 256
MAX, MIN = 2**63 - 1, -(2**63)
r: Any = tf.raw_ops


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_fuzzed_calls(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = faults(range(first, min(first + AT_ONCE, COUNT)), CALLS)
    assert not found, "\n".join(found)


def i64(x: Any) -> Any:
    return tf.constant(x, tf.int64)


def first_of(made: Any, **says: Any) -> Any:
    return r.DatasetToSingleElement(
        dataset=r.TakeDataset(input_dataset=made, count=1, **N), **(says or N)
    )


def _interleaved(op: str, **given: Any) -> Any:
    made = getattr(r, op)(
        input_dataset=numbers(),
        f=function(lambda x: tf.data.Dataset.range(x, x + 1)),
        other_arguments=[],
        Targuments=[],
        cycle_length=MAX,
        block_length=MAX,
        **given,
        **N,
    )
    return first_of(made)


def _sparse_rows(shape: Any, indices: Any = ((0, 1),)) -> Any:
    made = r.SparseTensorSliceDataset(indices=i64(indices), values=i64([5]), dense_shape=i64(shape))
    says = {"output_types": [tf.int64] * 3, "output_shapes": [[None, 1], [None], [1]]}
    taken = r.TakeDataset(input_dataset=made, count=1, **says)
    return r.DatasetToSingleElement(dataset=taken, **says)[1]


def _padded(shape: Any, value: Any) -> Any:
    row = {"output_types": [tf.int64], "output_shapes": [[None]]}
    rows = r.BatchDataset(input_dataset=numbers(), batch_size=2, **row)
    made = r.PaddedBatchDataset(
        input_dataset=rows,
        batch_size=2,
        padded_shapes=[i64(shape)],
        padding_values=[i64(value)],
        output_shapes=[[None, None]],
    )
    return r.DatasetToSingleElement(
        dataset=r.TakeDataset(input_dataset=made, count=1, **row), **row
    )


def _with_step_of_a_vector() -> Any:
    handle = r.ConditionalAccumulator(dtype=tf.float32, shape=[])
    return r.AccumulatorSetGlobalStep(handle=handle, new_global_step=i64([1]))


def _dequeued(n: Any) -> Any:
    handle = r.FIFOQueueV2(component_types=[tf.int32], shapes=[[]])
    return r.QueueDequeueManyV2(handle=handle, n=n, component_types=[tf.int32])


def _counted(limit: int) -> Any:
    handle = r.VarHandleOp(dtype=tf.int32, shape=[], shared_name="count")
    with tf.control_dependencies([r.AssignVariableOp(resource=handle, value=np.int32(3))]):
        return r.ResourceCountUpTo(resource=handle, limit=limit, T=tf.int32)


def _is_of_another_kind() -> Any:
    table = r.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="one")
    return r.QueueSizeV2(handle=table)


# Calls, and what they give, or the error and its words.
CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "the count is a vector": (
        lambda: r.DatasetToSingleElement(
            dataset=r.TakeDataset(input_dataset=numbers(), count=i64([1]), **N), **N
        ),
        (InvalidArgumentError, "count must be a scalar"),
    ),
    "a range of 2^64": (
        lambda: first_of(r.RangeDataset(start=MIN, stop=MAX, step=1, **N)),
        MIN,
    ),
    "a cycle of 2^63": (lambda: _interleaved("InterleaveDataset"), 0),
    "a cycle of 2^63, filled up": (
        lambda: _interleaved(
            "LegacyParallelInterleaveDatasetV2",
            buffer_output_elements=1,
            prefetch_input_elements=1,
        ),
        0,
    ),
    "2^63 calls at once": (
        lambda: tf.data.experimental.get_single_element(
            tf.data.Dataset.range(5)
            .map(lambda x: tf.py_func(_slow, [x], tf.int64), num_parallel_calls=MAX)
            .batch(5)
        ),
        range(5),
    ),
    "a buffer of 2^63": (
        lambda: first_of(r.ShuffleDataset(input_dataset=numbers(1), buffer_size=MAX, **SEEDS, **N)),
        0,
    ),
    "2^62 rows of a sparse tensor": (lambda: _sparse_rows([1 << 62, 2]), [5]),
    "a sparse tensor without sizes": (
        lambda: _sparse_rows(np.zeros(0)),
        (InvalidArgumentError, "a column for each size"),
    ),
    "padded to 2^62": (lambda: _padded([1 << 62], 0), (ResourceExhaustedError, "no memory")),
    "padded to no vector": (lambda: _padded(3, 0), (InvalidArgumentError, "must be a vector")),
    "padded with a vector": (
        lambda: _padded([3], [0]),
        (InvalidArgumentError, "a padding value must be a scalar"),
    ),
    "a step that is a vector": (
        _with_step_of_a_vector,
        (InvalidArgumentError, "new_global_step must be a scalar"),
    ),
    "a vector of counts": (
        lambda: _dequeued(tf.constant([1])),
        (InvalidArgumentError, "n must be a scalar"),
    ),
    "a limit beyond i32": (
        lambda: _counted(2**31),
        (InvalidArgumentError, "does not count up to 2147483648"),
    ),
    "a table that is called a queue": (
        _is_of_another_kind,
        (InvalidArgumentError, "names no state"),
    ),
}


def _slow(x: Any) -> Any:
    import time

    time.sleep(0.02)
    return x


@pytest.mark.parametrize("name", CASES)
def test_faults_stay_gone(name: str) -> None:
    build, expected = CASES[name]
    options = tf.RunOptions(timeout_in_ms=60_000)
    with tf.Graph().as_default(), tf.Session(threads=1, max_memory=1 << 30) as session:
        fetch = build()
        if not isinstance(expected, tuple):
            found = session.run(fetch, options=options)
            assert np.array_equal(np.ravel(found), np.ravel(expected))
            return
        with pytest.raises(expected[0], match=expected[1]):
            session.run(fetch, options=options)


def test_names_that_are_no_text() -> None:
    """A table and an iterator under the name `\\xff`."""
    with tf.Graph().as_default() as graph:
        table = r.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="@@")
        r.LookupTableSizeV2(table_handle=table, name="size")
        handle = r.IteratorV2(container="", shared_name="@@", **N)
        made = r.MakeIterator(dataset=numbers(), iterator=handle, name="made")
        with tf.control_dependencies([made]):
            r.IteratorGetNext(iterator=handle, name="next", **N)
    content = graph.as_graph_def().SerializeToString().replace(b"@@", b"\xff\xfe")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(GraphDef.FromString(content), name="")
        assert session.run("size:0") == 0
        assert session.run("next:0") == 0


def test_a_function_of_other_arguments_than_its_dataset_gives() -> None:
    with tf.Graph().as_default() as graph:
        words = tf.data.Dataset.from_tensors(tf.constant(["one", "two"])).map(tf.strings.length)
        ints = tf.data.Dataset.from_tensors(tf.constant([1, 2], tf.int64)).map(lambda x: x + 1)
        for dataset, name in ((words, "words"), (ints, "ints")):
            iterator = tf.data.make_initializable_iterator(dataset)
            tf.identity(iterator.get_next(), name=name)
            tf.group(iterator.initializer, name=f"{name}_begin")
    model = graph.as_graph_def()
    called = [node.attr["f"].func for node in model.node if node.op == "MapDataset"]
    called[0].name, called[1].name = called[1].name, called[0].name
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(model, name="")
        for name, told in (("words", "int64 but string"), ("ints", "string but int64")):
            session.run(f"{name}_begin")
            with pytest.raises(InvalidArgumentError, match=rf"Expects arg\[0\] to be {told}"):
                session.run(f"{name}:0")


@pytest.mark.parametrize(
    ("dtype", "text", "expected"),
    [
        (tf.int64, "1_0", None),
        (tf.float32, "1_0", None),
        (tf.float32, "0x10", 16),
        (tf.int32, "3000000000", None),
    ],
)
def test_numbers_in_the_file_of_a_table(
    tmp_path: Path, dtype: Any, text: str, expected: Any
) -> None:
    (tmp_path / "words.txt").write_text(f"a {text}\n")
    with tf.Graph().as_default(), tf.Session() as session:
        columns = tf.lookup.TextFileInitializer(
            str(tmp_path / "words.txt"), tf.string, 0, dtype, 1, delimiter=" "
        )
        table = tf.lookup.StaticHashTable(columns, 0)
        if expected is None:
            with pytest.raises(
                InvalidArgumentError, match=f"Field {text} in line 0 is not a valid"
            ):
                session.run(tf.tables_initializer())
        else:
            session.run(tf.tables_initializer())
            assert session.run(table.lookup(tf.constant(["a"]))).tolist() == [expected]


@pytest.mark.parametrize("delimiter", ["", "ab", "\u00e4"])
def test_a_delimiter_that_is_no_character(tmp_path: Path, delimiter: str) -> None:
    """Also where the columns are not asked for."""
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default(), tf.Session() as session:
        start = r.InitializeTableFromTextFileV2(
            table_handle=r.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64),
            filename=str(tmp_path / "words.txt"),
            key_index=-2,
            value_index=-1,
            delimiter=delimiter,
        )
        with pytest.raises(InvalidArgumentError, match="delimiter should be only 1 char"):
            session.run(start)


def test_line_numbers_beyond_64_bits(tmp_path: Path) -> None:
    """They wrap, as in TensorFlow."""
    (tmp_path / "words.txt").write_text("a\nb\n")
    with tf.Graph().as_default(), tf.Session() as session:
        table = r.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        start = r.InitializeTableFromTextFileV2(
            table_handle=table,
            filename=str(tmp_path / "words.txt"),
            key_index=-2,
            value_index=-1,
            offset=2**63 - 1,
        )
        session.run(start)
        found = r.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)
        assert sorted(session.run(found)[1].tolist()) == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize("query", [b"select a from t \xe4", b"select 1; select 2"])
def test_a_query_that_no_database_takes(tmp_path: Path, query: bytes) -> None:
    (tmp_path / "rows.db").touch()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        rows = r.SqlDataset(
            driver_name="sqlite",
            data_source_name=str(tmp_path / "rows.db"),
            query=tf.constant([query])[0],
            output_types=[tf.int64],
            output_shapes=[[]],
        )
        graph.allow("files")
        found = r.DatasetToSingleElement(
            dataset=rows, output_types=[tf.int64], output_shapes=[[]]
        )  # fmt: skip
        with pytest.raises(InvalidArgumentError):
            session.run(found)


def test_a_feature_list_under_a_name_of_other_bytes() -> None:
    """No message has it."""
    key = np.array(b"\xff\xfe", object)
    with tf.Graph().as_default(), tf.Session() as session:
        found = r.ParseSingleSequenceExample(
            serialized="",
            feature_list_dense_missing_assumed_empty=np.zeros(0, object),
            context_sparse_keys=[],
            context_dense_keys=[],
            feature_list_sparse_keys=[key],
            feature_list_dense_keys=[],
            context_dense_defaults=[],
            debug_name="",
            feature_list_sparse_types=[tf.int64],
        )
        assert session.run(found.feature_list_sparse_values[0]).tolist() == []
