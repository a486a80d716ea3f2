"""Programs of constants, operators, initializers, slices and attrs; `row_program.py` runs them."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

VALUE_ROWS: tuple[Snippet, ...] = read_snippets("""
# 2_integers_wrap
c = [tf.constant(v, d) for v, d in ((300, tf.uint8), (-1, tf.uint32), (-129, tf.int8), (2**40 + 5, tf.int32), ([[1, 256], [257, 3]], tf.uint8), (-1, tf.uint64))]
with tf.Session() as s: log.append([s.run(c), s.run(tf.constant(1, tf.int8) * 200), s.run(tf.constant([1, 2]) + 300000000000)])
log.append(raises("TypeError", "quint8", lambda: tf.constant(300, tf.quint8)))
# 2_truth_values_are_numbers
x = tf.constant(1.5); i = tf.constant([1, 2]); y = [x + True, True * x, i + [True, False], tf.constant(True, tf.complex64), tf.concat([i, [True]], 0), tf.assign(tf.Variable(1.0), True)]; log.append([t.dtype.base_dtype.name for t in y])
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append([np.real(v) for v in s.run(y)])
log.append(raises("TypeError", "", lambda: tf.constant(True, tf.string)))
# 4_operators_on_bits
i = tf.constant(5); b = tf.constant(True); y = [i & 3, i | 3, i ^ 3, 3 & i, b & True, b | False, ~i]; log.append([t.name for t in y])
with tf.Session() as s: log.append(s.run(y))
# 4_matrix_transpose
with tf.name_scope("k"): y = [tf.matrix_transpose(tf.ones([2, 3])), tf.matrix_transpose(tf.ones([2, 2, 3]), name="w")]
log.append([[t.name, t.shape.as_list()] for t in y])
# 4_tensordot_of_open_ranks
x = tf.placeholder(tf.float32); y = tf.placeholder(tf.float32); axes = tf.placeholder(tf.int32, [2, 1]); z = [tf.tensordot(x, y, a) for a in (1, [[1], [0]], [[-1], [-2]], 0, axes)]; log.append([z[0].name, z[0].shape.ndims, [t.name for t in tf.gradients(z[:2], [x, y]) if t is None]])
with tf.Session() as s: log.append(s.run([z, tf.gradients(z[:2], [x, y])], {x: np.arange(6.0).reshape(2, 3), y: np.arange(12.0).reshape(3, 4), axes: [[1], [0]]})); log.append(s.run(tf.tensordot(x, y, 2), {x: np.arange(6.0).reshape(1, 2, 3), y: np.arange(12.0).reshape(2, 3, 2)}))
log.append(raises("ValueError", "", lambda: tf.tensordot(x, y, [[1], [0], [0]])))
# 13_lists_of_control_inputs
a = tf.constant(1.0, name="a")
with tf.control_dependencies([a]): b = tf.no_op(name="b")
log.append([b.control_inputs == [a.op], a.op.control_inputs, [o.name for o in b.control_inputs + [a.op]]])
# 14_fetchable
a = tf.constant(1.0, name="a"); g = tf.get_default_graph(); log.append([g.is_fetchable(a), g.building_function]); g.prevent_fetching(a.op); log.append([g.is_fetchable(a), g.is_fetchable(a.op)])
with tf.Session() as s: log.append(raises("ValueError", "has been marked as not fetchable", lambda: s.run(a)))
# 30_orthogonal
o = tf.orthogonal_initializer(2.0, seed=1); y = [o(n) for n in ([3, 5], [5, 3], [2, 2, 5], [2, 2, 2, 3])]; log.append([[n.name, n.op] for n in tf.get_default_graph().as_graph_def().node][:16])
with tf.variable_scope("s", initializer=tf.initializers.orthogonal(seed=4)): v = tf.get_variable("v", [4, 4], tf.float64)
with tf.Session() as s: s.run(v.initializer); log.append([np.abs(m).round(3) for m in s.run(y)]); log.append(np.round(s.run(v) @ s.run(v).T, 6) + 0.0)
log.append(raises("ValueError", "at least two-dimensional", lambda: o([3]))); log.append([o.get_config(), tf.constant_initializer(3.0).get_config()])
# 30_shapes_of_the_run
n = tf.placeholder(tf.int32, [2]); y = [i(n) for i in (tf.zeros_initializer(), tf.ones_initializer(), tf.random_normal_initializer(seed=3), tf.truncated_normal_initializer(1.0, 2.0, seed=3), tf.random_uniform_initializer(-2, 3, seed=3))]; log.append([t.shape.ndims for t in y])
with tf.Session() as s: log.append([v.round(3) for v in s.run(y, {n: [2, 3]})])
# 34_slices_keep_their_rows
x = tf.IndexedSlices(tf.constant([[1.0, 2.5]]), tf.constant([1])); y = [-x, tf.scalar_mul(2.0, x), tf.cast(x, tf.int32), tf.identity(x), tf.convert_to_tensor_or_indexed_slices(x)]; log.append([[type(t).__name__, t.dtype.name, t.values.name, t.dense_shape] for t in y]); log.append([y[4] is x, [o.name for o in x.values.consumers()], [o.name for o in tf.group(x).control_inputs]])
with tf.Session() as s: log.append([s.run(t).values for t in y])
log.append(raises("ValueError", "", lambda: tf.convert_to_tensor_or_indexed_slices(x, tf.int32))); log.append(raises("RuntimeError", "Sparse dtype mismatch", lambda: tf.convert_to_tensor_or_sparse_tensor(tf.SparseTensorValue([[0]], [1.0], [3]), tf.int32))); log.append([type(tf.convert_to_tensor_or_sparse_tensor(v)).__name__ == "SparseTensor" for v in (tf.SparseTensorValue([[0]], [1.0], [3]), [1.0])]); log.append(type(tf.identity(tf.SparseTensor([[0]], [1.0], [3]))).__name__)
# 44_messages_of_another_kind
log.append(raises("TypeError", "meta_info_def must be of type MetaInfoDef", lambda: tf.train.export_meta_graph(meta_info_def=5)))
# 45_attrs_as_messages
a = tf.constant([1.0, 2.0]).op.get_attr("value"); s = tf.placeholder(tf.float32, [2, None]).op.get_attr("shape"); q = tf.FIFOQueue(3, [tf.int32, tf.float32], [[1], [2, 3]]).queue_ref.op
log.append([type(a).__name__, tf.make_ndarray(a), type(s).__name__, [d.size for d in s.dim], tf.TensorShape(s).as_list(), tf.placeholder(tf.float32).op.get_attr("shape").unknown_rank, [[d.size for d in t.dim] for t in q.get_attr("shapes")], [d.name for d in q.get_attr("component_types")]])
n = tf.NodeDef(name="n", op="Neg", input=["x"]); n.attr["T"].CopyFrom(tf.AttrValue(type=1)); n.attr["f"].func.CopyFrom(tf.NameAttrList(name="g")); log.append(str(n))
""")
