"""Programs over variables and initializers, as layers have them: see `layer_snippets.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

VARIABLES = """
# graph_keys
said = sorted((n, str(getattr(tf.GraphKeys, n))) for n in dir(tf.GraphKeys) if n.isupper() and not n.startswith("_"))
# variable_properties
v = tf.Variable([1.0, 2.0], name="v"); r = tf.Variable(3, name="r", use_resource=True)
said = [v.dtype.base_dtype.name, v.dtype.name, v.dtype == tf.float32, repr(v), v.op.type, v.initializer.type, v.name, v.device, v.shape.as_list(), v.trainable,
        repr(r), r.dtype.name, r.op.type, v.value().name, v.initial_value.name, v.constraint, v.synchronization.name, v.aggregation.name, v.dtype.is_compatible_with(tf.float32)]
# variable_aliases
said = [isinstance(tf.Variable(1.0), tf.Variable), tf.VariableSynchronization.ON_READ.value, tf.VariableAggregation.MEAN.value]
# collections
a = tf.Variable(1.0, name="a"); b = tf.Variable(2.0, name="b", trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES]); c = tf.Variable(2.0, name="c", collections=[tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES])
tf.add_to_collection(tf.GraphKeys.MOVING_AVERAGE_VARIABLES, a)
with tf.variable_scope("s"):
    d = tf.get_local_variable("d", [2], initializer=tf.zeros_initializer())
said = [[v.name for v in f()] for f in (tf.global_variables, tf.local_variables, tf.trainable_variables, tf.model_variables, tf.moving_average_variables, tf.all_variables)] + [[v.name for v in tf.trainable_variables("a")], d.trainable]
# load =
v = tf.Variable([1.0, 2.0], name="v")
with tf.Session() as s:
    v.load([5.0, 6.0], s); said = [s.run(v).tolist()]
    v.load(np.float32([7.0, 8.0])); said.append(s.run(v).tolist())
# load_without_session
tf.Variable([1.0, 2.0], name="v").load([5.0, 6.0])
# scatter_methods =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v")
d = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]))
init = tf.global_variables_initializer()
before = [init, v.scatter_sub(d), v.scatter_add(d), v.scatter_update(d), v.scatter_max(d), v.scatter_min(d), v.scatter_mul(d), v.scatter_div(d), v.scatter_nd_add([[1, 0]], [9.0]), v.scatter_nd_update([[0, 0]], [9.0]), v.scatter_nd_sub([[1, 1]], [1.0])]
out = v
# scatter_methods_of_resources =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v", use_resource=True)
d = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]))
init = tf.global_variables_initializer()
before = [init, v.scatter_sub(d), v.scatter_add(d), v.scatter_update(d), v.scatter_nd_add([[1, 0]], [9.0])]
out = v.value()
# scatter_of_no_slices
tf.Variable([1.0]).scatter_sub(tf.constant([1.0]))
# count_up_to =
v = tf.Variable(0, name="v")
before = [tf.global_variables_initializer(), v.count_up_to(2), tf.count_up_to(v, 2)]
out = v
# count_up_to_the_limit
v = tf.Variable(2, name="v")
before = [tf.global_variables_initializer()]
out = v.count_up_to(2)
# count_up_to_of_floats
tf.Variable(2.0, name="v").count_up_to(2)
# sliced_assignment =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v")
a = v[1:2].assign([[9.0, 9.0]]); b = v[0, 1].assign(7.0)
before = [tf.global_variables_initializer(), a, b]
out = v
# sliced_assignment_of_a_resource =
v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="v", use_resource=True)
a = v[1:2].assign([[9.0, 9.0]])
before = [tf.global_variables_initializer(), a]
out = v.value()
# sliced_assignment_of_a_tensor
tf.constant([1.0, 2.0])[0].assign(3.0)
# assert_variables_initialized =
a = tf.Variable(1.0, name="a"); b = tf.Variable([2.0], name="b")
out = tf.assert_variables_initialized()
# assert_variables_initialized_of_nothing
said = [tf.assert_variables_initialized() is None]
# report_uninitialized_variables
a = tf.Variable(1.0, name="a"); b = tf.Variable([2.0], name="b", collections=[tf.GraphKeys.LOCAL_VARIABLES]); c = tf.Variable(2.0, name="c", use_resource=True)
before = [c.initializer]
out = tf.report_uninitialized_variables()
# report_uninitialized_variables_nodes =
a = tf.Variable(1.0, name="a"); b = tf.Variable([2.0], name="b")
out = tf.report_uninitialized_variables()
# report_of_nothing =
out = tf.report_uninitialized_variables()
# is_variable_initialized
a = tf.Variable(1.0, name="a"); b = tf.Variable([2.0], name="b")
before = [a.initializer]
out = [tf.is_variable_initialized(a), tf.is_variable_initialized(b)]
# variables_initializer =
a = tf.Variable(1.0, name="a"); b = tf.Variable([2.0], name="b")
i = tf.variables_initializer([a, b]); j = tf.variables_initializer([], name="none"); k = tf.local_variables_initializer()
out = [i, j, k]
# protos
v = tf.Variable([1.0, 2.0], name="v", trainable=False); r = tf.Variable(1.0, name="r", use_resource=True)
p = v.to_proto(); again = tf.Variable.from_proto(p)
said = [str(p), str(r.to_proto()), again.name, again.trainable, again.initializer.name, again.value().name, again.shape.as_list(), again.initial_value.name, again.op is v.op]
# sparse_mask
a = tf.IndexedSlices(tf.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]), tf.constant([12, 26, 37, 45]))
b = tf.sparse_mask(a, [12, 45])
out = [b.indices, b.values]
# sparse_mask_nodes =
a = tf.IndexedSlices(tf.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]), tf.constant([12, 26, 37, 45]))
b = tf.sparse_mask(a, [12, 45])
# initialized_value =
v = tf.Variable(tf.random_normal([2], seed=1), name="v"); w = tf.Variable(v.initialized_value() * 2.0, name="w")
# get_variable_with_all
def double(x): return x * 2.0
def reg(x): return tf.nn.l2_loss(x, name="reg")
seen = []
def getter(getter, name, *args, **kwargs):
    seen.append((name, sorted(kwargs)))
    return getter(name, *args, **kwargs)
