"""Calls with absurd numbers, as `size_calls.py` has them, of what Python computes or keeps: sparse
and ragged tensors, texts, queues, datasets; of lists, variables, and of kin of the ops there.

In: nothing. Out: `REST`, by name. What only a Session runs says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from calls.size_calls import (
    I32,
    I64,
    IMAGE,
    INDICES,
    MAX,
    MAX32,
    MIN,
    MIN32,
    ONE,
    ONE32,
    PAIRS32,
    V1,
    V2,
    V132,
    V232,
    Sized,
    X,
    r,
)

import flowc as tf

SESSION = {"in_library": False}
EITHER = {"in_library": False, "may_answer": True}
ELEMENT = {"output_types": [tf.int64], "output_shapes": [[]]}
PAIR = np.array([[0, 0], [0, 1]], np.int64)
VALUES = X[0, :2]
LENGTHS = [np.array([n, 1]) for n in (MAX, MIN, 2**62, 2**32)]

REST: dict[str, Sized] = {
    "SparseReshape": Sized(
        lambda n: r.SparseReshape(input_indices=PAIR, input_shape=[1, 2], new_shape=n)[0],
        I64,
        V2,
        **SESSION,
    ),
    "SparseReorder": Sized(
        lambda n: r.SparseReorder(input_indices=PAIR, input_values=VALUES, input_shape=n)[1],
        I64,
        [np.array(v) for v in ((-1, 2), (MIN, 2), (0, 0))],
        **EITHER,
    ),
    "SparseSlice/start": Sized(
        lambda n: r.SparseSlice(
            indices=PAIR, values=VALUES, shape=[1, 2], start=n, size=np.array([1, 1])
        )[1],
        I64,
        V2,
        **EITHER,
    ),
    "SparseSlice/size": Sized(
        lambda n: r.SparseSlice(
            indices=PAIR, values=VALUES, shape=[1, 2], start=np.array([0, 1]), size=n
        )[1],
        I64,
        V2,
        **EITHER,
    ),
    "SparseSplit": Sized(
        lambda n: r.SparseSplit(
            split_dim=np.int64(1), indices=PAIR, values=VALUES, shape=n, num_split=2
        )[0],
        I64,
        V2,
        **EITHER,
    ),
    "SparseFillEmptyRows": Sized(
        lambda n: r.SparseFillEmptyRows(
            indices=PAIR, values=VALUES, dense_shape=n, default_value=np.float32(0)
        )[1],
        I64,
        [np.array(v) for v in ((2**62, 2), (MAX, 2), (MIN, 2), (2**47, 2))],
        **SESSION,
    ),
    "SparseFillEmptyRowsGrad": Sized(
        lambda n: r.SparseFillEmptyRowsGrad(reverse_index_map=n, grad_values=VALUES)[0],
        I64,
        INDICES,
        **SESSION,
    ),
    "SparseConcat": Sized(
        lambda n: r.SparseConcat(
            indices=[PAIR, PAIR], values=[VALUES, VALUES], shapes=[n, n], concat_dim=0
        )[2],
        I64,
        V2,
        **EITHER,
    ),
    "SparseAdd": Sized(
        lambda n: r.SparseAdd(
            a_indices=PAIR,
            a_values=VALUES,
            a_shape=n,
            b_indices=PAIR,
            b_values=VALUES,
            b_shape=n,
            thresh=np.float32(0),
        )[1],
        I64,
        V2,
        **EITHER,
    ),
    "SparseTensorDenseMatMul": Sized(
        lambda n: r.SparseTensorDenseMatMul(
            a_indices=PAIR, a_values=VALUES, a_shape=n, b=np.ones((2, 2), np.float32)
        ),
        I64,
        [np.array(v) for v in ((2**62, 2), (MAX, 2), (MIN, 2), (2**47, 2), (1, 2**62))],
    ),
    "SparseTensorDenseMatMul/indices": Sized(
        lambda n: r.SparseTensorDenseMatMul(
            a_indices=tf.stack([n, n], 1),
            a_values=VALUES,
            a_shape=np.array([1, 2]),
            b=np.ones((2, 2), np.float32),
        ),
        I64,
        INDICES,
    ),
    "SerializeManySparse": Sized(
        lambda n: r.SerializeManySparse(sparse_indices=PAIR, sparse_values=VALUES, sparse_shape=n),
        I64,
        [np.array(v) for v in ((2**62, 2), (MAX, 2), (MIN, 2))],
        **SESSION,
    ),
    "RaggedRange": Sized(
        lambda n: r.RaggedRange(starts=[np.int64(0)], limits=n, deltas=[np.int64(1)])[1],
        I64,
        [np.array([k]) for k in (2**62, MAX, 2**47)],
        **SESSION,
    ),
    "RaggedTensorToTensor": Sized(
        lambda n: r.RaggedTensorToTensor(
            shape=n,
            values=VALUES,
            default_value=np.float32(0),
            row_partition_tensors=[np.array([0, 1, 2])],
            row_partition_types=["ROW_SPLITS"],
        ),
        I64,
        V2,
        **EITHER,
    ),
    "RaggedTensorToSparse": Sized(
        lambda n: r.RaggedTensorToSparse(rt_nested_splits=[n], rt_dense_values=VALUES)[0],
        I64,
        [np.array(v) for v in ((0, MAX), (0, 2**62), (MIN, 2), (1, 0))],
        **SESSION,
    ),
    "RaggedGather": Sized(
        lambda n: r.RaggedGather(
            params_nested_splits=[np.array([0, 1, 2])],
            params_dense_values=VALUES,
            indices=n,
            OUTPUT_RAGGED_RANK=1,
        )[1],
        I64,
        INDICES,
        **SESSION,
    ),
    "Substr/position": Sized(
        lambda n: r.Substr(input=["abc"], pos=n, len=np.int64(1)),
        I64,
        [2**62, MAX, MIN, 2**32],
        **SESSION,
    ),
    "Substr/length": Sized(
        lambda n: r.Substr(input=["abc"], pos=np.int64(1), len=n), I64, ONE, **EITHER
    ),
    "DecodePaddedRaw": Sized(
        lambda n: r.DecodePaddedRaw(input_bytes=["ab"], fixed_length=n, out_type=tf.uint8),
        I32,
        (-(2**31), 0, -1),
        **SESSION,
    ),
    "StringNGrams": Sized(
        lambda n: r.StringNGrams(
            data=["a", "b"],
            data_splits=n,
            separator="",
            ngram_widths=[2],
            left_pad="",
            right_pad="",
            pad_width=0,
            preserve_short_sequences=False,
        )[0],
        I64,
        [np.array(v) for v in ((0, MAX), (0, 2**62), (MIN, 2), (2, 0))],
        **SESSION,
    ),
    "UnicodeEncode": Sized(
        lambda n: r.UnicodeEncode(input_values=[97, 98], input_splits=n, output_encoding="UTF-8"),
        I64,
        [np.array(v) for v in ((0, MAX), (0, 2**62), (MIN, 2), (0, 1))],
        **SESSION,
    ),
    "ReduceJoin": Sized(
        lambda n: r.ReduceJoin(inputs=[["a", "b"]], reduction_indices=n), I32, V132, **SESSION
    ),
    "UnsortedSegmentJoin": Sized(
        lambda n: r.UnsortedSegmentJoin(inputs=["a", "b"], segment_ids=[0, 1], num_segments=n),
        I64,
        (2**62, MAX, MIN, 2**47),
        **SESSION,
    ),
    "ShardedFilename": Sized(
        lambda n: r.ShardedFilename(basename="a", shard=n, num_shards=n), I32, ONE32, **EITHER
    ),
    "NthElement": Sized(lambda n: r.NthElement(input=X, n=n), I32, ONE32),
    "UniqueV2/axis": Sized(lambda n: r.UniqueV2(x=X, axis=n)[0], I64, V1),
    "StatelessMultinomial": Sized(
        lambda n: r.StatelessMultinomial(logits=X, num_samples=n, seed=np.array([1, 2])),
        I32,
        ONE32,
    ),
    "IRFFT2D": Sized(lambda n: r.IRFFT2D(input=X.astype(np.complex64), fft_length=n), I32, V232),
    "NonMaxSuppressionV2": Sized(
        lambda n: r.NonMaxSuppressionV2(
            boxes=np.ones((2, 4), np.float32),
            scores=VALUES,
            max_output_size=n,
            iou_threshold=np.float32(0.5),
        ),
        I32,
        ONE32,
        may_answer=True,
    ),
    "MatrixDiagV2": Sized(
        lambda n: r.MatrixDiagV2(
            diagonal=X[0], k=0, num_rows=n[0], num_cols=n[1], padding_value=np.float32(0)
        ),
        I32,
        V232,
    ),
    "MatrixSetDiagV3": Sized(
        lambda n: r.MatrixSetDiagV3(input=X, diagonal=X[0, :4], k=n), I32, ONE32
    ),
    "SpaceToBatch": Sized(
        lambda n: r.SpaceToBatch(input=IMAGE, paddings=n, block_size=2), I32, PAIRS32
    ),
    "Cumsum/axis": Sized(lambda n: r.Cumsum(x=X, axis=n), I64, ONE),
    "Sum/axis": Sized(lambda n: r.Sum(input=X, reduction_indices=n), I64, ONE),
    "ReverseV2/axis": Sized(lambda n: r.ReverseV2(tensor=X, axis=n), I64, V1),
    "AvgPoolGrad": Sized(
        lambda n: r.AvgPoolGrad(
            orig_input_shape=n,
            grad=IMAGE,
            ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1],
            padding="VALID",
        ),
        I32,
        [np.array(v) for v in ((1, MAX32, 8, 2), (MAX32,) * 4, (1, -1, 8, 2))],
    ),
    "CropAndResizeGradImage": Sized(
        lambda n: r.CropAndResizeGradImage(
            grads=IMAGE,
            boxes=np.array([[0, 0, 1, 1]], np.float32),
            box_ind=[0],
            image_size=n,
            T=tf.float32,
        ),
        I32,
        [np.array(v) for v in ((1, MAX32, MAX32, 2), (MAX32,) * 4, (-1, 4, 4, 2))],
    ),
    "BlockLSTM": Sized(
        lambda n: r.BlockLSTM(
            seq_len_max=n,
            x=np.ones((2, 1, 1), np.float32),
            cs_prev=np.ones((1, 1), np.float32),
            h_prev=np.ones((1, 1), np.float32),
            w=np.ones((2, 4), np.float32),
            wci=np.ones(1, np.float32),
            wcf=np.ones(1, np.float32),
            wco=np.ones(1, np.float32),
            b=np.ones(4, np.float32),
        )[6],
        I64,
        ONE,
        may_answer=True,
    ),
}


def _variable(op: str, *updates: Any) -> Callable[[Any], Any]:
    def call(n: Any) -> Any:
        handle = r.VarHandleOp(dtype=tf.float32, shape=[3], shared_name="v")
        begun = r.AssignVariableOp(resource=handle, value=X[0, :3])
        indices = n[:, None] if "Nd" in op else n
        names = {"Nd": ("ref", "indices", "updates")}.get(
            "Nd" if "Nd" in op else "", ("resource", "indices", *("updates",) * len(updates))
        )
        with tf.control_dependencies([begun]):
            done = getattr(r, op)(**dict(zip(names, (handle, indices, *updates))))
        if isinstance(done, tf.Tensor):
            return done
        with tf.control_dependencies([done]):
            return r.ReadVariableOp(resource=handle, dtype=tf.float32)

    return call


for _op in ("ResourceScatterAdd", "ResourceScatterUpdate", "ResourceScatterNdUpdate"):
    REST[_op] = Sized(_variable(_op, VALUES), I64, INDICES)
REST["ResourceGather"] = Sized(
    lambda n: tf.gather(tf.Variable(X[0], use_resource=True).initialized_value(), n), I64, INDICES
)


def _list(n: Any, read: bool) -> Any:
    made = r.TensorListFromTensor(tensor=X, element_shape=[6])
    if read:
        return r.TensorListGetItem(
            input_handle=made, index=n, element_shape=[6], element_dtype=tf.float32
        )
    grown = r.TensorListResize(input_handle=made, size=n)
    return r.TensorListStack(input_handle=grown, element_shape=[6], element_dtype=tf.float32)


REST["TensorListGetItem"] = Sized(partial(_list, read=True), I32, ONE32)
REST["TensorListResize"] = Sized(partial(_list, read=False), I32, ONE32)


def _dequeued(op: str, n: Any) -> Any:
    queue = r.FIFOQueueV2(component_types=[tf.float32], shapes=[[]], shared_name="q")
    put = r.QueueEnqueueManyV2(handle=queue, components=[VALUES])
    with tf.control_dependencies([put]):
        return getattr(r, op)(handle=queue, n=n, component_types=[tf.float32])[0]


for _op in ("QueueDequeueManyV2", "QueueDequeueUpToV2"):
    REST[_op] = Sized(partial(_dequeued, _op), I32, (MIN32, -1), **SESSION)


def _numbers(op: str, name: str, n: Any, **given: Any) -> Any:
    source = r.RangeDataset(start=np.int64(0), stop=np.int64(3), step=np.int64(1), **ELEMENT)
    made = getattr(r, op)(input_dataset=source, **{name: n}, **given, **ELEMENT)
    return r.DatasetCardinality(input_dataset=made)


for _op, _name, _given in (
    ("TakeDataset", "count", {}),
    ("SkipDataset", "count", {}),
    ("RepeatDataset", "count", {}),
    ("ShardDataset", "num_shards", {"index": np.int64(0)}),
    ("ShardDataset", "index", {"num_shards": np.int64(2)}),
    ("BatchDatasetV2", "batch_size", {"drop_remainder": False}),
    ("PrefetchDataset", "buffer_size", {}),
    ("ShuffleDataset", "buffer_size", {"seed": np.int64(1), "seed2": np.int64(2)}),
):
    REST[f"{_op}/{_name}"] = Sized(partial(_numbers, _op, _name, **_given), I64, ONE, **EITHER)
