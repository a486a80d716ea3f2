"""Programs of rows 94 and 98: datasets, and what trains on them. The form is that of
`row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

DATASET_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 94_one_shot
next_element = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
with tf.Session() as s: log.append([s.run(next_element) for _ in range(3)]); log.append(raises("OutOfRangeError", "End of sequence", lambda: s.run(next_element), "IteratorGetNext"))
log.append(raises("ValueError", "Cannot capture a placeholder (name:Placeholder, type:Placeholder) by value", lambda: tf.data.Dataset.range(tf.placeholder(tf.int64, [])).make_one_shot_iterator()))
log.append(raises("ValueError", "The iterator does not have an initializer", lambda: tf.data.Dataset.range(3).make_one_shot_iterator().initializer))
# 94_initializable
limit = tf.placeholder(tf.int64, []); it = tf.data.Dataset.range(limit).map(lambda x: x * 2).make_initializable_iterator(); e = it.get_next()
with tf.Session() as s:
    log.append(raises("FailedPreconditionError", "iterator has not been initialized", lambda: s.run(e), "IteratorGetNext"))
    for n in (2, 3): s.run(it.initializer, {limit: n}); log.append([s.run(e) for _ in range(n)]); log.append(raises("OutOfRangeError", "End of sequence", lambda: s.run(e)))
# 94_preloaded_arrays
features, labels = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1]); pf, pl = tf.placeholder(features.dtype, features.shape), tf.placeholder(labels.dtype, labels.shape)
it = tf.data.Dataset.from_tensor_slices((pf, pl)).batch(3).make_initializable_iterator(); e = it.get_next()
with tf.Session() as s: s.run(it.initializer, {pf: features, pl: labels}); log.append([s.run(e), s.run(e)]); log.append([it.output_types[0].name, it.output_shapes[0].as_list(), it.output_classes[1] is tf.Tensor])
# 94_reinitializable
train, check = tf.data.Dataset.range(4).map(lambda x: x + 10), tf.data.Dataset.range(2)
it = tf.data.Iterator.from_structure(train.output_types, train.output_shapes); e = it.get_next(); ops = [it.make_initializer(train), it.make_initializer(check)]
with tf.Session() as s: log.append([[s.run(e) for _ in range(2)] for _ in range(2) for op in ops if s.run(op) is None])
log.append(raises("TypeError", "", lambda: it.make_initializer(tf.data.Dataset.from_tensors(1.0))))
# 94_feedable
handle = tf.placeholder(tf.string, []); train, check = tf.data.Dataset.range(9).repeat(), tf.data.Dataset.range(100, 103)
it = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes); e = it.get_next() * 2; a, b = train.make_one_shot_iterator(), check.make_initializable_iterator()
with tf.Session() as s:
    ha, hb = s.run([a.string_handle(), b.string_handle()]); s.run(b.initializer)
    log.append([s.run(e, {handle: h}) for h in (ha, hb, ha, hb, ha, hb)]); log.append(raises("OutOfRangeError", "End of sequence", lambda: s.run(e, {handle: hb})))
# 94_structures
import collections
P = collections.namedtuple("P", ["x", "y"]); d = tf.data.Dataset.from_tensor_slices({"a": P([1, 2], (["u", "v"], [0.5, 1.5])), "b": np.eye(2)})
e = d.make_one_shot_iterator().get_next(); log.append([sorted(e), type(e["a"]).__name__, d.output_types["a"].x.name, d.output_shapes["b"].as_list()])
with tf.Session() as s: v = s.run(e); log.append([v["a"].x, v["a"].y[0], v["a"].y[1], v["b"]])
# 94_until_the_end
sums = tf.Variable(tf.constant(0, tf.int64)); it = tf.data.Dataset.range(10).filter(lambda x: tf.equal(x % 2, 1)).batch(2).make_initializable_iterator(); step = sums.assign_add(tf.reduce_sum(it.get_next()))
with tf.Session() as s:
    s.run([sums.initializer, it.initializer])
    while True:
        try: log.append(s.run(step))
        except tf.errors.OutOfRangeError: break
    log.append(s.run(sums))
# 94_two_get_nexts
it = tf.data.Dataset.range(6).make_initializable_iterator(); a, b = it.get_next(), it.get_next()
with tf.Session() as s: s.run(it.initializer); log.append([sorted(s.run([a, b])) for _ in range(3)]); s.run(it.initializer); log.append(s.run([a, a]))
# 94_shared_tables_of_constants
table = tf.constant([5.0, 6.0, 7.0]); e = tf.data.Dataset.from_tensor_slices([2, 0]).map(lambda k: tf.gather(table, k)).make_one_shot_iterator().get_next()
with tf.Session() as s: log.append([s.run(e), s.run(e)])
# 94_variables
v = tf.Variable(2.0); it = tf.data.Dataset.from_tensors(3.0).repeat().map(lambda x: x * v).make_initializable_iterator(); e = it.get_next()
with tf.Session() as s: s.run(v.initializer); s.run(it.initializer); log.append(s.run(e)); s.run(v.assign(5.0)); log.append(s.run(e)); s.run(it.initializer); log.append(s.run(e))
log.append(raises("ValueError", "Cannot capture a stateful node (name:Variable, type:VariableV2) by value", lambda: tf.data.Dataset.from_tensors(3.0).map(lambda x: x * v).make_one_shot_iterator()))
# 94_threads
import threading
it = tf.data.Dataset.range(200).map(lambda x: x + 1, num_parallel_calls=2).prefetch(4).make_initializable_iterator(); e = it.get_next(); found = []
with tf.Session() as s:
    s.run(it.initializer)
    def ask():
        try:
            while True: found.append(int(s.run(e)))
        except tf.errors.OutOfRangeError: pass
    threads = [threading.Thread(target=ask) for _ in range(3)]; [t.start() for t in threads]; [t.join() for t in threads]
log.append([len(found), sum(found)])
# 94_unequal
log.append(raises("ValueError", "Dimensions 3 and 2 are not compatible", lambda: tf.data.Dataset.from_tensor_slices(([1, 2, 3], [1, 2])))); log.append(raises("TypeError", "`generator` must be a Python callable.", lambda: tf.data.Dataset.from_generator(3, tf.int32)))
# 94_python_iteration
log.append(raises("RuntimeError", "only supports Python-style iteration", lambda: iter(tf.data.Dataset.range(3))))
# 94_initializer_collection
it = tf.data.Dataset.range(3).make_initializable_iterator(shared_name="mine"); tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, it.initializer); e = it.get_next()
with tf.Session() as s: s.run(tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS)); log.append(s.run(e))
# 98_dense_and_adam
rng = np.random.RandomState(0); X = rng.random_sample((64, 5)).astype(np.float32); Y = (X.sum(1, keepdims=True) * 0.5).astype(np.float32); tf.set_random_seed(1)
x, y = tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(16).make_one_shot_iterator().get_next()
start = lambda k: tf.random_uniform_initializer(-0.5, 0.5, seed=k)
net = tf.layers.dense(x, 8, activation=tf.tanh, kernel_initializer=start(1)); net = tf.layers.dense(net, 8, activation=tf.tanh, kernel_initializer=start(2)); out = tf.layers.dense(net, 1, kernel_initializer=start(3))
loss = tf.losses.mean_squared_error(out, y); train = tf.train.AdamOptimizer(0.02).minimize(loss); losses = []
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(40): losses.append(float(s.run([train, loss])[1]))
log.append([losses[-1] < 0.1 * losses[0], [round(v, 4) for v in losses[:3]]])
""")