with tf.variable_scope("s", regularizer=reg, custom_getter=getter, constraint=double, initializer=tf.ones_initializer()):
    v = tf.get_variable("v", [2])
    with tf.variable_scope("t", custom_getter=lambda g, *a, **k: g(*a, **k)):
        w = tf.get_variable("w", [2], regularizer=lambda x: None, constraint=tf.identity)
said = [seen, [r.name for r in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)], v.constraint is double, w.constraint is tf.identity]
# no_regularizer
with tf.variable_scope("s", regularizer=lambda x: tf.reduce_sum(x)):
    tf.get_variable("v", [2], initializer=tf.ones_initializer(), regularizer=tf.no_regularizer)
said = [len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)), tf.no_regularizer(3)]
# variable_scope_as_an_object
with tf.variable_scope("s", initializer=tf.ones_initializer(), dtype=tf.float64) as s:
    s.set_regularizer(None); s.set_use_resource(True); s.set_dtype(tf.int32); s.set_partitioner(None); s.set_custom_getter(None); s.set_caching_device(None)
    v = tf.get_variable("v", [2])
    u = tf.Variable(1.0, name="u")
    said = [v.name, v.dtype.name, type(v).__name__, s.name, s.original_name_scope, s.reuse, [x.name for x in s.global_variables()], [x.name for x in s.trainable_variables()], s.local_variables(), s.dtype.name, s.use_resource, u.name]
# variable_op_scope
with tf.variable_op_scope([tf.constant(1.0)], None, "scope") as s:
    v = tf.get_variable("v", [1])
with tf.variable_op_scope([], "named", "scope"):
    w = tf.get_variable("v", [1])
said = [v.name, w.name, s.name]
# caching_device =
with tf.variable_scope("s", caching_device="/cpu:0"):
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
w = tf.Variable(1.0, name="w", caching_device=lambda op: "/device:CPU:0")
said = [v.value().name, v.value().device, w.value().device]
# partitions =
with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
    v = tf.get_variable("v", [5, 2], initializer=tf.ones_initializer())
w = tf.get_variable("w", initializer=tf.constant([[1.0, 2.0, 3.0, 4.0]]), partitioner=tf.fixed_size_partitioner(2, axis=1))
total = tf.convert_to_tensor(v) + 1.0
said = [v.name, v.shape.as_list(), len(v), [p.name for p in v], [p.shape.as_list() for p in v], v.dtype.name, type(v).__name__, [str(p._get_save_slice_info().to_proto()) for p in v], [p._get_save_slice_info().spec for p in v], [p.name for p in w], [p.name for p in tf.global_variables()], v.as_tensor().name, v.get_shape().as_list()]
# partitions_again
with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
    v = tf.get_variable("v", [4, 2], initializer=tf.constant_initializer(3.0))
with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2), reuse=True):
    w = tf.get_variable("v", [4, 2])
before = [tf.global_variables_initializer()]
said = [w is v]
out = [w.as_tensor(), v.as_tensor() * 2.0]
# partition_sizes
f = tf.TensorShape([10, 20]); t = tf.float32
said = [list(map(int, p(shape=f, dtype=t))) for p in (tf.fixed_size_partitioner(3), tf.fixed_size_partitioner(3, axis=1), tf.variable_axis_size_partitioner(100), tf.variable_axis_size_partitioner(100, max_shards=4), tf.variable_axis_size_partitioner(64, axis=1), tf.min_max_variable_partitioner(max_partitions=4, min_slice_size=100), tf.min_max_variable_partitioner(3, axis=1, min_slice_size=16))]
# partitions_of_a_bad_number
tf.get_variable("v", [5, 2], partitioner=tf.fixed_size_partitioner(6))
# bad_partitioner
tf.variable_axis_size_partitioner(0)
# bad_regularizer
tf.get_variable("v", [5], regularizer=3)
# create_partitioned_variables
parts = tf.create_partitioned_variables([4, 2], [2, 1], tf.ones_initializer(), name="cp")
said = [[p.name for p in parts], [p.shape.as_list() for p in parts]]
# variable_creator_scope
seen = []
def creator(next_creator, **kwargs):
    seen.append(kwargs["initial_value"])
    kwargs["name"] = "made"
    return next_creator(**kwargs)
