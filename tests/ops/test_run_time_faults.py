"""What only a run can find at fault is found, and what TensorFlow takes is taken.

The values and the words are what TensorFlow 2.21 gives for the same programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import FailedPreconditionError, InvalidArgumentError

Program = Callable[..., Any]


def _fed(program: Program, fed: list[Any]) -> Any:
    """What a program of float32 tensors of open sizes gives: its integers are computed, so that no
    Session compiles for their values."""
    arrays = [np.asarray(a, np.float32) for a in fed]
    with tf.Graph().as_default(), tf.Session() as session:
        feeds = [tf.placeholder(tf.float32, [None] * a.ndim) for a in arrays]
        return session.run(program(*feeds), dict(zip(feeds, arrays)))


def _int(x: Any) -> Any:
    return tf.cast(x, tf.int32)


RANGE = lambda a, b, d=1: tf.range(_int(a), _int(b), d)


@pytest.mark.parametrize(
    ("program", "fed", "wanted"),
    [
        (RANGE, [-3, 2], [-3, -2, -1, 0, 1]),
        (lambda a, b: RANGE(a, b, -2), [2, -3], [2, 0, -2]),
        (lambda b: tf.range(3, _int(b), 2), [8], [3, 5, 7]),
        (lambda a: tf.range(_int(a), -2, -1), [1], [1, 0, -1]),
        (lambda x: tf.range(2, tf.shape(x)[0]), [[0, 0, 0, 0]], [2, 3]),
    ],
)
def test_ends_of_ranges_may_be_negative(program: Program, fed: list[Any], wanted: Any) -> None:
    np.testing.assert_array_equal(_fed(program, fed), wanted)


@pytest.mark.parametrize(
    ("program", "fed", "message"),
    [
        (RANGE, [7, 4], "Requires start <= limit"),
        (lambda a, b: RANGE(a, b, -1), [3, 4], "start >= limit when delta < 0"),
        (lambda b: tf.range(3, _int(b), 2), [2], "n - 3 must be at least 0, found -1"),
        (lambda b: tf.range(3, _int(b)), [-2], "must not be negative, found -2"),
        (lambda x: tf.range(3, tf.shape(x)[0]), [[0, 0]], "Requires start <= limit when delta > 0"),
        (lambda n: tf.argmax(tf.zeros(_int(n))), [[0]], "must be at least 1, found 0"),
        (
            lambda n: tf.image.resize_bilinear(np.ones((1, 4, 4, 1)), tf.stack([_int(n), 2])),
            [0],
            "n must be at least 1, found 0",
        ),
    ],
)
def test_faults_of_a_run(program: Program, fed: list[Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        _fed(program, fed)


def test_a_range_of_a_branch_not_taken_is_not_at_fault() -> None:
    def program(x: Any) -> Any:
        n = tf.shape(x)[0]
        return tf.cond(n >= 3, lambda: tf.range(3, n), lambda: tf.range(n))

    for size, wanted in ((5, [3, 4]), (2, [0, 1]), (7, [3, 4, 5, 6]), (1, [0])):
        np.testing.assert_array_equal(_fed(program, [np.zeros(size)]), wanted)


def _part(begin: Any, dy: Any) -> Any:
    return tf.raw_ops.StridedSliceGrad(
        shape=[4, 3], begin=tf.reshape(_int(begin), [2]), end=[2, 3], strides=[1, 1], dy=dy
    )


def _offsets(one: Any, other: Any) -> Any:
    return tf.raw_ops.ConcatOffset(concat_dim=1, shape=[_int(one), _int(other)])


def test_slices_and_parts_that_fit() -> None:
    found = _fed(_part, [[1, 0], np.ones((1, 3))])
    np.testing.assert_array_equal(found, [[0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]])


def test_slices_and_parts_that_do_not_fit() -> None:
    with pytest.raises(InvalidArgumentError, match="must be equal"):
        _fed(_part, [[0, 0], np.ones((3, 3))])
    with tf.Graph().as_default(), tf.Session() as session:
        one, other = (tf.placeholder(tf.float32, [2]) for _ in range(2))
        offsets = _offsets(one, other)
        found = session.run(offsets, {one: [4, 3], other: [4, 5]})
        np.testing.assert_array_equal(found, [[0, 0], [0, 3]])
        with pytest.raises(InvalidArgumentError, match="All dimensions except 1 must match"):
            session.run(offsets, {one: [2, 3], other: [4, 3]})


def test_algorithms_and_ranges_that_only_the_run_knows() -> None:
    keys = {"key": np.array([1], np.uint64), "counter": np.array([0, 2], np.uint64)}
    x = np.float32([-2, 0.3, 2])
    with tf.Graph().as_default(), tf.Session() as session:
        alg, low = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [])
        drawn = [
            tf.raw_ops.StatelessRandomUniformV2(shape=[2], alg=alg, **keys),
            tf.raw_ops.StatelessShuffle(value=[1, 2, 3], alg=alg, **keys),
            tf.raw_ops.StatelessRandomGammaV3(shape=[2], alpha=1.0, alg=alg, **keys),
        ]
        np.testing.assert_array_equal(
            session.run(drawn[0], {alg: 3}), session.run(drawn[0], {alg: 1})
        )
        for numbers in drawn:
            with pytest.raises(InvalidArgumentError, match="Unsupported algorithm id"):
                session.run(numbers, {alg: 4})
        rounded = tf.raw_ops.QuantizeAndDequantizeV2(
            input=x, input_min=low, input_max=1.0, range_given=True
        )
        np.testing.assert_allclose(session.run(rounded, {low: -1.0}), [-1.007874, 0.2992126, 1.0])
        with pytest.raises(InvalidArgumentError, match="input_min > input_max"):
            session.run(rounded, {low: 2.0})
    for alg_id in (0, 2):
        message = f"Unsupported algorithm id: {alg_id}"
        with tf.Graph().as_default(), tf.Session() as session:
            numbers = tf.raw_ops.StatelessShuffle(value=[1, 2, 3], alg=alg_id, **keys)
            with pytest.raises(InvalidArgumentError, match=message):
                session.run(numbers)


@pytest.mark.parametrize(
    ("ends", "values", "wanted"),
    [
        ([1, 1], [7, 7, 7], [0, 1, 2, 3, 4]),
        ([1, 3], [5, 6], [0, 5, 6, 3, 4]),
        ([1, 3], [5], [0, 5, 5, 3, 4]),
        ([1, 3], [5, 6, 7], None),
    ],
)
def test_an_update_between_bounds_of_the_run(ends: Any, values: Any, wanted: Any) -> None:
    def program(bounds: Any, given: Any) -> Any:
        begin, end = (tf.reshape(x, [1]) for x in tf.unstack(_int(bounds), 2))
        return tf.raw_ops.TensorStridedSliceUpdate(
            input=np.arange(5, dtype=np.float32), begin=begin, end=end, strides=[1], value=given
        )

    if wanted is None:
        with pytest.raises(InvalidArgumentError, match="must be equal"):
            _fed(program, [ends, values])
    else:
        np.testing.assert_array_equal(_fed(program, [ends, values]), wanted)


def test_an_update_of_no_elements_takes_any_values() -> None:
    for value in (np.zeros((0,)), np.zeros((3,)), np.zeros((2, 2))):
        found = _fed(
            lambda v: tf.raw_ops.TensorStridedSliceUpdate(
                input=np.arange(5, dtype=np.float32), begin=[2], end=[2], strides=[1], value=v
            ),
            [value],
        )
        np.testing.assert_array_equal(found, np.arange(5))


def _unravelled(dims: Any) -> Any:
    return tf.raw_ops.UnravelIndex(indices=[3, 5], dims=_int(dims))


def _ragged_gradient(splits: Any) -> Any:
    encoded = tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=[[0, 2, 3]], rt_dense_values=[1.0, 2.0, 3.0], batched_input=True
    )
    return tf.raw_ops.RaggedTensorToVariantGradient(
        encoded_ragged_grad=encoded,
        row_splits=tf.cast(splits, tf.int64),
        dense_values_shape=[3],
        Tvalues=tf.float32,
    )


@pytest.mark.parametrize(
    ("program", "fed", "message"),
    [
        (_unravelled, [-2, 4], "Input dims cannot be negative. Got dim = -2 at index 0"),
        (_unravelled, [2, 0], "dims contains zero at index 1"),
        (_ragged_gradient, [1, 2, 3], "first element of ragged splits  must be 0 but is 1"),
    ],
)
def test_faults_of_vectors(program: Program, fed: list[Any], message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [len(fed)])
        with pytest.raises(InvalidArgumentError, match=message):
            session.run(program(x), {x: fed})


@pytest.mark.parametrize("beam", [False, True])
def test_lengths_of_sequences_that_are_decoded(beam: bool) -> None:
    decode = tf.nn.ctc_beam_search_decoder if beam else tf.nn.ctc_greedy_decoder
    with tf.Graph().as_default(), tf.Session() as session:
        lengths = tf.placeholder(tf.int32, [2])
        inputs = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)
        (labels,), _ = decode(inputs, lengths)
        assert 0 not in session.run(labels, {lengths: [-7, 4]}).indices[:, 0]
        with pytest.raises(FailedPreconditionError, match=r"sequence_length\(1\) <= 4"):
            session.run(labels, {lengths: [4, 5]})


def test_a_glimpse_of_no_pixels_is_empty() -> None:
    images, offsets = np.ones((2, 6, 5, 1), np.float32), np.zeros((2, 2), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.raw_ops.ExtractGlimpse(input=images, size=[0, 2], offsets=offsets)
        assert session.run(found).shape == (2, 0, 2, 1)


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_halves_that_are_known_are_rounded_as_the_run_rounds(dtype: tf.DType) -> None:
    random = np.random.default_rng(0)
    x = (random.normal(size=500) * 30).astype(dtype.as_numpy_dtype)
    y = np.abs(random.normal(size=500) * 3).astype(dtype.as_numpy_dtype)
    pairs = ["FloorDiv", "TruncateDiv", "SquaredDifference", "Xlogy", "Xlog1py"]
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(dtype, [500])
        makes = [lambda v, n=name: getattr(tf.raw_ops, n)(x=v, y=y) for name in pairs]
        makes.append(lambda v: tf.raw_ops.SoftplusGrad(gradients=v, features=y))
        makes += [lambda v: tf.raw_ops.LeakyRelu(features=v), lambda v: tf.raw_ops.Selu(features=v)]
        for make in makes:
            folded, found = session.run([make(x), make(fed)], {fed: x})
            np.testing.assert_array_equal(folded, found)


@pytest.mark.parametrize("dtype", [tf.int32, tf.float32])
def test_counts_of_negative_numbers_without_bins(dtype: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        none = np.zeros(0, dtype.as_numpy_dtype)
        for values in ([-1], tf.placeholder_with_default([-1], [1])):
            counts = tf.raw_ops.DenseBincount(input=values, size=0, weights=none)
            with pytest.raises(InvalidArgumentError, match="Input arr must be non-negative!"):
                session.run(counts)


def test_batches_of_places_are_those_of_what_is_gathered() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, i = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None, 1])
        found = tf.gather_nd(x, i, batch_dims=1)
        values = np.arange(6).reshape(2, 3)
        assert session.run(found, {x: values, i: [[2], [0]]}).tolist() == [2, 3]
        for places in ([[0]], [[0], [1], [2]]):
            with pytest.raises(InvalidArgumentError, match="but the requested shape has 2"):
                session.run(found, {x: values, i: places})
        with pytest.raises(ValueError, match="Cannot reshape a tensor with 3 elements"):
            tf.gather_nd(values, np.zeros((3, 1), np.int32), batch_dims=1)


def test_lists_of_arrays_are_no_constant() -> None:
    rows = [np.zeros(2), np.ones(2)]
    with tf.Graph().as_default(), tf.Session() as session:
        for value in (rows, [rows], [[rows[0]], [rows[1]]]):
            with pytest.raises(ValueError, match="to be a dense tensor with shape"):
                tf.constant(value)
        assert tf.constant([np.float64(1), 2.5]).dtype is tf.float32
        packed = session.run(tf.stack(rows))
        assert packed.dtype == np.float64 and packed.tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("encoding", "data", "points", "starts"),
    [
        ("UTF-16", b"\xff\xfe*\x00b\x00", [42, 98], [0, 4]),
        ("UTF-16", b"\xfe\xff\x00*\x00b", [42, 98], [0, 4]),
        ("UTF-16", b"\x00*\x00b", [42, 98], [0, 2]),
        ("UTF-16", b"\xff\xfe*\x00\xff\xfeb\x00", [42, 0xFEFF, 98], [0, 4, 6]),
        ("UTF-16", b"\xff\xfe\x00\xd8b\x00", [0xFFFD, 98], [0, 4]),
        ("UTF-16-LE", b"\xff\xfe*\x00b", [0xFEFF, 42, 0xFFFD], [0, 2, 4]),
        ("UTF-32", b"\xff\xfe\x00\x00*\x00\x00\x00", [42], [0]),
        ("UTF-32", b"\x00\x00\x00*", [42], [0]),
        ("UTF-32", b"\xff\xfe*\x00b", [0xFFFD, 0xFFFD], [0, 4]),
    ],
)
def test_orders_of_bytes(encoding: str, data: bytes, points: list[int], starts: list[int]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.raw_ops.UnicodeDecodeWithOffsets(input=[data], input_encoding=encoding)
        values = session.run([found.char_values, found.char_to_byte_starts])
    assert [v.tolist() for v in values] == [points, starts]


@pytest.mark.parametrize(
    ("encoding", "data"),
    [("UTF-16", b"\xff\xfe"), ("utf-8-sig", b"\xef\xbb\xbf"), ("iso2022_jp", b"\x1b$B")],
)
def test_texts_of_nothing_but_marks_end(encoding: str, data: bytes) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.raw_ops.UnicodeDecode(input=[data], input_encoding=encoding)
        assert session.run(found.row_splits).tolist() == [0, 0]


@pytest.mark.parametrize("sizes", [(0, 3, 2), (2, 3, 0), (2, 0, 2)])
def test_products_with_constants_of_no_elements(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [m, k])
        for right in (np.ones((k, n), np.float32), np.ones((0, k, n), np.float32)):
            found = session.run(tf.matmul(x, right), {x: np.ones((m, k))})
            np.testing.assert_array_equal(found, np.ones((m, k)) @ right)
