"""Programs with variables, also in loops and branches: a part of `control_flow_snippets.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

VARIABLE_SNIPPETS: tuple[Snippet, ...] = read_snippets("""
# 16_variable =
v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable(tf.zeros([2]))
total = v + w * 2.0
init = tf.global_variables_initializer()
before = [init]
out = [total, v, v.value(), v.read_value(), 1.0 - v, v[0], tf.reduce_sum(v), -v]
# 16_variable_from_function =
v = tf.Variable(lambda: tf.ones([2]) * 3.0, name="v", trainable=False)
before = [tf.variables_initializer([v], name="start")]
out = v + 1.0
# 16_variable_dtype =
v = tf.Variable(3, dtype=tf.int64, name="v")
before = [tf.global_variables_initializer()]
out = v + 1
# 16_initialized_value =
v = tf.Variable([1.0, 2.0], name="v"); w = tf.Variable(v.initialized_value() * 2.0, name="w")
before = [v.initializer, w.initializer]
out = w.value()
# 16_initial_value_of_another_variable =
v = tf.Variable([1.0, 2.0], name="v")
with tf.name_scope("s"):
    w = tf.Variable(tf.tanh(v * 2.0) + v, name="w")
before = [tf.global_variables_initializer()]
out = [v.value(), w.value()]
# 16_initial_value_from_a_loop
w = tf.Variable(tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.constant(0.0)]), name="w")
before = [tf.global_variables_initializer()]
out = w.value()
# 17_assign =
v = tf.Variable([1.0, 2.0], name="v")
a = v.assign([3.0, 4.0]); b = tf.assign_add(v, [1.0, 1.0]); c = v.assign_sub([0.5, 0.5], use_locking=True); d = tf.assign(v, [9.0, 9.0], name="last")
before = [tf.global_variables_initializer(), a, b, c]
out = v
# 17_assign_returns_the_new_value
v = tf.Variable([1.0, 2.0], name="v")
before = [tf.global_variables_initializer()]
out = [v.assign_add([3.0, 4.0]), v.assign_sub([1.0, 1.0], read_value=False)][0]
# 17_assign_another_shape
v = tf.Variable([1.0, 2.0], name="v")
v.assign([1.0])
# 17_assign_without_validation
v = tf.Variable([1.0, 2.0], name="v", validate_shape=False)
before = [tf.global_variables_initializer(), tf.assign(v, [1.0], validate_shape=False)]
out = v + 1.0
# 17_uninitialized
v = tf.Variable([1.0, 2.0], name="v")
out = v + 1.0
# 17_no_initial_value
tf.Variable()
# 17_collections_no_list
tf.Variable(1.0, collections=3)
# 17_initial_value_from_a_loop
def body(i):
    tf.Variable(tf.constant(1.0))
    return i + 1
tf.while_loop(lambda i: i < 2, body, [0])
# 17_variable_made_in_a_loop =
kept = []
def body(i, x):
    kept.append(tf.Variable(lambda: tf.constant(2.0), name="v"))
    return i + 1, x * kept[0]
loop = tf.while_loop(lambda i, x: i < 3, body, [0, 1.0])
before = [tf.global_variables_initializer()]
out = loop
# 29_get_variable =
with tf.variable_scope("outer"):
    with tf.variable_scope("inner"):
        v = tf.get_variable("v", [2, 3], initializer=tf.zeros_initializer())
        w = tf.get_variable("w", [2], tf.int32)
    u = tf.get_variable("u", initializer=tf.constant([1.0, 2.0]))
    t = tf.get_variable("t", [2], initializer=tf.constant_initializer(3.0))
with tf.variable_scope("outer", reuse=True):
    again = tf.get_variable("inner/v", [2, 3])
assert again is v
before = [tf.global_variables_initializer()]
out = [v + 1.0, w, u * t]
# 29_get_variable_twice
tf.get_variable("v", [1], initializer=tf.zeros_initializer())
tf.get_variable("v", [1], initializer=tf.zeros_initializer())
# 29_get_variable_that_does_not_exist
with tf.variable_scope("s", reuse=True):
    tf.get_variable("v", [1])
# 29_get_variable_of_another_shape
tf.get_variable("v", [1], initializer=tf.zeros_initializer())
with tf.variable_scope("", reuse=True):
    tf.get_variable("v", [2])
# 29_get_variable_without_shape
tf.get_variable("v")
# 29_bad_reuse
with tf.variable_scope("s", reuse=3):
    pass
# 29_bad_scope
with tf.variable_scope(3):
    pass
# 29_scopes_reopened =
with tf.variable_scope("s") as s:
    a = tf.get_variable("a", [], initializer=tf.ones_initializer()) + 1.0
with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
    b = tf.get_variable("b", [], initializer=tf.ones_initializer()) + 1.0
with tf.variable_scope(s):
    c = tf.get_variable("c", [], initializer=tf.ones_initializer()) + 1.0
