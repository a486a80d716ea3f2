"""What a run says of wrong inputs, in the words that TensorFlow's own tests look for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf

r: Any = tf.raw_ops


def _open(value: Any) -> Any:
    """A tensor of which the graph says nothing but the dtype."""
    return tf.placeholder_with_default(value, None)


PLACES, SIZES = np.zeros((1, 2), np.int64), np.array([2, 2], np.int64)


def _splits(splits: list[int]) -> Callable[[], Any]:
    return lambda: r.RaggedTensorToSparse(
        rt_nested_splits=[_open(np.array(splits, np.int64))], rt_dense_values=[1, 2]
    )


def _partitioned(place: Any, shape: tuple[int, ...]) -> Callable[[], Any]:
    parts = np.zeros(shape, np.int32)
    parts[place] = 17
    return lambda: tf.dynamic_partition(np.zeros(shape), _open(parts), 7)


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
            places = {} if rows is None else {"indices": _open(np.array(rows, np.int32))}
            return getattr(r, op)(segment_ids=how(np.array(ids, np.int32)), **places, **more)

        kind = "known" if how is _known else "fed"
        cases[f"{op} of {kind} {list(ids)} {rows} {sorted(more)}"] = make, words

    for ids, words in SEGMENTS.items():
        for how in (_known, _open):
            add("SegmentMax", how, ids, words, None, data=np.ones((len(ids), 2)))
        rows = list(range(len(ids)))
        add("SparseSegmentMean", _open, ids, words, rows, data=np.ones((9, 2)))
    for place, rows in ((-1, [8, -1, 0, 9]), (10, [8, 10, 0, 9])):
        words = rf"Bad: indices\[1\] == {place} out of range \[0, 10\)"
        add("SparseSegmentSum", _open, [0, 1, 2, 2], words, rows, data=np.ones((10, 2)))
    for count, ids, words in (
        (5, [0, 1, 3, 5], "segment ids must be < num_segments"),
        (0, [-1, -1, 0, 0], "segment ids must be < num_segments"),
        (5, [0, 1, 5, 3], "segment ids are not increasing"),
        (5, [0, 0, 0, -1], "segment ids are not increasing"),
        (5, [0, 7, 8, 4], rf"Segment id 7 out of range \[0, 5\){UNSORTED}"),
    ):
        op = "SparseSegmentSumWithNumSegments"
        add(op, _open, ids, words, [8, 3, 0, 9], data=np.ones((10, 2)), num_segments=count)
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
        add("SparseSegmentMeanGrad", _open, ids, words, rows, grad=grad, output_dim0=10)
        op = "SparseSegmentSumGradV2"
        add(op, _open, ids, words, rows, grad=grad, dense_output_dim0=10)
    return cases


def _shapes() -> dict[str, tuple[Callable[[], Any], str]]:
    """Shapes and attrs that an op refuses, fed, so that a run is the first to see them."""
    image, point = np.ones((1, 3, 3, 1), np.float32), np.ones((1, 1, 1, 1), np.float32)

    def pool(op: str, ksize: list[int], strides: list[int], **more: Any) -> Callable[[], Any]:
        def make() -> Any:
            sizes = np.array(image.shape, np.int32)
            given: dict[str, Any] = {
                "AvgPool": lambda: {"value": _open(image)},
                "MaxPool": lambda: {"input": _open(image)},
                "AvgPoolGrad": lambda: {"orig_input_shape": _open(sizes), "grad": point},
            }[op]()
            padding = "EXPLICIT" if more else "SAME"
            return getattr(r, op)(ksize=ksize, strides=strides, padding=padding, **given, **more)

        return make

    def densed(places: Any, shape: Any, values: Any) -> Callable[[], Any]:
        return lambda: r.SparseToDense(
            sparse_indices=_open(np.array(places, np.int32)),
            output_shape=_open(np.array(shape, np.int32)),
            sparse_values=_open(np.array(values, np.float32)),
            default_value=0.0,
        )

    def diagonal(matrix: tuple[int, ...], values: tuple[int, ...]) -> Callable[[], Any]:
        return lambda: tf.matrix_set_diag(
            _open(np.ones(matrix, np.float32)), _open(np.ones(values, np.float32))
        )

    def product(place: tuple[int, int], adjoint: bool) -> Callable[[], Any]:
        return lambda: r.SparseTensorDenseMatMul(
            a_indices=_open(np.array([[0, 1], place])),
            a_values=np.ones(2),
            a_shape=np.array([2, 2]),
            b=np.ones((2, 3)),
            adjoint_a=adjoint,
        )

    def rolled(shift: Any, axis: Any) -> Callable[[], Any]:
        return lambda: tf.roll(np.ones((2, 2)), _open(shift), _open(axis))

    first = "Either first dimensions of diagonal don't match"
    return {
        "a window of no size": (
            pool("AvgPool", [1, 0, 2, 1], [1, 1, 1, 1]),
            "Sliding window ksize must be positive. The specified or inferred ksize is: 1,0,2,1",
        ),
        "a gradient's window of no size": (
            pool("AvgPoolGrad", [1, 0, 0, 1], [1, 1, 1, 1]),
            "Sliding window ksize must be positive",
        ),
        "a stride of no size": (
            pool("MaxPool", [1, 2, 2, 1], [1, 0, 1, 1]),
            "Stride must be > 0, but got 0",
        ),
        "more padding than window": (
            pool("MaxPool", [1, 2, 2, 1], [1, 1, 1, 1], explicit_paddings=[0, 0, 0, 1, 0, 2, 0, 0]),
            "Right padding 2 needs to be smaller than the window size 2",
        ),
        "weights of another shape": (
            lambda: r.DenseBincount(input=_open([1, 2]), size=3, weights=_open([1.0])),
            r"`weights` must be the same shape as `arr` .*\. Received \[1\]",
        ),
        "splits of nothing": (
            lambda: r.RaggedBincount(
                splits=_open(np.zeros(0, np.int64)), values=[1], size=3, weights=[1.0]
            ),
            "Splits must be non-empty",
        ),
        "shifts of rank 2": (rolled([[1]], 0), r"shift must be .* 1-D vector. Found: \[1,1\]"),
        "axes of rank 2": (rolled(1, [[0, 1]]), r"axis must be .* 1-D vector. Found: \[1,2\]"),
        "shifts and axes": (rolled([1], [0, 1]), "shift and axis must have the same size"),
        "an axis to roll": (rolled(1, 5), "axis 5 is out of range"),
        "sparse values of rank 2": (
            densed([1, 2], [4], [[1], [2]]),
            r"sparse_values has incorrect shape \[2,1\], should be \[\] or \[2\]",
        ),
        "too many sparse values": (
            densed([1, 2], [4], [1, 2, 3]),
            r"sparse_values has incorrect shape \[3\], should be \[\] or \[2\]",
        ),
        "a shape of more axes": (
            densed([1, 2], [4, 4], 1),
            "output_shape has incorrect number of elements: 2 should be: 1",
        ),
        "a diagonal into no matrix": (diagonal((), (1,)), r"input must be at least 2-dim.*: \[\]"),
        "no diagonal": (diagonal((1, 1), ()), r"diagonal must be at least 1-dim.*: \[\]"),
        "a longer diagonal": (
            diagonal((2, 3, 3), (2, 4)),
            rf"{first}(.|\n)*Diagonal shape: \[2,4\]\nExpected diagonal shape: \[2,3\]",
        ),
        **{
            f"{letter} {'adjoint' if adjoint else ''}": (
                product((0, 10) if column else (10, 0), adjoint),
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
                lambda n=n: r.NthElement(input=[1.0, 2.0], n=_open(n)),
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
    **_shapes(),
    "partitions of rank 1": (_partitioned(2, (3,)), r"partitions\[2\] = 17 is not in \[0, 7\)"),
    "partitions of rank 2": (
        _partitioned((1, 2), (2, 3)),
        r"partitions\[1,2\] = 17 is not in \[0, 7\)",
    ),
    "indices of rank 0": (lambda: tf.gather([1, 2], _open(7)), r"indices = 7 is not in \[0, 2\)"),
    "indices of rank 1": (
        lambda: tf.gather([1, 2], _open([0, 7])) + 1,
        r"indices\[1\] = 7 is not in \[0, 2\)",
    ),
    "indices of rank 2": (
        lambda: tf.gather([[1, 2]], _open([[0, 1], [1, -7]]), axis=1),
        r"indices\[1,1\] = -7 is not in \[0, 2\)",
    ),
    "indices of rank 3": (
        lambda: tf.gather([1, 2], tf.placeholder_with_default([[[7]]], [1, 1, 1])),
        r"indices\[\.\.\] = 7 is not in \[0, 2\)",
    ),
    "indices of rows that only the run counts": (
        lambda: tf.gather(_open(np.zeros((4, 3))), tf.placeholder_with_default([0, 0, 9], [3])),
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
        _unsorted([1, 5], lambda: _open(np.int32(3))),
        r"segment_ids\[1\] = 5 is out of range \[0, 3\)",
    ),
    "a matrix of unsorted segments that only the run counts": (
        _unsorted([[1, 2], [0, 5]], lambda: _open(np.int32(3))),
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
        lambda: tf.scatter_nd(_open(np.zeros((2, 2, 2), np.int32)), np.zeros((2, 2, 2)), [0, 3, 2]),
        "Indices and updates specified for empty output",
    ),
    "offsets along a matrix": (
        lambda: r.ConcatOffset(concat_dim=1, shape=[_open([[2, 3, 5]]), _open([[2, 7, 5]])])[0],
        "should be a vector",
    ),
    "the nth of one number": (
        lambda: r.NthElement(input=_open(5), n=0),
        "at least rank 1 but is rank 0",
    ),
    "indices of slices": (
        lambda: tf.gather_nd([[1, 2]], _open([[[0, 1], [0, 5]]])),
        r"indices\[0,1\] = \[.*5\] does not index into param shape \[1,2\]",
    ),
    "a part of negative size": (
        lambda: r.SparseSlice(
            indices=PLACES, values=[1], shape=SIZES, start=SIZES, size=_open(-SIZES)
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
            split_dim=_open(SIZES), indices=PLACES, values=[1], shape=SIZES, num_split=2
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


@pytest.mark.parametrize("case", CASES)
def test_message(case: str) -> None:
    make, words = CASES[case]
    with (
        tf.Graph().as_default(),
        pytest.raises(tf.errors.InvalidArgumentError, match=words),
        tf.Session() as session,
    ):
        session.run(make())


def test_rows_of_sparse_tensors_that_do_not_fit() -> None:
    def row(*sizes: int, dtype: Any = np.int32) -> Any:
        parts = np.zeros((2, len(sizes)), np.int64), np.ones(2, dtype), np.array(sizes)
        names = "sparse_indices", "sparse_values", "sparse_shape"
        return r.SerializeSparse(**dict(zip(names, parts)), out_type=tf.variant)

    with tf.Graph().as_default(), tf.Session() as session:
        two, three = row(5, 6), row(1, 1, 1)
        for rows, words in (
            (lambda: [two, three], r"rank prior to SparseTensor\[1\] was: 2 .* is: 3"),
            (lambda: [two, row(5, 6, dtype=np.int64)], r"int32 but SparseTensor\[1\].* == int64"),
            (lambda: [[two[1], two[0], two[2]]], r"\[0, 0\] to represent an index matrix .* \[2\]"),
            (lambda: [[two[0], two[1], three[2]]], "column counts .* do not: 2 vs. 3"),
        ):
            found = r.DeserializeSparse(serialized_sparse=tf.stack(rows()), dtype=tf.int32)
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(found[1])
        found = r.DeserializeSparse(serialized_sparse=tf.stack([two, two]), dtype=tf.int32)
        np.testing.assert_array_equal(session.run(found[2]), [2, 5, 6])


def test_there_is_no_kernel_for_windows_over_the_batch() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        image, every = tf.placeholder(tf.float32, None), [1, 1, 1, 1]
        pooled = r.AvgPool(value=image, ksize=[2, 1, 1, 1], strides=every, padding="SAME")
        with pytest.raises(tf.errors.UnimplementedError, match="on the batch dimension"):
            session.run(pooled, {image: np.ones((2, 2, 2, 1))})


def test_an_assertion_speaks_before_the_node_that_waits_for_it() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, None), tf.placeholder(tf.float32, None)
        same_rank = tf.assert_equal(tf.rank(x), tf.rank(y), message="two ranks")
        with tf.control_dependencies([same_rank]):
            close = tf.assert_less(tf.abs(x - y), 1.0, message="too far")
        with tf.control_dependencies([close]):
            stacked = tf.stack([x, y])
        two, three = np.zeros(2), np.zeros(3)
        assert session.run(stacked, {x: two, y: two}).shape == (2, 2)
        for fed, words in (
            ({x: two, y: np.zeros((3, 1))}, "^assertion failed: .*two ranks"),
            ({x: two, y: two + 5}, "^assertion failed: .*too far"),
            ({x: two, y: three}, r"Incompatible shapes: \[2\] vs. \[3\]"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(stacked, fed)


def test_gradients_that_an_accumulator_refuses() -> None:
    f4 = np.float32
    cases: list[tuple[Any, Any, Any, str]] = [
        ([[0, 1]], np.ones(2, f4), None, r"Input indices should be vector but received shape: \["),
        ([0], f4(1), None, "Values cannot be 0-dimensional"),
        ([0, 1], np.ones((1, 2, 2), f4), None, "Expected 2 non-empty input values, got 1"),
        ([0], np.ones((1, 2), f4), [2, 2], "expected shape rank at least 3, got 2"),
        ([0], np.ones((1, 2), f4), None, "expected values rank at least 3, got 2"),
        ([0], np.ones((1, 3, 2), f4), None, "expected values dim 1 to be 2, got 3"),
    ]
    with tf.Graph().as_default(), tf.Session() as session:
        q = tf.SparseConditionalAccumulator(tf.float32, shape=[2, 2, None])
        for indices, values, shape, words in cases:
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                apply = q.apply_grad(_open(np.array(indices, np.int64)), _open(values), shape)
                session.run(apply)
        session.run(q.apply_grad([0], np.ones((1, 2, 2, 2), f4)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="values rank 4, got 3"):
            session.run(q.apply_grad([0], np.ones((1, 2, 2), f4)))
        scalars = tf.SparseConditionalAccumulator(tf.float32, shape=[])
        session.run(scalars.apply_grad([0], np.ones(1, f4), np.zeros(0, np.int64)))


def test_shapes_of_slices_that_say_nothing_or_too_little() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for known, shape, words in (
            (True, 4, "expected shape rank at least 2, got 1"),
            (True, [[3, 1]], ""),
            (False, 4, ""),
        ):
            apply = r.SparseAccumulatorApplyGradient(
                handle=r.SparseConditionalAccumulator(dtype=tf.float32, shape=[3, 1]),
                local_step=0,
                gradient_indices=[0],
                gradient_values=[[1.0]],
                gradient_shape=_open(np.array(shape, np.int64)),
                has_known_shape=known,
            )
            refused = pytest.raises(tf.errors.InvalidArgumentError, match=words or None)
            with refused if words else nullcontext():
                session.run(apply)


def test_distances_of_words() -> None:
    def sparse(*words: str) -> Any:
        indices = [[0, i] for i in range(len(words))]
        return tf.SparseTensor(indices, tf.constant(words, tf.string), [1, max(len(words), 1)])

    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.edit_distance(sparse("a", "b", "cc"), sparse("a", "cc"), normalize=False)
        np.testing.assert_array_equal(session.run(found), [1])
        found = tf.edit_distance(sparse("b"), sparse("a", "b", "c", "d"))
        np.testing.assert_array_equal(session.run(found), [0.75])


def test_zeros_like_an_optional() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        zeros = r.ZerosLike(x=r.OptionalFromValue(components=[x]))
        found = r.OptionalGetValue(optional=zeros, output_types=[tf.float32], output_shapes=[[2]])
        np.testing.assert_array_equal(session.run(found[0], {x: [1, 2]}), [0, 0])


def test_texts_that_are_not_among_others() -> None:
    x, y = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [None])
    with tf.Session() as session:
        for xs, ys, kept in (
            (["a", "bb", "a", "c"], ["bb", "d"], [0, 2, 3]),
            ([], ["a"], []),
            (["a"], [], [0]),
        ):
            found, places = session.run(tf.setdiff1d(x, y), {x: xs, y: ys})
            assert places.tolist() == kept and [t.decode() for t in found] == [xs[k] for k in kept]


@pytest.mark.parametrize(
    ("values", "words"),
    [([1.0, np.nan], "NaN"), ([np.inf, 1.0], "Inf"), ([-np.inf, np.nan], "Inf and NaN")],
)
def test_numbers_are_checked_that_only_a_control_input_names(values: Any, words: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        with tf.control_dependencies([tf.check_numerics(x * 2, "doubled")]):
            y = x + 1
        np.testing.assert_array_equal(session.run(y, {x: [1, 2]}), [2, 3])
        for fetch in (y, tf.group(tf.check_numerics(x, "doubled"))):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=f"^doubled : Tensor had {words} values"
            ):
                session.run(fetch, {x: values})


def test_a_temporary_variable_holds_something() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = r.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="v")
        assert session.run(tf.identity(variable)).shape == (2,)
        last = [
            r.DestroyTemporaryVariable(ref=variable, var_name=name) for name in ("v", "another")
        ]
        assert session.run(last[0]).shape == (2,)
        with pytest.raises(tf.errors.NotFoundError, match="Resource another does not exist"):
            session.run(last[1])


def test_an_empty_constant_may_have_the_value_that_would_fill_it(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        model = (
            'node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_STRING } } attr {'
            ' key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 0 } }'
            ' string_val: "" } } } }'
        )
        (tmp_path / "graph.pbtxt").write_text(model)
        tf.import_graph_def(str(tmp_path / "graph.pbtxt"), name="")
        assert session.run(graph.get_tensor_by_name("c:0")).shape == (0,)
