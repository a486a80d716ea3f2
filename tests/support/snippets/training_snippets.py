"""Programs that train, run in TensorFlow once and in flowc by the tests.

In: nothing. Out: `TRAINING`, snippets as in `api_snippets.py`: every optimizer with dense and
sparse gradients of reference and resource variables (values after three steps, and the very nodes
of the graph), schedules, clipping, moving averages, the global step and their errors.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

_OPTIMIZERS = {
    "gradient_descent": "GradientDescentOptimizer(0.1)",
    "momentum": "MomentumOptimizer(0.1, 0.9)",
    "nesterov": "MomentumOptimizer(0.1, 0.9, use_locking=True, use_nesterov=True)",
    "adagrad": "AdagradOptimizer(0.5, 0.2)",
    "adagrad_da": "AdagradDAOptimizer(0.5, step, l1_regularization_strength=0.01)",
    "adadelta": "AdadeltaOptimizer(1.0)",
    "adam": "AdamOptimizer(0.1)",
    "rms_prop": "RMSPropOptimizer(0.1, momentum=0.5)",
    "centered_rms_prop": "RMSPropOptimizer(0.1, centered=True)",
    "ftrl": "FtrlOptimizer(0.5, l1_regularization_strength=0.01)",
    "ftrl_with_shrinkage": "FtrlOptimizer(0.5, l2_shrinkage_regularization_strength=0.1)",
    "proximal_gradient_descent": "ProximalGradientDescentOptimizer(0.1, 0.01, 0.02)",
    "proximal_adagrad": "ProximalAdagradOptimizer(0.5, 0.1, 0.01, 0.02)",
}
# Reference and resource variables, each with a whole gradient and with rows of which one is twice.
_STEPS = """
start = [[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]]; g = tf.constant([[0.1, 0.2], [-0.5, 1.0], [2.0, 0.0]]); rows = tf.IndexedSlices(g, tf.constant([2, 0, 2]), tf.constant([3, 2]))
v = tf.Variable(start, name="v"); w = tf.Variable(start, name="w")
h = tf.Variable(start, name="h", use_resource=True); k = tf.Variable(start, name="k", use_resource=True)
step = tf.train.get_or_create_global_step(); opt = tf.train.{optimizer}
train = opt.apply_gradients([(g, v), (rows, w), (g, h), (rows, k)], global_step=step, name="train")
out = [v, w, h, k, step] + opt.variables(); before = [tf.global_variables_initializer(), train, train, train]
"""


def _steps() -> list[Snippet]:
    return [
        Snippet(name, _STEPS.format(optimizer=optimizer).strip(), alike=True)
        for name, optimizer in _OPTIMIZERS.items()
    ]


_OTHERS = read_snippets("""
# optimizer_of_f64 =
v = tf.Variable(np.array([1.0, 2.0]), name="v"); opt = tf.train.AdamOptimizer(0.1)
train = opt.apply_gradients([(tf.constant([0.5, -1.0], tf.float64), v)])
before = [tf.global_variables_initializer(), train, train]; out = [v] + opt.variables()
# optimizer_of_f64_momentum =
v = tf.Variable(np.array([1.0, 2.0]), name="v"); opt = tf.train.MomentumOptimizer(0.1, 0.9)
train = opt.apply_gradients([(tf.constant([0.5, -1.0], tf.float64), v)])
before = [tf.global_variables_initializer(), train, train]; out = [v] + opt.variables()
# optimizer_of_two_variables =
with tf.name_scope("model"):
    v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable(3.0, name="w")
opt = tf.train.AdamOptimizer(tf.constant(0.1), name="Mine")
with tf.variable_scope("outer"):
    train = opt.apply_gradients([(tf.constant([0.5, -1.0]), v), (None, w), (tf.constant(2.0), w)])
