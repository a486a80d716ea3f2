"""What GenerateVocabRemapping and LoadAndRemapMatrix refuse, and where values for new words go, as
TensorFlow 2.21 was seen to have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf

MATRIX = np.arange(40, dtype=np.float32).reshape(5, 8)
WORDS = {"new": "b\nc\nd\ne\na\n", "old": "a\nb\nc\n", "twice": "a\na\nb\n"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabularies")
    for name, words in WORDS.items():
        (path / name).write_text(words)
    values = [MATRIX, np.zeros(5, np.float32), np.zeros((2, 3), np.int32)]
    with tf.Graph().as_default(), tf.Session() as session:
        names = ["m", "vector", "integers"]
        session.run(
            tf.raw_ops.SaveV2(
                prefix=str(path / "saved"),
                tensor_names=names,
                shape_and_slices=[""] * 3,
                tensors=values,
            )
        )
    return path


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [1, 2, -1]),
        ({"num_new_vocab": 5}, [1, 2, -1, -1, 0]),
        ({"new_vocab_offset": 1, "num_new_vocab": 4}, [2, -1, -1, 0]),
        ({"old_vocab_size": 2}, [1, -1, -1]),
        ({"num_new_vocab": 0}, []),
        ({"new": "twice"}, [0, 0, 1]),
        ({"num_new_vocab": 6}, (tf.errors.InvalidArgumentError, "last new vocab entry's line")),
        ({"old_vocab_size": 9}, (tf.errors.InvalidArgumentError, "expected 9 but got 3")),
        ({"old": "none"}, (tf.errors.NotFoundError, "none; No such file or directory")),
        ({"old": "twice"}, (tf.errors.FailedPreconditionError, "Key a has 0 and .* add value 1")),
    ],
)
def test_numbers_of_words(changes: dict[str, Any], expected: Any, folder: Path) -> None:
    files = {f"{k}_vocab_file": str(folder / changes.pop(k, k)) for k in ("new", "old")}
    given = {"new_vocab_offset": 0, "num_new_vocab": 3, **files, **changes}
    with tf.Graph().as_default(), tf.Session() as session:
        call = list(tf.raw_ops.GenerateVocabRemapping(**given))
        if isinstance(expected, tuple):
            with pytest.raises(expected[0], match=expected[1]):
                session.run(call)
            return
        found, known = session.run(call)
        assert found.tolist() == expected
        assert known == sum(x >= 0 for x in expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"max_rows_in_memory": 1}, MATRIX[[2, 0]]),
        ({"columns": [1, -1, 0], "num_cols": 3, "fresh": [50, 51]}, [[17, 50, 16], [1, 51, 0]]),
        ({"rows": [-1, 3], "columns": [0, -1], "num_cols": 2, "fresh": [0, 1, 2]},
         [[0, 1], [24, 2]]),
        ({"rows": [-1, 0]}, "contained 0 elements, but more missing values remain"),
        ({"rows": [-1, 0], "fresh": range(9)}, "contained 9 elements, but only 8 elements"),
        ({"columns": [1, -1, 0], "num_cols": 2}, "is 3 instead of being equal to num_cols=2"),
        ({"rows": [1]}, "Size of row_remapping is 1 instead of being equal to num_rows=2"),
        ({"num_cols": 7}, "is 8 instead of being equal to num_cols=7"),
        ({"rows": [0, 0]}, "Old ID 0 is mapped to both new ID 0 and 1"),
        ({"rows": [7, 0]}, r"row_remapping\[0\] = 7 is not in \[0, 5\)"),
        ({"name": "vector"}, r"shape \[5\] of invalid rank 1 instead of expected shape of rank 2"),
        ({"name": "integers"}, "invalid type int32 instead of expected type float"),
        ({"name": "none"}, "Key none not found in checkpoint"),
        ({"paths": 2}, r"exactly one element, got tensor of shape \[2\]"),
    ],
)  # fmt: skip
def test_a_matrix_for_other_words(changes: dict[str, Any], expected: Any, folder: Path) -> None:
    path = str(folder / "saved")
    given: dict[str, Any] = {
        "ckpt_path": [path] * changes["paths"] if "paths" in changes else path,
        "old_tensor_name": changes.get("name", "m"),
        "row_remapping": np.array(changes.get("rows", [2, 0]), np.int64),
        "col_remapping": np.array(changes.get("columns", []), np.int64),
        "initializing_values": np.array(changes.get("fresh", []), np.float32),
        "num_rows": 2,
        "num_cols": changes.get("num_cols", 8),
        "max_rows_in_memory": changes.get("max_rows_in_memory", -1),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        call = tf.raw_ops.LoadAndRemapMatrix(**given)
        if isinstance(expected, str):
            with pytest.raises(tf.errors.OpError, match=expected):
                session.run(call)
        else:
            np.testing.assert_array_equal(session.run(call), expected)
