"""A call of every op that takes sizes, counts, bounds or indices, with absurd numbers for it.

In: nothing. Out: `OPS`, by name; what follows a slash tells calls of one op apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import flowc as tf

r: Any = tf.raw_ops
X, IMAGE = np.ones((4, 6), np.float32), np.ones((1, 4, 4, 2), np.float32)
MAX, MIN = 2**63 - 1, -(2**63)
MAX32, MIN32 = 2**31 - 1, -(2**31)

# What is written in the place of one number, or of two.
ONE = (2**62 + 4, MAX, 2**61 + 1, 2**47 + 1, 2**40, MIN)
TWO = (
    (2**61 + 1, 2),
    (2**32, 2**32),
    (2**62, 4),
    (3, 2**62),
    (MAX, MAX),
    (2**62, 0),
    (2**33, 2**31),
)
ONE32 = (MAX32, MIN32)
TWO32 = ((MAX32, MAX32), (2**30, 2**30), (MIN32, 2), (MAX32, 2))


@dataclass(frozen=True)
class Sized:
    """`call(n)`: the op, given a tensor of `dtype` that is one of `numbers`, which have one shape.
    `may_answer`: TensorFlow takes some of them. `in_library`: libraries hold the op."""

    call: Callable[[Any], Any]
    dtype: Any
    numbers: Sequence[Any]
    may_answer: bool = False
    in_library: bool = True


def _vectors(numbers: Sequence[Any]) -> list[Any]:
    return [np.atleast_1d(n) for n in numbers]


I64, I32 = tf.int64, tf.int32
V1, V2 = _vectors(ONE), _vectors(TWO)
S32, V132, V232 = ONE32, _vectors(ONE32), _vectors(TWO32)
PAIRS = [
    np.array([[a, b], [0, 0]])
    for a, b in ((2**62, 2**62), (MAX, 1), (0, MAX), (MIN, 0), (2**47, 3))
]
PAIRS32 = [np.array([[a, b], [0, 0]]) for a, b in ((MAX32, MAX32), (0, MAX32), (MIN32, 0))]
INDICES = [np.array([n, 0]) for n in (2**62, MAX, MIN, -1, 2**32, 2**61)]
INDICES32 = [np.array([n, 0]) for n in (MAX32, MIN32, -1)]
ALIKE = {"may_answer": True}


def _filled(consumer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda n: consumer(tf.fill(n, np.float32(1)))


OPS: dict[str, Sized] = {
    "Fill": Sized(lambda n: r.Fill(dims=n, value=np.float32(1)), I64, V1),
    "Fill/2": Sized(lambda n: r.Fill(dims=n, value=np.float32(1)), I64, V2),
    "Fill/i32": Sized(lambda n: r.Fill(dims=n, value=np.float32(1)), I32, V232),
    "Range": Sized(lambda n: tf.range(n), I64, ONE),
    "Range/steps": Sized(
        lambda n: r.Range(start=n[0], limit=n[1], delta=n[2]),
        I64,
        [np.array(v) for v in ((MIN, MAX, 1), (0, MAX, 2), (MAX, MIN, -1), (0, 9, MIN))],
    ),
    "Range/f32": Sized(
        lambda n: r.Range(start=np.float32(0), limit=n, delta=np.float32(1)),
        tf.float32,
        (1e30, 1e19),
    ),
    "LinSpace": Sized(
        lambda n: r.LinSpace(start=np.float32(0), stop=np.float32(1), num=n), I64, ONE
    ),
    "Tile": Sized(lambda n: r.Tile(input=X[:1, :2], multiples=n), I64, V2),
    "BroadcastTo": Sized(lambda n: r.BroadcastTo(input=X[0, :1], shape=n), I64, V2),
    "Reshape": Sized(lambda n: tf.reshape(tf.constant(X), n), I64, [*V2, np.array([-1, 2**62])]),
    "Empty": Sized(lambda n: r.Empty(shape=n, dtype=tf.float32), I32, V232),
    "OneHot": Sized(lambda n: tf.one_hot([0, 1], n), I32, ONE32),
    "Pad": Sized(lambda n: tf.pad(tf.constant(X), n), I64, PAIRS),
    "Pad/i32": Sized(lambda n: tf.pad(tf.constant(X), n), I32, PAIRS32),
    "PadV2": Sized(
        lambda n: r.PadV2(input=X, paddings=n, constant_values=np.float32(2)), I64, PAIRS
    ),
    "MirrorPad": Sized(lambda n: r.MirrorPad(input=X, paddings=n, mode="SYMMETRIC"), I64, PAIRS),
    "MirrorPadGrad": Sized(
        lambda n: r.MirrorPadGrad(input=X, paddings=n, mode="REFLECT"), I64, PAIRS
    ),
    "SpaceToBatchND": Sized(
        lambda n: r.SpaceToBatchND(input=IMAGE, block_shape=[2, 2], paddings=n), I64, PAIRS
    ),
    "BatchToSpaceND": Sized(
        lambda n: r.BatchToSpaceND(
            input=np.ones((4, 2, 2, 1), np.float32), block_shape=[2, 2], crops=n
        ),
        I64,
        PAIRS,
    ),
    "Slice/begin": Sized(lambda n: tf.slice(tf.constant(X[0]), n[:1], [1]), I64, INDICES),
    "Slice/begin32": Sized(lambda n: tf.slice(tf.constant(X[0]), n[:1], [1]), I32, INDICES32),
    "Slice/size": Sized(lambda n: r.Slice(input=X[0], begin=np.array([1]), size=n), I64, V1),
    "Slice/size32": Sized(lambda n: tf.slice(tf.constant(X[0]), [1], n), I32, V132),
    "Slice/both": Sized(
        lambda n: tf.slice(tf.constant(X[0]), n[:1], n[1:]),
        I64,
        [np.array(v) for v in ((1, MAX), (2**62, 2**62), (MAX, 1), (MAX, MAX), (5, 2))],
    ),
    "StridedSlice/begin": Sized(lambda n: tf.constant(X[0])[n:], I64, ONE, **ALIKE),
    "StridedSlice/end": Sized(lambda n: tf.constant(X[0])[:n], I64, ONE, **ALIKE),
    "StridedSlice/one": Sized(lambda n: tf.constant(X[0])[n], I64, ONE),
    "StridedSlice/one32": Sized(lambda n: tf.constant(X[0])[n], I32, ONE32),
    "StridedSliceGrad": Sized(
        lambda n: r.StridedSliceGrad(
            shape=n, begin=np.array([0]), end=np.array([2]), strides=np.array([1]), dy=X[0, :2]
        ),
        I64,
        V1,
    ),
    "ReverseSequence": Sized(
        lambda n: r.ReverseSequence(input=X[:2], seq_lengths=n, seq_dim=1, batch_dim=0),
        I64,
        INDICES,
    ),
    "Roll": Sized(lambda n: r.Roll(input=X[0], shift=n, axis=0), I64, ONE, **ALIKE),
    "ScatterNd": Sized(
        lambda n: r.ScatterNd(indices=np.array([[0]]), updates=X[0, :1], shape=n), I64, V1
    ),
    "ScatterNd/indices": Sized(
        lambda n: r.ScatterNd(indices=n[:, None], updates=X[0, :2], shape=np.array([3])),
        I64,
        INDICES,
    ),
    "TensorScatterUpdate": Sized(
        lambda n: r.TensorScatterUpdate(tensor=X[0], indices=n[:, None], updates=X[0, :2]),
        I64,
        INDICES,
    ),
    "SparseToDense": Sized(
        lambda n: r.SparseToDense(
            sparse_indices=np.array([[0]]),
            output_shape=n,
            sparse_values=X[0, :1],
            default_value=X[0, 0],
        ),
        I64,
        V1,
    ),
    "SparseToDense/indices": Sized(
        lambda n: r.SparseToDense(
            sparse_indices=n,
            output_shape=np.array([3]),
            sparse_values=X[0, :2],
            default_value=X[0, 0],
        ),
        I64,
        INDICES,
    ),
    "GatherV2": Sized(lambda n: tf.gather(tf.constant(X[0]), n), I64, INDICES),
    "GatherV2/i32": Sized(lambda n: tf.gather(tf.constant(X[0]), n), I32, INDICES32),
    "GatherNd": Sized(lambda n: tf.gather_nd(tf.constant(X), n), I64, INDICES[:3]),
    "UnsortedSegmentSum": Sized(
        lambda n: r.UnsortedSegmentSum(data=X, segment_ids=[0, 1, 1, 0], num_segments=n), I64, ONE
    ),
    "UnsortedSegmentMax/ids": Sized(
        lambda n: r.UnsortedSegmentMax(data=X[:2], segment_ids=n, num_segments=3),
        I64,
        INDICES[:2] + INDICES[4:],
    ),
    "SegmentSum": Sized(lambda n: r.SegmentSum(data=X[:2], segment_ids=n[::-1]), I64, INDICES),
    "SparseSegmentSumWithNumSegments": Sized(
        lambda n: r.SparseSegmentSumWithNumSegments(
            data=X, indices=[0, 1], segment_ids=[0, 1], num_segments=n
        ),
        I64,
        ONE,
    ),
    "SparseSegmentSum/indices": Sized(
        lambda n: r.SparseSegmentSum(data=X, indices=n, segment_ids=[0, 1]), I64, INDICES
    ),
    "SparseSegmentSumGrad": Sized(
        lambda n: r.SparseSegmentSumGrad(
            grad=X[:2], indices=[0, 1], segment_ids=[0, 1], output_dim0=n
        ),
        I32,
        ONE32,
    ),
    "Bincount": Sized(lambda n: r.Bincount(arr=[0, 1], size=n, weights=X[0, :2]), I32, ONE32),
    "DenseBincount": Sized(
        lambda n: r.DenseBincount(
            input=np.array([0, 1]), size=n, weights=X[0, :2], binary_output=False
        ),
        I64,
        ONE,
    ),
    "TopKV2": Sized(lambda n: r.TopKV2(input=X, k=n)[0], I32, ONE32),
    "DynamicStitch": Sized(lambda n: r.DynamicStitch(indices=[n], data=[X[0, :2]]), I32, INDICES32),
    "DynamicPartition": Sized(
        lambda n: r.DynamicPartition(data=X[0, :2], partitions=n, num_partitions=2)[0],
        I32,
        INDICES32,
    ),
    "MatrixDiagV3": Sized(
        lambda n: r.MatrixDiagV3(
            diagonal=X[0], k=0, num_rows=n[0], num_cols=n[1], padding_value=np.float32(0)
        ),
        I32,
        V232,
    ),
    "MatrixDiagPartV3": Sized(
        lambda n: r.MatrixDiagPartV3(input=X, k=n, padding_value=np.float32(0)), I32, ONE32
    ),
    "MatrixBandPart": Sized(
        lambda n: r.MatrixBandPart(input=X, num_lower=n, num_upper=n), I64, ONE, **ALIKE
    ),
    "SplitV": Sized(
        lambda n: r.SplitV(value=X[0], size_splits=n, axis=0, num_split=2)[0],
        I64,
        [np.array(v) for v in ((2**62, 2**62), (MAX, 7), (MIN, 6), (2**63 - 3, 9))],
    ),
    "IRFFT": Sized(lambda n: r.IRFFT(input=X.astype(np.complex64), fft_length=n), I32, V132),
    "RFFT": Sized(lambda n: r.RFFT(input=X, fft_length=n), I32, V132),
    "Conv2DBackpropInput": Sized(
        lambda n: r.Conv2DBackpropInput(
            input_sizes=n,
            filter=np.ones((2, 2, 2, 3), np.float32),
            strides=[1, 1, 1, 1],
            out_backprop=np.ones((1, 3, 3, 3), np.float32),
            padding="VALID",
        ),
        I32,
        [np.array(v) for v in ((MAX32, MAX32, MAX32, 2), (1, MAX32, 4, 2), (1, MIN32, 4, 2))],
    ),
    "CropAndResize": Sized(
        lambda n: r.CropAndResize(
            image=IMAGE, boxes=np.array([[0, 0, 1, 1]], np.float32), box_ind=[0], crop_size=n
        ),
        I32,
        V232,
    ),
    "CropAndResize/boxes": Sized(
        lambda n: r.CropAndResize(
            image=IMAGE, boxes=np.ones((2, 4), np.float32), box_ind=n, crop_size=[2, 2]
        ),
        I32,
        INDICES32,
    ),
    "NonMaxSuppressionV4": Sized(
        lambda n: r.NonMaxSuppressionV4(
            boxes=np.ones((2, 4), np.float32),
            scores=X[0, :2],
            max_output_size=n,
            iou_threshold=np.float32(0.5),
            score_threshold=np.float32(0),
            pad_to_max_output_size=True,
        )[0],
        I32,
        ONE32,
    ),
    "NonMaxSuppression": Sized(
        lambda n: r.NonMaxSuppression(
            boxes=np.ones((2, 4), np.float32), scores=X[0, :2], max_output_size=n
        ),
        I32,
        ONE32,
        **ALIKE,
    ),
    "CombinedNonMaxSuppression": Sized(
        lambda n: r.CombinedNonMaxSuppression(
            boxes=np.ones((1, 2, 1, 4), np.float32),
            scores=np.ones((1, 2, 1), np.float32),
            max_output_size_per_class=n,
            max_total_size=n,
            iou_threshold=np.float32(0.5),
            score_threshold=np.float32(0),
        )[0],
        I32,
        ONE32,
        **ALIKE,
    ),
    "Multinomial": Sized(lambda n: r.Multinomial(logits=X, num_samples=n, seed=1), I32, ONE32),
    "TensorArrayV3": Sized(
        lambda n: tf.TensorArray(tf.float32, n, element_shape=[2]).stack(), I32, ONE32
    ),
    "TensorArrayV3/index": Sized(
        lambda n: tf.TensorArray(tf.float32, 2, element_shape=[]).unstack(X[0, :2]).read(n),
        I32,
        ONE32,
    ),
    "TensorListReserve": Sized(
        lambda n: r.TensorListStack(
            input_handle=r.TensorListReserve(
                element_shape=[2], num_elements=n, element_dtype=tf.float32
            ),
            element_shape=[2],
            element_dtype=tf.float32,
        ),
        I32,
        ONE32,
    ),
    "InTopKV2": Sized(
        lambda n: r.InTopKV2(predictions=X[:2], targets=n, k=1), I64, INDICES, **ALIKE
    ),
    "SparseSoftmaxCrossEntropyWithLogits": Sized(
        lambda n: r.SparseSoftmaxCrossEntropyWithLogits(features=X[:2], labels=n)[0], I64, INDICES
    ),
    "Reshape/empty": Sized(
        lambda n: tf.reshape(tf.zeros(tf.stack([n, np.int64(0)])), [-1]), I64, ONE, **ALIKE
    ),
    "BroadcastArgs": Sized(
        lambda n: tf.broadcast_to(np.float32(1), r.BroadcastArgs(s0=n, s1=np.array([1, 1]))),
        I64,
        V2,
    ),
}
for name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    OPS[name] = Sized(
        partial(lambda op, n: op(shape=n, dtype=tf.float32, seed=1), getattr(r, name)), I64, V2
    )
for name in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
    OPS[name] = Sized(
        partial(
            lambda op, n: op(shape=n, seed=np.array([1, 2]), dtype=tf.float32), getattr(r, name)
        ),
        I64,
        V2,
    )
OPS["RandomUniformInt"] = Sized(
    lambda n: r.RandomUniformInt(shape=n, minval=np.int32(0), maxval=np.int32(5), seed=1), I64, V2
)
for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
    OPS[name] = Sized(partial(lambda op, n: op(images=IMAGE, size=n), getattr(r, name)), I32, V232)
OPS["ResizeNearestNeighborGrad"] = Sized(
    lambda n: r.ResizeNearestNeighborGrad(grads=IMAGE, size=n), I32, V232
)

# What is made of a tensor that is too large, whether a kernel stores it or not.
CONSUMERS: dict[str, Callable[[Any], Any]] = {
    "Cumsum": lambda x: tf.cumsum(x, axis=0),
    "Softmax": tf.nn.softmax,
    "Transpose": tf.transpose,
    "Cast": lambda x: tf.cast(x, tf.int32),
    "Sum": tf.reduce_sum,
    "Max": lambda x: tf.reduce_max(x, axis=0),
    "Reshape": lambda x: tf.reshape(x, [-1]),
    "Concat": lambda x: tf.concat([x, x], 0),
    "MatMul": lambda x: tf.matmul(x, x, transpose_b=True),
    "Sort": lambda x: r.TopKV2(input=x, k=1)[0],
    "ArgMax": lambda x: tf.argmax(x, axis=0),
    "Size": lambda x: r.Size(input=x, out_type=tf.int64),
    "Add": lambda x: tf.expand_dims(x, 0) + tf.expand_dims(x, 1),
    "Reverse": lambda x: tf.reverse(x, [0]),
}
for name, consumer in CONSUMERS.items():
    OPS[f"Fill/{name}"] = Sized(_filled(consumer), I64, V2[:5], may_answer=name == "Size")