before = [tf.global_variables_initializer(), train, train]; out = [v, w] + opt.variables()
# optimizer_constraint =
v = tf.Variable([1.0, 2.0], name="v", constraint=lambda x: tf.clip_by_value(x, 0.0, 1.0))
train = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant([0.5, -1.0]), v)])
before = [tf.global_variables_initializer(), train]; out = v
# optimizer_constraint_resource =
v = tf.Variable([1.0, 2.0], name="v", constraint=lambda x: tf.clip_by_value(x, 0.0, 1.0), use_resource=True)
train = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant([0.5, -1.0]), v)])
before = [tf.global_variables_initializer(), train]; out = v
# optimizer_callable_rate =
v = tf.Variable([1.0, 2.0], name="v")
train = tf.train.GradientDescentOptimizer(lambda: 0.25).apply_gradients([(tf.constant([0.5, -1.0]), v)])
before = [tf.global_variables_initializer(), train]; out = v
# optimizer_of_unknown_shape
v = tf.Variable(tf.placeholder_with_default([1.0, 2.0], [None]), name="v", validate_shape=False); opt = tf.train.MomentumOptimizer(0.1, 0.9)
train = opt.apply_gradients([(tf.constant([0.5, -1.0]), v)])
before = [v.initializer, tf.variables_initializer(opt.variables()), train, train]; out = v
# optimizer_of_parts
v = tf.get_variable("v", [4, 2], initializer=tf.ones_initializer(), partitioner=tf.fixed_size_partitioner(2)); parts = list(v)
opt = tf.train.MomentumOptimizer(0.1, 0.9); train = opt.apply_gradients([(tf.constant([[0.5, -1.0], [1.0, 0.0]]), p) for p in parts])
infos = [opt.get_slot(p, "momentum")._get_save_slice_info() for p in parts]
assert [i.full_name + " " + i.spec for i in infos] == ["v/Momentum 4 2 0,2:0,2", "v/Momentum 4 2 2,2:0,2"]; before = [tf.global_variables_initializer(), train, train]; out = parts + opt.variables()
# optimizer_twice =
v = tf.Variable([1.0, 2.0], name="v"); g = tf.constant([0.5, -1.0])
one = tf.train.AdamOptimizer(0.1).apply_gradients([(g, v)]); two = tf.train.AdamOptimizer(0.2).apply_gradients([(g, v)])
before = [tf.global_variables_initializer(), one, two]; out = v
# optimizer_subclass =
class Signs(tf.train.Optimizer):
    def __init__(self, rate, use_locking=False, name="Signs"):
        super().__init__(use_locking, name); self._rate = rate
    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "seen", self._name); self._get_or_make_slot(v, tf.constant([7.0, 8.0]), "more", "More")
    def _prepare(self):
        self._rate_t = tf.convert_to_tensor(self._call_if_callable(self._rate), name="rate")
    def _apply_dense(self, grad, var):
        seen = self.get_slot(var, "seen")
        up = tf.assign_add(seen, grad)
        return tf.group(tf.assign_sub(var, self._rate_t * tf.sign(up)), up)
    def _apply_sparse(self, grad, var):
        return tf.scatter_sub(var, grad.indices, self._rate_t * tf.sign(grad.values)).op
v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable([1.0, 2.0], name="w"); opt = Signs(0.5)
train = opt.apply_gradients([(tf.constant([0.5, -1.0]), v), (tf.IndexedSlices(tf.constant([1.0, 2.0, -1.0]), tf.constant([1, 1, 0]), tf.constant([2])), w)])
before = [tf.global_variables_initializer(), train]; out = [v, w] + opt.variables()
# 95_linear_fit
r = np.random.RandomState(0); xs = r.random_sample(100); ys = r.random_sample(100)
W = tf.Variable([0.3], tf.float32); b = tf.Variable([-0.3], tf.float32); x = tf.placeholder(tf.float32); y = tf.placeholder(tf.float32)
loss = tf.reduce_sum(tf.square(W * x + b - y)); train = tf.train.GradientDescentOptimizer(0.001).minimize(loss)
feed = {x: xs, y: ys}; before = [tf.global_variables_initializer()] + [(train, feed)] * 1000; out = [loss, W, b]
# 95_rate_is_a_tensor =
x = tf.Variable(4.0); rate = tf.placeholder(tf.float32, []); train = tf.train.GradientDescentOptimizer(rate).minimize(x * x, name="down")
assert train.type == "NoOp" and train.name == "down" and tf.get_collection("train_op") == [train]
before = [tf.global_variables_initializer(), (train, {rate: 0.25}), (train, {rate: 0.5})]; out = x; feed = {rate: 1.0}
# 96_house_prices
r = np.random.RandomState(1); size = r.randint(60, 240, [40, 1]).astype(np.float64); price = size * 1.7 + 30.0 + r.randn(40, 1)
with tf.variable_scope("model"):
    w = tf.get_variable("w", [1, 1], initializer=tf.constant_initializer(0.5)); b = tf.get_variable("b", [1], initializer=tf.constant_initializer(0.0))