with tf.variable_creator_scope(creator):
    v = tf.Variable(1.0, name="x")
said = [v.name, seen]
# resource_variables_enabled
said = [tf.resource_variables_enabled()]
# get_variable_by_full_path
v = tf.get_variable("a/b/c", shape=[2], dtype=tf.int64, trainable=False)
said = [v.name, v.dtype.name, v.initial_value.op.type, [x.name for x in tf.trainable_variables()]]
# get_variable_of_a_bool
said = [tf.get_variable("b", [2], tf.bool).initial_value.name]
# get_variable_of_strings
tf.get_variable("b", [2], tf.string)
# get_variable_with_unknown_shape
tf.get_variable("b", [None, 2])
# assign_by_functions =
v = tf.Variable([1.0, 2.0], name="v"); r = tf.Variable([1.0, 2.0], name="r", use_resource=True)
a = [tf.assign(v, [1.0, 2.0]), tf.assign_add(v, [1.0, 2.0]), tf.assign_sub(v, [1.0, 2.0]), tf.assign(r, [1.0, 2.0]), tf.assign_add(r, [1.0, 2.0])]
# assert_variables_initialized_at_the_run
a = tf.Variable(1.0, name="a"); b = tf.Variable([2.0], name="b")
before = [a.initializer]
out = tf.assert_variables_initialized()
"""

INITIALIZERS = """
# initializers =
made = [tf.random_normal_initializer(1.0, 2.0, seed=3), tf.truncated_normal_initializer(stddev=0.5, seed=4), tf.random_uniform_initializer(-1, 1, seed=5), tf.random_uniform_initializer(maxval=3, seed=5),
        tf.uniform_unit_scaling_initializer(1.5, seed=6), tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=7), tf.variance_scaling_initializer(seed=8), tf.variance_scaling_initializer(distribution="untruncated_normal", seed=9),
        tf.glorot_normal_initializer(seed=1), tf.glorot_uniform_initializer(seed=2), tf.initializers.he_normal(3), tf.initializers.he_uniform(3), tf.initializers.lecun_normal(3), tf.initializers.lecun_uniform(3),
        tf.constant_initializer([1.0, 2.0]), tf.initializers.identity(2.0), tf.zeros_initializer(), tf.ones_initializer(), tf.constant_initializer(2)]
for n, i in enumerate(made):
    tf.get_variable("v%d" % n, [4, 3], initializer=i)
tf.get_variable("filters", [3, 3, 2, 4], initializer=tf.glorot_uniform_initializer(seed=2)); tf.get_variable("row", [5], initializer=tf.glorot_uniform_initializer(seed=2)); tf.get_variable("one", [], initializer=tf.glorot_uniform_initializer(seed=2))
# initializers_of_the_graphs_seed =
tf.set_random_seed(17)
a = tf.get_variable("a", [4, 3]); b = tf.get_variable("b", [2], initializer=tf.random_normal_initializer()); c = tf.get_variable("c", [2], initializer=tf.truncated_normal_initializer(seed=1))
# initializers_of_parts =
v = tf.get_variable("v", [5, 2], initializer=tf.variance_scaling_initializer(seed=1), partitioner=tf.fixed_size_partitioner(2)); w = tf.get_variable("w", [4, 2], initializer=tf.initializers.identity(), partitioner=tf.fixed_size_partitioner(2))
# initializer_configs
said = [i.get_config() for i in (tf.random_normal_initializer(1.0, 2.0, seed=3), tf.uniform_unit_scaling_initializer(1.5), tf.glorot_uniform_initializer(2), tf.initializers.he_normal(3), tf.ones_initializer(tf.int32))]
# initializer_of_a_bad_scale
tf.variance_scaling_initializer(-1.0)
# initializer_of_a_bad_mode
tf.variance_scaling_initializer(mode="fan")
# initializer_of_a_bad_distribution
tf.variance_scaling_initializer(distribution="gauss")
# initializer_of_integers
tf.random_normal_initializer(dtype=tf.int32)
# constant_initializer_of_no_value
tf.constant_initializer(tf.zeros([2]))
# constant_initializer_verifies
tf.get_variable("v", [3], initializer=tf.constant_initializer([1.0, 2.0], verify_shape=True))
# constant_initializer_of_too_many
tf.get_variable("v", [3], initializer=tf.constant_initializer([1.0, 2.0, 3.0, 4.0]))
# identity_initializer_of_a_vector
tf.get_variable("v", [3], initializer=tf.initializers.identity())
# eye =
n = tf.placeholder(tf.int32, [], name="n")
out = [tf.eye(3), tf.eye(2, 3), tf.eye(2, batch_shape=[2], dtype=tf.int32), tf.eye(n), tf.eye(n, 3), tf.eye(2, 3, [4])]
"""
