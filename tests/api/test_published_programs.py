"""What programs that others published for TensorFlow 1 met with. The expected values are those that
TensorFlow 2.21 gives the same lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf


def _types(start: int = 0) -> list[str]:
    return [op.type for op in tf.get_default_graph().get_operations()[start:]]


def test_a_size_that_is_told_is_known_however_long_the_arithmetic_behind_the_others() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, None, 16])
        for _ in range(40):
            x = tf.reshape(tf.transpose(x, [0, 2, 1]), [2, tf.shape(x)[1], 16])
        assert x.shape.as_list() == [2, None, 16]


@pytest.mark.parametrize(("axis", "count"), [(1, 31), (-2, 35), (2, 1)])
def test_softmax_over_an_axis_has_as_many_nodes_as_tensorflows(axis: int, count: int) -> None:
    """The seed of a random node follows from how many nodes are before it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3, 4])
        y = tf.nn.softmax(x, axis=axis, name="attention")
        assert len(_types()) == 1 + count and y.op.name == "attention"
        assert y.shape.as_list() == [None, 3, 4]
        given = np.arange(24, dtype=np.float32).reshape(2, 3, 4) ** 1.5
        parts = np.exp(given - given.max(axis, keepdims=True))
        expected = parts / parts.sum(axis, keepdims=True)
        np.testing.assert_allclose(session.run(y, {x: given}), expected, rtol=1e-5)


def test_a_dropout_layer_that_drops_nothing_is_one_identity() -> None:
    with tf.Graph().as_default():
        x = tf.ones([2, 3])
        for training in (True, False, tf.placeholder(tf.bool, [])):
            before = len(_types())
            assert tf.layers.dropout(x, 0.0, training=training) is not x
            assert _types(before) == ["Identity"]


def _cell(kind: str) -> tf.nn.rnn_cell.RNNCell:
    cells = tf.nn.rnn_cell
    if kind == "lstm":
        return cells.BasicLSTMCell(3)
    if kind == "layers":
        dropped = [cells.DropoutWrapper(cells.LSTMCell(3), output_keep_prob=0.5) for _ in range(2)]
        return cells.MultiRNNCell(dropped)
    return cells.DropoutWrapper(
        cells.GRUCell(3), 0.5, 0.6, 0.7, variational_recurrent=True, input_size=4, dtype=tf.float32
    )


@pytest.mark.parametrize(
    ("kind", "known", "count", "drawn"),
    [
        ("lstm", True, 144, [0.2818339, 2.3878284]),
        ("layers", False, 270, [1.0529343, -0.8934997]),
        ("variational", True, 186, [0.3369457, 1.77476]),
    ],
)
def test_what_is_drawn_behind_a_recurrent_network_is_what_tensorflow_draws(
    kind: str, known: bool, count: int, drawn: list[float]
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [2, 3, 4] if known else [None, None, 4])
        lengths = None if known else tf.placeholder(tf.int32, [None])
        tf.nn.dynamic_rnn(_cell(kind), x, lengths, dtype=tf.float32)
        assert len(_types()) == count
        weights = tf.random_normal([2])
        np.testing.assert_allclose(session.run(weights), drawn, rtol=1e-5)


def test_a_state_of_zeros_is_made_for_a_batch_of_a_size_in_a_vector_and_on_a_device() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(2), "/cpu:0")
        size = tf.placeholder(tf.int32, [1])
        state = cell.zero_state(size, tf.float32)
        assert state.name == "DeviceWrapperZeroState/GRUCellZeroState/zeros:0"
        assert state.device == "/device:CPU:0" and state.shape.as_list() == [None, 2]
        assert session.run(state, {size: [3]}).tolist() == [[0.0, 0.0]] * 3


def test_a_feed_may_be_for_a_structure_of_tensors() -> None:
    """As programs feed the state of a recurrent network that they fetched."""
    with tf.Graph().as_default(), tf.Session() as session:
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2) for _ in range(2)])
        state = cell.zero_state(1, tf.float32)
        (first, second) = state
        total = tf.concat([first.c, first.h, second.c, second.h], 1)
        ones, twos = np.ones([1, 2]), np.full([1, 2], 2.0)
        fed = {state: ((ones, twos), (twos, ones))}
        assert session.run(total, fed).tolist() == [[1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0]]
        kept = session.run(state, {second: (ones, twos)})
        assert session.run(total, {state: kept}).tolist() == [[0.0] * 4 + [1.0, 1.0, 2.0, 2.0]]
        with pytest.raises(ValueError, match="Key had 2 elements, but value had 1 elements"):
            session.run(total, {first: (ones,)})
        with pytest.raises(ValueError, match="this key is not unique"):
            session.run(total, {first: (ones, ones), first.c: ones})


