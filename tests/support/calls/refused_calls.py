"""Calls that a run refuses, and the words of TensorFlow's own tests for what is wrong with each.

In: nothing. Out: `CASES`, what a call shows -> a function that builds it in the default graph, and
a pattern of the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import flowc as tf

r: Any = tf.raw_ops


def fed(value: Any) -> Any:
    """A tensor of which the graph says nothing but the dtype."""
    return tf.placeholder_with_default(value, None)


PLACES, SIZES = np.zeros((1, 2), np.int64), np.array([2, 2], np.int64)


def _splits(splits: list[int]) -> Callable[[], Any]:
    return lambda: r.RaggedTensorToSparse(
        rt_nested_splits=[fed(np.array(splits, np.int64))], rt_dense_values=[1, 2]
    )


def _partitioned(place: Any, shape: tuple[int, ...]) -> Callable[[], Any]:
    parts = np.zeros(shape, np.int32)
    parts[place] = 17
    return lambda: tf.dynamic_partition(np.zeros(shape), fed(parts), 7)


def _ranks() -> Any:
    """Of two sparse tensors under handles, one has a dimension more."""
    handles: list[Any] = []
    for rank in (2, 3):
        sizes = np.full(rank, 3, np.int64)
        parts = np.zeros((1, rank), np.int64), np.ones(1, np.float32), sizes
        names = "sparse_indices", "sparse_values", "sparse_shape"
        handles.append(r.AddSparseToTensorsMap(**dict(zip(names, parts)), shared_name="ranks"))
    return r.TakeManySparseFromTensorsMap(
        sparse_handles=tf.stack(handles), dtype=tf.float32, shared_name="ranks"
    )


def _unsorted(ids: Any, count: Any) -> Callable[[], Any]:
    return lambda: r.UnsortedSegmentSum(
        data=np.ones(np.shape(ids)),
        segment_ids=tf.placeholder_with_default(ids, np.shape(ids)),
        num_segments=count() if callable(count) else count,
    )


def _known(value: Any) -> Any:
    return tf.constant(value, tf.int32)


UNSORTED = ", possibly because 'segment_ids' input is not sorted"
# Of ids that the graph knows and ids that the run gets: TensorFlow's words for all that is wrong.
SEGMENTS = {
    (-1, -1, 0, 0): rf"Segment id -1 out of range \[0, 1\){UNSORTED}",
    (0, 1, 0, 1): "segment ids are not increasing",
    (0, 1, 2, 0): rf"Segment id 1 out of range \[0, 1\){UNSORTED}",
    (0, 0, 0, -1): "segment ids must be >= 0",
    (0, 0, 0, -2): "segment ids must be >= 0",
    (-2, -1): "segment ids must be >= 0",
    (0, 2, 1): "segment ids are not increasing",
    (0, 1, 5, 5, 2): "segment ids are not increasing",
}


def _segments() -> dict[str, tuple[Callable[[], Any], str]]:
    cases: dict[str, tuple[Callable[[], Any], str]] = {}

    def add(
        op: str, how: Callable[[Any], Any], ids: Any, words: str, rows: Any, **more: Any
    ) -> None:
        def make() -> Any:
            places = {} if rows is None else {"indices": fed(np.array(rows, np.int32))}
            return getattr(r, op)(segment_ids=how(np.array(ids, np.int32)), **places, **more)

        kind = "known" if how is _known else "fed"
        cases[f"{op} of {kind} {list(ids)} {rows} {sorted(more)}"] = make, words

    for ids, words in SEGMENTS.items():
        for how in (_known, fed):
            add("SegmentMax", how, ids, words, None, data=np.ones((len(ids), 2)))
        rows = list(range(len(ids)))
        add("SparseSegmentMean", fed, ids, words, rows, data=np.ones((9, 2)))
    for place, rows in ((-1, [8, -1, 0, 9]), (10, [8, 10, 0, 9])):
        words = rf"Bad: indices\[1\] == {place} out of range \[0, 10\)"
        add("SparseSegmentSum", fed, [0, 1, 2, 2], words, rows, data=np.ones((10, 2)))
    for count, ids, words in (
        (5, [0, 1, 3, 5], "segment ids must be < num_segments"),
        (0, [-1, -1, 0, 0], "segment ids must be < num_segments"),
        (5, [0, 1, 5, 3], "segment ids are not increasing"),
        (5, [0, 0, 0, -1], "segment ids are not increasing"),
        (5, [0, 7, 8, 4], rf"Segment id 7 out of range \[0, 5\){UNSORTED}"),
    ):
        op = "SparseSegmentSumWithNumSegments"
        add(op, fed, ids, words, [8, 3, 0, 9], data=np.ones((10, 2)), num_segments=count)
    for count, ids, rows, words in (
        (3, [0, 1, 2, 2], [8, 3, 0, 10], r"Index 10 out of range \[0, 10\)"),
        (3, [0, 1, 2, 2], [8, 3, -1, 9], r"Index -1 out of range \[0, 10\)"),
        (3, [0, 1, 1, 4], [8, 3, 0, 9], "Invalid number of segments"),
        (0, [0], [8], "Invalid number of segments"),
        (1, [0, 1, 2, 0], [8, 3, 0, 9], r"Segment id 1 out of range \[0, 1\)"),
        (2, [-1, 0, 1, 1], [8, 3, 0, 9], r"Segment id -1 out of range \[0, 2\)"),
        (0, [0, 0, 0, -1], [8, 3, 0, 9], r"Segment id 0 out of range \[0, 0\)"),
    ):
        grad = np.ones((count, 2), np.float32)
        add("SparseSegmentMeanGrad", fed, ids, words, rows, grad=grad, output_dim0=10)
        op = "SparseSegmentSumGradV2"
        add(op, fed, ids, words, rows, grad=grad, dense_output_dim0=10)
    return cases


IMAGE, POINT = np.ones((1, 3, 3, 1), np.float32), np.ones((1, 1, 1, 1), np.float32)


def _pool(op: str, ksize: list[int], strides: list[int], **more: Any) -> Callable[[], Any]:
    def make() -> Any:
        sizes = np.array(IMAGE.shape, np.int32)
        given: dict[str, Any] = {
            "AvgPool": lambda: {"value": fed(IMAGE)},
            "MaxPool": lambda: {"input": fed(IMAGE)},
            "AvgPoolGrad": lambda: {"orig_input_shape": fed(sizes), "grad": POINT},
        }[op]()
        padding = "EXPLICIT" if more else "SAME"
        return getattr(r, op)(ksize=ksize, strides=strides, padding=padding, **given, **more)

    return make


def _densed(places: Any, shape: Any, values: Any) -> Callable[[], Any]:
    return lambda: r.SparseToDense(
        sparse_indices=fed(np.array(places, np.int32)),
        output_shape=fed(np.array(shape, np.int32)),
        sparse_values=fed(np.array(values, np.float32)),
        default_value=0.0,
    )


def _diagonal(matrix: tuple[int, ...], values: tuple[int, ...]) -> Callable[[], Any]:
    return lambda: tf.matrix_set_diag(
        fed(np.ones(matrix, np.float32)), fed(np.ones(values, np.float32))
    )


def _product(place: tuple[int, int], adjoint: bool) -> Callable[[], Any]:
    return lambda: r.SparseTensorDenseMatMul(
        a_indices=fed(np.array([[0, 1], place])),
        a_values=np.ones(2),
        a_shape=np.array([2, 2]),
        b=np.ones((2, 3)),
        adjoint_a=adjoint,
    )


def _rolled(shift: Any, axis: Any) -> Callable[[], Any]:
    return lambda: tf.roll(np.ones((2, 2)), fed(shift), fed(axis))


FIRST = "Either first dimensions of diagonal don't match"


# Shapes and attrs that an op refuses, fed, so that a run is the first to see them.
SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "a window of no size": (
        _pool("AvgPool", [1, 0, 2, 1], [1, 1, 1, 1]),
        "Sliding window ksize must be positive. The specified or inferred ksize is: 1,0,2,1",
    ),
    "a gradient's window of no size": (
        _pool("AvgPoolGrad", [1, 0, 0, 1], [1, 1, 1, 1]),
        "Sliding window ksize must be positive",
    ),
    "a stride of no size": (
        _pool("MaxPool", [1, 2, 2, 1], [1, 0, 1, 1]),
        "Stride must be > 0, but got 0",
    ),
    "more padding than window": (
        _pool("MaxPool", [1, 2, 2, 1], [1, 1, 1, 1], explicit_paddings=[0, 0, 0, 1, 0, 2, 0, 0]),
        "Right padding 2 needs to be smaller than the window size 2",
    ),
    "weights of another shape": (
        lambda: r.DenseBincount(input=fed([1, 2]), size=3, weights=fed([1.0])),
        r"`weights` must be the same shape as `arr` .*\. Received \[1\]",
    ),
    "splits of nothing": (
        lambda: r.RaggedBincount(
            splits=fed(np.zeros(0, np.int64)), values=[1], size=3, weights=[1.0]
        ),
        "Splits must be non-empty",
    ),
    "shifts of rank 2": (_rolled([[1]], 0), r"shift must be .* 1-D vector. Found: \[1,1\]"),
    "axes of rank 2": (_rolled(1, [[0, 1]]), r"axis must be .* 1-D vector. Found: \[1,2\]"),
    "shifts and axes": (_rolled([1], [0, 1]), "shift and axis must have the same size"),
    "an axis to roll": (_rolled(1, 5), "axis 5 is out of range"),
    "sparse values of rank 2": (
        _densed([1, 2], [4], [[1], [2]]),
        r"sparse_values has incorrect shape \[2,1\], should be \[\] or \[2\]",
    ),
    "too many sparse values": (
        _densed([1, 2], [4], [1, 2, 3]),
        r"sparse_values has incorrect shape \[3\], should be \[\] or \[2\]",
    ),
    "a shape of more axes": (
        _densed([1, 2], [4, 4], 1),
        "output_shape has incorrect number of elements: 2 should be: 1",
    ),
    "a diagonal into no matrix": (_diagonal((), (1,)), r"input must be at least 2-dim.*: \[\]"),
    "no diagonal": (_diagonal((1, 1), ()), r"diagonal must be at least 1-dim.*: \[\]"),
    "a longer diagonal": (
        _diagonal((2, 3, 3), (2, 4)),
        rf"{FIRST}(.|\n)*Diagonal shape: \[2,4\]\nExpected diagonal shape: \[2,3\]",
    ),
    **{
        f"{letter} {'adjoint' if adjoint else ''}": (
            _product((0, 10) if column else (10, 0), adjoint),
            rf"{letter} \(10\) from index\[1,{column}\] out of bounds \(>=2\)",
        )
        for letter, column, adjoint in (
            ("k", 1, False),
            ("m", 0, False),
            ("k", 0, True),
            ("m", 1, True),
        )
    },
    **{
        f"the element {n}": (
            lambda n=n: r.NthElement(input=[1.0, 2.0], n=fed(n)),
            words,
        )
        for n, words in (
            (-1, "n must be non-negative but is -1"),
            (2, "Input must have last dimension > n = 2"),
        )
    },
    "a placeholder with a shape": (
        lambda: tf.placeholder(tf.float64, [None, 3], "p") + 1,
        r"You must feed a value .* 'p' with dtype double and shape \[\?,3\]",
    ),
    "a placeholder without": (
        lambda: tf.placeholder(tf.float32, None, "p") + 1,
        r"You must feed a value .* 'p' with dtype float(\n|$)",
    ),
}
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    **SHAPES,
    "partitions of rank 1": (_partitioned(2, (3,)), r"partitions\[2\] = 17 is not in \[0, 7\)"),
    "partitions of rank 2": (
        _partitioned((1, 2), (2, 3)),
        r"partitions\[1,2\] = 17 is not in \[0, 7\)",
    ),
    "indices of rank 0": (lambda: tf.gather([1, 2], fed(7)), r"indices = 7 is not in \[0, 2\)"),
    "indices of rank 1": (
        lambda: tf.gather([1, 2], fed([0, 7])) + 1,
        r"indices\[1\] = 7 is not in \[0, 2\)",
    ),
    "indices of rank 2": (
        lambda: tf.gather([[1, 2]], fed([[0, 1], [1, -7]]), axis=1),
        r"indices\[1,1\] = -7 is not in \[0, 2\)",
    ),
    "indices of rank 3": (
        lambda: tf.gather([1, 2], tf.placeholder_with_default([[[7]]], [1, 1, 1])),
        r"indices\[\.\.\] = 7 is not in \[0, 2\)",
    ),
    "indices of rows that only the run counts": (
        lambda: tf.gather(fed(np.zeros((4, 3))), tf.placeholder_with_default([0, 0, 9], [3])),
        r"indices\[2\] = 9 is not in \[0, 4\)",
    ),
    "indices of a batch": (
        lambda: tf.batch_gather(
            tf.constant([[1, 2], [3, 4]]), tf.placeholder_with_default([[0, 1], [2, 0]], [2, 2])
        ),
        r"indices\[1,0\] = 2 is not in \[0, 2\)",
    ),
    **_segments(),
    **{
        f"unsorted segment of rank {len(place)}": (
            _unsorted(np.full((1,) * len(place), 7), 2),
            rf"segment_ids{where} = 7 is out of range \[0, 2\)",
        )
        for place, where in (((), ""), ((0,), r"\[0\]"), ((0, 0), r"\[0,0\]"))
    },
    "unsorted segments that only the run counts": (
        _unsorted([1, 5], lambda: fed(np.int32(3))),
        r"segment_ids\[1\] = 5 is out of range \[0, 3\)",
    ),
    "a matrix of unsorted segments that only the run counts": (
        _unsorted([[1, 2], [0, 5]], lambda: fed(np.int32(3))),
        r"segment_ids\[1,1\] = 5 is out of range \[0, 3\)",
    ),
    "more elements than an i64 counts": (
        lambda: r.SegmentSum(data=np.ones((1, 10)), segment_ids=np.array([1 << 60])),
        "Encountered overflow when multiplying",
    ),
    "a range of more steps than an int64 counts": (
        lambda: r.RaggedRange(starts=[0.1], limits=[1e10], deltas=[1e-10]),
        r"Requires \(\(limit - start\) / delta\) <= 9223372036854775807",
    ),
    "more ranges than an int32 counts": (
        lambda: r.RaggedRange(
            starts=[0, 0], limits=[2**31 - 1, 1], deltas=[1, 1], Tsplits=tf.int32
        ),
        "The total range size overflowed",
    ),
    "padding of no width": (
        lambda: r.StringNGrams(
            data=["abc"],
            data_splits=[0, 1],
            separator="-",
            ngram_widths=[],
            left_pad="",
            right_pad="",
            pad_width=-5,
            preserve_short_sequences=True,
        ),
        "Pad width should be >= 0",
    ),
    "slices of what has none": (
        lambda: tf.scatter_nd(fed(np.zeros((2, 2, 2), np.int32)), np.zeros((2, 2, 2)), [0, 3, 2]),
        "Indices and updates specified for empty output",
    ),
    "offsets along a matrix": (
        lambda: r.ConcatOffset(concat_dim=1, shape=[fed([[2, 3, 5]]), fed([[2, 7, 5]])])[0],
        "should be a vector",
    ),
    "the nth of one number": (
        lambda: r.NthElement(input=fed(5), n=0),
        "at least rank 1 but is rank 0",
    ),
    "indices of slices": (
        lambda: tf.gather_nd([[1, 2]], fed([[[0, 1], [0, 5]]])),
        r"indices\[0,1\] = \[.*5\] does not index into param shape \[1,2\]",
    ),
    "a part of negative size": (
        lambda: r.SparseSlice(
            indices=PLACES, values=[1], shape=SIZES, start=SIZES, size=fed(-SIZES)
        ),
        "Expected a non-negative size, got -2",
    ),
    "an axis out of range": (
        lambda: r.SparseSplit(
            split_dim=np.int64(-3), indices=PLACES, values=[1], shape=SIZES, num_split=2
        ),
        r"Input axis should be in range \[-2, 2\), got -3",
    ),
    "several axes": (
        lambda: r.SparseSplit(
            split_dim=fed(SIZES), indices=PLACES, values=[1], shape=SIZES, num_split=2
        ),
        "Input axis should be a scalar",
    ),
    **{
        f"splits {splits}": (_splits(splits), words)
        for splits, words in (
            ([], "ragged splits may not be empty"),
            ([1, 2], "First value of ragged splits must be 0"),
            ([0, 2, 1, 2], "non decreasing, but we got 2 followed by 1"),
            ([0, 3], "Final value of ragged splits must match the length"),
        )
    },
    "ranks of sparse tensors": (
        _ranks,
        r"rank prior to SparseTensor\[1\] was: 3 but rank of SparseTensor\[1\] is: 4",
    ),
    "counts of a sparse tensor": (
        lambda: r.SparseReorder(
            input_indices=np.zeros((1, 3), np.int64),
            input_values=np.zeros(3),
            input_shape=np.array([3, 3], np.int64),
        ),
        "Number of elements .* do not match",
    ),
}