with tf.variable_scope(None, "s"):
    d = tf.get_variable("d", [], initializer=tf.ones_initializer()) + 1.0
before = [tf.global_variables_initializer()]
out = [a, b, c, d]
# 32_resource_variable =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
before = [tf.global_variables_initializer()]
out = [v + 1.0, v.read_value(), v.value(), v]
# 32_resource_assign =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
init = tf.global_variables_initializer()
before = [init, v.assign([3.0, 4.0]), v.assign_add([1.0, 2.0]), v.assign_sub([0.5, 0.5], read_value=False)]
out = v * 1.0
# 32_resource_assignments_in_a_group =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
init = tf.global_variables_initializer()
both = tf.group(v.assign_add([1.0, 1.0]), v.read_value())
with tf.control_dependencies([v.assign_sub([0.25, 0.25])]):
    after = tf.identity(v)
before = [init, both]
out = after
# 32_resource_get_variable =
with tf.variable_scope("s", use_resource=True):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
before = [tf.global_variables_initializer()]
out = v + 1.0
# 32_resource_assign_another_shape
v = tf.Variable([1.0, 2.0], use_resource=True)
v.assign([1.0])
# 33_scatter =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v")
before = [tf.global_variables_initializer(), tf.scatter_update(v, [0, 2], [[9.0, 9.0], [8.0, 8.0]]), tf.scatter_add(v, [1, 1], [[1.0, 1.0], [2.0, 2.0]]), tf.scatter_sub(v, 0, [0.5, 0.5])]
out = v
# 33_scatter_resource =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v", use_resource=True)
before = [tf.global_variables_initializer(), tf.scatter_update(v, [0, 2], [[9.0, 9.0], [8.0, 8.0]]), tf.scatter_add(v, [1, 1], [[1.0, 1.0], [2.0, 2.0]])]
out = v.value()
# 33_scatter_another_shape
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
tf.scatter_add(v, [0], [[1.0]])
# 33_scatter_another_dtype
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
tf.scatter_add(v, [0], tf.constant([[1, 2]]))
# 33_scatter_out_of_range
v = tf.Variable([1.0, 2.0, 3.0, 4.0], name="v")
before = [tf.global_variables_initializer()]
out = tf.scatter_update(v, [4], [1.0])
# 79_only_the_branch_taken_assigns =
v = tf.Variable(1.0, name="v"); p = tf.placeholder(tf.bool, [], name="p")
init = tf.global_variables_initializer()
changed = tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
before = [init, (changed, {p: True})]
out = v
# 79_a_branch_of_effects =
v = tf.Variable(1.0, name="v"); p = tf.placeholder(tf.bool, [], name="p")
init = tf.global_variables_initializer()
changed = tf.cond(p, lambda: tf.group(v.assign_add(1.0)), lambda: tf.no_op())
before = [init, (changed, {p: True}), (changed, {p: False})]
out = v
# 79_resource_variable_in_a_branch =
v = tf.Variable([1.0, 2.0], name="v", use_resource=True); p = tf.placeholder(tf.bool, [], name="p")
init = tf.global_variables_initializer()
def taken():
    with tf.control_dependencies([v.assign([5.0, 6.0])]):
        return v.read_value() * 2.0
chosen = tf.cond(p, taken, lambda: v + 1.0)
before = [init, (chosen, {p: True})]
out = chosen
feed = {p: False}
# 71_assign_in_a_loop =
v = tf.Variable(1.0, name="v")
init = tf.global_variables_initializer()
def body(i):
    with tf.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
        return i + 1
loop = tf.while_loop(lambda i: i < 5, body, [0])
before = [init, loop]
out = v
# 71_resource_variable_in_a_loop =
v = tf.Variable(1.0, name="v", use_resource=True)
init = tf.global_variables_initializer()
def body(i, x):
    with tf.control_dependencies([v.assign_add(1.0).op]):
        return i + 1, x + v.read_value()
loop = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0], parallel_iterations=1)
before = [init]
out = loop
# 71_scatter_in_a_loop =
v = tf.Variable(tf.zeros([4]), name="v")
init = tf.global_variables_initializer()
def body(i):
    with tf.control_dependencies([tf.scatter_add(v, i, tf.cast(i, tf.float32) + 1.0)]):
        return i + 1
