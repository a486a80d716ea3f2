"""Programs over tables of rows, labels of sequences and the best classes: see
`layer_snippets.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

NN_SNIPPETS = """
# embedding_lookup_nodes =
t = tf.constant(np.ones((6, 2), np.float32)); r = tf.get_variable("r", [6, 2], use_resource=True); v = tf.get_variable("v", [6, 2]); p = tf.placeholder(tf.float32, [None, 2])
found = [tf.nn.embedding_lookup(t, [1, 2]), tf.nn.embedding_lookup(v, [1, 2], max_norm=1.0), tf.nn.embedding_lookup([v, v], [[1, 2]]), tf.nn.embedding_lookup([v, v], 1, "div"), tf.nn.embedding_lookup([p, p], [1], "div"), tf.nn.embedding_lookup(v, tf.placeholder(tf.int32), max_norm=2.0)]
found = [r.sparse_read([1]), r.gather_nd([[1, 1]])]
# embedding_lookup_sparse_nodes =
s = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.int64([1, 2, 0]), [2, 2]); w = tf.SparseTensor(s.indices, np.float32([1, 2, 0]), s.dense_shape); t = tf.constant(np.ones((6, 2), np.float32))
for c in ("mean", "sum", "sqrtn"):
    for k in (None, w): tf.nn.embedding_lookup_sparse(t, s, k, combiner=c)
found = [tf.nn.embedding_lookup_sparse(t, s, None, combiner="sum", max_norm=1.0), tf.nn.embedding_lookup_sparse([t, t], s, None)]
# safe_embedding_lookup_sparse_nodes =
s = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.int64([1, 2, 0]), tf.placeholder(tf.int64, [2])); w = tf.SparseTensor(s.indices, np.float32([1, 2, 0]), s.dense_shape); t = tf.constant(np.ones((6, 2), np.float32))
found = [tf.nn.safe_embedding_lookup_sparse(t, s), tf.nn.safe_embedding_lookup_sparse(t, s, w, default_id=2), tf.nn.safe_embedding_lookup_sparse([t, t], s, w, combiner="sum", name="n")]
# safe_embedding_lookup_sparse
t = tf.constant(np.arange(12, dtype=np.float32).reshape(6, 2) + 1); s = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [1, 0], [3, 0]], np.int64([1, 2, -1, 0, 5]), [4, 3]); w = tf.SparseTensor(s.indices, np.float32([1, 2, 3, 0, -2]), s.dense_shape)
deep = tf.SparseTensor([[0, 0, 0], [0, 1, 1], [1, 1, 1]], np.int64([1, 2, 3]), [2, 2, 3]); f = tf.nn.safe_embedding_lookup_sparse; g = tf.gradients(f(t, s, w), t)[0]; h = tf.gradients(f(t, s), t)[0]
out = [f(t, s), f(t, s, w), f(t, s, w, "sum", default_id=3), f(t, s, w, "sqrtn"), f([t[:3], t[3:]], s, partition_strategy="mod"), f(t, deep, max_norm=2.0), tf.convert_to_tensor(g), tf.convert_to_tensor(h)]
said = [type(h).__name__, out[0].name, out[2].name, [str(o.shape[1:]) for o in out[:5]], tf.segment_sum(t, tf.placeholder(tf.int32, [None])).shape.as_list()]
# safe_embedding_lookup_without_a_table
tf.nn.safe_embedding_lookup_sparse(None, tf.SparseTensor([[0, 0]], np.int64([1]), [1, 1]))
# ctc_loss_v2
x = tf.constant(np.sin(np.arange(90, dtype=np.float32)).reshape(6, 3, 5)); y = tf.constant([[1, 2, 2, 0], [3, 1, 0, 0], [4, 0, 0, 0]]); f = tf.nn.ctc_loss_v2; a = f(y, x, [3, 0, 1], [6, 4, 2]); b = f(y - 1, tf.transpose(x, [1, 0, 2]), [3, 2, 1], [6, 4, 2], False, blank_index=-1, name="n")
s = tf.SparseTensor([[0, 0], [1, 0]], [3, 0], [3, 2])
out = [a, b, tf.gradients(a, x)[0], tf.gradients(b, x)[0], f(tf.constant([[0, 3], [1, 3], [4, 4]], tf.int64), x, [2, 1, 2], np.int64([6, 4, 3]), blank_index=2), f(tf.SparseTensor([[0, 0], [1, 0], [2, 0]], [3, 0, 1], [3, 2]), x, None, [6, 4, 3], blank_index=2), tf.nn.ctc_unique_labels(y)]; said = [a.name, b.name]
# ctc_loss_v2_of_sparse_labels_without_a_blank
tf.nn.ctc_loss_v2(tf.SparseTensor([[0, 0]], [3], [1, 1]), tf.zeros([2, 1, 4]), None, [2])
# collapse_repeated
out = [tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [1, 2, 2, 4, 5]], [5, 3]), tf.nn.collapse_repeated(tf.constant([[1, 1, 2]], tf.int64), tf.constant([2], tf.int64))]
# metrics_of_labels_that_are_sets
p = tf.constant([[0.1, 0.5, 0.3, 0.05], [0.4, 0.2, 0.1, 0.9], [0.3, 0.25, 0.2, 0.1]]); s = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], np.int64([1, 2, 3, 0, 0]), [3, 2]); w = [1.0, 0.0, 2.0]; m = tf.metrics
labels = [tf.constant(np.int64(y)) for y in ([[1, 1], [0, 3], [2, 7]], [[1, -1], [0, 3], [-1, -1]], [1, 0, 3])] + [s]
made = [f(y, p, k, weights=w) for y in labels for f in (m.recall_at_k, m.precision_at_k) for k in (1, 3)] + [m.recall_at_k(labels[0], p, 1, class_id=1), m.recall_at_k(tf.stack([labels[0]] * 2), tf.stack([p, p * p]), 2)]
before = [tf.local_variables_initializer(), [u for v, u in made]]
out = [v for v, u in made]
# average_precision_at_k
p = tf.constant([[0.1, 0.5, 0.3, 0.05], [0.4, 0.2, 0.1, 0.9], [0.3, 0.25, 0.2, 0.1]]); s = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], np.int64([1, 2, 3, 0, 0]), [3, 2]); f = tf.metrics.average_precision_at_k
labels = [tf.constant(np.int64(y)) for y in ([[1, 2], [0, 1], [3, 0]], [[1, 1], [0, 3], [2, 7]], [[1, -1], [0, 3], [-1, -1]], [1, 0, 3])] + [s]
made = [f(y, p, k) for y in labels for k in (1, 3)] + [f(labels[0], p, 2, weights=[1.0, 0.0, 2.0], metrics_collections=["m"], name="n")]
said = [made[0][0].name, made[0][1].name, made[-1][0].name, made[-1][1].name]
before = [tf.local_variables_initializer(), [u for v, u in made], [u for v, u in made]]
out = [v for v, u in made]
# average_precision_at_0
tf.metrics.average_precision_at_k(tf.constant([[1]], tf.int64), tf.zeros([1, 3]), 0)
# precision_of_labels_of_int32
tf.metrics.precision_at_k(tf.constant([[1]]), tf.zeros([1, 3]), 1)
"""
