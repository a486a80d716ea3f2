"""Programs with numbers of few bits: quantized networks as TensorFlow 1's graphs hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from programs.values import numbers

raw: Any = tf.raw_ops


def m(*shape: int) -> Any:
    return tf.constant(numbers(*shape))


def _ints(*tensors: Any) -> list[Any]:
    """Quantized tensors as integers, which NumPy knows."""
    plain = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint32: tf.int32, tf.quint16: tf.uint16}
    plain[tf.qint16] = tf.int16
    return [tf.bitcast(t, plain[t.dtype]) if t.dtype in plain else t for t in tensors]


def _quantized(x: Any, low: float = -2.0, high: float = 2.0) -> Any:
    return tf.quantization.quantize(x, low, high, tf.quint8, "MIN_FIRST")


def _narrowed(sums: Any) -> Any:
    return raw.QuantizeDownAndShrinkRange(
        input=sums[0], input_min=sums[1], input_max=sums[2], out_type=tf.quint8
    )


def _each_mode() -> list[Any]:
    found: list[Any] = []
    for dtype in (tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            found += _ints(*tf.quantization.quantize(m(9), -1.5, 1.0, dtype, mode))
    return found


def _by_axis() -> list[Any]:
    low, high = [-1.0, -2.0, -0.5], [0.5, 1.0, 2.0]
    made = tf.quantization.quantize(m(2, 3, 4), low, high, tf.qint8, "SCALED", axis=1)
    back = tf.quantization.dequantize(*made, "SCALED", axis=1)
    return [*_ints(*made), back]


def _network() -> list[Any]:
    """An image through a convolution, a bias, Relu, a pool and a dense layer."""
    image, weights = _quantized(m(1, 6, 6, 3)), _quantized(m(3, 3, 3, 4))
    sums = raw.QuantizedConv2D(
        input=image[0], filter=weights[0], min_input=image[1], max_input=image[2],
        min_filter=weights[1], max_filter=weights[2], strides=[1, 1, 1, 1], padding="SAME",
    )  # fmt: skip
    narrow, bias = _narrowed(sums), _quantized(m(4))
    moved = raw.QuantizedBiasAdd(
        input=narrow[0], bias=bias[0], min_input=narrow[1], max_input=narrow[2],
        min_bias=bias[1], max_bias=bias[2], out_type=tf.qint32,
    )  # fmt: skip
    narrow = _narrowed(moved)
    active = raw.QuantizedRelu(features=narrow[0], min_features=narrow[1], max_features=narrow[2])
    pooled = raw.QuantizedMaxPool(
        input=active[0], min_input=active[1], max_input=active[2], ksize=[1, 2, 2, 1],
        strides=[1, 2, 2, 1], padding="VALID",
    )  # fmt: skip
    rows = raw.QuantizedReshape(
        tensor=pooled[0], shape=[1, 36], input_min=pooled[1], input_max=pooled[2]
    )
    dense = _quantized(m(36, 5))
    logits = raw.QuantizedMatMul(
        a=rows[0], b=dense[0], min_a=rows[1], max_a=rows[2], min_b=dense[1], max_b=dense[2]
    )
    return [*_ints(*sums, *moved, *logits), tf.quantization.dequantize(*_narrowed(logits))]


def _concatenated() -> list[Any]:
    parts = [_quantized(m(2, 3)), _quantized(m(2, 4), -1.0, 3.0)]
    found = raw.QuantizedConcat(
        concat_dim=1,
        values=[p[0] for p in parts],
        input_mins=[p[1] for p in parts],
        input_maxes=[p[2] for p in parts],
    )
    return _ints(*found)


def _of_two(op: Any) -> list[Any]:
    x, y = _quantized(m(3, 5)), _quantized(m(5), -1.0, 3.0)
    return _ints(*op(x=x[0], y=y[0], min_x=x[1], max_x=x[2], min_y=y[1], max_y=y[2]))


def _requantized() -> list[Any]:
    sums = [tf.bitcast(tf.cast(m(9) * 1e8, tf.int32), tf.qint32), -3.0, 4.0]
    low, high = raw.RequantizationRange(input=sums[0], input_min=-3.0, input_max=4.0)
    found = [low, high]
    for dtype in (tf.qint8, tf.quint8):
        made = raw.Requantize(
            input=sums[0], input_min=-3.0, input_max=4.0, requested_output_min=low,
            requested_output_max=high, out_type=dtype,
        )  # fmt: skip
        found += _ints(*made)
    return found


def _moved() -> list[Any]:
    x = _quantized(m(4, 3))[0]
    return _ints(tf.concat([x, x], 1), tf.gather(x, [2, 0]), x[1:3, ::-1], tf.stack([x, x]))


def _pooled(op: Callable[..., Any], x: Any, **attrs: Any) -> list[Any]:
    made = op(x, [1.0, 1.4, 1.7, 1.0], deterministic=True, seed=5, seed2=9, **attrs)
    return [*made, tf.gradients(made[0] * made[0], x)[0]]


EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "quantized: every dtype and mode": _each_mode,
    "quantized: by axis": _by_axis,
    "quantized: a network": _network,
    "quantized: concatenated": _concatenated,
    "quantized: added": lambda: _of_two(raw.QuantizedAdd),
    "quantized: multiplied": lambda: _of_two(raw.QuantizedMul),
    "quantized: requantized": _requantized,
    "quantized: moved": _moved,
    "quantized: instance norm": lambda: _ints(
        *raw.QuantizedInstanceNorm(x=_quantized(m(1, 3, 4, 2))[0], x_min=-2.0, x_max=2.0)
    ),
    "quantized: resized": lambda: _ints(
        *raw.QuantizedResizeBilinear(
            images=_quantized(m(1, 3, 4, 2))[0], size=[5, 7], min=-2.0, max=2.0
        )
    ),
    "quantized: a range that ends before it begins": lambda: _ints(
        *tf.quantization.quantize(m(3), 2.0, 1.0, tf.quint8)
    ),
    **{
        f"fractional {name} pool, pseudo_random={pseudo}, overlapping={overlapping}": (
            lambda name=name, pseudo=pseudo, overlapping=overlapping: _pooled(
                getattr(tf.compat.v1.nn, f"fractional_{name}_pool"),
                m(2, 9, 11, 2),
                pseudo_random=pseudo,
                overlapping=overlapping,
            )
        )
        for name in ("avg", "max")
        for pseudo in (False, True)
        for overlapping in (False, True)
    },
    "fractional max pool of seeds that are not used": lambda: tf.compat.v1.nn.fractional_max_pool(
        m(1, 8, 8, 1), [1.0, 1.5, 1.5, 1.0], seed=3
    )[0],
    "a filter of an empty range": lambda: _ints(
        *raw.QuantizedConv2D(
            input=_quantized(m(1, 3, 3, 1))[0],
            filter=_quantized(m(2, 2, 1, 2))[0],
            min_input=-2.0,
            max_input=2.0,
            min_filter=0.0,
            max_filter=0.0,
            strides=[1, 1, 1, 1],
            padding="VALID",
        )
    ),
}
