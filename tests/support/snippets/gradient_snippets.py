"""Programs that ask for gradients, as those of `api_snippets.py`.

TensorFlow builds them with reference variables and with control flow of version 1. `=` marks those
whose nodes have the names, op types and inputs of TensorFlow's.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets
from snippets.control_flow_gradient_snippets import CONTROL_FLOW_GRADIENT_SNIPPETS
from snippets.op_gradient_snippets import OP_GRADIENT_SNIPPETS

_PROGRAMS = """
# product =
x = tf.placeholder(tf.float32, [2, 3], name="x"); y = tf.placeholder(tf.float32, [2, 3], name="y")
out = tf.gradients(x * y + x, [x, y])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]}
# one_tensor =
x = tf.constant([1.0, 2.0], name="x")
out = tf.gradients(tf.square(x), x)
# broadcast =
x = tf.placeholder(tf.float32, [2, 3], name="x"); y = tf.placeholder(tf.float32, [3], name="y"); z = tf.placeholder(tf.float32, [2, 1], name="z")
out = tf.gradients((x + y) * z - y / z, [x, y, z])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [2.0, 3.0, 4.0], z: [[2.0], [3.0]]}
# broadcast_unknown =
x = tf.placeholder(tf.float32, [None, 3], name="x"); y = tf.placeholder(tf.float32, [None, 3], name="y")
out = tf.gradients((x + y) * x, [x, y])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [[2.0, 3.0, 4.0]]}
# layers =
x = tf.placeholder(tf.float32, [4, 3], name="x")
w = tf.Variable(np.linspace(-1, 1, 15).reshape(3, 5).astype(np.float32), name="w"); b = tf.Variable(np.zeros(5, np.float32), name="b")
y = tf.nn.relu(tf.matmul(x, w) + b)
loss = tf.reduce_mean(tf.square(y))
out = tf.gradients(loss, [w, b, x])
feed = {x: np.arange(12).reshape(4, 3) / 10}
before = [tf.global_variables_initializer()]
# layers_of_any_batch =
x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.Variable(np.linspace(-1, 1, 15).reshape(3, 5).astype(np.float32), name="w"); b = tf.Variable(np.zeros(5, np.float32), name="b")
y = tf.sigmoid(tf.nn.bias_add(tf.matmul(x, w), b))
loss = tf.reduce_sum(tf.square(y - 0.5))
out = tf.gradients(loss, [w, b, x])
feed = {x: np.arange(12).reshape(4, 3) / 10}
before = [tf.global_variables_initializer()]
# cross_entropy
x = tf.placeholder(tf.float32, [4, 3], name="x"); t = tf.placeholder(tf.float32, [4, 5], name="t")
w = tf.Variable(np.linspace(-1, 1, 15).reshape(3, 5).astype(np.float32), name="w")
loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=tf.matmul(x, w), labels=t))
out = tf.gradients(loss, [w])
feed = {x: np.arange(12).reshape(4, 3) / 10, t: np.eye(5)[:4]}
before = [tf.global_variables_initializer()]
# sparse_cross_entropy
x = tf.placeholder(tf.float32, [4, 5], name="x")
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=tf.tanh(x), labels=[0, 2, 4, 1])
out = tf.gradients(loss, [x])
feed = {x: np.arange(20).reshape(4, 5) / 10}
# transposed_products
a = tf.placeholder(tf.float32, [3, 2], name="a"); b = tf.placeholder(tf.float32, [4, 3], name="b")
y = tf.matmul(a, b, transpose_a=True, transpose_b=True)
z = tf.matmul(b, a) + tf.matmul(a, b, transpose_a=True, transpose_b=True)[0, 0] + tf.matmul(b, b, transpose_b=True)[0, 0]
out = tf.gradients([y, z], [a, b])
feed = {a: np.arange(6).reshape(3, 2), b: np.arange(12).reshape(4, 3)}
# three_terms =
x = tf.constant(2.0, name="x")
out = tf.gradients(x * x + tf.exp(x) + tf.log(x), [x])
# reshaped
x = tf.placeholder(tf.float32, [2, 3], name="x")
out = tf.gradients(tf.reduce_sum(tf.reshape(x, [3, 2]) * [[1.0, 2.0]]) + tf.reduce_sum(tf.transpose(x)[0]), [x])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}
# sums_along_axes
x = tf.placeholder(tf.float32, [2, None], name="x")
out = tf.gradients([tf.reduce_sum(x, 0), tf.reduce_mean(x, 1, keepdims=True), tf.reduce_max(x, 1)], [x])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}
# joined_and_split
x = tf.placeholder(tf.float32, [2, 3], name="x"); y = tf.placeholder(tf.float32, [2, 2], name="y")
a, b = tf.split(tf.concat([x, y], 1), [1, 4], 1)
p, q = tf.unstack(b)
out = tf.gradients([a * 2.0, tf.stack([p, q * 3.0]), tf.tile(x, [1, 2]), tf.pad(y, [[1, 0], [0, 0]])], [x, y])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [[7.0, 8.0], [9.0, 1.0]]}
# one_output_of_several
x = tf.placeholder(tf.float32, [4], name="x")
a, b = tf.split(x, 2)
out = tf.gradients(a * 3.0, [x])
feed = {x: [1.0, 2.0, 3.0, 4.0]}
# convolution
x = tf.placeholder(tf.float32, [1, 5, 5, 2], name="x"); w = tf.Variable(np.linspace(-1, 1, 36).reshape(3, 3, 2, 2).astype(np.float32), name="w")
y = tf.nn.max_pool(tf.nn.relu(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
out = tf.gradients(y, [x, w])
feed = {x: np.linspace(-1, 2, 50).reshape(1, 5, 5, 2)}
before = [tf.global_variables_initializer()]
# gathered
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
(g,) = tf.gradients(tf.gather(v, [[1, 3], [1, 0]]) * 2.0, [v])
assert isinstance(g, tf.IndexedSlices)
out = [g.values, g.indices, g.dense_shape, tf.convert_to_tensor(g)]
before = [tf.global_variables_initializer()]
# gathered_twice
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
(g,) = tf.gradients(tf.reduce_sum(tf.gather(v, [1, 3])) + tf.reduce_sum(tf.square(tf.nn.embedding_lookup(v, [1, 1, 2]))), [v])
out = [g.values, g.indices, g.dense_shape]
before = [tf.global_variables_initializer()]
# gathered_of_a_handle
v = tf.get_variable("v", initializer=np.arange(12).reshape(4, 3).astype(np.float32), use_resource=True)
(g,) = tf.gradients(tf.square(tf.nn.embedding_lookup(v, [1, 1, 2])), [v])
out = [g.values, g.indices, g.dense_shape]
before = [tf.global_variables_initializer()]
# gathered_and_dense
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
(g,) = tf.gradients(tf.reduce_sum(tf.gather(v, [1, 3])) + tf.reduce_sum(v * v), [v])
assert isinstance(g, tf.Tensor)
out = g
before = [tf.global_variables_initializer()]
# gathered_behind_sums
x = tf.placeholder(tf.float32, [None, 3], name="x"); y = tf.placeholder(tf.float32, [4, 3], name="y"); b = tf.placeholder(tf.float32, [3], name="b"); c = tf.placeholder(tf.bool, [], name="c")
rows = lambda v: tf.gather(v, [0, 2, 0])
z = [rows(tf.nn.bias_add(x, b)), rows(x + b), rows(1.0 - x), rows(tf.add_n([y, -y * 2.0])), rows(tf.cond(c, lambda: y - 2.0, lambda: tf.negative(y)))]
found = [tf.gradients(v, [x, y, b]) for v in z]
assert [[type(g).__name__[:7] == "Indexed" for g in gs] for gs in found] == [[True, False, False]] * 3 + [[False] * 3, [False, True, False]]
out = [tf.convert_to_tensor(g) for gs in found for g in gs if g is not None]
feed = {x: np.ones((4, 3)), y: np.ones((4, 3)), b: [1.0, 2.0, 3.0], c: True}
# gathered_of_a_product
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
out = tf.gradients(tf.gather(tf.square(v), [1, 3]), [v])
before = [tf.global_variables_initializer()]
# gathered_along_another_axis
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
out = tf.gradients(tf.square(tf.gather(v, [1, 1], axis=1)), [v])
before = [tf.global_variables_initializer()]
# gathered_and_gated
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v"); s = tf.constant(2.0)
(g,) = tf.gradients(tf.gather(v, [1, 3]) * s, [v], gate_gradients=True)
a, b = tf.tuple([g, s])
out = [g.values, g.indices, a.values, a.indices, b]
before = [tf.global_variables_initializer()]
# variables_of_both_kinds
v = tf.Variable([1.0, 2.0], name="v"); r = tf.get_variable("r", initializer=[3.0, 4.0], use_resource=True)
out = tf.gradients(v * r * r.read_value(), [v, r])
before = [tf.global_variables_initializer()]
# unconnected
x = tf.constant([1.0, 2.0]); y = tf.constant(3.0)
g = tf.gradients(x * 2.0, [y, x])
assert g[0] is None
out = g[1]
# unconnected_zeros
x = tf.constant([1.0, 2.0]); y = tf.constant([[3.0]]); v = tf.get_variable("v", initializer=[3.0, 4.0], use_resource=True)
out = tf.gradients(x * 2.0, [y, x, v], unconnected_gradients="zero")
before = [tf.global_variables_initializer()]
# unconnected_of_an_enumeration
out = tf.gradients(tf.constant(1.0), [tf.constant([1.0, 2.0])], unconnected_gradients=tf.UnconnectedGradients.ZERO)
# unconnected_unknown
tf.gradients(tf.constant(1.0), [tf.constant([1.0, 2.0])], unconnected_gradients="nonsense")
# x_is_y =
x = tf.constant([1.0, 2.0], name="x")
out = tf.gradients(x, x)
# x_and_what_it_makes =
x = tf.constant(3.0, name="x"); y = x * x
out = tf.gradients(y * x, [x, y])
# grad_ys =
x = tf.constant([1.0, 2.0], name="x"); y = tf.square(x); z = tf.exp(x)
out = tf.gradients([y, z], [x], grad_ys=[[3.0, 4.0], None])
# grad_ys_of_another_number
x = tf.constant([1.0, 2.0])
tf.gradients([x * 2.0, x * 3.0], [x], grad_ys=[x])
# grad_ys_of_another_kind
x = tf.constant([1.0, 2.0])
tf.gradients(x * 2.0, [x], grad_ys=tf.constant([True, False]))
# grad_ys_of_another_dtype
x = tf.constant([1.0, 2.0])
tf.gradients(x * 2.0, [x], grad_ys=tf.constant([1.0, 2.0], tf.float64))
# grad_ys_of_another_shape
x = tf.constant([1.0, 2.0])
tf.gradients(x * 2.0, [x], grad_ys=tf.constant([1.0, 2.0, 3.0]))
# grad_ys_needed_for_complex
x = tf.constant([1.0 + 2.0j])
tf.gradients(x * x, [x])
# complex_numbers
x = tf.constant([1.0 + 2.0j, 3.0 - 1.0j])
out = tf.gradients(x * x * tf.conj(x), [x], grad_ys=tf.constant([1.0 + 1.0j, 2.0 + 0.0j]))
# integers
x = tf.constant([1, 2])
g = tf.gradients(x * 2, [x])
assert g == [None]
out = tf.constant(0)
# integers_between
x = tf.constant([1.5, 2.5])
g = tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32) * 2.0, [x])
assert g == [None]
out = tf.constant(0)
# strings
tf.gradients(tf.constant("a"), [tf.constant(1.0)])
# no_gradient
x = tf.constant([1.0, 2.0], name="x")
tf.gradients(tf.cast(tf.unique(x, name="u")[0], tf.float32), [x])
# no_gradient_registered
x = tf.constant([1.0, 2.0], name="x")
tf.gradients(tf.raw_ops.PreventGradient(input=x, message="stop here"), [x])
# stopped_by_operations =
x = tf.constant(3.0, name="x")
out = tf.gradients(tf.stop_gradient(x * x) * x, [x])
# stop_gradients =
a = tf.constant(0.0, name="a"); b = 2.0 * a
out = tf.gradients(a + b, [a, b], stop_gradients=[a, b])
# stop_gradients_between =
a = tf.constant(1.0, name="a"); b = a * a; c = b + a
out = tf.gradients(c, [a], stop_gradients=b)
# aggregated_as_a_tree =
x = tf.constant(2.0, name="x")
out = tf.gradients(x * x + tf.exp(x) + tf.log(x), [x], aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
# aggregated_otherwise
x = tf.constant(2.0)
tf.gradients(x * x, [x], aggregation_method=7)
# gated =
x = tf.constant(2.0, name="x"); y = tf.constant(3.0, name="y")
out = tf.gradients(x * y + x, [x, y], gate_gradients=True)
# y_twice_and_x_twice =
x = tf.constant(3.0, name="x"); y = x * x
out = tf.gradients([y, y], [x, x, y])
# colocated =
x = tf.constant(2.0, name="x"); y = tf.constant(3.0, name="y")
out = tf.gradients(x * y + x, [x, y], colocate_gradients_with_ops=True)
# colocated_on_devices =
with tf.device("/cpu:0"):
    x = tf.constant(2.0, name="x")
y = x * x
out = tf.gradients(y * x, [x], colocate_gradients_with_ops=True)
# named =
x = tf.constant(2.0, name="x")
with tf.name_scope("outer"):
    a = tf.gradients(x * x, x, name="g")
    b = tf.gradients(tf.exp(x), x)
    c = tf.gradients(tf.log(x), x)
out = [a, b, c]
# second_order
x = tf.constant([1.0, 2.0], name="x")
(g,) = tf.gradients(tf.reduce_sum(x * x * x), x)
out = tf.gradients(g, x)
# second_order_of_layers
x = tf.placeholder(tf.float32, [4, 3], name="x"); w = tf.constant(np.linspace(-1, 1, 15).reshape(3, 5).astype(np.float32))
(g,) = tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(x, w))), x)
out = tf.gradients(tf.reduce_sum(g * g), [x, w])
feed = {x: np.arange(12).reshape(4, 3) / 10}
# hessians
x = tf.constant([1.0, 2.0], name="x")
out = tf.hessians(tf.reduce_sum(x * x * x) + x[0] * x[1], x)
# registered =
mine = "MineOfSnippet%d" % id(tf.get_default_graph())
@tf.RegisterGradient(mine)
def gradient(op, dy):
    return dy * 7.0