x = tf.placeholder(tf.float32, [None, 1], name="size"); y = tf.placeholder(tf.float32, [None, 1], name="price")
d = tf.matmul(x, w) + b - y; loss = tf.matmul(d, d, transpose_a=True) / 80.0
step = tf.train.get_or_create_global_step(); opt = tf.train.GradientDescentOptimizer(1e-4)
pairs = opt.compute_gradients(loss); assert [v.name for g, v in pairs] == ["model/w:0", "model/b:0"]
train = opt.apply_gradients([(tf.clip_by_norm(g, 50.0), v) for g, v in pairs], step)
feed = {x: size, y: price}; before = [tf.global_variables_initializer()] + [(train, feed)] * 20; out = [loss, w, b, step]
# 97_adam
r = np.random.RandomState(2); X = r.rand(20, 4); Y = X @ r.rand(4, 1)
x = tf.placeholder(tf.float32, [None, 4]); y = tf.placeholder(tf.float32, [None, 1]); h = x
for k, (n, m) in enumerate([(4, 8), (8, 6), (6, 1)]):
    with tf.variable_scope("dense_%d" % k):
        w = tf.get_variable("kernel", initializer=tf.constant(r.randn(n, m).astype(np.float32) * 0.5)); b = tf.get_variable("bias", [m], initializer=tf.zeros_initializer())
        h = tf.matmul(h, w) + b
        h = tf.nn.relu(h) if k < 2 else h
loss = tf.reduce_mean(tf.square(h - y)); train = tf.train.AdamOptimizer(0.01).minimize(loss)
feed = {x: X, y: Y}; before = [tf.global_variables_initializer()] + [(train, feed)] * 30; out = [loss] + tf.trainable_variables()
# 97_embedding
r = np.random.RandomState(3); E = tf.Variable(r.rand(20, 4).astype(np.float32), name="E"); w = tf.Variable(r.rand(4, 1).astype(np.float32), name="w")
i = tf.placeholder(tf.int32, [None]); y = tf.placeholder(tf.float32, [None, 1]); loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.embedding_lookup(E, i), w) - y))
train = tf.train.AdamOptimizer(0.01).minimize(loss); feed = {i: [3, 5, 3, 19], y: [[1.0], [2.0], [3.0], [4.0]]}
before = [tf.global_variables_initializer()] + [(train, feed)] * 5; out = [loss, E, w]
# 97_softmax_of_resources
r = np.random.RandomState(4); W = tf.Variable(tf.zeros([8, 3]), name="W", use_resource=True); b = tf.Variable(tf.zeros([3]), name="b", use_resource=True)
x = tf.placeholder(tf.float32, [None, 8]); y = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=tf.matmul(x, W) + b)); train = tf.train.MomentumOptimizer(0.5, 0.9).minimize(loss)
feed = {x: r.rand(10, 8), y: np.eye(3)[r.randint(0, 3, 10)]}; before = [tf.global_variables_initializer()] + [(train, feed)] * 10; out = [loss, W, b]
# minimize_gated =
v = tf.Variable([1.0, 2.0]); w = tf.Variable(3.0); loss = tf.reduce_sum(v * w)
a = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, gate_gradients=tf.train.Optimizer.GATE_GRAPH); b = tf.train.GradientDescentOptimizer(0.1).compute_gradients(loss, var_list=[w], gate_gradients=tf.train.Optimizer.GATE_NONE, grad_loss=tf.constant(2.0))
before = [tf.global_variables_initializer()]; out = [a[0][0], a[1][0], b[0][0]]
# minimize_without_variables
tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
# minimize_without_gradients
v = tf.Variable(1.0); tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))
# minimize_integers
v = tf.Variable(1); tf.train.GradientDescentOptimizer(0.1).minimize(v * 2)
# minimize_by_another_gate
v = tf.Variable(1.0); tf.train.GradientDescentOptimizer(0.1).minimize(v * 2.0, gate_gradients=7)
# minimize_a_tensor
x = tf.constant(1.0); tf.train.GradientDescentOptimizer(0.1).minimize(x * 2.0, var_list=[x])
# compute_gradients_of_a_tensor =
x = tf.constant(3.0); out = tf.train.GradientDescentOptimizer(0.1).compute_gradients(x * x, var_list=[x])[0][0]
# optimizer_no_variables
tf.train.GradientDescentOptimizer(0.1).apply_gradients([])
# optimizer_no_gradients
v = tf.Variable(1.0); tf.train.GradientDescentOptimizer(0.1).apply_gradients([(None, v)])
# optimizer_gradient_of_wrong_type
v = tf.Variable(1.0); tf.train.GradientDescentOptimizer(0.1).apply_gradients([(object(), v)])
# optimizer_constraint_of_rows
v = tf.Variable([1.0, 2.0], constraint=lambda x: x); s = tf.IndexedSlices(tf.constant([1.0]), tf.constant([1]), tf.constant([2]))
tf.train.GradientDescentOptimizer(0.1).apply_gradients([(s, v)])
# optimizer_of_a_tensor
tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant(1.0), tf.constant(3.0))])
# optimizer_without_a_name
tf.train.Optimizer(False, "")
# optimizer_without_methods
v = tf.Variable(1.0); tf.train.Optimizer(False, "None").apply_gradients([(tf.constant(1.0), v)])
# optimizer_gradient_of_another_shape
v = tf.Variable([1.0, 2.0]); tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant([1.0, 2.0, 3.0]), v)])
# optimizer_gradient_of_another_dtype
v = tf.Variable([1.0, 2.0]); tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant([1.0, 2.0], tf.float64), v)])
# adagrad_start
tf.train.AdagradOptimizer(0.1, 0.0)
# adagrad_da_start
tf.train.AdagradDAOptimizer(0.1, tf.constant(1), 0.0)
# proximal_adagrad_start
tf.train.ProximalAdagradOptimizer(0.1, -1.0)
# ftrl_power
tf.train.FtrlOptimizer(0.1, learning_rate_power=0.5)
# ftrl_start
tf.train.FtrlOptimizer(0.1, initial_accumulator_value=-0.5)
# ftrl_l1
tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-0.5)
# global_step_is_a_resource =
with tf.variable_scope("", use_resource=True):
    step = tf.train.get_or_create_global_step()
