"""Fake quantization: what is refused, and compiled code for sizes known when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

import flowc as tf
from flowc.dtypes import f32
from flowc.errors import ShapeError
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.op import call_reference, op_named

SCALARS = "fake_quant_with_min_max_vars"
CHANNELS = "fake_quant_with_min_max_vars_per_channel"


@pytest.mark.parametrize(
    "name, dims, attrs, message",
    [
        ("fake_quant_with_min_max_args", [()], {"num_bits": 17}, "between 2 and 16"),
        ("fake_quant_with_min_max_args", [()], {"min": 1.0, "max": 1.0}, "was: 1 >= 1"),
        (SCALARS, [(2,), (1,), ()], {}, "`min` must be rank 0 but is rank 1"),
        (SCALARS, [(2,), (), ()], {"num_bits": 1}, "between 2 and 16"),
        (CHANNELS, [(), (1,), (1,)], {}, "at least rank 1"),
        (CHANNELS, [(3, 2), (2,), ()], {}, "`max` must be rank 1 but is rank 0"),
        (CHANNELS, [(3, 2), (3,), (3,)], {}, "min has incorrect size, expected 2 was 3"),
    ],
)
def test_what_is_refused(
    name: str, dims: list[tuple[int, ...]], attrs: dict[str, Any], message: str
) -> None:
    b = Builder()
    with pytest.raises(ShapeError, match=message):
        getattr(b, name)(*(b.const(np.ones(d, np.float32)) for d in dims), **attrs)


@pytest.mark.parametrize("batch", [0, 1, 33])
def test_ranges_that_are_fed(batch: int) -> None:
    random = np.random.default_rng(5)
    x = random.uniform(-4, 4, (batch, 19)).astype(np.float32)
    least = -random.uniform(0, 3, 19).astype(np.float32)
    most = random.uniform(0.5, 3, 19).astype(np.float32)
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        fed = [tf.placeholder(tf.float32, d) for d in ([None, 19], [None], [None])]
        per_channel = tf.raw_ops.FakeQuantWithMinMaxVarsPerChannel(
            inputs=fed[0], min=fed[1], max=fed[2], num_bits=4
        )
        by_scalars = tf.raw_ops.FakeQuantWithMinMaxVars(
            inputs=fed[0], min=fed[1][0], max=fed[2][0], narrow_range=True
        )
        found = session.run([per_channel, by_scalars], dict(zip(fed, (x, least, most))))
    attrs = {"num_bits": 4, "narrow_range": False}, {"num_bits": 8, "narrow_range": True}
    ranges = (least, most), (least[0], most[0])
    for name, y, limits, given in zip((CHANNELS, SCALARS), found, ranges, attrs):
        op = op_named(name)
        assert op.reference is not None
        arrays = [np.asarray(a) for a in (x, *limits)]
        (expected,) = call_reference(op, op.reference, arrays, given, [f32] * 3)
        np.testing.assert_array_equal(y, expected)
        assert len(np.unique(y[:, 0])) <= 2 ** given["num_bits"]


def test_channels_of_a_size_not_known_yet() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type(f32, (symbol("n"), symbol("c"))))
    ends = [b.parameter(name, tensor_type(f32, (3,))) for name in ("min", "max")]
    assert b.fake_quant_with_min_max_vars_per_channel(x, *ends).dims == (symbol("n"), 3)


def test_an_infinite_gradient_beyond_the_range_is_no_number() -> None:
    """As products with 0 are, of which TensorFlow makes the gradients of a range."""
    x, dy = np.float32([np.inf, -np.inf, 1, np.nan]), np.float32([1, 2, np.inf, 3])
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        fed, gradients = (tf.placeholder(tf.float32, [None]) for _ in range(2))
        of_range = tf.raw_ops.FakeQuantWithMinMaxVarsGradient(
            gradients=gradients, inputs=fed, min=-1.0, max=1.0
        )
        of_attrs = tf.raw_ops.FakeQuantWithMinMaxArgsGradient(
            gradients=gradients, inputs=fed, min=-1.0, max=1.0
        )
        dx, *ends = session.run(list(of_range), {fed: x, gradients: dy})
        np.testing.assert_array_equal(dx, np.float32([0, 0, np.inf, 0]))
        assert np.isnan(ends).all()
        found = session.run(of_attrs, {fed: [-9, 0, -9], gradients: [np.inf, np.inf, np.nan]})
        np.testing.assert_array_equal(found, np.float32([np.nan, np.inf, np.nan]))
        with pytest.raises(ShapeError, match="was: 0 >= 0"):
            tf.raw_ops.FakeQuantWithMinMaxArgsGradient(gradients=dy, inputs=x, min=0.0, max=0.0)