x = tf.constant(2.0, name="x")
with tf.get_default_graph().gradient_override_map({"Square": mine}):
    y = tf.square(x)
out = tf.gradients(y, x)
# registered_twice
tf.RegisterGradient("TwiceOfSnippet")(lambda op, dy: dy)
tf.RegisterGradient("TwiceOfSnippet")(lambda op, dy: dy)
# registered_over
tf.RegisterGradient("MatMul")(lambda op, dy: dy)
# registered_no_string
tf.RegisterGradient(3)
# overridden_by_nothing
x = tf.constant(2.0)
with tf.get_default_graph().gradient_override_map({"Square": "NothingOfSnippet"}):
    y = tf.square(x)
tf.gradients(y, x)
# override_map_of_no_names
with tf.get_default_graph().gradient_override_map({"Square": 3}):
    pass
# another_number_of_gradients
@tf.RegisterGradient("PairOfSnippet")
def mine(op, dy):
    return dy, dy
x = tf.constant(2.0)
with tf.get_default_graph().gradient_override_map({"Square": "PairOfSnippet"}):
    y = tf.square(x)
tf.gradients(y, x)
# not_differentiable
nothing = "NothingFlowsOfSnippet%d" % id(tf.get_default_graph())
tf.NotDifferentiable(nothing)
x = tf.constant(2.0)
with tf.get_default_graph().gradient_override_map({"Square": nothing}):
    y = tf.square(x)