v = tf.Variable([1.0, 2.0]); train = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.constant([0.5, -1.0]), v)], step, "train")
before = [tf.global_variables_initializer(), train, train]; out = [v, step]
# global_step =
step = tf.train.create_global_step(); again = tf.train.get_or_create_global_step(); assert again is step and tf.train.get_global_step() is step
tf.train.assert_global_step(step); before = [tf.global_variables_initializer()]; out = step
# global_step_none
assert tf.train.get_global_step() is None
# global_step_by_name
step = tf.Variable(3, name="global_step", trainable=False); assert tf.train.get_global_step().name == "global_step:0"
# global_step_twice
tf.train.create_global_step(); tf.train.create_global_step()
# global_step_of_floats
tf.Variable(3.0, name="global_step"); tf.train.get_global_step()
# global_step_of_rank_1
tf.train.assert_global_step(tf.Variable([3]))
# global_step_of_a_number
tf.train.assert_global_step(3)
# decays =
step = tf.constant(7)
out = [tf.train.exponential_decay(0.5, step, 5, 0.9), tf.train.exponential_decay(0.5, step, 5, 0.9, staircase=True),
       tf.train.natural_exp_decay(0.5, step, 5, 0.9), tf.train.inverse_time_decay(0.5, step, 5, 0.9, staircase=True)]
