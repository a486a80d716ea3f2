"""Small graphs that once failed: broadcasts of one element, axes as lists, empty tensors, the shape
of a list's elements, and where an error happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.importer import load_graph
from flowc.proto.graph_pb2 import GraphDef

r: Any = tf.raw_ops


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_results() -> None:
    one = tf.placeholder(tf.float32, [1, 1])
    rows = tf.placeholder_with_default(3, [])
    empty = np.zeros((0, 2, 2, 3), "f4")
    element_shape = r.EmptyTensorList(
        element_shape=[rows, 15], max_num_elements=-1, element_dtype=tf.float32
    )
    variable = r.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="v")
    gradient = r.FusedBatchNormGradV3(
        y_backprop=empty, x=empty, scale=np.ones(3, "f4"),
        **{f"reserve_space_{i}": np.zeros(3, "f4") for i in (1, 2, 3)},
    )  # fmt: skip
    fetches = {
        tf.matmul(one, tf.constant([[2.0]])): [[6]],
        tf.reduce_max(tf.constant([[1, 2], [3, 4]]), [0, 1]): 4,
        tf.sequence_mask([[0, 1], [2, 3]]): [
            [[0, 0, 0], [1, 0, 0]], [[1, 1, 0], [1, 1, 1]],
        ],
        tf.repeat([1, 2], [2, 3]): [1, 1, 2, 2, 2],
        r.TensorListElementShape(input_handle=element_shape, shape_type=tf.int32): [3, 15],
        gradient[1]: [0, 0, 0],
        tf.segment_sum([1.0, 2, 3, 4], [0, 0, 1, 4]): [3, 3, 0, 0, 4],
        r.DestroyTemporaryVariable(ref=tf.assign(variable, [1.0, 2.0]), var_name="v"): [1, 2],
    }  # fmt: skip
    with tf.Session() as session, np.errstate(invalid="ignore", divide="ignore"):
        found = session.run(list(fetches), {one: [[3.0]]})
    for result, expected in zip(found, fetches.values()):
        np.testing.assert_array_equal(result, expected)


def test_errors_know_their_operation() -> None:
    wrong = tf.gather([1, 2, 3], tf.placeholder_with_default([7], [1]), name="wrong")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(wrong)
    assert caught.value.op is wrong.op and "7 is not in [0, 3)" in str(caught.value)
    gradient = r.SparseSegmentMeanGrad(
        grad=np.ones((1, 2), "f4"), indices=[9], segment_ids=[0], output_dim0=3
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="9"):
        session.run(gradient)


def test_a_binary_graph_that_begins_like_json(tmp_path: Path) -> None:
    graph = GraphDef()
    node = graph.node.add(op="Placeholder", name="x")
    node.attr["dtype"].type = 1
    node.name += "a" * (123 - node.ByteSize())
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.SerializeToString())
    assert path.read_bytes().startswith(b"\n{")
    (operation,) = load_graph(path).get_operations()
    assert operation.name == node.name


def test_what_is_ignored_empty_or_far_out() -> None:
    """As TensorFlow 2.21 gives it for the same calls."""
    places = tf.placeholder(tf.int32, [2, 1])
    ignored = {"indices": places, "bad_indices_policy": "IGNORE"}
    image, kernel = np.ones((1, 2, 2, 1), "f4"), np.ones((2, 2, 1, 1), "f4")
    fetches = {
        r.GatherNd(params=np.float32([1, 2]), **ignored): [1, 0],
        r.ScatterNd(updates=np.float32([1, 2]), shape=[3], **ignored): [1, 0, 0],
        tf.shape(tf.segment_sum([1.0, 2, 3, 4], [0, 0, 1, 1000])): [1001],
        tf.shape(tf.reshape(np.ones((2, 0), "f4"), [-1, 0])): [2, 0],
        tf.scatter_nd(places, tf.constant(["a", "b"]), [8]): [b"a", *[b""] * 6, b"b"],
        tf.shape(tf.nn.conv2d(image, kernel, 1, "SAME", dilations=4)): [1, 2, 2, 1],
    }
    with tf.Session() as session:
        found = session.run(list(fetches), {places: [[0], [7]]})
        for result, expected in zip(found, fetches.values()):
            np.testing.assert_array_equal(result, expected)
        for call, words in (
            (lambda: tf.ensure_shape(tf.placeholder_with_default(image, [None] * 4), [1, 2, 2, 4]),
             "not compatible with expected shape"),
            (lambda: tf.transpose(image[0, 0], tf.placeholder_with_default([1, 1], [2])),
             "0 is missing from"),
        ):  # fmt: skip
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(call())


def test_a_known_number_near_a_root_of_lgamma_is_as_exact_as_a_fed_one() -> None:
    """Next to 1 and 2, and at roots below 0, where the logarithm of a product cancels."""
    numbers = np.array([1 + 1e-9, 2 - 1e-12, -2.4570247382208006, -2.7476826467274126])
    fed = tf.placeholder(tf.float64, [4])
    with tf.Session() as session:
        known, given = session.run([tf.lgamma(numbers), tf.lgamma(fed)], {fed: numbers})
    np.testing.assert_array_equal(known, given)
    np.testing.assert_allclose(known[:2], [-5.772157126e-10, -4.228e-13], rtol=1e-4)


@pytest.mark.parametrize(
    ("ends", "product"), [((0, 0), 129540), ((-1, -1), 129540), ((1, -1), 64516)]
)
def test_a_quantized_filter_may_have_an_empty_range(
    ends: tuple[float, float], product: int
) -> None:
    """As TensorFlow 2.21 computes it; its QuantizedMatMul refuses such a range."""
    image, kernel = np.full((1, 3, 3, 1), 255, np.uint8), np.full((2, 2, 1, 1), 255, np.uint8)
    low, high = (tf.placeholder_with_default(np.float32(end), []) for end in ends)
    products = r.QuantizedConv2D(
        input=tf.bitcast(image, tf.quint8), filter=tf.bitcast(kernel, tf.quint8),
        min_input=-1.0, max_input=1.0, min_filter=low, max_filter=high,
        strides=[1, 1, 1, 1], padding="VALID",
    )  # fmt: skip
    with tf.Session() as session:
        found = session.run(tf.bitcast(products[0], tf.int32))
    assert set(found.flat) == {product}


def test_floats_beyond_an_integers_range_become_the_same_wherever_they_stand() -> None:
    """What TensorFlow 2.21's vectors give; its elements that fill none differ."""
    numbers = np.float32([3e9, -3e9, np.nan, np.inf, 300.5, -1.5])
    least = -(2**31)
    wanted: dict[Any, list[int]] = {
        tf.int32: [least, least, least, least, 300, -1],
        tf.int64: [3_000_000_000, -3_000_000_000, -(2**63), -(2**63), 300, -1],
        tf.uint32: [3_000_000_000, 2**31, 2**31, 2**31, 300, 2**32 - 1],
        tf.int8: [-128, -128, -128, -128, 127, -1],
        tf.uint8: [0, 0, 0, 0, 255, 0],
    }
    fed = tf.placeholder(tf.float32, [None])
    casts = [tf.cast(fed, dtype) for dtype in wanted]
    with tf.Session() as session:
        for count in (1, 7):
            for found, expected in zip(
                session.run(casts, {fed: numbers.repeat(count)}), wanted.values()
            ):
                assert found.tolist() == np.repeat(expected, count).tolist()
        for found, expected in zip(
            session.run([tf.cast(numbers, d) for d in wanted]), wanted.values()
        ):
            assert found.tolist() == expected