loop = tf.while_loop(lambda i: i < 4, body, [0])
before = [init, loop]
out = v
# 3_rnn_lstm
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [None, None, 3], name="x")
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, dtype=tf.float32)
assert [v.name for v in tf.global_variables()] == ["m/rnn/basic_lstm_cell/kernel:0", "m/rnn/basic_lstm_cell/bias:0"]
before = [tf.global_variables_initializer()]
out = [outputs, state.c, state.h]
feed = {x: np.cos(np.arange(30, dtype=np.float32)).reshape(2, 5, 3)}
# 3_rnn_gru_with_lengths
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [None, 5, 3], name="x"); n = tf.placeholder(tf.int32, [None], name="n")
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, sequence_length=n, dtype=tf.float32)
assert [v.name for v in tf.global_variables()] == ["m/rnn/gru_cell/gates/kernel:0", "m/rnn/gru_cell/gates/bias:0", "m/rnn/gru_cell/candidate/kernel:0", "m/rnn/gru_cell/candidate/bias:0"]
before = [tf.global_variables_initializer()]
out = [outputs, state]
feed = {x: np.cos(np.arange(30, dtype=np.float32)).reshape(2, 5, 3), n: [2, 4]}
# 3_rnn_stacked
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [6, 2, 3], name="x")
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicRNNCell(4), tf.nn.rnn_cell.BasicLSTMCell(2, forget_bias=0.5)])
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.dynamic_rnn(cell, x, initial_state=cell.zero_state(2, tf.float32), time_major=True)
assert [v.name for v in tf.global_variables()][0] == "m/rnn/multi_rnn_cell/cell_0/basic_rnn_cell/kernel:0"
before = [tf.global_variables_initializer()]
out = [outputs, state[0], state[1].c]
feed = {x: np.cos(np.arange(36, dtype=np.float32)).reshape(6, 2, 3)}
# 3_rnn_both_ways
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [2, 4, 3], name="x")
with tf.variable_scope("m", initializer=weights):
    outputs, states = tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.BasicRNNCell(3), x, sequence_length=[4, 2], dtype=tf.float32)
before = [tf.global_variables_initializer()]
out = [outputs[0], outputs[1], states[0], states[1]]
feed = {x: np.cos(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)}
# 3_rnn_static
def weights(shape, dtype=None, partition_info=None):
    n = int(np.prod(shape))
    return tf.constant(np.sin(np.arange(n) * 0.7).reshape(shape) * 0.4, tf.float32)
x = tf.placeholder(tf.float32, [2, 3], name="x")
cell = tf.nn.rnn_cell.BasicLSTMCell(2)
with tf.variable_scope("m", initializer=weights):
    outputs, state = tf.nn.static_rnn(cell, [x, x * 2.0], dtype=tf.float32)
before = [tf.global_variables_initializer()]
out = [outputs[1], state.c]
feed = {x: np.cos(np.arange(6, dtype=np.float32)).reshape(2, 3)}
# 3_rnn_no_state_and_no_dtype
tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 3, 4]))
# 3_rnn_unknown_depth
tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.placeholder(tf.float32, [2, 3, None]), dtype=tf.float32)
# 3_rnn_no_cell
tf.nn.dynamic_rnn(3, tf.zeros([2, 3, 4]), dtype=tf.float32)
# 3_rnn_lengths_of_another_rank
tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 3, 4]), sequence_length=[[2, 3]], dtype=tf.float32)
# 75_sparse_tensor =
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
out = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)), [0, s])
# 75_sparse_tensor_that_grows =
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
def body(i, s):
    return i + 1, tf.SparseTensor(tf.concat([s.indices, s.indices], 0), tf.concat([s.values, s.values], 0), s.dense_shape)
out = tf.while_loop(lambda i, s: i < 2, body, [0, s], shape_invariants=[tf.TensorShape([]), tf.TensorShape([2])])
# 75_sparse_tensor_bad_invariant
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s), [0, s], shape_invariants=[tf.TensorShape([]), tf.TensorShape([2, 2])])
# 75_sparse_tensor_of_contradicting_shapes
tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0, 3.0], [3, 4])
# 75_indexed_slices =
x = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([3, 2]))
out = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.IndexedSlices(x.values + 1.0, x.indices, x.dense_shape)), [0, x])
# 75_indexed_slices_that_grow =
x = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]))
def body(i, x):
    return i + 1, tf.IndexedSlices(tf.concat([x.values, x.values * 2.0], 0), tf.concat([x.indices, x.indices + 1], 0))
_, last = tf.while_loop(lambda i, x: i < 2, body, [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])
out = [last.values, last.indices]
# 34_indexed_slices_as_a_tensor
x = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([2, 2]), tf.constant([3, 2]))
out = tf.convert_to_tensor(x)
# 34_indexed_slices_without_dense_shape
tf.convert_to_tensor(tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1])))
# 79_sparse_tensor =
s = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
out = tf.cond(tf.constant(False), lambda: s, lambda: tf.SparseTensor(s.indices[:1], s.values[:1] * 3.0, s.dense_shape))
# 7_sparse_placeholder =
s = tf.sparse_placeholder(tf.float32, name="s")
out = [s, s.values * 2.0]
feed = {s: tf.SparseTensorValue(np.array([[0, 1]], np.int64), np.array([3.0], np.float32), np.array([2, 2], np.int64))}
""")
