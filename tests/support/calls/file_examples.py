"""A call of each op that reads or writes checkpoints, or keeps tensors in a Session.

In: nothing. Out: `FILE_EXAMPLES`, an `ExampleTable`.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from calls.example_table import ExampleTable, X

import flowc as tf

r: Any = tf.raw_ops
FILE_EXAMPLES = ExampleTable()
example = FILE_EXAMPLES.shows


def _folder() -> str:
    folder = TemporaryDirectory(prefix="flowc-example-")
    _folders.append(folder)
    return folder.name


_folders: list[TemporaryDirectory[str]] = []


@example("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename")
def _bundle() -> list[tuple[Any, Any]]:
    part, whole = (f"{_folder()}/{name}" for name in ("part", "whole"))
    shard = r.ShardedFilename(basename=part, shard=0, num_shards=1)
    values = [X[:2], X[2:], tf.constant(["a", "b"])]
    names, parts = ["x", "x", "s"], ["3 2 0,2:-", "3 2 2,1:-", ""]
    saved = r.SaveV2(prefix=shard, tensor_names=names, shape_and_slices=parts, tensors=values)
    with tf.control_dependencies([saved]):
        merged = r.MergeV2Checkpoints(checkpoint_prefixes=[shard], destination_prefix=whole)
    with tf.control_dependencies([merged]):
        found = r.RestoreV2(
            prefix=whole,
            tensor_names=["s", "x", "x"],
            shape_and_slices=["", "", "3 2 1,1:0,2"],
            dtypes=[tf.string, tf.float32, tf.float32],
        )
    return [(found[0], [b"a", b"b"]), (found[1], X), (found[2], X[1:2]), (shard, None)]


@example("GetSessionHandle", "GetSessionTensor")
def _kept_tensors() -> list[tuple[Any, Any]]:
    handle = r.GetSessionHandle(value=X * 2, name="kept")
    return [(r.GetSessionTensor(handle=handle, dtype=tf.float32), 2 * X)]


@example("DeleteSessionTensor")
def _deleted_tensor() -> list[tuple[Any, Any]]:
    handle = r.GetSessionHandle(value=X)
    value = r.GetSessionTensor(handle=handle, dtype=tf.float32)
    with tf.control_dependencies([value]):
        return [(value, X), (r.DeleteSessionTensor(handle=handle), None)]


@example("GenerateVocabRemapping", "LoadAndRemapMatrix")
def _other_vocabulary() -> list[tuple[Any, Any]]:
    path, old, new = (f"{_folder()}/{name}" for name in ("matrix", "old", "new"))
    saved = r.SaveV2(prefix=path, tensor_names=["x"], shape_and_slices=[""], tensors=[X])
    written = [
        r.WriteFile(filename=name, contents=words)
        for name, words in ((old, "a\nb\nc\n"), (new, "other\nc\nnew\na"))
    ]
    with tf.control_dependencies([saved, *written]):
        rows, known = r.GenerateVocabRemapping(
            new_vocab_file=new, old_vocab_file=old, new_vocab_offset=1, num_new_vocab=3
        )
    found = r.LoadAndRemapMatrix(
        ckpt_path=path,
        old_tensor_name="x",
        row_remapping=rows,
        col_remapping=np.array([1, 0], np.int64),
        initializing_values=np.array([8, 9], np.float32),
        num_rows=3,
        num_cols=2,
    )
    return [(rows, [2, -1, 0]), (known, 2), (found, [X[2, ::-1], [8, 9], X[0, ::-1]])]


@example("Save", "SaveSlices", "Restore", "RestoreSlice", "ShardedFilespec")
def _tensor_slices() -> list[tuple[Any, Any]]:
    path, other = f"{_folder()}/old", f"{_folder()}/parts"
    saved = r.Save(filename=path, tensor_names=["x", "n"], data=[X, np.int32(3)])
    parts = ["3 2 0,2:-", "3 2 2,1:-"]
    names = ["x", "x"]
    also = r.SaveSlices(
        filename=other, tensor_names=names, shapes_and_slices=parts, data=[X[:2], X[2:]]
    )
    with tf.control_dependencies([saved, also]):
        n = r.Restore(file_pattern=path, tensor_name="n", dt=tf.int32)
        x = r.Restore(file_pattern=other, tensor_name="x", dt=tf.float32)
        row = r.RestoreSlice(
            file_pattern=path, tensor_name="x", shape_and_slice="3 2 1,1:-", dt=tf.float32
        )
    every = r.ShardedFilespec(basename="a", num_shards=3)
    return [(n, 3), (x, X), (row, X[1:2]), (every, b"a-?????-of-00003")]
