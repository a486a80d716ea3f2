"""Sparse and ragged tensors, strings, loops, lists, functions, tables, parsing."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

from programs.values import integers, numbers

tf1, raw, strings = tf.compat.v1, tf.raw_ops, tf.strings

m = lambda *shape: tf.constant(numbers(*shape))
n = lambda *shape, **range_: tf.constant(integers(*shape, **range_))
unknown = lambda value: tf1.placeholder_with_default(value, None)
unsized = lambda value: tf1.placeholder_with_default(value, [None] * np.ndim(value))
texts = lambda *values: tf.constant(values)


def _sparse(shift: int = 0) -> Any:
    places = [[0, 1], [1, 0 + shift], [2, 3]]
    return tf.SparseTensor(places, tf.constant([1.5, -2.0, 3.0]), [3, 4])


def _ragged() -> Any:
    return tf.ragged.constant([[1, 2, 3], [], [4], [5, 6]])


def _gradient(function: Any, *values: Any) -> Any:
    result = function(*values)
    return tf1.gradients(tf.reduce_sum(result * tf.cos(result)), list(values))


def _batch(*tensors: Any, allowed: Any = ()) -> Any:
    batch = raw.Batch(
        in_tensors=list(tensors),
        max_batch_size=4,
        allowed_batch_sizes=list(allowed),
        num_batch_threads=1,
        batch_timeout_micros=1000,
        grad_timeout_micros=1000,
    )
    rows = _unbatched(batch.batched_tensors[0] * 2, batch.batch_index, batch.id)
    return [*batch.batched_tensors, batch.batch_index[:, 1:], rows]


def _unbatched(batch: Any, index: Any, key: Any) -> Any:
    index, key = (tf.cast(x, tf.int64) for x in (index, key))
    return raw.Unbatch(batched_tensor=batch, batch_index=index, id=key, timeout_micros=100000)


def _example(**features: Any) -> bytes:
    kinds = {
        int: lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
        float: lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
        bytes: lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
    }
    made = {name: kinds[type(values[0])](values) for name, values in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


EXAMPLES = [_example(a=[1.5, 2.5], b=[7], c=[b"x", b"y"]), _example(a=[0.5, 1.0], b=[8])]
SCHEMA = {
    "a": tf.io.FixedLenFeature([2], tf.float32),
    "b": tf.io.FixedLenFeature([], tf.int64, 3),
    "c": tf.io.VarLenFeature(tf.string),
}


def _collatz(start: int) -> Any:
    return tf.while_loop(
        lambda x, _: x > 1,
        lambda x, steps: (tf.where(x % 2 == 0, x // 2, 3 * x + 1), steps + 1),
        [unknown(tf.constant(start)), 0],
    )


def _array_of_squares() -> Any:
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    _, array = tf.while_loop(
        lambda i, _: i < 5,
        lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) ** 2)),
        [0, array],
    )
    return array.stack()


def _table(default: int = -1) -> Any:
    entries = tf.lookup.KeyValueTensorInitializer(texts("a", "b", "c"), tf.constant([1, 2, 3]))
    return tf.lookup.StaticHashTable(entries, default)


def _looked_up() -> Any:
    table = _table()
    with tf.control_dependencies([table._initialize()]):
        return [table.lookup(texts("c", "zz", "a")), table.size()]


def _called(function: Any, *arguments: Any) -> Any:
    return tf.function(function)(*arguments)


EXPRESSIONS = {
    "sparse to_dense": lambda: tf.sparse.to_dense(_sparse(), 9.0),
    "sparse add": lambda: tf.sparse.to_dense(tf.sparse.add(_sparse(), _sparse(1))),
    "sparse matmul": lambda: tf.sparse.sparse_dense_matmul(_sparse(), m(4, 2)),
    "sparse matmul adjoint": lambda: tf.sparse.sparse_dense_matmul(_sparse(), m(3, 2), True),
    "gradient of sparse matmul": lambda: _gradient(
        lambda d: tf.sparse.sparse_dense_matmul(_sparse(), d), m(4, 2)
    ),
    "sparse reduce": lambda: [
        tf.sparse.reduce_sum(_sparse(), 1),
        tf.sparse.reduce_max(_sparse(), 0),
    ],
    "sparse concat": lambda: tf.sparse.to_dense(tf.sparse.concat(1, [_sparse(), _sparse(1)])),
    "sparse split": lambda: [
        tf.sparse.to_dense(s) for s in tf.sparse.split(_sparse(), num_split=2, axis=1)
    ],
    "sparse slice": lambda: tf.sparse.to_dense(tf.sparse.slice(_sparse(), [1, 0], [2, 3])),
    "sparse reorder": lambda: (
        tf.sparse.reorder(tf.SparseTensor([[2, 0], [0, 1]], [1.0, 2.0], [3, 2])).values
    ),
    "sparse reshape": lambda: tf.sparse.to_dense(tf.sparse.reshape(_sparse(), [2, -1])),
    "sparse transpose": lambda: tf.sparse.to_dense(tf.sparse.transpose(_sparse())),
    "sparse softmax": lambda: tf.sparse.softmax(_sparse()).values,
    "sparse fill_empty_rows": lambda: tf.sparse.fill_empty_rows(
        tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [4, 2]), 7.0
    )[1],
    "sparse retain": lambda: tf.sparse.retain(_sparse(), [True, False, True]).indices,
    "sparse maximum": lambda: tf.sparse.maximum(_sparse(), _sparse(1)).values,
    "sparse from_dense": lambda: tf.sparse.from_dense(n(3, 4, high=2)).indices,
    "sparse mask": lambda: (
        tf.sparse.mask(tf.IndexedSlices(m(3, 2), tf.constant([1, 4, 6])), [4]).indices
    ),
    "sparse to_indicator": lambda: tf.sparse.to_indicator(
        tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 0], tf.int64), [2, 1]), 4
    ),
    "sparse out of range": lambda: tf.sparse.to_dense(
        tf.SparseTensor(unsized(np.array([[5, 0]], "i8")), [1.0], [3, 4])
    ),
    "ragged to_tensor": lambda: _ragged().to_tensor(-1),
    "ragged reductions": lambda: [
        tf.reduce_sum(_ragged(), 1),
        tf.reduce_max(_ragged(), 0),
        tf.reduce_mean(_ragged(), 1),
    ],
    "ragged map": lambda: (_ragged() * 2 + 1).to_tensor(),
    "ragged gather": lambda: tf.gather(_ragged(), [2, 0]).to_tensor(),
    "ragged concat": lambda: tf.concat([_ragged(), _ragged()], 1).to_tensor(),
    "ragged boolean_mask": lambda: tf.ragged.boolean_mask(
        n(2, 3), [[True, False, True], [False] * 3]
    ).to_tensor(),
    "ragged range": lambda: tf.ragged.range([3, 0, 2], [5, 0, 8], 2).to_tensor(),
    "ragged from_tensor": lambda: tf.RaggedTensor.from_tensor(n(2, 3), lengths=[1, 3]).values,
    "ragged stack": lambda: tf.stack([_ragged(), _ragged()]).to_tensor(),
    "ragged where": lambda: tf.where(_ragged() > 2),
    "ragged rows": lambda: [_ragged().row_lengths(), _ragged().value_rowids(), _ragged().nrows()],
    "ragged segments": lambda: tf.math.segment_sum(tf.constant([1, 2, 3]), [0, 0, 1]),
    "ragged strings": lambda: strings.split(texts("a b c", "", "d e")).to_tensor(""),
    "ragged bytes": lambda: strings.bytes_split(texts("ab", "", "xyz")).to_tensor("-"),
    "ragged to_sparse": lambda: _ragged().to_sparse().indices,
    "string join": lambda: strings.join([texts("a", "b"), texts("x", "y")], "-"),
    "string parts": lambda: [
        strings.substr(texts("hello", "wörld"), 1, 3),
        strings.substr(texts("hello", "wörld"), -3, 2, unit="UTF8_CHAR"),
        strings.length(texts("é", "ab"), "UTF8_CHAR"),
        strings.upper(texts("aé"), "utf-8"),
        strings.strip(texts("  a \n")),
        strings.reduce_join(tf.constant([["a", "b"], ["c", "d"]]), 0, separator="+"),
    ],
    "string substr outside": lambda: strings.substr(unsized(np.array([b"ab"], object)), 5, 1),
    "string numbers": lambda: [
        strings.to_number(texts("1.5", "-2e3", "inf")),
        strings.to_number(texts("12", "-7"), tf.int64),
        strings.as_string(tf.constant([1.5, -0.25]), precision=2),
        strings.as_string(tf.constant([3, -4]), width=5, fill="0"),
    ],
    "string that is no number": lambda: strings.to_number(unsized(np.array([b"abc"], object))),
    "string hashes": lambda: [
        strings.to_hash_bucket_fast(texts("a", "bc", ""), 1000),
        strings.to_hash_bucket_strong(texts("a", "bc"), 1000, [1, 2]),
        tf1.string_to_hash_bucket(texts("a", "bc"), 10),
    ],
    "regex": lambda: [
        strings.regex_replace(texts("a1b22", "c"), "[0-9]+", r"<\0>"),
        strings.regex_full_match(texts("abc", "abd"), "ab[cx]"),
    ],
    "unicode": lambda: [
        strings.unicode_decode(texts("aé", "日"), "UTF-8").to_tensor(-1),
        strings.unicode_encode([[97, 233], [26085, 98]], "UTF-8"),
        strings.unicode_script([97, 1041]),
        strings.unicode_transcode(texts("abc"), "UTF-8", "UTF-16-BE"),
    ],
    "ngrams": lambda: strings.ngrams(texts("a", "b", "c"), [2, 3], "_"),
    "string format": lambda: strings.format("x = {}, y = {}", (m(3), n(2, 2))),
    "base64": lambda: [
        tf.io.encode_base64(texts("hello", "")),
        tf.io.decode_base64(texts("aGVsbG8")),
    ],
    "decode_raw": lambda: [
        tf.io.decode_raw(texts("\x01\x00\x02\x00"), tf.int16),
        tf.io.decode_raw(texts("ab", "abcd"), tf.uint8, fixed_length=3),
    ],
    "decode_csv": lambda: tf.io.decode_csv(texts('1,"a,b",', "2,c,3.5"), [0, "", 7.0]),
    "decode_csv of too many fields": lambda: tf.io.decode_csv(
        unsized(np.array([b"1,2,3"], object)), [0, 0]
    ),
    "serialized sparse tensors": lambda: tf1.deserialize_many_sparse(
        tf1.serialize_many_sparse(_sparse()), tf.float32, rank=2
    ),
    "serialized sparse texts": lambda: tf1.serialize_many_sparse(
        tf.SparseTensor([[0, 1], [2, 0]], ["a", ""], [3, 4])
    ),
    "serialized sparse out of order": lambda: tf1.serialize_many_sparse(_sparse(-1)),
    "parse_tensor": lambda: tf.io.parse_tensor(tf.io.serialize_tensor(m(2, 3)), tf.float32),
    "parse_example": lambda: (lambda f: [f["a"], f["b"], f["c"].indices, f["c"].values])(
        tf.io.parse_example(tf.constant(EXAMPLES), SCHEMA)
    ),
    "parse_single_example": lambda: (lambda f: [f["a"], f["b"], f["c"].values])(
        tf.io.parse_single_example(tf.constant(EXAMPLES[0]), SCHEMA)
    ),
    "parse_example without a feature": lambda: tf.io.parse_example(
        unsized(np.array(EXAMPLES, object)), {"z": tf.io.FixedLenFeature([], tf.float32)}
    )["z"],
    "cond": lambda: tf.cond(unknown(tf.constant(True)), lambda: m(2), lambda: m(2) * 2),
    "cond whose branches differ in rank": lambda: tf.cond(
        unknown(tf.constant(False)), lambda: m(2), lambda: m(3, 2)
    ),
    "case": lambda: tf.case(
        [(unknown(tf.constant(False)), lambda: m(2)), (unknown(tf.constant(True)), lambda: -m(2))],
        default=lambda: m(2) * 3,
    ),
    "switch_case": lambda: tf.switch_case(
        unknown(tf.constant(2)), [lambda: m(2), lambda: m(2) + 1, lambda: m(2) + 2]
    ),
    "while": lambda: _collatz(27),
    "while that grows": lambda: tf.while_loop(
        lambda x: tf.shape(x)[0] < 20,
        lambda x: (tf.concat([x, x + 1], 0),),
        [tf.zeros([1])],
        shape_invariants=[tf.TensorShape([None])],
    ),
    "nested while": lambda: tf.while_loop(
        lambda i, s: i < 4,
        lambda i, s: (
            i + 1,
            tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + i * j), [0, s])[1],
        ),
        [0, 0],
    ),
    "gradient of while": lambda: _gradient(
        lambda x: tf.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x), [0, x])[1], m(3)
    ),
    "gradient of cond": lambda: _gradient(
        lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x**2, lambda: x**3), m(3)
    ),
    "map_fn": lambda: tf.map_fn(lambda x: x * tf.reduce_sum(x), m(4, 3)),
    "scan": lambda: tf.scan(lambda a, x: a * 0.5 + x, m(5, 2), tf.zeros([2])),
    "foldr": lambda: tf.foldr(lambda a, x: a - x, n(6)),
    "vectorized_map": lambda: tf.vectorized_map(lambda x: tf.tensordot(x, x, 1), m(4, 3)),
    "tensor array": _array_of_squares,
    "tensor array split": lambda: (
        tf.TensorArray(tf.float32, 3, infer_shape=False).split(m(6, 2), [1, 2, 3]).concat()
    ),
    "tensor array gather": lambda: tf.TensorArray(tf.float32, 4).unstack(m(4, 2)).gather([3, 1]),
    "tensor array outside": lambda: (
        tf.TensorArray(tf.float32, 2).unstack(m(2, 2)).read(unknown(tf.constant(5)))
    ),
    "tensor list": lambda: raw.TensorListStack(
        input_handle=raw.TensorListFromTensor(tensor=m(3, 2), element_shape=[2]),
        element_shape=[2],
        element_dtype=tf.float32,
    ),
    "tensor list popped empty": lambda: (
        raw.TensorListPopBack(
            input_handle=raw.EmptyTensorList(
                element_shape=[2], max_num_elements=-1, element_dtype=tf.float32
            ),
            element_shape=[2],
            element_dtype=tf.float32,
        ).tensor
    ),
    "function": lambda: _called(lambda x, y: tf.nn.relu(x @ y) + 1.0, m(2, 3), m(3, 2)),
    "function that calls itself": lambda: _called(
        lambda x: tf.map_fn(lambda r: tf.cond(r[0] > 0, lambda: r, lambda: -r), x), m(4, 2)
    ),
    "gradient of a function": lambda: _gradient(
        lambda x: _called(lambda y: tf.sin(y) * y, x), m(3)
    ),
    "custom gradient": lambda: _gradient(
        tf.custom_gradient(lambda x: (x * 2, lambda dy: dy * 100.0)), m(3)
    ),
    "stop_gradient": lambda: _gradient(lambda x: x * tf.stop_gradient(x), m(3)),
    "table": _looked_up,
    "dataset reduce": lambda: (
        tf.data.Dataset.range(10)
        .filter(lambda x: x % 2 == 0)
        .map(lambda x: x * x)
        .reduce(np.int64(0), lambda a, x: a + x)
    ),
    "dataset batches": lambda: tf1.data.make_one_shot_iterator(
        tf.data.Dataset.from_tensor_slices(numbers(7, 2)).batch(3)
    ).get_next(),
    "dataset padded": lambda: tf1.data.make_one_shot_iterator(
        tf.data.Dataset.range(1, 5).map(lambda x: tf.fill([x], x)).padded_batch(4)
    ).get_next(),
    "unsorted merge": lambda: tf1.data.make_one_shot_iterator(
        tf.data.Dataset.range(9).shuffle(5, seed=3).batch(9)
    ).get_next(),
    "batch": lambda: _batch(m(3, 2), n(3)),
    "batch of an allowed size": lambda: _batch(m(3, 2), allowed=[2, 4]),
    "batch that is too large": lambda: _batch(m(5, 2)),
    "batch of two sizes": lambda: _batch(unknown(m(3, 2)), unknown(n(2))),
    "batch whose allowed sizes fall": lambda: _batch(m(3, 2), allowed=[4, 2]),
    "unbatch of what never comes": lambda: _unbatched(m(3, 2), [[7, 0, 3]], 8),
    "unbatch of the second": lambda: _unbatched(m(3, 2), [[7, 1, 2], [8, 0, 2]], 8),
    "unbatch of too many": lambda: _unbatched(m(3, 2), [[7, 0, 4]], 7),
    "gradient of a batch": lambda: raw.UnbatchGrad(
        original_input=m(3, 2),
        batch_index=np.array([[7, 0, 3]]),
        grad=2 * m(3, 2),
        id=np.int64(7),
    ),
    "remote call": lambda: functional_ops.remote_call(
        args=[unknown(m(3)), 2.0],
        Tout=[tf.float32],
        f=function.Defun(tf.float32, tf.float32)(lambda x, y: x * y),
        target="/job:localhost/replica:0/task:0/device:CPU:0",
    ),
    "counts of rows with negative numbers": lambda: raw.SparseBincount(
        indices=np.array([[0, 0], [0, 1], [1, 0], [2, 1]]),
        values=np.array([2, 2, -2, 5]),
        dense_shape=np.array([3, 2]),
        size=np.int64(6),
        weights=np.array([], "f4"),
    ),
    "losses": lambda: [
        tf1.losses.huber_loss(m(4), m(4) * 2),
        tf1.losses.cosine_distance(m(2, 3), m(2, 3) + 1, 1),
        tf1.losses.hinge_loss(tf.constant([0.0, 1.0]), m(2)),
        tf1.losses.log_loss(tf.sigmoid(m(4)), tf.sigmoid(m(4) * 2)),
        tf1.losses.mean_pairwise_squared_error(m(2, 3), m(2, 3) * 2),
        tf1.losses.softmax_cross_entropy(tf.nn.softmax(m(2, 3)), m(2, 3), label_smoothing=0.1),
    ],
    "decays": lambda: [
        tf1.train.exponential_decay(0.1, 7, 3, 0.9, staircase=True),
        tf1.train.polynomial_decay(0.1, 7, 20, power=2.0),
        tf1.train.cosine_decay(0.1, 7, 20),
        tf1.train.piecewise_constant(7, [5, 10], [0.1, 0.01, 0.001]),
        tf1.train.noisy_linear_cosine_decay(0.1, 7, 20, 0.0),
    ],
}
