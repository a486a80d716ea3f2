"""Programs that ask for gradients, as those of `api_snippets.py`.

TensorFlow builds them with reference variables and with control flow of version 1. `=` marks those
whose nodes have the names, op types and inputs of TensorFlow's.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from api_snippets import Snippet, read_snippets

GRADIENT_SNIPPETS: tuple[Snippet, ...] = read_snippets("""
# product =
x = tf.placeholder(tf.float32, [2, 3], name="x"); y = tf.placeholder(tf.float32, [2, 3], name="y")
out = tf.gradients(x * y + x, [x, y])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]}
# one_tensor
x = tf.constant([1.0, 2.0], name="x")
out = tf.gradients(tf.square(x), x)
# broadcast
x = tf.placeholder(tf.float32, [2, 3], name="x"); y = tf.placeholder(tf.float32, [3], name="y"); z = tf.placeholder(tf.float32, [2, 1], name="z")
out = tf.gradients((x + y) * z - y / z, [x, y, z])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [2.0, 3.0, 4.0], z: [[2.0], [3.0]]}
# broadcast_unknown
x = tf.placeholder(tf.float32, [None, 3], name="x"); y = tf.placeholder(tf.float32, [None, 3], name="y")
out = tf.gradients((x + y) * x, [x, y])
feed = {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], y: [[2.0, 3.0, 4.0]]}
# layers
x = tf.placeholder(tf.float32, [4, 3], name="x")
w = tf.Variable(np.linspace(-1, 1, 15).reshape(3, 5).astype(np.float32), name="w"); b = tf.Variable(np.zeros(5, np.float32), name="b")
y = tf.nn.relu(tf.matmul(x, w) + b)
loss = tf.reduce_mean(tf.square(y))
out = tf.gradients(loss, [w, b, x])
feed = {x: np.arange(12).reshape(4, 3) / 10}
before = [tf.global_variables_initializer()]
# layers_of_any_batch
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
# three_terms
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
# gathered_of_a_product
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
out = tf.gradients(tf.gather(tf.square(v), [1, 3]), [v])
before = [tf.global_variables_initializer()]
# gathered_along_another_axis
v = tf.Variable(np.arange(12).reshape(4, 3).astype(np.float32), name="v")
out = tf.gradients(tf.square(tf.gather(v, [1, 1], axis=1)), [v])
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
# grad_ys
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
# aggregated_as_a_tree
x = tf.constant(2.0, name="x")
out = tf.gradients(x * x + tf.exp(x) + tf.log(x), [x], aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)
# aggregated_otherwise
x = tf.constant(2.0)
tf.gradients(x * x, [x], aggregation_method=7)
# gated =
x = tf.constant(2.0, name="x"); y = tf.constant(3.0, name="y")
out = tf.gradients(x * y + x, [x, y], gate_gradients=True)
# colocated =
x = tf.constant(2.0, name="x"); y = tf.constant(3.0, name="y")
out = tf.gradients(x * y + x, [x, y], colocate_gradients_with_ops=True)
# colocated_on_devices =
with tf.device("/cpu:0"):
    x = tf.constant(2.0, name="x")
y = x * x
out = tf.gradients(y * x, [x], colocate_gradients_with_ops=True)
# named
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
""")
