"""Programs of rows 69 to 105: layers, gradients, training. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

TRAINING_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 69_dense
x = tf.placeholder(tf.float32, [None, 3], name="x"); y = tf.layers.dense(x, 2, tf.nn.relu, kernel_initializer=tf.ones_initializer(), bias_initializer=tf.constant_initializer(0.5)); z = tf.layers.dense(y, 1, name="out", use_bias=False)
log.append([[v.name, v.shape.as_list()] for v in tf.trainable_variables()]); log.append([y.name, z.name, y.shape.as_list()])
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append(s.run(y, {x: [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]}))
log.append(raises("ValueError", "", lambda: tf.layers.dense(tf.placeholder(tf.float32), 2))); log.append(raises("ValueError", "", lambda: tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 2)))
# 69_mean_squared_error
l = tf.losses.mean_squared_error([[1.0], [2.0]], tf.constant([[0.0], [4.0]])); m = tf.losses.mean_squared_error([1.0, 2.0], [0.0, 4.0], weights=[1.0, 0.0]); log.append([l.name, l.shape.as_list(), [t.name for t in tf.get_collection("losses")], [t.name for t in tf.losses.get_losses()]])
with tf.Session() as s: log.append(s.run([l, m, tf.losses.get_total_loss(), tf.losses.mean_squared_error([1.0, 2.0], [0.0, 4.0], reduction=tf.losses.Reduction.NONE)]))
log.append(raises("ValueError", "", lambda: tf.losses.mean_squared_error([1.0], [1.0, 2.0]))); log.append(raises("ValueError", "", lambda: tf.losses.mean_squared_error(None, [1.0])))
# 77_gradient
x = tf.constant(2.0); i, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, tf.constant(1.0)]); log.append(len(tf.gradients(y, x))); g, = tf.gradients(y, x)
with tf.Session() as s: log.append(s.run([y, g]))
# 77_no_back_prop
x = tf.constant(2.0); _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, tf.constant(1.0)], back_prop=False); log.append(tf.gradients(y, x))
# 77_maximum_iterations
a = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0], maximum_iterations=3); b = tf.while_loop(lambda i: i < 2, lambda i: i + 1, [0], maximum_iterations=3)
with tf.Session() as s: log.append(s.run([a, b]))
# 77_swap_memory
x = tf.placeholder(tf.float32, [2]); _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y + x)), [0, tf.zeros([2])], swap_memory=True, parallel_iterations=1); g, = tf.gradients(y, x)
with tf.Session() as s: log.append(s.run([y, g], {x: [0.5, -0.5]}))
# 95_linear_fit
random = np.random.RandomState(0); xs, ys = random.random_sample(100), random.random_sample(100); W = tf.Variable(0.3, tf.float32); b = tf.Variable(-0.3, tf.float32); x = tf.placeholder(tf.float32); y = tf.placeholder(tf.float32); loss = tf.reduce_sum(tf.square(W * x + b - y)); step = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(1000): s.run(step, {x: xs, y: ys})
    log.append([float("%.5g" % v) for v in s.run([loss, W, b], {x: xs, y: ys})])
# 95_rates
v = tf.Variable(1.0, name="v"); r = tf.placeholder(tf.float32, []); loss = tf.square(v); a = tf.train.GradientDescentOptimizer(0.1).minimize(loss); b = tf.train.GradientDescentOptimizer(r).minimize(loss, name="b"); log.append([a.type, a.name, b.name])
with tf.Session() as s: s.run(v.initializer); s.run(a); log.append(s.run(v)); s.run(b, {r: 0.25}); log.append(s.run(v))
# 95_signs_and_clipped_rows
x = tf.constant([2.0, -3.0]); log.append([g is None for g in tf.gradients([tf.sign(x)], [x]) + tf.gradients(tf.round(x), x)]); w = tf.Variable([[1.0], [2.0]], name="w"); step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.sign(w)))
rows = tf.IndexedSlices(tf.constant([[3.0], [-4.0]]), tf.constant([1, 0]), tf.constant([2, 1])); c = tf.clip_by_value(rows, -1.0, 2.0)
with tf.Session() as s: s.run(w.initializer); s.run(step); log.append(s.run([w, c.values, c.indices, tf.gradients(tf.sign(x) * x, x)[0]]))
# 95_einsum
x = tf.placeholder(tf.float32, [2, None, 2]); y = tf.placeholder(tf.float32, [None, 2, 3]); z = [tf.einsum(e, x, y) for e in ("abc,dbe->ade", "aba,bce->ce", "...c,...ce->...e")]
with tf.Session() as s: log.append(s.run(tf.gradients(z[:2], [x, y]) + tf.gradients(z[2], [x, y]), {x: np.arange(8.0).reshape(2, 2, 2), y: np.arange(12.0).reshape(2, 2, 3)}))
q = tf.constant([[1.0, 2.0], [3.0, 4.0]]); log.append([g.shape.as_list() for g in tf.gradients([tf.einsum("ii->", q), tf.einsum("ij->i", q)], q)])
with tf.Session() as s: log.append(s.run(tf.gradients(tf.einsum("ii->", q), q)))
# 95_errors
x = tf.constant(1.0); o = tf.train.GradientDescentOptimizer(0.1); log.append(raises("ValueError", "No variables to optimize.", lambda: o.minimize(x))); v = tf.Variable(1.0, name="v"); log.append(raises("ValueError", "No gradients provided for any variable", lambda: o.minimize(x))); log.append(raises("ValueError", "", lambda: o.apply_gradients([])))
# 95_gradients
x = tf.placeholder(tf.float32, [2], name="x"); w = tf.constant([2.0, 3.0]); y = tf.reduce_sum(x * x * w); z = tf.constant(1.0); g = tf.gradients(y, [x, w, z]); h = tf.gradients([y, x], x, grad_ys=[tf.constant(2.0), tf.constant([1.0, 1.0])]); k = tf.gradients(y, [z], unconnected_gradients="zero"); q = tf.gradients(tf.reduce_sum(tf.stop_gradient(x) * x), x); log.append([t.name if t is not None else None for t in g])
with tf.Session() as s: log.append(s.run([g[:2], h, k, q, tf.hessians(y, x)], {x: [1.0, 2.0]}))
log.append(raises("ValueError", "", lambda: tf.gradients(y, x, grad_ys=[1.0, 2.0]))); log.append(raises("TypeError", "", lambda: tf.gradients(tf.constant("a"), x)))
# 97_slots
v = tf.Variable([1.0, 2.0], name="v"); loss = tf.reduce_sum(tf.square(v)); t = tf.train
for o in (t.AdamOptimizer(0.1), t.MomentumOptimizer(0.1, 0.9), t.MomentumOptimizer(0.1, 0.9, use_nesterov=True, name="N"), t.AdagradOptimizer(0.1), t.RMSPropOptimizer(0.1), t.RMSPropOptimizer(0.1, centered=True, name="C"), t.AdadeltaOptimizer(0.1), t.FtrlOptimizer(0.1), t.ProximalGradientDescentOptimizer(0.1, 0.01), t.ProximalAdagradOptimizer(0.1)):
    step = o.minimize(loss)
    with tf.Session() as s: s.run(tf.global_variables_initializer()); [s.run(step) for _ in range(3)]; log.append([type(o).__name__, s.run(v), o.get_slot_names(), [o.get_slot(v, n).name for n in o.get_slot_names()]])
log.append([x.name for x in tf.global_variables()])
# 97_slices
for name in ("Adam", "Momentum", "Adagrad", "RMSProp", "Ftrl", "Adadelta"):
    v = tf.Variable(np.ones((4, 2), np.float32)); o = getattr(tf.train, name + "Optimizer")(*((0.1, 0.9) if name == "Momentum" else (0.1,))); step = o.minimize(tf.reduce_sum(tf.square(tf.gather(v, [1, 3, 1]))), var_list=[v])
    with tf.Session() as s: s.run(tf.global_variables_initializer()); s.run(step); s.run(step); log.append([name, s.run(v)])
# 97_global_step
v = tf.Variable(1.0); g = tf.train.get_or_create_global_step(); step = tf.train.AdamOptimizer().minimize(tf.square(v), global_step=g)
with tf.Session() as s: s.run(tf.global_variables_initializer()); s.run(step); s.run(step); log.append([s.run(g), g.name, g.dtype.name, tf.train.global_step(s, g)])
# 98_three_layers_fed
random = np.random.RandomState(1); a = random.rand(32, 4).astype(np.float32); c = a.sum(1, keepdims=True); x = tf.placeholder(tf.float32, [None, 4]); y = tf.placeholder(tf.float32, [None, 1]); k = tf.glorot_uniform_initializer(seed=3); h = tf.layers.dense(x, 8, tf.nn.tanh, kernel_initializer=k); h = tf.layers.dense(h, 8, tf.nn.tanh, kernel_initializer=k); out = tf.layers.dense(h, 1, kernel_initializer=k); loss = tf.losses.mean_squared_error(y, out); step = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as s:
    s.run(tf.global_variables_initializer()); seen = [s.run(loss, {x: a, y: c})]
    for k in range(50): s.run(step, {x: a, y: c})
    seen.append(s.run(loss, {x: a, y: c})); log.append([bool(seen[1] < seen[0] / 10), [float("%.3g" % v) for v in seen]])
# 98_batches_from_a_generator
random = np.random.RandomState(2); a = random.rand(40, 3).astype(np.float32); c = (a @ [[1.0], [2.0], [-1.0]]).astype(np.float32); x = tf.placeholder(tf.float32, [None, 3]); y = tf.placeholder(tf.float32, [None, 1]); h = x
for k, n in enumerate((6, 4, 1)): h = tf.layers.dense(h, n, tf.nn.relu if k < 2 else None, kernel_initializer=tf.glorot_uniform_initializer(seed=k), name="d%d" % k)
loss = tf.losses.mean_squared_error(labels=y, predictions=h); step = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_or_create_global_step()); init = tf.global_variables_initializer()
def batches(epochs):
    for _ in range(epochs):
        for k in range(0, 40, 16): yield a[k : k + 16], c[k : k + 16]
with tf.Session() as s:
    s.run(init); seen = [float(s.run([step, loss], {x: p, y: q})[1]) for p, q in batches(5)]; log.append([float("%.4g" % v) for v in seen]); log.append([int(tf.train.global_step(s, tf.train.get_global_step())), [v.name for v in tf.trainable_variables()]])
# 103_registered
@tf.RegisterGradient("RowTwice")
def twice(op, grad): return grad * 2.0
log.append(raises("KeyError", "", lambda: tf.RegisterGradient("RowTwice")(twice))); log.append(raises("TypeError", "", lambda: tf.RegisterGradient(3)))
x = tf.constant(3.0)
with tf.get_default_graph().gradient_override_map({"Square": "RowTwice"}): y = tf.square(x)
with tf.Session() as s: log.append(s.run([tf.gradients(y, x)[0], tf.gradients(tf.square(x), x)[0]]))
with tf.get_default_graph().gradient_override_map({"Square": "RowMissing"}): z = tf.square(x, name="z")
log.append(raises("LookupError", "'z'", lambda: tf.gradients(z, x)))
# 103_custom_gradient
@tf.custom_gradient
def f(x): return tf.exp(x), lambda d: d * 10.0
x = tf.constant(1.0); y = f(x)
with tf.Session() as s: log.append(s.run([y, tf.gradients(y, x)[0]]))
tf.NotDifferentiable("RowOdd"); tf.NoGradient("RowOdder"); log.append(raises("TypeError", "", lambda: tf.NotDifferentiable(3)))
# 104_devices
log.append([tf.test.is_gpu_available(), tf.test.gpu_device_name(), tf.test.is_built_with_rocm()])
# 104_checked
x = tf.constant([[0.5, 1.5]]); y = tf.square(x)
with tf.Session(): log.append(bool(tf.test.compute_gradient_error(x, [1, 2], y, [1, 2]) < 1e-3)); a, n = tf.test.compute_gradient(x, [1, 2], y, [1, 2], x_init_value=np.array([[0.5, 1.5]], np.float32)); log.append([a, a.shape, bool(np.abs(a - n).max() < 1e-2)])
# 104_of_gathers_and_loops
x = tf.constant([[0.5, 1.5], [1.0, 2.0]]); _, w = tf.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, t * tf.sin(x)), [0, x])
for t, n in ((tf.gather(x, [1, 0, 1]), [3, 2]), (tf.reduce_sum(tf.exp(x), 0), [2]), (tf.matmul(x, x), [2, 2]), (w, [2, 2])):
    with tf.Session(): log.append(bool(tf.test.compute_gradient_error(x, [2, 2], t, n) < 1e-2))
# 105_functions_and_resources
v = tf.Variable([1.0, 2.0], use_resource=True, name="dense/kernel"); x = tf.placeholder(tf.float32, [None, 2], name="serving_default_x"); y = tf.identity(tf.nn.relu(x * v), name="StatefulPartitionedCall")
with tf.Session() as s: s.run(v.initializer); tf.saved_model.simple_save(s, folder + "m", {"x": x}, {"y": y})
with tf.Graph().as_default(), tf.Session() as s: m = tf.saved_model.loader.load(s, ["serve"], folder + "m"); log.append(s.run(m.signature_def["serving_default"].outputs["y"].name, {"serving_default_x:0": [[1.0, -1.0]]}))
""")
