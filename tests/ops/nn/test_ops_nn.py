"""Losses, normalizations and gradients of neural networks: the corners that examples do not reach.

Expected numbers with no derivation beside them were recorded from TensorFlow 2.21 on a CPU. The
generated op tests compare every example of every record; these tests add infinities, error texts,
and gradients against finite differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls.op_calls import CONV, axes, both, floats, infer, reference
from node_evaluation import apply_op, evaluate_node
from value_gradients import ValueGradients

from flowc import dtypes
from flowc.errors import InvalidArgumentError, ShapeError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.op import call_reference, op_named
from flowc.ops.gradients import input_gradients
from flowc.ops.nn.normalization import normalize_arrays

NAN, INF = np.nan, np.inf


# -- softmax and losses


def test_softmax_of_infinities() -> None:
    rows = np.array([[INF, 1, 2], [-INF, 1, 2], [-INF] * 3, [1e30, 1, 2]], np.float32)
    (found,) = both("softmax", rows)
    assert np.isnan(found[0][0])  # TensorFlow's kernels differ over the rest of such a row
    np.testing.assert_allclose(found[1], [0, 0.26894143, 0.73105857], rtol=1e-6)
    assert np.isnan(found[2]).all()
    np.testing.assert_array_equal(found[3], [1, 0, 0])


def test_cross_entropy_of_a_broadcast_label() -> None:
    logits = np.array([[1, 2, 3], [0, 1, 2], [3, 1, 2]], np.float32)
    loss, backprop = both(
        "softmax_cross_entropy_with_logits", logits, np.array([[0.2, 0.3, 0.5]], np.float32)
    )
    np.testing.assert_allclose(loss, [1.107606, 1.107606, 1.507606], rtol=1e-6)
    np.testing.assert_allclose(backprop[2], [0.46524096, -0.20996946, -0.25527155], rtol=1e-5)


def test_cross_entropy_shapes_that_do_not_match() -> None:
    with pytest.raises(ShapeError, match=r"logits_size=\[2,3\] labels_size=\[2,4\]"):
        infer("softmax_cross_entropy_with_logits", ("f32", (2, 3)), ("f32", (2, 4)))


def test_sparse_cross_entropy() -> None:
    logits = np.array([[1, 2, 3], [-INF, 1, 2], [-INF, 1, 2]], np.float32)
    loss, backprop = both(
        "sparse_softmax_cross_entropy_with_logits", logits, np.array([0, 1, 0], np.int64)
    )
    np.testing.assert_allclose(loss, [2.407606, 1.3132616, INF], rtol=1e-6)
    np.testing.assert_allclose(backprop[2], [-1, 0.26894143, 0.73105857], rtol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_labels_outside_the_classes(wrong: int) -> None:
    logits, labels = np.zeros((2, 3), np.float32), np.array([0, wrong], np.int32)
    message = f"label value of {wrong} which is outside the valid range of \\[0, 3\\)"
    with pytest.raises(InvalidArgumentError, match=message):
        reference("sparse_softmax_cross_entropy_with_logits", logits, labels)
    with pytest.raises(InvalidArgumentError, match=message):
        apply_op(
            op_named("sparse_softmax_cross_entropy_with_logits"),
            [logits, labels],
            {"Tlabels": dtypes.i32},
        )


# -- batch normalization


def _batch_norm_inputs(dtype: Any = np.float32) -> list[np.ndarray]:
    x = np.random.RandomState(0).randn(2, 3, 2, 2).astype(dtype)
    return [x, floats(1, 2), floats(3, 4), floats(0.1, 0.2), floats(1, 2)]


def test_batch_norm_training_statistics() -> None:
    attrs = {"epsilon": 0.0001, "data_format": "NHWC", "is_training": True}
    outputs = both("fused_batch_norm", *_batch_norm_inputs(), exponential_avg_factor=1.0, **attrs)
    expected = ([0.577063, 0.22373636], [1.3515559, 0.8834777], [0.577063, 0.22373636])
    for found, wanted in zip(outputs[1:4], expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(outputs[4], [1.2389263, 0.80985457], rtol=1e-6)
    assert outputs[5].shape == (0,)
    blended = both("fused_batch_norm", *_batch_norm_inputs(), exponential_avg_factor=0.3, **attrs)
    np.testing.assert_allclose(blended[1], [0.24311891, 0.20712091], rtol=1e-6)
    np.testing.assert_allclose(blended[2], [1.1054668, 1.6650434], rtol=1e-6)


def test_batch_norm_of_halves_at_inference() -> None:
    x, *rest = _batch_norm_inputs(np.float16)
    attrs = {"exponential_avg_factor": 1.0, "data_format": "NHWC", "is_training": False}
    y, mean, variance, *_ = reference("fused_batch_norm", x, *rest, epsilon=0.0001, **attrs)
    scale, offset, given_mean, given_variance = rest
    wanted = (x.astype(np.float64) - given_mean) / np.sqrt(given_variance + 1e-4) * scale + offset
    np.testing.assert_allclose(y.astype(np.float64), wanted, rtol=1e-3)
    lowered = apply_op(op_named("fused_batch_norm"), [x, *rest], {"epsilon": 0.0001, **attrs})
    np.testing.assert_allclose(lowered[0].astype(np.float32), y.astype(np.float32), rtol=2e-3)
    np.testing.assert_array_equal(mean, given_mean)
    np.testing.assert_array_equal(variance, given_variance)


def test_batch_norm_of_other_channels() -> None:
    with pytest.raises(
        ShapeError, match="same number of elements as the channels of x, got 3 and 2"
    ):
        infer("fused_batch_norm", ("f32", (1, 2, 2, 2)), *[("f32", (3,))] * 4)


@pytest.mark.parametrize(("data_format", "training"), [("NHWC", True), ("NCHW", False)])
def test_batch_norm_gradient(data_format: str, training: bool) -> None:
    rng = np.random.default_rng(17)
    channels = 3 if data_format == "NHWC" else 2
    arrays = [rng.uniform(0.2, 1.2, s) for s in ((2, 2, 1, 3), *[(channels,)] * 4)]
    attrs = {"epsilon": 0.01, "data_format": data_format, "is_training": training}
    dy = rng.uniform(0.5, 1.5, arrays[0].shape)

    def loss() -> float:
        return float(np.sum(normalize_arrays(*arrays, exponential_avg_factor=1.0, **attrs)[0] * dy))

    saved = normalize_arrays(*arrays, exponential_avg_factor=1.0, **attrs)[3:]
    backward = op_named("fused_batch_norm_grad_v1").reference
    assert backward is not None
    gradients = backward(dy, arrays[0], arrays[1], *saved, **attrs)
    for array, gradient in zip(arrays[:3], gradients):
        np.testing.assert_allclose(gradient, _slopes(loss, array), rtol=1e-5, atol=1e-7)


# -- gradients against finite differences


def _gradient_cases() -> list[Any]:
    same = {"strides": (1, 2, 1, 1), "padding": "SAME"}
    return [
        ("sum", [(2, 3)], [axes(1)], {}),
        ("mean", [(2, 3, 2)], [axes(0, 2)], {"keep_dims": True}),
        ("max", [(3, 4)], [axes(1)], {}),
        ("euclidean_norm", [(2, 3)], [axes(-1)], {}),
        ("l2_loss", [(2, 3)], [], {}),
        ("softmax", [(2, 4)], [], {}),
        ("log_softmax", [(2, 4)], [], {}),
        ("cumsum", [(2, 4)], [np.array(1, np.int32)], {"exclusive": True}),
        ("bias_add", [(2, 3, 2), (3,)], [], {"data_format": "NCHW"}),
        *(
            ("mat_mul", [(2, 3)[:: -1 if a else 1], (3, 4)[:: -1 if b else 1]], [],
             {"transpose_a": a, "transpose_b": b})
            for a in (False, True)
            for b in (False, True)
        ),
        ("batch_mat_mul", [(2, 1, 2, 3), (3, 4, 3)], [], {"adj_y": True}),
        ("batch_mat_mul", [(3, 2), (2, 3, 4)], [], {"adj_x": True}),
        ("einsum", [(2, 3), (3, 4)], [], {"equation": "ij,jk->ki", "N": 2}),
        ("einsum", [(2, 3)], [], {"equation": "ij->j", "N": 1}),
        ("conv2d", [(1, 4, 4, 2), (3, 2, 2, 3)], [], same),
        ("conv2d", [(1, 2, 4, 4), (3, 2, 2, 3)], [], {**CONV, "data_format": "NCHW"}),
        ("sparse_softmax_cross_entropy_with_logits", [(2, 3)], [np.array([2, 0])], {}),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "shapes", "fixed", "attrs"), _gradient_cases())
def test_gradients(
    name: str, shapes: list[tuple[int, ...]], fixed: list[np.ndarray], attrs: dict[str, Any]
) -> None:
    rng = np.random.default_rng(13)
    arrays = [rng.uniform(0.2, 1.2, s) for s in shapes]
    b = Builder()
    inputs = [b.const(a) for a in (*arrays, *fixed)]
    node = b.emit(op_named(name), inputs, attrs)
    dy = rng.uniform(0.5, 1.5, node.outputs[0].type.static_dims)
    rest = [b.const(np.zeros(v.type.static_dims)) for v in node.outputs[1:]]
    gradients = input_gradients(ValueGradients(b), node, b.const(dy), *rest)
    values = _evaluate(b)

    def loss() -> float:
        found = reference(name, *arrays, *fixed, **dict(node.attrs))
        return float(np.sum(found[0] * dy))

    for array, gradient in zip(arrays, gradients):
        expected = _slopes(loss, array)
        np.testing.assert_allclose(values[gradient], expected, rtol=1e-5, atol=1e-7)


def _slopes(loss: Callable[[], float], array: np.ndarray) -> np.ndarray:
    """The change of the loss with each element of an array that it reads."""
    found = np.empty(array.shape)
    for at in np.ndindex(*array.shape):
        kept, step = array[at], 1e-5
        array[at] = kept + step
        above = loss()
        array[at] = kept - step
        found[at] = (above - loss()) / (2 * step)
        array[at] = kept
    return found


def _evaluate(b: Builder) -> dict[Value, np.ndarray]:
    """The elements of every value of a builder that holds constants only."""
    values: dict[Value, np.ndarray] = {}
    for node in b.nodes:
        if node.op.name == "const":
            values[node.output] = node.attrs["value"]
            continue
        arrays = [values[v] for v in node.inputs]
        if node.op.reference is not None:
            kinds = [v.type.dtype for v in node.inputs]
            found = call_reference(node.op, node.op.reference, arrays, node.attrs, kinds)
        else:
            found = evaluate_node(node, arrays)
        values.update(zip(node.outputs, found))
    return values
