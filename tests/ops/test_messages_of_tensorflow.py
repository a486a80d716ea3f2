"""What a run says of wrong inputs, in the words that TensorFlow's own tests look for."""

from __future__ import annotations

from collections.abc import Callable
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


CASES: dict[str, tuple[Callable[[], Any], str]] = {
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