# decay_piecewise_constant =
out = [tf.train.piecewise_constant(tf.constant(7), [5, 10], [1.0, 0.5, 0.1]), tf.train.piecewise_constant_decay(tf.constant(5), [5, 10], [1.0, 0.5, 0.1], name="mine")]
# decay_polynomial =
out = [tf.train.polynomial_decay(0.5, tf.constant(7), 10, 0.1), tf.train.polynomial_decay(0.5, tf.constant(17), 10, 0.1, power=2.0), tf.train.polynomial_decay(0.5, tf.constant(17), 10, 0.1, cycle=True)]
# decay_polynomial_from_the_start =
out = tf.train.polynomial_decay(0.5, tf.constant(0), 10, cycle=True)
# decay_cosine =
out = [tf.train.cosine_decay(0.5, tf.constant(7), 10, alpha=0.1), tf.train.linear_cosine_decay(0.5, tf.constant(7), 10, 0.5, 0.1, 0.01)]
# decay_cosine_restarts =
out = [tf.train.cosine_decay_restarts(0.5, tf.constant(17), 10, alpha=0.1), tf.train.cosine_decay_restarts(0.5, tf.constant(17), 10, t_mul=1.0, m_mul=0.5)]
# decay_noisy_linear_cosine
tf.set_random_seed(1); out = tf.shape(tf.train.noisy_linear_cosine_decay(0.5, tf.constant(7), 10, initial_variance=0.5))
# decay_noisy_linear_cosine_of_no_noise
out = tf.train.noisy_linear_cosine_decay(0.5, tf.constant(7), 10, initial_variance=0.0)
# decay_of_a_variable =
step = tf.train.get_or_create_global_step(); rate = tf.train.exponential_decay(0.5, step, 2, 0.5, staircase=True)
v = tf.Variable([1.0, 2.0], name="v"); train = tf.train.GradientDescentOptimizer(rate).apply_gradients([(tf.constant([0.5, -1.0]), v)], step)
before = [tf.global_variables_initializer(), train, train, train]; out = [v, rate]
# decay_without_a_step
tf.train.exponential_decay(0.5, None, 2, 0.5)
# decay_piecewise_without_a_step
tf.train.piecewise_constant(None, [1], [0.1, 0.2])
# decay_piecewise_of_too_few_values
tf.train.piecewise_constant(tf.constant(1), [5], [1.0])
# decay_piecewise_of_different_dtypes
tf.train.piecewise_constant(tf.constant(1), [5.0], [1.0, 0.5])
# decay_piecewise_of_different_values
tf.train.piecewise_constant(tf.constant(1), [5], [tf.constant(1.0), tf.constant(1)])
# decay_polynomial_without_a_step
tf.train.polynomial_decay(0.1, None, 10)
# decay_cosine_without_a_step
tf.train.cosine_decay(0.1, None, 10)
# clip_by_norm =
x = tf.constant([[3.0, 4.0], [0.0, 0.0]]); out = [tf.clip_by_norm(x, 2.5), tf.clip_by_norm(x, 1.0, axes=[1]), tf.clip_by_norm(x, 10.0, name="mine")]
# clip_by_norm_of_rows =
s = tf.clip_by_norm(tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([2, 2])), 1.0); out = [s.values, s.indices]
# clip_by_average_norm =
out = tf.clip_by_average_norm(tf.constant([[3.0, 4.0], [0.0, 0.0]]), 0.5)
# clip_by_global_norm =
x = tf.constant([3.0, 4.0]); y = tf.IndexedSlices(tf.constant([[12.0]]), tf.constant([1]), tf.constant([2, 1]))
found, norm = tf.clip_by_global_norm([x, None, y], 1.0); assert found[1] is None
out = [found[0], found[2].values, norm, tf.global_norm([x, None, y])]
# clip_by_global_norm_of_a_known_norm =
found, norm = tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 1.0, use_norm=tf.constant(10.0)); out = [found[0], norm]
# clip_by_global_norm_of_infinities
found, norm = tf.clip_by_global_norm([tf.constant([np.inf, 4.0])], 1.0); out = [found[0], norm]
# clip_by_global_norm_of_a_tensor
tf.clip_by_global_norm(tf.constant([3.0, 4.0]), 1.0)
# global_norm_of_a_tensor
tf.global_norm(tf.constant([3.0, 4.0]))
# global_norm_of_nothing
assert tf.global_norm([None]) is None
# average_of_variables =
v = tf.Variable([1.0, 2.0], name="v"); ema = tf.train.ExponentialMovingAverage(0.9)
up = tf.assign(v, v * 2.0)
with tf.control_dependencies([up]):
    train = ema.apply([v])
assert ema.average_name(v) == ema.average(v).op.name == "v/ExponentialMovingAverage" and tf.moving_average_variables() == [v]
before = [tf.global_variables_initializer(), train, train]; out = [v, ema.average(v)]
# average_of_resources =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True); ema = tf.train.ExponentialMovingAverage(0.9, num_updates=tf.constant(4), name="mine")
train = ema.apply([v]); up = tf.assign(v, [4.0, 5.0]); before = [tf.global_variables_initializer(), up, train, train]; out = [v, ema.average(v)]
# average_of_a_tensor =
v = tf.Variable([1.0, 2.0], name="v"); x = tf.multiply(v, 2.0, name="x"); ema = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
train = ema.apply([x]); before = [tf.global_variables_initializer(), train, train]; out = ema.average(x)
# average_of_a_tensor_with_bias =
x = tf.constant([1.0, 2.0], name="x"); ema = tf.train.ExponentialMovingAverage(0.9); train = ema.apply([x])
before = [tf.global_variables_initializer(), train, train]; out = ema.average(x)
# average_of_integers
tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable([1, 2])])
# average_of_nothing
assert tf.train.ExponentialMovingAverage(0.9).average(tf.Variable(1.0)) is None
# average_names
v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable(1.0, name="w", trainable=False); ema = tf.train.ExponentialMovingAverage(0.9); ema.apply([v])
names = ema.variables_to_restore(); assert sorted(names) == ["v/ExponentialMovingAverage", "w"] and names["w"] is w and names["v/ExponentialMovingAverage"] is v
fresh = tf.train.ExponentialMovingAverage(0.9); assert fresh.average_name(w) == "w/ExponentialMovingAverage"
""")

TRAINING: tuple[Snippet, ...] = (*_steps(), *_OTHERS)