assert tf.gradients(y, x) == [None]
out = tf.constant(0)
# custom_gradient
@tf.custom_gradient
def clipped(x):
    def grad(dy):
        return tf.clip_by_value(dy, -1.0, 1.0)
    return tf.identity(x * 3.0), grad
x = tf.constant([1.0, 2.0])
y = clipped(x)
out = [y] + tf.gradients(y * [10.0, 0.5], x)
# custom_gradient_of_several
@tf.custom_gradient
def product(x, y):
    def grad(dz, dw):
        return dz * 2.0, dw * 3.0
    return (x * y, x + y), grad
x = tf.constant(2.0); y = tf.constant(5.0)
z, w = product(x, y)
out = [z, w] + tf.gradients([z, w], [x, y])
# custom_gradient_with_variables
v = tf.get_variable("v", initializer=2.0, use_resource=True)
@tf.custom_gradient
def scaled(x):
    def grad(dy, variables=None):
        return dy * 5.0, [dy * 7.0]
    return x * v, grad
x = tf.constant(3.0)
y = scaled(x)
out = [y] + tf.gradients(y, [x, v])
before = [tf.global_variables_initializer()]
# fourier
x = tf.constant([[1.0, 2.0, -1.0, 0.5], [0.5, 0.25, 3.0, 1.0]]); z = tf.complex(x, tf.reverse(x, [1]))
w = tf.complex(tf.range(1.0, 4.0), [0.5, -1.0, 2.0])
out = [tf.gradients(tf.raw_ops.RFFT(input=x, fft_length=[4]), x, w * [[1.0], [2.0]])[0]]
out += [tf.gradients(tf.raw_ops.IRFFT(input=z, fft_length=[6]), z, tf.reshape(tf.range(12.0), [2, 6]))[0]]
out += [tf.gradients(tf.raw_ops.FFT(input=z), z, z * z)[0], tf.gradients(tf.raw_ops.IFFT2D(input=z), z, z * z)[0], tf.gradients(tf.raw_ops.RFFT2D(input=x, fft_length=[2, 4]), x, w * [[1.0], [2.0]])[0]]
# elements_chosen
x = tf.constant([[1.0, 5.0, -1.0, 0.5], [0.5, 0.25, 3.0, 1.0]])
parts = tf.dynamic_partition(x, [1, 0], 2)
out = tf.gradients([tf.math.top_k(x, 2)[0] * [3.0, 4.0], tf.dynamic_stitch([[1], [0]], parts) * [[2.0], [7.0]], tf.reduce_prod(x, 1), tf.cumprod(x, 1), tf.math.cumulative_logsumexp(x, 1) if hasattr(tf.math, "cumulative_logsumexp") else tf.raw_ops.CumulativeLogsumexp(x=x, axis=1)], x)
# segments
x = tf.constant([[1.0, 5.0], [0.5, 0.25], [2.0, 5.0], [0.0, 3.0]])
out = [tf.gradients(f(x, [0, 0, 1, 1]) * [[2.0], [3.0]], x)[0] for f in (tf.math.segment_max, tf.math.segment_mean, tf.math.segment_min, tf.math.segment_prod, tf.math.segment_sum)]
out += [tf.gradients(f(x, [2, 0, -1, 0], 3) * [[2.0], [3.0], [4.0]], x)[0] for f in (tf.math.unsorted_segment_max, tf.math.unsorted_segment_min, tf.math.unsorted_segment_prod, tf.math.unsorted_segment_sum)]
# diagonals
x = tf.constant([[1.0, 5.0, 2.0], [0.5, 0.25, 3.0]]); d = tf.constant([[7.0, 8.0]])
y = tf.raw_ops.MatrixSetDiagV3(input=x[None], diagonal=d, k=0)
out = tf.gradients([y * x, tf.raw_ops.MatrixDiagPartV3(input=x * x, k=[-1, 1], padding_value=0.0) * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], tf.raw_ops.MatrixDiagV3(diagonal=d, k=1, num_rows=-1, num_cols=-1, padding_value=0.0)], [x, d])
# second_order_of_activations
x = tf.constant([[1.0, 5.0, -2.0], [0.5, -0.25, 3.0]], tf.float64)
out = []
for f in (tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.leaky_relu, tf.sigmoid, tf.tanh, lambda x: tf.sqrt(tf.abs(x)), lambda x: tf.rsqrt(tf.abs(x)), tf.reciprocal, lambda x: tf.nn.bias_add(x, x[0])):
    g = tf.gradients(tf.square(f(x)), x)[0]
    out += tf.gradients(g * x, x)
# gradients_of_sparse_tensors
x = tf.constant([1.0, 2.0])
s = tf.SparseTensor([[0], [2]], x * x, [3])
(g,) = tf.gradients(s.values * 3.0, [s])
out = [g.values, g.indices]
"""

GRADIENT_SNIPPETS: tuple[Snippet, ...] = (
    *read_snippets(_PROGRAMS),
    *CONTROL_FLOW_GRADIENT_SNIPPETS,
    *OP_GRADIENT_SNIPPETS,
)
