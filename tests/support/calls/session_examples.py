"""A call of each op that no Computation holds (`Extracted`) or that Python computes (`Host`) and
that no recorded graph has, as a Session runs it.

In: nothing. Out: `EXAMPLES`, TensorFlow's op name -> a function that builds the call in the default
graph and returns what to fetch with the values that it should have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from calls.dataset_examples import DATASETS
from calls.dataset_source_examples import SOURCES
from calls.example_table import ExampleTable, X
from calls.file_examples import FILE_EXAMPLES
from calls.list_examples import LIST_EXAMPLES
from calls.sparse_examples import SPARSE_EXAMPLES
from calls.table_examples import SUMMARIES, TABLES
from calls.xla_examples import XLA_EXAMPLES, function

import flowc as tf

r: Any = tf.raw_ops
EXAMPLES = ExampleTable({**SPARSE_EXAMPLES, **XLA_EXAMPLES, **FILE_EXAMPLES, **LIST_EXAMPLES})
example = EXAMPLES.shows


@example("PlaceholderV2")
def _placeholder() -> list[tuple[Any, Any]]:
    x = r.PlaceholderV2(dtype=tf.float32, shape=[3, 2], name="x")
    return [(x + x, 2 * X)]


@example("ResourceCountUpTo")
def _count() -> list[tuple[Any, Any]]:
    handle = r.VarHandleOp(dtype=tf.int32, shape=[], shared_name="count")
    start = r.AssignVariableOp(resource=handle, value=np.int32(3))
    with tf.control_dependencies([start]):
        before = r.ResourceCountUpTo(resource=handle, limit=5, T=tf.int32)
    with tf.control_dependencies([before]):
        after = r.ReadVariableOp(resource=handle, dtype=tf.int32)
    return [(before, 3), (after, 4)]


@example("DisableCopyOnRead")
def _read_after_the_copy_was_disabled() -> list[tuple[Any, Any]]:
    handle = r.VarHandleOp(dtype=tf.float32, shape=[3, 2], shared_name="uncopied")
    with tf.control_dependencies([r.AssignVariableOp(resource=handle, value=X)]):
        disabled = r.DisableCopyOnRead(resource=handle)
    with tf.control_dependencies([disabled]):
        return [(r.ReadVariableOp(resource=handle, dtype=tf.float32), X)]


@example("BatchFunction")
def _batched() -> list[tuple[Any, Any]]:
    scaled = function(lambda x, c: x * c + 1, tf.float32, tf.float32)
    given: dict[str, Any] = {"num_batch_threads": 1, "batch_timeout_micros": 1000}
    call = {"captured_tensors": [np.float32(2)], "Tout": [tf.float32], "f": scaled, **given}
    whole = r.BatchFunction(in_tensors=[X], max_batch_size=3, **call)
    split = r.BatchFunction(
        in_tensors=[X], max_batch_size=2, enable_large_batch_splitting=True, **call
    )
    return [(whole[0], 2 * X + 1), (split[0], 2 * X + 1)]


@example("Batch", "Unbatch", "UnbatchGrad")
def _batched_and_given_back() -> list[tuple[Any, Any]]:
    given: dict[str, Any] = {"num_batch_threads": 1, "batch_timeout_micros": 1000}
    given |= {"max_batch_size": 4, "grad_timeout_micros": 1000}
    whole = r.Batch(in_tensors=[X, [1, 2, 3]], **given)
    batch = r.Batch(in_tensors=[X], allowed_batch_sizes=[2, 4], **given)
    rows = batch.batched_tensors[0]
    mine: dict[str, Any] = {"batch_index": batch.batch_index, "id": batch.id}
    unbatched = r.Unbatch(batched_tensor=rows * 2, timeout_micros=1000, **mine)
    gradient = r.UnbatchGrad(original_input=rows, grad=X, **mine)
    third = np.array([[7, 0, 2], [8, 4, 5]])  # as TensorFlow: only how many rows, not which
    part = r.Unbatch(batched_tensor=X, batch_index=third, id=np.int64(8), timeout_micros=1000)
    return [
        *zip(whole.batched_tensors, [X, [1, 2, 3]]), (whole.batch_index[:, 1:], [[0, 3]]),
        (rows, [*X, X[0]]), (unbatched, 2 * X), (gradient, X), (part, X[2:]),
    ]  # fmt: skip


@example("RemoteCall")
def _called_on_this_device() -> list[tuple[Any, Any]]:
    scaled = function(lambda x, c: x * c + 1, tf.float32, tf.float32)
    call = {"args": [X, np.float32(2)], "Tout": [tf.float32], "f": scaled}
    devices = ("/job:localhost/replica:0/task:0/device:CPU:0", "/cpu:0", "")
    return [(r.RemoteCall(target=device, **call)[0], 2 * X + 1) for device in devices]


@example("KMC2ChainInitialization")
def _far_points() -> list[tuple[Any, Any]]:
    distances = np.arange(50, dtype=np.float32) % 7
    return [(r.KMC2ChainInitialization(distances=distances, seed=k), 48) for k in (3, 11)]


@example("KmeansPlusPlusInitialization")
def _first_centers() -> list[tuple[Any, Any]]:
    points = np.concatenate([X, X * 3])

    def start(count: int, seed: int, retries: int) -> Any:
        return r.KmeansPlusPlusInitialization(
            points=points, num_to_sample=count, seed=seed, num_retries_per_sample=retries
        )

    return [(start(3, 5, 2), [[3, 0], [1.5, 12], [9, 0]]), (start(2, 9, 0), [[1, -2], [1.5, 12]])]


@example("SymbolicGradient")
def _gradient_of_a_function() -> list[tuple[Any, Any]]:
    kinds = [tf.float32, tf.int32, tf.float32]
    product = function(lambda x, n, unused: x * x * tf.cast(n, tf.float32), *kinds)
    given = [np.float32(3), np.int32(2), np.float32(7), np.float32(10)]
    found = r.SymbolicGradient(input=given, Tout=kinds, f=product)
    return list(zip(found, (120.0, 0, 0.0)))


# -- sparse matrices, of which TensorFlow has no kernels for CPUs


@example(
    *("SparseMatrixZeros", "SparseMatrixAdd", "SparseMatrixMul"),
    *("SparseMatrixSoftmax", "SparseMatrixSoftmaxGrad"),
)
def _sparse_matrices() -> list[tuple[Any, Any]]:
    kind = {"type": tf.float32}
    even = np.array([[1, 1], [0, 2], [3, 3]], np.float32)
    batch = np.stack([even, -2 * even[::-1]])
    held = r.DenseToCSRSparseMatrix(dense_input=batch, indices=np.argwhere(batch != 0))
    none = r.SparseMatrixZeros(dense_shape=[2, 3, 2], **kind)
    sums = r.SparseMatrixAdd(a=held, b=none, alpha=np.float32(2), beta=np.float32(-3))
    one = r.SparseMatrixMul(a=sums, b=np.float32(1.5))
    each = r.SparseMatrixMul(a=held, b=np.array([[[2]], [[-1]]], np.float32))
    softmax = r.SparseMatrixSoftmax(logits=held, **kind)
    change = r.SparseMatrixSoftmaxGrad(softmax=softmax, grad_softmax=held, **kind)
    kept = (batch != 0).astype(np.float32)
    shares = kept / kept.sum(-1, keepdims=True)
    slope = (batch - (batch * shares).sum(-1, keepdims=True)) * shares
    wanted = ((sums, 2 * batch), (one, 3 * batch), (each, batch * [[[2]], [[-1]]]))
    return [
        (r.CSRSparseMatrixToDense(sparse_input=matrix, **kind), dense)
        for matrix, dense in (*wanted, (none, 0 * batch), (softmax, shares), (change, slope))
    ]


# -- random numbers whose distributions leave no choice


@example("FractionalAvgPool", "FractionalMaxPool")
def _even_windows() -> list[tuple[Any, Any]]:
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    halves, places = {"value": x, "pooling_ratio": [1.0, 2.0, 2.0, 1.0]}, np.array([0, 2, 4])
    mean, largest = r.FractionalAvgPool(**halves), r.FractionalMaxPool(**halves)
    return [
        (mean.output, np.array([2.5, 4.5, 10.5, 12.5], np.float32).reshape(1, 2, 2, 1)),
        (largest.output, np.array([5, 7, 13, 15], np.float32).reshape(1, 2, 2, 1)),
        (mean.row_pooling_sequence, places),
        (largest.col_pooling_sequence, places),
    ]


@example("RandomGamma", "RandomPoisson", "RandomPoissonV2")
def _sure_numbers() -> list[tuple[Any, Any]]:
    none, nobody = np.zeros([2, 3], np.float32), np.zeros([0, 2], np.float32)
    counts = r.RandomPoissonV2(shape=[2], rate=[0.0, 0.0, 0.0], dtype=tf.float32)
    same = r.RandomPoisson(shape=[2], rate=np.zeros(3, np.float32), seed=4)
    return [(counts, none), (same, none), (r.RandomGamma(shape=[0], alpha=[1.0, 2.0]), nobody)]


# -- printing and strings


@example("Unique", "UniqueWithCounts")
def _unique_texts() -> list[tuple[Any, Any]]:
    found = r.UniqueWithCounts(x=tf.constant(["b", "a", "b", ""]))
    wanted = [[b"b", b"a", b""], [0, 1, 0, 2], [2, 1, 1]]
    distinct = r.Unique(x=tf.constant(["x", "x"]), out_idx=tf.int64)
    return [*zip(found, wanted), (distinct[0], [b"x"]), (distinct[1], np.zeros(2, np.int64))]


@example("ScatterNd")
def _scattered_texts() -> list[tuple[Any, Any]]:
    texts = tf.constant(["x", "y", "z"])
    joined = r.ScatterNd(indices=[[1], [3], [1]], updates=texts, shape=[4])
    kept = r.ScatterNd(indices=[[0], [9], [-1]], updates=texts, shape=[2],
                       bad_indices_policy="IGNORE")  # fmt: skip
    return [(joined, [b"", b"xz", b"", b"y"]), (kept, [b"x", b""])]


@example("RaggedFillEmptyRows")
def _ragged_rows() -> list[tuple[Any, Any]]:
    found = r.RaggedFillEmptyRows(
        value_rowids=np.array([0, 2]), values=X[:2, 0], nrows=np.int64(4),
        default_value=np.float32(9),
    )  # fmt: skip
    wanted = [[0, 1, 2, 3], [1, 9, 0.5, 9], [False, True, False, True], [0, 2]]
    return list(zip(found, wanted, strict=True))


@example("Print", "PrintV2")
def _print() -> list[tuple[Any, Any]]:
    shown = r.PrintV2(input=tf.constant("said"), output_stream="stderr")
    return [(r.Print(input=X, data=[X], message="x: "), X), (shown, None)]


@example("AsString")
def _as_string() -> list[tuple[Any, Any]]:
    return [(r.AsString(input=np.array([1, -20], np.int32)), [b"1", b"-20"])]


@example("StringJoin")
def _string_join() -> list[tuple[Any, Any]]:
    return [(r.StringJoin(inputs=[["a", "b"], "-"], separator="."), [b"a.-", b"b.-"])]


@example("StringFormat")
def _string_format() -> list[tuple[Any, Any]]:
    return [(r.StringFormat(inputs=[np.int32(4)], template="<%s>", placeholder="%s"), b"<4>")]


@example("Equal")
def _string_equal() -> list[tuple[Any, Any]]:
    x = tf.placeholder(tf.string, [2], name="s")
    return [(r.Equal(x=x, y=["a", "c"]), [True, False])]


@example("Add")
def _sum() -> list[tuple[Any, Any]]:
    x = tf.placeholder(tf.string, [2], name="s")
    texts = r.Add(x=x, y=[["c"], [b"\xff\0."]])
    wanted = [[b"ac", b"bc"], [b"a\xff\0.", b"b\xff\0."]]
    return [(r.Add(x=[1.5], y=2.5), [4.0]), (texts, wanted)]


@example("Assert")
def _assert() -> list[tuple[Any, Any]]:
    x = tf.placeholder(tf.string, [2], name="s")
    with tf.control_dependencies([r.Assert(condition=True, data=[x])]):
        return [(tf.identity(x), [b"a", b"b"])]


@example("ScalarSummary", "MergeSummary")
def _summaries() -> list[tuple[Any, Any]]:
    one = r.ScalarSummary(tags="loss", values=np.float32(0.5))
    two = r.ScalarSummary(tags="rate", values=np.float32(2.0))
    text = b"\n\x0b\n\x04loss\x15\x00\x00\x00?"
    merged = text + b"\n\x0b\n\x04rate\x15\x00\x00\x00@"
    return [(one, text), (r.MergeSummary(inputs=[one, two]), merged)]


# -- Python


@example("PyFunc", "PyFuncStateless", "EagerPyFunc")
def _python() -> list[tuple[Any, Any]]:
    called = tf.py_func(lambda a: a * 2, [X], tf.float32)
    pure = tf.py_func(lambda a: a + 1, [X], tf.float32, stateful=False)
    eager = tf.py_function(lambda a: a.numpy() + 2, [X], tf.float32)
    return [(called, 2 * X), (pure, X + 1), (eager, X + 2)]


@example("StaticRegexFullMatch")
def _matching() -> list[tuple[Any, Any]]:
    paths = tf.constant(["s3://bucket/x", "/tmp/s3://x"])
    return [(r.StaticRegexFullMatch(input=paths, pattern="^s3://.*"), [True, False])]


# -- random numbers, whose values tests/recorded/random.npz has


@example("RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "Multinomial")
def _random() -> list[tuple[Any, Any]]:
    shape = np.array([4], np.int32)
    few = r.TruncatedNormal(shape=shape, dtype=tf.float32, seed=1)
    normal = r.RandomStandardNormal(shape=shape, dtype=tf.float32, seed=1)
    drawn = r.RandomUniformInt(shape=shape, minval=3, maxval=4, seed=1)
    only = r.Multinomial(logits=np.array([[0.0, 90.0]], np.float32), num_samples=3, seed=1)
    inside = tf.abs(few) < 2.0
    return [(inside, [True] * 4), (tf.shape(normal), [4]), (drawn, [3] * 4), (only, [[1] * 3])]


# What TensorFlow 2.21 gives.
_BETWEEN = [[b"0.619", b"1.929"], [b"2.077", b"2.217"], [b"-4.010", b"-4.012"]]


@example("ParameterizedTruncatedNormal")
def _between() -> list[tuple[Any, Any]]:
    ends = {"minvals": [-1.0, 2.0, -9.0], "maxvals": [2.0, 3.0, -4.0]}
    means, stdevs = [0.0, 5.0, -3.0], [1.0, 2.0, 0.1]
    found = r.ParameterizedTruncatedNormal(
        shape=[3, 2], means=means, stdevs=stdevs, seed=2, seed2=3, **ends
    )
    return [(tf.as_string(found, precision=3), _BETWEEN)]


@example("Timestamp")
def _time() -> list[tuple[Any, Any]]:
    return [(r.Timestamp() > 1.7e9, True)]


@example(
    *("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal", "RngSkip"),
    *("StatefulUniformFullInt", "StatefulUniformInt", "StatefulRandomBinomial", "RngReadAndSkip"),
    "NonDeterministicInts",
)
def _generators() -> list[tuple[Any, Any]]:
    h = r.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="generator")
    state = {"resource": h, "algorithm": 1}
    start = r.AssignVariableOp(resource=h, value=np.array([5, 7, 11], np.int64))
    with tf.control_dependencies([start]):
        words = r.StatefulUniformFullInt(**state, shape=[2])
    with tf.control_dependencies([words]):
        same = r.StatefulUniformInt(**state, shape=[2], minval=3, maxval=4)
        none = [
            r.StatefulUniform(**state, shape=[0]),
            r.StatefulStandardNormalV2(**state, shape=[0]),
            r.StatefulTruncatedNormal(**state, shape=[0]),
            r.NonDeterministicInts(shape=[0]),
        ]
    with tf.control_dependencies([same]):
        all_of = r.StatefulRandomBinomial(**state, shape=[1], counts=[7.0], probs=1.0)
    with tf.control_dependencies([all_of]):
        skip = r.RngSkip(**state, delta=1)
    with tf.control_dependencies([skip]):
        held = r.RngReadAndSkip(resource=h, alg=1, delta=np.uint64(1))
    drawn = np.array([12278547894800148023, 773313867615895096], np.uint64)
    moved = np.array([5 + 256 * (2 + 2 + 200 + 1), 7, 11])
    return [(words, drawn), (same, [3, 3]), (all_of, [7]), (held, moved), *((x, []) for x in none)]


@example("RandomShuffle")
def _shuffle() -> list[tuple[Any, Any]]:
    mixed = r.RandomShuffle(value=np.arange(5, dtype=np.int32), seed=3)
    return [(tf.reduce_sum(mixed), 10), (tf.reduce_max(mixed), 4)]


# -- cells, samplers, gradients


@example("BlockLSTMGrad", "BlockLSTMGradV2")
def _block_lstm_gradients() -> list[tuple[Any, Any]]:
    """Of one step: those of a cell; the second version has the gates in another order."""
    random = np.random.RandomState(0)
    one = ((2, 3), (2, 2), (2, 2), (5, 8), (2,), (2,), (2,), (8,), *[(2, 2)] * 8)
    x, cs, h, w, *rest = [random.uniform(-1, 1, dims).astype(np.float32) for dims in one]
    names = ["wci", "wcf", "wco", "b", "i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"]
    cell = {"x": x, "cs_prev": cs, "h_prev": h, "w": w, **dict(zip(names, rest))}
    steps = {n: a[None] if n == "x" or n in names[4:] else a for n, a in cell.items()}
    steps |= {"seq_len_max": np.int64(1), "h": np.zeros((1, 2, 2), np.float32)}
    of_cs, of_gates, *of_peep = r.LSTMBlockCellGrad(use_peephole=True, **cell)
    found = []
    for gradient, places in ((r.BlockLSTMGrad, (0, 1, 2, 3)), (r.BlockLSTMGradV2, (0, 2, 1, 3))):
        parts = tf.split(of_gates, 4, axis=1)
        gates = tf.concat([parts[i] for i in places], 1)
        of_x = tf.matmul(gates, w[:3], transpose_b=True)[None]
        of_h = tf.matmul(gates, w[3:], transpose_b=True)
        of_w = tf.matmul(np.concatenate([x, h], 1), gates, transpose_a=True)
        wanted = [of_x, of_cs, of_h, of_w, *of_peep, tf.reduce_sum(gates, 0)]
        given = gradient(use_peephole=True, **steps)
        found += [(tf.reduce_max(tf.abs(a - b)) < 1e-5, True) for a, b in zip(given, wanted)]
    return found


_FIRST = {
    "AllCandidateSampler": [0, 1, 2, 3, 4, 5],
    "FixedUnigramCandidateSampler": [0, 5, 6, 4, 2, 11],
    "LearnedUnigramCandidateSampler": [19, 0, 18, 5, 5, 6],
    "LogUniformCandidateSampler": [18, 5, 5, 0, 3, 6],
    "ThreadUnsafeUnigramCandidateSampler": [19, 0, 18, 5, 5, 6],
    "UniformCandidateSampler": [19, 18, 1, 9, 6, 6],
}


@example(*_FIRST)
def _candidates() -> list[tuple[Any, Any]]:
    """The classes that TensorFlow draws first."""
    found = []
    for name, classes in _FIRST.items():
        attrs: dict[str, Any] = {} if name.startswith("All") else {"range_max": 20}
        if name.startswith("Fixed"):
            attrs |= {"unigrams": [float(i % 7 + 1) for i in range(20)], "distortion": 0.75}
        right = tf.constant([[0], [5]], tf.int64)
        drawn = getattr(r, name)(
            true_classes=right, num_true=1, num_sampled=6, unique=False, seed=11, seed2=22, **attrs
        )
        found.append((drawn.sampled_candidates, classes))
    return found


@example("SparseAddGrad", "SparseSliceGrad")
def _sparse_gradients() -> list[tuple[Any, Any]]:
    places = [np.array(p, np.int64) for p in ([[0, 1], [1, 0]], [[1, 0]], [[1, 0], [0, 1]])]
    added = r.SparseAddGrad(
        backprop_val_grad=np.array([2.0, 3.0], np.float32),
        a_indices=places[0],
        b_indices=places[1],
        sum_indices=places[2],
    )
    cut = r.SparseSliceGrad(
        backprop_val_grad=np.array([5.0], np.float32),
        input_indices=places[0],
        input_start=np.array([1, 0], np.int64),
        output_indices=np.array([[0, 0]], np.int64),
    )
    return [(added.a_val_grad, [3.0, 2.0]), (added.b_val_grad, [2.0]), (cut, [0.0, 5.0])]


EXAMPLES.update(DATASETS | SOURCES)
EXAMPLES.update(TABLES)
EXAMPLES.update(SUMMARIES)