def test_scalars_are_reduced_over_axes_that_are_counted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        mean = tf.reduce_mean(x, keepdims=True)
        assert _types(1) == ["Const", "Const", "Const", "Range", "Mean"]
        assert session.run(mean, {x: 3.0}) == 3.0 and session.run(tf.gradients(mean, x), {x: 3.0})


def test_what_is_drawn_behind_convolutions_is_what_tensorflow_draws() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [None, 4, 4, 3])
        tf.layers.conv2d_transpose(x, 2, 3, 2)
        tf.layers.separable_conv2d(x, 2, 3)
        assert len(_types()) == 59
        drawn = session.run(tf.random_normal([2]))
        np.testing.assert_allclose(drawn, [-0.6708612, 0.2235714], rtol=1e-5)


def test_scalar_strings_are_batched_with_what_is_padded() -> None:
    """Sentences, their numbers of words and the words, as programs of translation read them."""

    def sentences() -> Iterator[tuple[str, list[str]]]:
        yield "a b", ["a", "b"]
        yield "c", ["c"]

    with tf.Graph().as_default(), tf.Session() as session:
        shapes = ([], [None])
        lines = tf.data.Dataset.from_generator(sentences, (tf.string, tf.string), shapes)
        text, words = lines.padded_batch(2, shapes, ("", "-")).make_one_shot_iterator().get_next()
        longer = tf.string_join([text, "!"])
        found = session.run([text, longer, words])
        assert [f.tolist() for f in found] == [
            [b"a b", b"c"],
            [b"a b!", b"c!"],
            [[b"a", b"b"], [b"c", b"-"]],
        ]


def test_axes_that_are_none_need_no_value_in_a_library() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.reduce_sum(x, tf.placeholder(tf.int32, [0], name="axes"), name="y")
        program = tf.compile(graph, fetches=["y"])
        given = np.arange(6, dtype=np.float32).reshape(2, 3)
        (found,) = program.run({"x": given, "axes": np.zeros(0, np.int32)})
        assert found.tolist() == given.tolist()


def test_what_is_chosen_beside_one_row_of_a_product_that_became_a_vector() -> None:
    """The loss of a Neural Turing Machine, which computes with vectors."""
    with tf.Graph().as_default(), tf.Session() as session:
        state = tf.placeholder(tf.float32, [1, 3])
        labels = tf.placeholder(tf.float32, [2])
        weights = tf.constant([[0.5, -0.5], [0.25, 1.0], [-1.0, 0.75]])
        logits = tf.reshape(tf.matmul(state, weights), [2])
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        feeds = {state: [[1.0, 2.0, 3.0]], labels: [0.0, 1.0]}
        np.testing.assert_allclose(session.run(loss, feeds), [0.126928, 0.02324547], rtol=1e-5)
        (gradient,) = session.run(tf.gradients(loss, state), feeds)
        np.testing.assert_allclose(
            gradient, [[0.07109013, 0.00682338, -0.13643593]], rtol=1e-5, atol=1e-7
        )


def test_cells_without_names_share_the_variables_of_their_kind() -> None:
    """As language models make one cell for training and, with `reuse=True`, one for validation."""
    cells = tf.nn.rnn_cell
    with tf.Graph().as_default():
        x = tf.zeros([2, 4])

        def called(cell: tf.nn.rnn_cell.RNNCell) -> str:
            y, _ = cell(x, cell.zero_state(2, tf.float32))
            return y.name

        with tf.variable_scope("model"):
            called(cells.BasicLSTMCell(3))
        with tf.variable_scope("model", reuse=True):
            shared = cells.BasicLSTMCell(3, reuse=True)
            assert called(shared) == "model_1/basic_lstm_cell/Mul_2:0"
        names = ["model/basic_lstm_cell/kernel:0", "model/basic_lstm_cell/bias:0"]
        assert [v.name for v in shared.variables] == names
        assert [v.name for v in tf.global_variables()] == names
        auto: Any = tf.AUTO_REUSE
        with tf.variable_scope("auto"):
            for end in ("", "_1"):
                made = called(cells.BasicLSTMCell(3, reuse=auto))
                assert made == f"auto/basic_lstm_cell{end}/Mul_2:0"
            with pytest.raises(ValueError, match="Variable auto/gru_cell/gates/kernel does not"):
                called(cells.GRUCell(3, reuse=True))
        assert len(tf.global_variables()) == 4
