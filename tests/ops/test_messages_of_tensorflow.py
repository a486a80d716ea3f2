"""What a run says of wrong inputs, in the words that TensorFlow's own tests look for."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calls.refused_calls import CASES, fed

import flowc as tf

r: Any = tf.raw_ops


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
                apply = q.apply_grad(fed(np.array(indices, np.int64)), fed(values), shape)
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
                gradient_shape=fed(np.array(shape, np.int64)),
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
