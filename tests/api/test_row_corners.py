"""Corners of TensorFlow 1's API that its own programs reach: what is expected was seen in
TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf


def value(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_a_gradient_of_0_through_a_root_is_0() -> None:
    x = tf.placeholder(tf.float32, [3])
    chosen = tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))
    found = value(tf.gradients(chosen, x)[0], {x: [4, -1, 0]})
    np.testing.assert_array_equal(found, np.array([0.25, 0, 0]))
    (gradient,) = tf.gradients(tf.sqrt(x), x, grad_ys=[tf.zeros([3])])
    np.testing.assert_array_equal(value(gradient, {x: [0, np.nan, -1]}), np.zeros(3, np.float32))


def test_squeezed_sizes_that_only_a_run_knows() -> None:
    x = tf.placeholder(tf.float32, [None, 1, 3])
    assert tf.squeeze(x).shape.ndims is None
    assert tf.squeeze(x, [1]).shape.as_list() == [None, 3]
    assert value(tf.squeeze(x), {x: np.zeros((1, 1, 3))}).shape == (3,)
    assert value(tf.squeeze(x), {x: np.zeros((2, 1, 3))}).shape == (2, 3)


def test_strings() -> None:
    assert value(tf.pad(["a"], [[1, 2]])).tolist() == [b"", b"a", b"", b""]
    x = tf.placeholder(tf.string, [None])
    assert value(tf.pad(x, [[0, 1]]), {x: ["q"]}).tolist() == [b"q", b""]
    assert value(tf.string_join([])) == b""


def test_empty_lists_take_what_is_asked_for() -> None:
    assert value([tf.reduce_all([]), tf.reduce_any([])]) == [True, False]
    zeros = (
        tf.constant([], shape=[2]),
        tf.constant([], tf.int32, [2]),
        tf.constant([], tf.string, [1]),
    )
    assert [v.tolist() for v in value(zeros)] == [[0, 0], [0, 0], [b""]]
    items = tf.data.make_one_shot_iterator(tf.data.TFRecordDataset([])).get_next()
    with pytest.raises(tf.errors.OutOfRangeError):
        value(items)


def test_sparse_tensors_times_and_over_dense_ones() -> None:
    sparse = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
    whole = tf.SparseTensor([[0]], [7], [2])
    pairs: list[Any] = [
        sparse * [[2.0, 2.0], [3.0, 3.0]],
        sparse / [1.0, 2.0],
        tf.ones([2]) * sparse,
        whole / 2,
    ]
    assert [p.values.op.type for p in pairs] == [
        f"SparseDenseCwise{w}" for w in ("Mul", "Div", "Mul", "Div")
    ]
    assert [v.values.tolist() for v in value(pairs)] == [[4, 9], [1, 3], [2, 3], [3.5]]
    (gradient,) = tf.gradients((sparse * 2.0).values, sparse.values)
    assert value(gradient).tolist() == [2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shapes"):
        value(sparse * tf.ones([3]))


def test_folds_of_sparse_tensors() -> None:
    sparse = tf.SparseTensor([[0, 1], [1, 0], [1, 1]], [2.0, 3.0, 3.0], [2, 2])
    assert value(tf.sparse_reduce_max(sparse)) == 3
    assert value(tf.sparse.reduce_max(sparse, 1, True)).tolist() == [[2], [3]]
    assert value(tf.sparse_reduce_sum_sparse(sparse, 0)).values.tolist() == [3, 5]
    assert value(tf.sparse_reduce_max_sparse(sparse, 1)).dense_shape.tolist() == [2]
    assert value(tf.sparse.softmax(sparse)).values.tolist() == [1, 0.5, 0.5]
    wrong: Any = 3
    with pytest.raises(TypeError):
        tf.sparse_softmax(wrong)


def test_feeds_of_another_kind() -> None:
    flag, text = tf.placeholder(tf.bool), tf.placeholder(tf.string, name="text")
    for number in (2, -1):
        with pytest.raises(TypeError, match="is not compatible with Tensor type bool"):
            value(tf.identity(flag), {flag: number})
    assert value(tf.identity(flag), {flag: [0, 2]}).tolist() == [False, True]
    assert value(tf.identity(flag), {flag: 1}) is np.True_
    with pytest.raises(TypeError, match=r"Type of feed value 3 .* Tensor type string of text:0"):
        value(tf.identity(text), {text: 3})


def _on_read() -> bool:
    return tf.Variable(1, synchronization=tf.VariableSynchronization.ON_READ).trainable


NAMES: dict[str, Callable[[], Any]] = {
    "group_deps": lambda: tf.group().name,
    "Abs:0": lambda: abs(tf.constant(1j)).name,
    "mul:0": lambda: (tf.SparseTensor([[0]], [7], [2]) * 2).values.name,
    "False": lambda: str(_on_read()),
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    assert NAMES[name]() == name


REFUSED: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "variables of two dtypes": (
        TypeError,
        "has type int32 that does not match type float32",
        lambda: tf.Variable([1.0]) + tf.Variable(3),
    ),
    "a shape as floats": (
        TypeError,
        "Cannot convert TensorShape",
        lambda: tf.convert_to_tensor(tf.TensorShape([1]), tf.float32),
    ),
    "a vector that counts": (
        ValueError,
        "Shape must be rank 0 but is rank 1",
        lambda: tf.Variable([1]).count_up_to(3),
    ),
    "an initializer without a shape": (
        ValueError,
        "shape",
        lambda: tf.get_variable("w", initializer=tf.zeros_initializer()),
    ),
    "reuse by number": (
        ValueError,
        "must be True or False or None",
        lambda: tf.variable_scope("z", reuse=1).__enter__(),
    ),
    "a range of vectors": (
        ValueError,
        "Shape must be rank 0 but is rank 1",
        lambda: tf.range([3]),
    ),
    "ones of strings": (TypeError, "Expected string", lambda: tf.ones([2], tf.string)),
    "records of bools": (
        TypeError,
        "not in list of allowed values",
        lambda: tf.decode_csv("1", [[True]]),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    kind, words, call = REFUSED[case]
    with pytest.raises(kind, match=words):
        call()


def test_places_of_sparse_elements_are_in_order() -> None:
    places, values = tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.float32, [None])
    dense = tf.sparse_to_dense(places, [2, 2], values)
    taken = value(dense, {places: [[0, 1], [1, 0]], values: [1, 2]})
    assert taken.tolist() == [[0, 1], [2, 0]]
    for bad in ([[0, 1], [0, 0]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of order or repeated"):
            value(dense, {places: bad, values: [1, 2]})
    anyhow = tf.sparse_to_dense([[0, 1], [0, 0]], [2, 2], 5, validate_indices=False)
    assert value(anyhow).tolist() == [[5, 5], [0, 0]]
    twice = tf.SparseTensor([[0, 1], [0, 1]], [1.0, 2.0], [2, 2])
    assert value(tf.sparse_reduce_sum(twice, 1)).tolist() == [3, 0]


def test_a_size_that_does_not_divide_is_refused_when_the_graph_is_built() -> None:
    with pytest.raises(ValueError, match="Dimension size must be evenly divisible by 4 but is 9"):
        tf.reshape(tf.placeholder(tf.float32, [None, 4]), [3, 3])


@pytest.mark.parametrize("rows", [1, None])
@pytest.mark.parametrize("sparse", [True, False])
def test_second_derivatives_of_cross_entropies(rows: int | None, sparse: bool) -> None:
    logits = tf.placeholder(tf.float32, [rows, 3])
    if sparse:
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=logits)
    else:
        labels = tf.constant([[0.0, 1.0, 0.0]])
        loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    (first,) = tf.gradients(loss, logits)
    made = {op.type for op in tf.get_default_graph().get_operations()}
    assert "Softmax" not in made  # first derivatives need none
    weights = np.array([[1.0, -2.0, 3.0]])
    (second,) = tf.gradients(first * tf.constant(weights, tf.float32), logits)
    shares = np.exp([[1.0, 2.0, 0.5]]) / np.exp([1.0, 2.0, 0.5]).sum()
    wanted = (weights - (weights * shares).sum()) * shares
    np.testing.assert_allclose(value(second, {logits: [[1.0, 2.0, 0.5]]}), wanted, rtol=1e-4)


def test_a_partitioned_variable_has_no_empty_parts() -> None:
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(3)):
        assert [part.shape.as_list() for part in tf.get_variable("b", [2])] == [[1], [1]]
        assert isinstance(tf.get_variable("scalar", []), tf.Variable)
    with pytest.raises(ValueError, match="more partitions than an axis is long"):
        tf.get_variable("u", [4], partitioner=lambda shape, dtype: [5])
    with pytest.raises(ValueError, match="Partitioner must return a sequence, but saw: 2"):
        tf.get_variable("v", [4], partitioner=lambda shape, dtype: 2)
    with pytest.raises(ValueError, match=r"one dimension: shape: \(3, 4\), partitioning: \[2, 2\]"):
        tf.get_variable("w", [3, 4], partitioner=lambda shape, dtype: [2, 2])


def test_a_partitioned_variable_is_shared_in_its_parts() -> None:
    in_two, in_three = tf.fixed_size_partitioner(2), tf.fixed_size_partitioner(3)
    with tf.variable_scope("p", partitioner=in_two):
        made = tf.get_variable("b", [4])
    with tf.variable_scope("p", partitioner=in_two, reuse=True):
        assert tf.get_variable("b", [4]) is made and tf.get_variable("b") is made
    with (
        tf.variable_scope("p", partitioner=in_three, reuse=True),
        pytest.raises(ValueError, match=r"specified partitions \[3\] and found partitions \[2\]"),
    ):
        tf.get_variable("b", [4])


def test_what_a_meta_graph_says_and_which_collections_are_wanted() -> None:
    v = tf.Variable(1.0, name="v")
    tf.add_to_collection("mine", v.value())
    saver = tf.train.Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    kept = saver.export_meta_graph(clear_extraneous_savers=True)
    assert list(kept.collection_def["savers"].bytes_list.value) == [
        saver.as_saver_def().SerializeToString()
    ]
    assert kept.meta_info_def.tensorflow_version == tf.VERSION
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(kept, restore_collections_predicate=lambda key: key == "mine")
        assert graph.get_all_collection_keys() == ["mine"]
        with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
            tf.train.import_meta_graph(kept, other=1)


def test_the_gradient_by_a_variable_is_checked() -> None:
    v = tf.Variable([3.0, 4.0])
    with tf.Session():
        by_gradients, by_differences = tf.test.compute_gradient(
            v, [2], v * v, [2], x_init_value=np.array([3.0, 4.0]), init_targets=v.initializer
        )
    np.testing.assert_allclose(by_gradients, [[6, 0], [0, 8]])
    np.testing.assert_allclose(by_differences, by_gradients, rtol=1e-3)


def test_an_index_cut_to_nothing_is_a_lost_checkpoint(tmp_path: Path) -> None:
    v = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        path = tf.train.Saver().save(session, str(tmp_path / "m"))
        Path(f"{path}.index").write_bytes(b"")
        with pytest.raises(tf.errors.DataLossError, match=r"m\.index: the file is empty"):
            tf.train.Saver().restore(session, path)


def test_what_is_no_message_and_what_are_no_options(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(str(tmp_path))
    for add in (writer.add_event, writer.add_session_log, writer.add_meta_graph):
        with pytest.raises(TypeError, match="takes messages or their bytes, found 3"):
            add(3)
    writer.close()
    with pytest.raises(TypeError, match=r"takes tf\.data\.Options, found 3"):
        tf.data.Dataset.range(3).with_options(3)
    assert tf.data.Dataset.range(3).with_options(tf.data.Options()) is not None


def test_sizes_of_the_one_component_of_a_queue() -> None:
    """Sizes are a shape where one is listed for each component; no sizes, that of a scalar."""
    for given, expected in (([], []), ([2, 3], [2, 3]), ([[2]], [2]), (tf.TensorShape([2]), [2])):
        assert tf.FIFOQueue(3, tf.float32, shapes=given).shapes == [tf.TensorShape(expected)]
    with pytest.raises(TypeError, match="Shapes must be a TensorShape or a list"):
        tf.FIFOQueue(3, tf.float32, shapes=2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="all components, but received 1 dtypes and 2 shapes"):
        tf.PaddingFIFOQueue(3, [tf.float32], shapes=[[2], [3]])


@pytest.mark.parametrize(
    ("text", "is_read"),
    [(b"junk", True), (b"bad", True), (b"foo", False), (b"\x0a", False), (b"xyz", False)],
)
def test_examples_that_end_before_they_should(text: bytes, is_read: bool) -> None:
    """As in TensorFlow, of a field that examples do not have, the end may be missing."""
    feature = {"x": tf.FixedLenFeature([], tf.float32, 1.5)}
    whole = tf.train.Example()
    whole.features.feature["x"].float_list.value.append(2)
    one = tf.parse_single_example(text, feature)["x"]
    both = tf.parse_example([whole.SerializeToString() + text, text], feature)["x"]
    sequence = tf.parse_single_sequence_example(text, feature)[0]["x"]
    if is_read:
        assert [v.tolist() for v in value([one, both, sequence])] == [1.5, [2, 1.5], 1.5]
        return
    for fetch, message in (
        (one, "Could not parse example input, value: "),
        (both, "Could not parse example input, value: "),
        (sequence, "Invalid protocol message input, example id: <unknown>"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            value(fetch)


def test_hints_that_matrices_are_sparse() -> None:
    a, b = tf.constant([[0.0, 1], [2, 0]]), tf.constant([[1.0, 2], [3, 4]])
    hinted, half = tf.matmul(a, b, a_is_sparse=True), tf.cast(a, tf.bfloat16)
    assert hinted.op.type == "SparseMatMul"
    assert tf.matmul(half, half, b_is_sparse=True).dtype == tf.bfloat16
    assert tf.matmul(tf.cast(a, tf.float64), tf.cast(b, tf.float64), b_is_sparse=True).op.type == (
        "MatMul"
    )
    mixed = tf.matmul(half, b)  # of both dtypes
    found = value([hinted, tf.sparse_matmul(a, b, transpose_b=True), mixed])
    expected = [[[3, 4], [2, 4]], [[2, 4], [2, 6]], [[3, 4], [2, 4]]]
    assert [v.tolist() for v in found] == expected
    with pytest.raises(ValueError, match="rank 2 but is rank 3"):
        tf.matmul(tf.zeros([2, 2, 2]), tf.zeros([2, 2, 2]), b_is_sparse=True)


def test_dimensions_are_divided_without_a_rest() -> None:
    for quotient in (lambda: tf.Dimension(2) / 2, lambda: 2 / tf.Dimension(2)):
        with pytest.raises(TypeError, match="please use // instead"):
            quotient()


def test_a_tuple_of_operations_runs_them_behind_the_gate() -> None:
    x = tf.Variable(1.0)
    added, nothing = x.assign_add(1.0), tf.no_op()
    gated = tf.tuple([added, nothing, None])
    assert gated[2] is None
    assert {op.name for op in gated[1].control_inputs} == {"tuple/group_deps", nothing.name}
    with tf.Session() as session:
        session.run(x.initializer)
        session.run(gated[1])
        assert session.run(b"Variable:0") == 2  # names may be bytes


def test_what_is_of_another_graph_or_device_is_named() -> None:
    x = tf.constant(1, name="x")
    with tf.device("/gpu:7"):
        y = tf.add(tf.constant(2, name="z"), x, name="y")
    for fetch, name in ((y, "y"), (y.op.inputs[0], "z")):  # constants are placed last
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"for operation {name}: ") as told:
            value(fetch)
        assert told.value.op is not None and told.value.op.name == name
    other = tf.Session(graph=tf.Graph())
    with pytest.raises(ValueError, match="to evaluate tensor: the tensor's graph is different"):
        x.eval(session=other)
    with pytest.raises(ValueError, match="execute operation: the operation's graph is different"):
        x.op.run(session=other)


def test_slices_of_quantized_and_complex_variables() -> None:
    rows = tf.constant([[1, 2], [3, 4]], tf.qint8)
    quantized, numbers = tf.Variable(rows), tf.Variable(tf.cast([2.0, 8.0], tf.complex64))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        changed = tf.scatter_update(quantized, [1], tf.constant([[7, 8]], tf.qint8))
        assert session.run(changed).tolist() == [[1, 2], [7, 8]]
        halves = tf.scatter_div(numbers, [1, 1], tf.constant([2, 2j], tf.complex64))
        assert session.run(halves).tolist() == [2, -2j]


def test_a_getter_that_is_no_function() -> None:
    with pytest.raises(ValueError, match="custom_getter which is not callable: 3"):
        tf.get_variable("x", [2], custom_getter=3)  # type: ignore[arg-type]


def test_a_gradient_passes_through_a_function() -> None:
    x = tf.Variable(1.4)
    rounded = tf.grad_pass_through(lambda y: tf.round(y) * x)(x * 2.0)
    with tf.Session() as session:
        session.run(x.initializer)
        found = session.run([rounded, *tf.gradients(rounded, x)])
    np.testing.assert_allclose(found, [3 * 1.4, 2.0], rtol=1e-6)
    with pytest.raises(TypeError, match="does not have integer type: <dtype: 'float32'>"):
        tf.train.assert_global_step(tf.constant(1.0))
