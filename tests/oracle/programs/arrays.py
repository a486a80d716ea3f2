"""Arrays, mathematics, segments, sets, random numbers without state."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from programs.values import integers, numbers

tf1, raw, math = tf.compat.v1, tf.raw_ops, tf.math

m = lambda *shape: tf.constant(numbers(*shape))
n = lambda *shape, **range_: tf.constant(integers(*shape, **range_))
unknown = lambda value: tf1.placeholder_with_default(value, None)
unsized = lambda value: tf1.placeholder_with_default(value, [None] * np.ndim(value))
NUMBERS = (
    tf.int8,
    tf.uint8,
    tf.int16,
    tf.uint16,
    tf.int32,
    tf.int64,
    tf.uint64,
    tf.float16,
    tf.bfloat16,
    tf.float32,
    tf.float64,
)


def _gradient(function: Any, *values: Any) -> Any:
    result = function(*values)
    return tf1.gradients(tf.reduce_sum(result * tf.cos(result)), list(values))


def _of_floats(*functions: Any) -> list[Any]:
    return [f(tf.cast(m(6), d)) for f in functions for d in (tf.float32, tf.float64)]


EXPRESSIONS = {
    "gather axes": lambda: [tf.gather(m(3, 4, 5), [[2, 0]], axis=k) for k in (0, 1, -1)],
    "gather batch_dims": lambda: tf.gather(m(2, 3, 4), n(2, 5, high=3), axis=1, batch_dims=1),
    "gather of strings": lambda: tf.gather(tf.constant(["a", "bc", ""]), [[1], [1]]),
    "gather outside": lambda: tf.gather(m(3, 2), unknown(tf.constant([[0, 7]]))),
    "gather_nd": lambda: tf.gather_nd(m(2, 3, 4), [[[0, 1], [1, 2]]]),
    "gather_nd batch_dims": lambda: tf.gather_nd(m(2, 3, 4), [[[1]], [[0]]], batch_dims=1),
    "gather_nd of nothing": lambda: tf.gather_nd(m(2, 3), tf.zeros([0, 2], tf.int32)),
    "gather_nd outside": lambda: tf.gather_nd(m(2, 3), unknown(tf.constant([[0, 3]]))),
    "gradient of gather_nd": lambda: _gradient(lambda x: tf.gather_nd(x, [[1], [1]]), m(2, 3)),
    "scatter_nd": lambda: tf.scatter_nd([[0], [2], [0]], m(3, 2), [4, 2]),
    "scatter_nd of strings": lambda: tf.scatter_nd([[1], [3]], tf.constant(["x", "y"]), [5]),
    "scatter_nd of bools": lambda: tf.scatter_nd([[1], [3]], tf.constant([True, True]), [5]),
    "tensor_scatter": lambda: [
        f(m(4, 2), [[1], [3]], m(2, 2))
        for f in (
            tf.tensor_scatter_nd_update,
            tf.tensor_scatter_nd_add,
            tf.tensor_scatter_nd_max,
            tf.tensor_scatter_nd_sub,
        )
    ],
    "tensor_scatter outside": lambda: tf.tensor_scatter_nd_update(
        m(4), unknown(tf.constant([[9]])), [1.0]
    ),
    "scatter_nd ignoring": lambda: raw.ScatterNd(
        indices=[[1], [9]], updates=[1.0, 2.0], shape=[4], bad_indices_policy="IGNORE"
    ),
    "gather_nd ignoring": lambda: raw.GatherNd(
        params=m(4), indices=[[1], [9]], bad_indices_policy="IGNORE"
    ),
    "boolean_mask": lambda: tf.boolean_mask(m(3, 4), [True, False, True]),
    "where": lambda: [tf.where(n(3, 4) > 4), tf.where(n(3, 4) > 4, m(3, 4), 0.0)],
    "where of strings": lambda: tf.where([True, False], ["a", "b"], ["c", "d"]),
    "unique": lambda: [tf.unique(n(12)), tf.unique_with_counts(n(12))],
    "unique of strings": lambda: tf.unique(tf.constant(["b", "a", "b", ""])),
    "unique of rows": lambda: raw.UniqueV2(x=n(6, 2, high=2), axis=[0]),
    "setdiff1d": lambda: tf1.setdiff1d(n(8), n(5)),
    "sets": lambda: [
        tf.sparse.to_dense(tf.sets.union(n(3, 4), n(3, 5))),
        tf.sets.size(tf.sets.difference(n(3, 4), n(3, 5))),
    ],
    "concat": lambda: [tf.concat([m(2, 3), m(2, 1)], 1), tf.concat([m(2, 0), m(2, 3)], -1)],
    "concat of a fed axis": lambda: tf.concat([m(2, 3), m(2, 3)], unknown(tf.constant(1))),
    "concat of ranks that differ": lambda: tf.concat([unknown(m(2, 3)), unknown(m(2))], 0),
    "concat_offset": lambda: raw.ConcatOffset(concat_dim=1, shape=[[2, 3], [2, 5], [2, 7]]),
    "concat_offset mismatch": lambda: raw.ConcatOffset(concat_dim=0, shape=[[2, 3], [2, 4]]),
    "stack": lambda: [tf.stack([m(2, 3)] * 2, 1), tf.unstack(m(2, 3), axis=1)],
    "parallel_stack": lambda: tf1.parallel_stack([m(3), m(3)]),
    "split": lambda: [tf.split(m(4, 6), 3, 1), tf.split(m(4, 6), [1, -1, 2], 1)],
    "split of sizes that do not fit": lambda: tf.split(
        m(6), unsized(np.array([2, 3], "i4")), num=2
    ),
    "tile": lambda: [tf.tile(m(2, 1), [2, 3]), tf.tile(tf.constant(["a"]), [3])],
    "gradient of tile": lambda: _gradient(lambda x: tf.tile(x, [2, 3]), m(2, 2)),
    "repeat": lambda: [tf.repeat(m(3, 2), [1, 0, 2], axis=0), tf.repeat(m(2, 2), 2)],
    "pad": lambda: [
        tf.pad(m(3, 3), [[1, 2], [0, 1]], k, constant_values=c)
        for k, c in (("CONSTANT", 7.0), ("REFLECT", 0), ("SYMMETRIC", 0))
    ],
    "gradient of mirror pad": lambda: _gradient(
        lambda x: tf.pad(x, [[1, 1], [2, 0]], "REFLECT"), m(3, 3)
    ),
    "reverse": lambda: [tf.reverse(m(2, 3), [0, -1]), tf.reverse_sequence(m(3, 4), [2, 4, 0], 1)],
    "reverse of a repeated axis": lambda: tf.reverse(m(2, 3), unsized(np.array([0, -2], "i4"))),
    "roll": lambda: tf.roll(m(3, 4), [1, -2], [0, 1]),
    "transpose": lambda: [tf.transpose(m(2, 3, 4), p) for p in ([2, 0, 1], [0, 2, 1])],
    "transpose of a fed perm": lambda: tf.transpose(m(2, 3), unsized(np.array([1, 0], "i4"))),
    "transpose of a repeated axis": lambda: tf.transpose(m(2, 3), unsized(np.array([1, 1], "i4"))),
    "reshape": lambda: [tf.reshape(m(2, 6), [3, -1]), tf.reshape(tf.zeros([2, 0]), [-1, 0])],
    "reshape that does not fit": lambda: tf.reshape(m(6), unsized(np.array([4, -1], "i4"))),
    "expand_dims of a fed axis": lambda: tf.expand_dims(m(2, 3), unknown(tf.constant(1))),
    "squeeze": lambda: tf.squeeze(m(1, 3, 1), [0]),
    "strided_slice": lambda: [
        (x := m(4, 5, 6))[1:3, ::2, -1],
        x[..., None, 2],
        x[::-1, 4:0:-2],
        x[:0],
    ],
    "strided_slice of fed bounds": lambda: m(5, 6)[
        unknown(tf.constant(1)) : unknown(tf.constant(-1)), ::2
    ],
    "gradient of strided_slice": lambda: _gradient(lambda x: x[1::2, ::-1], m(4, 3)),
    "slice outside": lambda: tf.slice(m(3), unsized(np.array([2], "i4")), [2]),
    "meshgrid": lambda: tf.meshgrid(tf.range(3), tf.range(2), indexing="ij"),
    "sequence_mask": lambda: tf.sequence_mask([[0, 1], [2, 3]], dtype=tf.int32),
    "one_hot": lambda: tf.one_hot([[1, -1], [0, 9]], 3, 5.0, -1.0, axis=1),
    "one_hot of bools": lambda: tf.one_hot([1, 0], 2, True, False),
    "searchsorted": lambda: [
        tf.searchsorted([1.0, 3, 3, 7], [0.0, 3, 8], side=k) for k in ("left", "right")
    ],
    "bucketize": lambda: raw.Bucketize(input=m(6), boundaries=[-0.5, 0.0, 1.0]),
    "histogram_fixed_width": lambda: tf.histogram_fixed_width(m(20), [-1.0, 1.0], 5),
    "histogram_fixed_width_bins": lambda: tf.histogram_fixed_width_bins(m(8), [-1.0, 1.0], 4),
    "bincount": lambda: [
        math.bincount(n(9)),
        math.bincount(n(2, 5), axis=-1, minlength=12, binary_output=True),
    ],
    "sort": lambda: [tf.sort(m(3, 5), 0, "DESCENDING"), tf.argsort(n(9), stable=True)],
    "argmax": lambda: [math.argmax(m(3, 4), k) for k in (0, 1)] + [math.argmin(n(7))],
    "argmax of a fed axis": lambda: math.argmax(m(3, 4), unknown(tf.constant(0))),
    "reductions": lambda: [
        f(m(2, 3, 4), [0, 2], keepdims=True)
        for f in (
            tf.reduce_sum,
            tf.reduce_mean,
            tf.reduce_max,
            tf.reduce_prod,
            math.reduce_std,
            math.reduce_variance,
            math.reduce_logsumexp,
            math.reduce_euclidean_norm,
        )
    ],
    "reductions of nothing": lambda: [
        f(tf.zeros([0, 3]), 0) for f in (tf.reduce_sum, tf.reduce_prod, tf.reduce_max)
    ],
    "reductions of bools": lambda: [tf.reduce_any(n(3, 4) > 5, 0), tf.reduce_all(n(3) > 0)],
    "reduce_max of a list": lambda: tf.reduce_max(tf.constant([[1, 2], [3, 4]]), [0, 1]),
    "reduce_sum of a fed axis": lambda: tf.reduce_sum(m(2, 3), unsized(np.array([1], "i4"))),
    "reduce_sum of a wrong axis": lambda: tf.reduce_sum(m(2, 3), unsized(np.array([5], "i4"))),
    "reductions of every dtype": lambda: [tf.reduce_sum(tf.cast(n(3, 4), d), 0) for d in NUMBERS],
    "cumulative": lambda: [
        tf.cumsum(m(3, 4), 1, exclusive=True, reverse=True),
        math.cumprod(m(3, 4), 0),
        math.cumulative_logsumexp(m(3, 4), 1, exclusive=True),
    ],
    "cumsum of a fed axis": lambda: tf.cumsum(m(3, 4), unknown(tf.constant(1))),
    "gradient of cumprod": lambda: _gradient(lambda x: math.cumprod(x, 1), m(2, 3)),
    "segments": lambda: [
        f(m(5, 2), [0, 0, 1, 3, 3])
        for f in (math.segment_sum, math.segment_mean, math.segment_max, math.segment_prod)
    ],
    "unsorted segments": lambda: [
        f(m(5, 2), [2, 0, -1, 2, 0], 4)
        for f in (
            math.unsorted_segment_sum,
            math.unsorted_segment_mean,
            math.unsorted_segment_max,
            math.unsorted_segment_sqrt_n,
        )
    ],
    "segment ids that jump": lambda: math.segment_sum(m(4, 2), [0, 0, 1, 1000])[:3],
    "segment ids that fall": lambda: math.segment_sum(m(3), unsized(np.array([1, 0, 2], "i4"))),
    "sparse segments": lambda: [
        f(m(5, 2), [0, 4, 1], [0, 0, 2], num_segments=4)
        for f in (tf.sparse.segment_sum, tf.sparse.segment_mean, tf.sparse.segment_sqrt_n)
    ],
    "gradient of sparse segments": lambda: [
        _gradient(lambda x, f=f: f(x, [0, 4, 1, 4], [0, 0, 2, 2]), m(5, 2))
        for f in (tf.sparse.segment_sum, tf.sparse.segment_mean, tf.sparse.segment_sqrt_n)
    ],
    "gradient of segments": lambda: [
        _gradient(lambda x, f=f: f(x, [0, 0, 1, 1]), m(4, 2))
        for f in (math.segment_sum, math.segment_mean, math.segment_max)
    ],
    "dynamic_partition": lambda: tf.dynamic_partition(m(5, 2), [1, 0, 1, 2, 0], 4),
    "dynamic_partition outside": lambda: tf.dynamic_partition(
        m(3), unsized(np.array([0, 3, 1], "i4")), 2
    ),
    "dynamic_stitch": lambda: tf.dynamic_stitch([[0, 3], [1, 2, 3]], [m(2, 2), m(3, 2)]),
    "confusion_matrix": lambda: math.confusion_matrix([1, 2, 0], [1, 0, 0], 3, [0.5, 1.0, 2.0]),
    "invert_permutation": lambda: math.invert_permutation([2, 0, 1]),
    "unravel_index": lambda: tf.unravel_index([5, 7], [3, 4]),
    "broadcast": lambda: [
        tf.broadcast_to(m(3, 1), [2, 3, 4]),
        tf.broadcast_dynamic_shape([3, 1], [4]),
    ],
    "casts": lambda: [tf.cast(tf.cast(tf.abs(m(6)) * 40, a), b) for a in NUMBERS for b in NUMBERS],
    "casts of what is out of range": lambda: [
        tf.cast([1e20, -1e20, np.inf, np.nan], d) for d in (tf.int32, tf.int64)
    ],
    "saturate_cast": lambda: tf.saturate_cast(m(5) * 1000, tf.int8),
    "bitcast": lambda: [
        tf.bitcast(m(3), tf.int32),
        tf.bitcast(m(3, 2), tf.float64),
        tf.bitcast(n(4), tf.uint8),
    ],
    "bitwise": lambda: (
        [
            f(n(6, high=99), n(6, high=5) + 1)
            for f in (
                tf.bitwise.bitwise_and,
                tf.bitwise.bitwise_xor,
                tf.bitwise.left_shift,
                tf.bitwise.right_shift,
            )
        ]
        + [tf.bitwise.invert(n(4)), raw.PopulationCount(x=n(5, high=999))]
    ),
    "integer arithmetic": lambda: [
        f(n(8, low=-9), n(8, low=1, high=5))
        for f in (
            tf.math.floordiv,
            tf.math.floormod,
            tf.truncatediv,
            tf.truncatemod,
            tf.subtract,
            tf.math.pow,
            tf.maximum,
        )
    ],
    "division by zero": lambda: tf.math.floordiv([1, 2], unsized(np.array([1, 0], "i4"))),
    "negative power of an integer": lambda: tf.pow([2, 3], unsized(np.array([1, -1], "i4"))),
    "float functions": lambda: _of_floats(
        tf.exp,
        math.expm1,
        tf.abs,
        tf.sign,
        math.rint,
        tf.floor,
        math.ceil,
        tf.round,
        tf.tanh,
        tf.sin,
        tf.cos,
        math.tan,
        math.sinh,
        math.cosh,
        math.asinh,
        math.atan,
        math.erf,
        math.erfc,
        math.sigmoid,
        math.softplus,
        math.square,
        math.reciprocal,
        math.is_finite,
    ),
    "functions of positive numbers": lambda: [
        f(tf.abs(tf.cast(m(6), d)) + 1.01)
        for f in (
            tf.math.log,
            math.log1p,
            tf.sqrt,
            math.rsqrt,
            math.lgamma,
            math.digamma,
            math.acosh,
            math.bessel_i0,
            math.bessel_i0e,
            math.bessel_i1,
            math.bessel_i1e,
        )
        for d in (tf.float32, tf.float64)
    ],
    "functions of small numbers": lambda: [
        f(tf.tanh(tf.cast(m(6), tf.float64)))
        for f in (math.asin, math.acos, math.atanh, math.erfinv)
    ],
    "special functions": lambda: [
        f(tf.abs(tf.cast(m(6), tf.float64)) + 0.1)
        for f in (
            tf.math.special.bessel_j0,
            tf.math.special.bessel_k0,
            tf.math.special.dawsn,
            tf.math.special.expint,
            tf.math.special.fresnel_cos,
            tf.math.special.spence,
            tf.math.special.bessel_y1,
            tf.math.special.bessel_k1e,
        )
    ],
    "incomplete functions": lambda: (
        [f(tf.abs(m(5)) + 0.5, tf.abs(m(5)) + 0.2) for f in (math.igamma, math.igammac)]
        + [math.betainc(tf.abs(m(4)) + 1, tf.abs(m(4)) + 0.5, tf.sigmoid(m(4)))]
    ),
    "gradient of igamma": lambda: _gradient(
        lambda a, x: math.igamma(a, x), tf.abs(m(5)) + 0.5, tf.abs(m(5)) + 0.2
    ),
    "gradient of betainc": lambda: _gradient(lambda x: math.betainc(2.0, 3.0, x), tf.sigmoid(m(4))),
    "zeta and polygamma": lambda: [
        math.zeta(tf.abs(m(4)) + 1.5, tf.abs(m(4)) + 1),
        math.polygamma(tf.floor(tf.abs(m(4)) * 2), tf.abs(m(4)) + 1),
    ],
    "binary functions": lambda: [
        f(m(6), m(6)[::-1])
        for f in (
            math.atan2,
            math.floormod,
            math.squared_difference,
            math.divide_no_nan,
            math.multiply_no_nan,
            math.xdivy,
            math.nextafter,
            tf.math.minimum,
        )
    ],
    "nans": lambda: [
        f([np.nan, 1.0, np.inf], [2.0, np.nan, -np.inf])
        for f in (tf.maximum, tf.minimum, tf.add, tf.equal, tf.less)
    ],
    "complex": lambda: [
        f(tf.complex(m(5), m(5) + 1))
        for f in (
            tf.abs,
            math.angle,
            math.conj,
            math.real,
            math.imag,
            tf.exp,
            tf.sqrt,
            math.log,
            tf.tanh,
            tf.sin,
            math.reciprocal,
            math.square,
            tf.sign,
        )
    ],
    "complex arithmetic": lambda: [
        f(tf.complex(m(4), m(4)), tf.complex(m(4) + 1, m(4) - 1))
        for f in (tf.add, tf.multiply, tf.divide, tf.pow, tf.subtract, tf.equal)
    ],
    "clip": lambda: [tf.clip_by_value(m(5), -0.5, 0.5), tf.clip_by_norm(m(3, 4), 1.0, [0])],
    "accumulate_n": lambda: math.accumulate_n([m(3), m(3), m(3)]),
    "add_n": lambda: tf.add_n([m(2, 3), m(2, 3)]),
    "top of percentiles": lambda: [math.top_k(m(9), 3), math.in_top_k([1, 0], m(2, 3), 1)],
    "nth_element": lambda: raw.NthElement(input=m(3, 7), n=unknown(tf.constant(2)), reverse=True),
    "lin and log space": lambda: [tf.linspace(0.0, 1.0, 5), tf.linspace([0.0, 1], [1.0, 3], 3)],
    "range": lambda: [
        tf.range(3, 18, 4),
        tf.range(1.0, 0.0, -0.3),
        tf.range(unknown(tf.constant(4))),
    ],
    "range that does not end": lambda: tf.range(0, 5, unknown(tf.constant(0))),
    "fill of a fed shape": lambda: tf.fill(unsized(np.array([2, 3], "i4")), 7.0),
    "fill of a negative shape": lambda: tf.fill(unsized(np.array([2, -3], "i4")), 7.0),
    "eye": lambda: [tf.eye(3, 4, batch_shape=[2]), tf.eye(unknown(tf.constant(2)))],
    "ensure_shape": lambda: tf.ensure_shape(unknown(m(2, 3)), [2, None]),
    "ensure_shape that fails": lambda: tf.ensure_shape(unknown(m(2, 3)), [3, None]),
    "check_numerics": lambda: tf.debugging.check_numerics(unknown(tf.constant([np.inf])), "here"),
    "asserts": lambda: tf1.Assert(unknown(tf.constant(False)), ["no", m(2)]),
    "shapes": lambda: [
        tf.shape(unknown(m(2, 3)), tf.int64),
        tf.size(unknown(m(2, 3))),
        tf.rank(unknown(m(2))),
    ],
    "shape_n": lambda: tf1.shape_n([unknown(m(2, 3)), unknown(m(4))]),
    "edit_distance": lambda: tf.edit_distance(
        tf.sparse.from_dense(tf.constant([[1, 2, 3], [4, 5, 0]])),
        tf.sparse.from_dense(tf.constant([[1, 3, 0], [4, 5, 6]])),
    ),
    "quantile-like gathers": lambda: tf.gather(tf.sort(m(4, 9), 1), [0, 4, 8], axis=1),
    "isotonic regression": lambda: tf.nn.isotonic_regression(m(2, 6))[:1],
    "float8": lambda: [
        tf.cast(tf.cast(m(6), d), tf.float32)
        for d in (tf.dtypes.experimental.float8_e4m3fn, tf.dtypes.experimental.float8_e5m2)
    ],
    "int4": lambda: tf.cast(tf.cast(n(6, low=-8, high=8), tf.dtypes.experimental.int4), tf.int32),
    "stateless": lambda: [
        tf.random.stateless_uniform([5], [1, 2]),
        tf.random.stateless_normal([5], [1, 2], dtype=tf.float64),
        tf.random.stateless_truncated_normal([4], [3, 4]),
        tf.random.stateless_parameterized_truncated_normal(
            [3, 2], [1, 2], [0.0, 1.0], 1.0, -1.0, 1.0
        ),
        tf.random.stateless_uniform([5], [1, 2], 3, 99, tf.int64),
        tf.random.stateless_uniform([4], [1, 2], None, None, tf.uint32),
        tf.random.stateless_poisson([4], [1, 2], 3.0),
        tf.random.stateless_gamma([4], [1, 2], 2.0),
        tf.random.stateless_categorical(m(2, 4), 5, [1, 2]),
        tf.random.experimental.stateless_shuffle(tf.range(9), [1, 2]),
        tf.random.experimental.stateless_fold_in([1, 2], 3),
        tf.random.experimental.stateless_split([1, 2], 3),
    ],
    "stateless binomial": lambda: tf.random.stateless_binomial([4], [1, 2], 10.0, 0.3),
    "seeded": lambda: [
        tf1.random_uniform([4], seed=3),
        tf1.random_normal([4], seed=4),
        tf1.truncated_normal([4], seed=5),
        tf1.random_shuffle(tf.range(7), seed=6),
        tf1.multinomial(m(2, 3), 4, seed=7),
        tf1.random_gamma([3], 2.0, seed=8),
        tf1.random_poisson(2.0, [3], seed=9),
        tf1.random_uniform([3], 0, 50, tf.int32, seed=2),
        tf1.random_crop(m(5, 5), [2, 2], seed=3),
    ],
    "gradient of random_gamma": lambda: _gradient(
        lambda a: tf1.random_gamma([3], a, seed=8), tf.constant([2.0, 0.5])
    ),
}
