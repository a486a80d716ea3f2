"""Ops over strings, records, ragged and sparse tensors whose inputs make no sense, as a model has
them: each ends in an error of TensorFlow's kind, and none takes memory for what it asks for.
"""

# ruff: noqa: E501  (a case to a line)
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_models import run_op

from flowc import dtypes
from flowc.errors import InternalError, OpError


def i64(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def texts(*values: bytes) -> np.ndarray:
    return np.array(values, object)


HUGE = 1 << 40
SPLITS = {"row_partition_types": ["ROW_SPLITS"]}
FIRST = {"row_partition_types": ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]}
VALUES, ZERO = np.array([1, 2, 3], np.int32), np.int32(0)
PLACES = i64([[0, 0], [1, 1]])
GRAMS = {"separator": " ", "left_pad": "<", "right_pad": ">", "preserve_short_sequences": True}
DECODE = {"input_encoding": "UTF-8"}
PARSE = {"sparse_types": [], "ragged_value_types": [], "ragged_split_types": []}
CROSS = {"hashed_output": True, "num_buckets": 9, "hash_key": 1, "dense_types": []}
CROSS |= {"out_type": dtypes.i64, "internal_type": dtypes.i64}
# op, inputs, attrs
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("RaggedTensorToTensor", (i64(-1, -1), VALUES, ZERO, i64(0, 2, 9)), SPLITS),
    ("RaggedTensorToTensor", (i64(-1, -1), VALUES, ZERO, i64(0, -1, 3)), SPLITS),
    ("RaggedTensorToTensor", (i64(-1, -1), VALUES, ZERO, np.zeros(0, np.int64)), SPLITS),
    ("RaggedTensorToTensor", (i64(HUGE, HUGE), VALUES, ZERO, i64(0, 3)), SPLITS),
    ("RaggedTensorToTensor", (i64(-1, -1), VALUES, ZERO, i64(HUGE), i64(0, 1, 2)), FIRST),
    ("RaggedTensorToTensor", (i64(-1, -1), VALUES, ZERO, i64(2), i64(0, 5, 1)), FIRST),
    ("RaggedTensorToTensor", (i64([-1]), VALUES, ZERO, i64(0, 3)), SPLITS),
    ("RaggedTensorToTensor", (i64(-1), VALUES, ZERO, i64(0, 3)), {"row_partition_types": ["X"]}),
    ("RaggedTensorToSparse", (i64(0, 9), VALUES), {}),
    ("RaggedTensorToSparse", (i64(1, 3), VALUES), {}),
    ("RaggedGather", (i64(0, 3), VALUES, i64([7])), {"OUTPUT_RAGGED_RANK": 1}),
    ("RaggedGather", (i64(0, 9), VALUES, i64([0])), {"OUTPUT_RAGGED_RANK": 1}),
    ("RaggedGather", (i64(0, 3), VALUES, i64([0])), {"OUTPUT_RAGGED_RANK": 3}),
    ("RaggedRange", (i64(0), i64(1 << 62), i64(1)), {}),
    ("RaggedRange", (np.float32(0), np.float32(np.inf), np.float32(1)), {}),
    ("RaggedRange", (np.float32(0), np.float32(1), np.float32(0)), {}),
    ("SparseFillEmptyRows", (PLACES, VALUES[:2], i64(HUGE, 2), ZERO), {}),
    ("SparseFillEmptyRows", (i64([[-1, 0], [1, 1]]), VALUES[:2], i64(2, 2), ZERO), {}),
    ("SparseFillEmptyRows", (np.zeros((2, 0), np.int64), VALUES[:2], i64([]), ZERO), {}),
    ("SparseReshape", (PLACES, i64(2, 2), i64(-1, -1)), {}),
    ("SparseReshape", (PLACES, i64(2, 2), i64(-5, 1)), {}),
    ("SparseReshape", (PLACES, i64(HUGE, HUGE), i64([-1])), {}),
    ("SparseReshape", (PLACES, i64(0, 2), i64(0, -1)), {}),
    ("SparseConcat", (PLACES, PLACES, VALUES[:2], VALUES[:2], i64(2, 2), i64(3, 3)), {"concat_dim": 0}),
    ("SparseConcat", (PLACES, PLACES, VALUES[:2], VALUES[:2], i64(2, 2), i64(2, 2)), {"concat_dim": 7}),
    ("SparseSplit", (i64(5), PLACES, VALUES[:2], i64(2, 2)), {"num_split": 2}),
    ("SparseSplit", (i64(0), PLACES, VALUES[:2], i64(2, 2)), {"num_split": 9}),
    ("SparseCross", (PLACES, i64(1, 2), i64([2])), CROSS),
    ("SparseCross", (PLACES, i64(1, 2), i64(-1, 2)), CROSS),
    ("SparseAdd", (PLACES, VALUES[:2], i64(2, 2), PLACES, VALUES[:2], i64(3, 3), ZERO), {}),
    ("UnsortedSegmentJoin", (texts(b"a"), i64([0]), i64(HUGE)), {}),
    ("UnsortedSegmentJoin", (texts(b"a"), i64([0]), i64(-4)), {}),
    ("StringNGrams", (texts(b"a"), i64(0, 1)), {**GRAMS, "ngram_widths": [1 << 40], "pad_width": -1}),
    ("StringNGrams", (texts(b"a"), i64(0, -1, 1)), {**GRAMS, "ngram_widths": [1], "pad_width": 0}),
    ("StringSplit", (texts(b"a"), texts(b"a", b"b")), {}),
    ("UnicodeDecode", (texts(b"a"),), {"input_encoding": "rot13"}),
    ("UnicodeDecode", (texts(b"a"),), {**DECODE, "replacement_char": -7}),
    ("UnicodeTranscode", (texts(b"\xff"),), {**DECODE, "output_encoding": "UTF-8", "replacement_char": 0xD800}),
    ("UnicodeEncode", (VALUES, i64(0, 3, 1)), {"output_encoding": "UTF-8"}),
    ("DecodePaddedRaw", (texts(b"a"), np.int32(1 << 30)), {"out_type": dtypes.u8}),
    ("DecodeRaw", (texts(b"abc"),), {"out_type": dtypes.i16}),
    ("DecodeJSONExample", (texts(b'{"features":' * 100_000),), {}),
    ("ParseTensor", (np.array(b"\x08\x03\x12\x12\x12\x10\x08" + b"\xff" * 8 + b"\x7f", object),), {"out_type": dtypes.i32}),
    ("ParseExampleV2", (texts(b"\x0a\xff\xff\xff\xff\x07"), texts(), texts(), texts(), texts()), {**PARSE, "num_sparse": 0, "dense_shapes": []}),
    ("ParseExampleV2", (texts(b""), texts(), texts(b"a"), texts(), texts()), {**PARSE, "num_sparse": 1, "dense_shapes": []}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "inputs", "attrs"), CASES, ids=[f"{op}-{k}" for k, (op, _, _) in enumerate(CASES)]
)
def test_malformed(op: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    with pytest.raises((OpError, ValueError)) as caught:
        run_op(op, *inputs, **attrs)
    assert not isinstance(caught.value, InternalError)


def test_files_need_permission(tmp_path: Any) -> None:
    path = np.array(str(tmp_path / "file").encode(), object)
    for op, inputs in (("ReadFile", (path,)), ("MatchingFiles", (path,))):
        with pytest.raises(OpError, match="files"):
            run_op(op, *inputs)