def test_what_only_the_run_knows_of_shapes_axes_and_places() -> None:
    matrix, sizes = tf.placeholder(tf.float32, None), tf.placeholder(tf.int32, [None])
    texts = tf.placeholder(tf.string, None)
    nothing = tf.nn.conv3d_transpose(
        np.zeros((0, 2, 2, 2, 1), "f4"), np.ones((2, 2, 2, 1, 1), "f4"), [0, 4, 4, 4, 1], 2
    )
    given = np.float32([[1, 2], [3, 4]])
    fetches = {
        tf.tensordot(matrix, matrix, [[1], [0]]): given @ given,
        tf.fill(sizes, 7): np.full((2, 3), 7),
        tf.unique(texts)[0]: [b"b", b"a"],
        tf.shape(nothing): [0, 4, 4, 4, 1],
        tf.abs(tf.complex(matrix, 0.0)): given,
    }
    feeds = {matrix: given, sizes: [2, 3], texts: np.array(["b", "a", "b"], object)}
    with tf.Session() as session:
        for found, expected in zip(session.run(list(fetches), feeds), fetches.values()):
            np.testing.assert_array_equal(found, expected)
        for call, words in (
            (lambda: tf.gather([1, 2, 3], tf.placeholder_with_default([[7]], None)),
             r"indices\[0,0\] = 7 is not in \[0, 3\)"),
            (lambda: r.Cumsum(x=given, axis=tf.placeholder_with_default([0], None)), "scalar"),
            (lambda: r.EmptyTensorList(
                element_shape=[2], max_num_elements=-1, element_dtype=tf.float32),
             "is a handle and cannot be fetched"),
        ):  # fmt: skip
            with pytest.raises(tf.errors.FlowcError, match=words):
                session.run(call())


def test_a_graph_that_grows_keeps_its_variables() -> None:
    count = tf.Variable(1.0)
    with tf.Session() as session:
        session.run(count.initializer)
        assert session.run(tf.assign_add(count, 2.0)) == 3
        grown = tf.assign_add(count, 4.0) * 2  # a node of a graph that ran before
        assert session.run(grown) == 14 and session.run(count) == 7


def test_ranges_that_sums_may_be_requantized_to() -> None:
    """As in TensorFlow 2.21: of negative numbers alone, too, but not of none, and those of signed
    numbers by channels begin below 0."""
    low, high = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    sums = tf.bitcast(np.int32([[[[-(2**30), 2**30]]]]), tf.qint32)
    asked = {"requested_output_min": low, "requested_output_max": high}
    whole = r.Requantize(input=sums, input_min=-4.0, input_max=4.0, out_type=tf.quint8, **asked)
    apart = r.RequantizePerChannel(
        input=sums, input_min=[-4.0, -4.0], input_max=[4.0, 4.0], out_type=tf.qint8, **asked
    )
    with tf.Session() as session:
        found = session.run(tf.bitcast(whole[0], tf.uint8), {low: -4.0, high: -1.0})
        assert found.reshape(-1).tolist() == [170, 255]
        for fetch, ends, words in (
            (whole, (-1.0, -2.0), "requested_output_max must be >= requested_output_min"),
            (whole, (0.5, 2.0), "requested_output_min must be <= 0"),
            (apart, (0.0, 2.0), "requested_output_min must be negative"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(tf.identity(fetch[1]), {low: ends[0], high: ends[1]})
