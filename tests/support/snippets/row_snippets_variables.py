"""Programs of rows 17 to 35: variables. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

VARIABLE_ROWS: tuple[Snippet, ...] = read_snippets("""
# 17_nodes
v = tf.Variable([1.0, 2.0], name="v"); g = tf.get_default_graph().as_graph_def()
log.append([[n.name, n.op, list(n.input), list(n.attr["_class"].list.s)] for n in g.node])
# 17_second_argument_is_trainable
v = tf.Variable(0.3, tf.float32); w = tf.Variable(0.3, False); log.append([v.dtype.name, [x.name for x in tf.trainable_variables()], [x.name for x in tf.global_variables()]])
# 17_collections
a = tf.Variable(1.0, trainable=False, collections=[]); b = tf.Variable(1.0, collections=["mine", "variables"], name="b"); c = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="c")
log.append([[v.name for v in tf.get_collection(k)] for k in ("mine", "variables", "trainable_variables", "local_variables")])
# 17_no_shape
x = tf.placeholder(tf.float32); log.append(raises("ValueError", "initial_value must have a shape specified", lambda: tf.Variable(x)))
v = tf.Variable(x, validate_shape=False, name="v"); log.append(v.shape.ndims)
with tf.Session() as s: s.run(v.initializer, {x: [[1.0, 2.0]]}); log.append(s.run(v)); s.run(v.initializer, {x: [3.0]}); log.append(s.run(v))
log.append(raises("ValueError", "initial_value must be specified", lambda: tf.Variable()))
# 17_dtypes
log.append([tf.Variable(x, dtype=d).dtype.name for x, d in ((1, None), (1.0, None), (True, None), ("a", None), (1, tf.float64), (np.ones(2), None), ([1, 2], tf.uint8))])
# 18_state_lives_with_the_session
v = tf.Variable([1.0, 2.0]); add = v.assign_add([1.0, 1.0])
with tf.Session() as s, tf.Session() as t:
    s.run(v.initializer); t.run(v.initializer); s.run(add); s.run(add); t.run(add); log.append([s.run(v), t.run(v)])
# 18_assign_outputs_the_ref
v = tf.Variable([1.0, 2.0], name="v"); a = tf.assign(v, [3.0, 4.0]); log.append([a.op.type, v.value().op.type, v.value().dtype.name])
twice = tf.assign_add(a, [1.0, 1.0])
with tf.Session() as s: s.run(v.initializer); log.append([s.run(twice), s.run(v)])
# 18_dtype_of_a_reference
log.append(tf.assign(tf.Variable(1.0), 3.0).dtype.name)
# 18_references
v = tf.Variable([1.0, 2.0], name="v"); i = tf.Variable(0); x = tf.constant([3.0, 4.0]); a = tf.assign(v, x); up = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
log.append([t.dtype.name for t in (v, v.value(), v.read_value(), v.op.outputs[0], a, v.assign_add(x), v.scatter_sub(up), tf.scatter_nd_update(v, [[0]], [1.0]), tf.count_up_to(i, 3), v[0:1].assign([3.0]), tf.identity(a), a + 1.0, a[0], tf.zeros_like(a), tf.stack([a, x]), tf.tuple([a, x])[0], tf.cond(x[0] > 0, lambda: tf.assign(v, x), lambda: tf.assign(v, x * 2)), tf.cond(x[0] > 0, lambda: a, lambda: x), tf.map_fn(lambda t: t * 2, a), tf.convert_to_tensor(a, tf.float32))])
log.append([a.dtype == tf.float32, a.dtype == v.dtype, a.dtype.base_dtype is tf.float32, tf.float32.is_compatible_with(a.dtype), a.dtype.is_compatible_with(tf.float32), a.dtype.is_compatible_with(a.dtype), a.op.get_attr("T").name, tf.cast(a, tf.float32).op.type, a.dtype.as_datatype_enum, a.dtype.is_floating, repr(a)])
with tf.Graph().as_default() as g: tf.import_graph_def(v.graph.as_graph_def(), name=""); log.append([t.dtype.name for t in (*g.get_operation_by_name("v").outputs, g.get_tensor_by_name("v/Assign:0"), g.get_tensor_by_name("v/read:0"))])
with tf.Session() as s: s.run(v.initializer); log.append([s.run([a, a + 1.0]), s.run(a * 2.0, {a: [5.0, 6.0]})])
# 18_results_are_copies
v = tf.Variable([1.0, 2.0]); add = v.assign_add([1.0, 1.0])
with tf.Session() as s: s.run(v.initializer); before = s.run(v); s.run(add); log.append([before, s.run(v)])
# 19_before_init
w = tf.Variable([1.0], name="w"); y = w + 1.0; p = tf.placeholder(tf.float32, [1])
with tf.Session() as s:
    log.append(raises("FailedPreconditionError", "Attempting to use uninitialized value w", lambda: s.run(y)))
    log.append(raises("FailedPreconditionError", "Attempting to use uninitialized value w", lambda: s.run(w.assign_add([1.0]))))
    log.append(s.run(w.assign([5.0]))); log.append(s.run(y))
# 19_init_by_restore
w = tf.Variable([1.0], name="w"); saver = tf.train.Saver()
with tf.Session() as s: s.run(w.assign([7.0])); saver.save(s, folder + "m")
with tf.Session() as s: saver.restore(s, folder + "m"); log.append(s.run(w))
# 20_initializers
a = tf.Variable(1.0, name="a"); b = tf.Variable(2.0, name="b"); c = tf.Variable(3.0, collections=["local_variables"], name="c")
i = tf.initialize_all_variables(); j = tf.global_variables_initializer(); k = tf.initialize_variables([a]); l = tf.variables_initializer([a, b], name="mine"); m = tf.initialize_local_variables(); n = tf.local_variables_initializer()
log.append([[o.type, o.name, [x.name for x in o.control_inputs]] for o in (i, j, k, l, m, n)])
with tf.Session() as s: s.run(k); log.append(s.run(tf.report_uninitialized_variables())); s.run([j, n]); log.append(s.run([a, b, c]))
# 20_empty
e = tf.variables_initializer([]); g = tf.global_variables_initializer(); l = tf.local_variables_initializer()
with tf.Session() as s: log.append(s.run([e, g, l])); log.append([o.type for o in (e, g, l)])
# 21_initialized_value
w = tf.Variable(tf.random_normal([3], seed=1), name="w"); v = tf.Variable(w.initialized_value() * 2.0, name="v"); u = tf.Variable(w.initialized_value(), name="u")
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append(s.run(v / w)); log.append(s.run(w - u))
# 21_initial_value
w = tf.Variable([1.0, 2.0], name="w"); log.append([w.initial_value.name, w.initial_value.op.type])
# 22_asserted
log.append(tf.assert_variables_initialized()); log.append(tf.assert_variables_initialized([]))
w = tf.Variable(1.0, name="w"); u = tf.Variable(1.0, name="u"); a = tf.assert_variables_initialized(); b = tf.assert_variables_initialized([w]); r = tf.report_uninitialized_variables(); q = tf.is_variable_initialized(w)
with tf.Session() as s:
    log.append([s.run(r), s.run(q), raises("FailedPreconditionError", "uninitialized value w", lambda: s.run(b))]); s.run(w.initializer)
    log.append([s.run(r), s.run(q), s.run(b), raises("FailedPreconditionError", "uninitialized value u", lambda: s.run(a))]); s.run(u.initializer); log.append([s.run(r), s.run(a)])
# 23_assignments
v = tf.Variable([1.0, 2.0], name="v"); p = tf.placeholder(tf.float32, [2])
with tf.Session() as s:
    s.run(v.initializer); log.append([s.run(x) for x in (v.assign([3.0, 4.0]), v.assign_add([1.0, 1.0]), v.assign_sub([2.0, 2.0], use_locking=True), tf.assign(v, [0.0, 0.0], use_locking=False), tf.assign_add(v, [1.0, 1.0]), tf.assign_sub(v, [3.0, 3.0]))])
    log.append(s.run(v.assign(p), {p: [8.0, 9.0]})); v.load([5.0, 6.0], s); log.append(s.run(v))
# 23_errors
v = tf.Variable([1.0, 2.0], name="v"); x = tf.placeholder(tf.float32)
log.append(raises("ValueError", "", lambda: v.assign([1.0]))); log.append(raises("ValueError", "", lambda: tf.assign_add(v, [1.0, 2.0, 3.0]))); log.append(raises("TypeError", "", lambda: tf.assign(tf.constant([1.0]), [2.0]) if False else v.assign(tf.constant([1, 2]))))
log.append(raises("AttributeError", "", lambda: tf.assign(tf.constant([1.0]), [2.0]) if False else tf.constant(1.0).assign(2.0)))
with tf.Session() as s: s.run(v.initializer); log.append(raises("InvalidArgumentError", "", lambda: s.run(v.assign(x), {x: [1.0]}))); log.append(s.run(v))
# 23_another_shape
v = tf.Variable([1.0, 2.0], name="v", validate_shape=False); a = tf.assign(v, [[5.0], [6.0], [7.0]], validate_shape=False)
with tf.Session() as s: s.run(v.initializer); log.append(s.run(v)); log.append(s.run(a)); log.append(s.run(v))
# 24_count_up_to
v = tf.Variable(0, name="v"); c = v.count_up_to(3); d = tf.count_up_to(tf.Variable(5, dtype=tf.int64, name="w"), 6)
with tf.Session() as s:
    s.run(tf.global_variables_initializer()); log.append([s.run(c), s.run(c), s.run(c), s.run(v)]); log.append(raises("OutOfRangeError", "Reached limit of 3", lambda: s.run(c))); log.append([s.run(v), s.run(d)])
    log.append(raises("OutOfRangeError", "Reached limit of 6", lambda: s.run(d)))
# 24_threads
import threading
v = tf.Variable(0); c = v.count_up_to(40); found = []
with tf.Session() as s:
    s.run(v.initializer); threads = [threading.Thread(target=lambda: [found.append(int(s.run(c))) for _ in range(10)]) for _ in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
log.append(sorted(found))
# 25_scatter_sub
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v"); x = tf.IndexedSlices(tf.constant([[1.0, 1.0]]), tf.constant([1]))
with tf.Session() as s: s.run(v.initializer); log.append([s.run(v.scatter_sub(x)), s.run(v.scatter_add(x)), s.run(v.scatter_update(x)), s.run(v.scatter_mul(x)), s.run(v.scatter_max(x))])
log.append(raises("TypeError", "", lambda: v.scatter_sub(tf.constant([1.0]))))
# 26_properties
v = tf.Variable([1.0, 2.0], name="v"); log.append([v.name, v.dtype.name, v.get_shape().as_list(), v.shape.as_list(), v.device, v.initializer.type, v.initializer.name, v.op.type, v.op.name, v.graph is tf.get_default_graph(), v.initial_value.name, v.trainable, v.value().name])
# 26_on_devices
with tf.device("/cpu:0"): v = tf.Variable(1.0, name="v")
log.append([v.device, v.op.device, v.initializer.device]); r = tf.Variable(1.0, use_resource=True, name="r"); log.append([r.name, r.dtype.name, r.op.type, r.initializer.type, r.device])
# 27_keys
k = tf.GraphKeys; log.append([k.GLOBAL_VARIABLES, k.VARIABLES, k.TRAINABLE_VARIABLES, k.LOCAL_VARIABLES, k.SUMMARIES, k.QUEUE_RUNNERS, k.LOSSES, k.UPDATE_OPS, k.REGULARIZATION_LOSSES, k.MOVING_AVERAGE_VARIABLES, k.GLOBAL_STEP, k.INIT_OP, k.TABLE_INITIALIZERS, k.ASSET_FILEPATHS, k.MODEL_VARIABLES, k.WEIGHTS, k.BIASES, k.ACTIVATIONS, k.CONCATENATED_VARIABLES, k.SAVERS, k.TRAIN_OP, k.WHILE_CONTEXT, k.COND_CONTEXT])
# 27_lists
a = tf.Variable(1.0, name="a"); b = tf.Variable(1.0, name="b", trainable=False); c = tf.Variable(1.0, name="c", collections=[])
log.append([[v.name for v in f()] for f in (tf.all_variables, tf.global_variables, tf.trainable_variables, tf.local_variables, tf.model_variables, tf.moving_average_variables)])
with tf.variable_scope("s"): d = tf.Variable(1.0, name="d")
log.append([[v.name for v in tf.global_variables("s/")], [v.name for v in tf.get_collection("trainable_variables", scope="s")], [v.name for v in tf.trainable_variables(scope="a")]])
saver = tf.train.Saver()
with tf.Session() as s: s.run([tf.global_variables_initializer(), c.initializer]); p = saver.save(s, folder + "m")
log.append(tf.train.list_variables(p))
# 27_own_collections
tf.add_to_collection("k", 1); tf.add_to_collections(["k", "l"], "x"); log.append([tf.get_collection("k"), tf.get_collection("l"), tf.get_collection("none")]); tf.get_collection_ref("k").append(5); g = tf.get_default_graph()
log.append([tf.get_collection("k"), sorted(g.get_all_collection_keys())]); g.clear_collection("k"); log.append(tf.get_collection("k"))
# 27_by_scope
v = tf.Variable(1.0, name="a/v"); c = tf.constant(1.0, name="b/c"); [tf.add_to_collection("k", x) for x in (v, c, c.op, "abc", 3)]
log.append([[getattr(x, "name", x) for x in tf.get_collection("k", p)] for p in (None, "", "a", "b/", "/", "^b", ".*c$")]); log.append(tf.get_collection("none", "("))
log.append([raises("error", "unterminated subpattern", lambda: tf.get_collection("k", "(")), raises("error", "unterminated subpattern", lambda: tf.global_variables("(")), raises("error", "nothing to repeat", lambda: tf.get_collection("k", "*")), raises("TypeError", "", lambda: tf.get_collection("k", 3)), raises("TypeError", "unhashable", lambda: tf.get_collection(["k"]))])
# 28_get_variable
with tf.variable_scope("s"): v = tf.get_variable("v", [2, 3]); w = tf.get_variable("w", initializer=[1, 2]); u = tf.get_variable("u", [2], tf.int32, tf.zeros_initializer(), trainable=False)
log.append([[x.name, x.dtype.name, x.shape.as_list()] for x in (v, w, u)]); log.append([x.name for x in tf.trainable_variables()])
with tf.variable_scope("s", reuse=True): log.append([tf.get_variable("v") is v, tf.get_variable("v", [2, 3]) is v])
# 28_partitioner_is_called
log.append(raises("ValueError", "Partitioner must be callable, but received: 3", lambda: tf.get_variable("v", [4, 2], partitioner=3)))
# 28_errors
with tf.variable_scope("s"):
    tf.get_variable("v", [2]); log.append(raises("ValueError", "Variable s/v already exists, disallowed.", lambda: tf.get_variable("v", [2]))); log.append(raises("ValueError", "", lambda: tf.get_variable("w")))
with tf.variable_scope("s", reuse=True):
    log.append(raises("ValueError", "Variable s/w does not exist, or was not created with tf.get_variable()", lambda: tf.get_variable("w", [2])))
    log.append(raises("ValueError", "Trying to share variable s/v, but specified shape (3,) and found shape (2,).", lambda: tf.get_variable("v", [3])))
    log.append(raises("ValueError", "Trying to share variable s/v, but specified dtype int32 and found dtype float32_ref.", lambda: tf.get_variable("v", [2], tf.int32)))
log.append(raises("ValueError", "", lambda: tf.get_variable("x", [2], initializer=tf.constant([1.0, 2.0]))))
log.append(raises("ValueError", "", lambda: tf.get_variable("y", [2, 3], initializer=[1.0])))
# 29_nesting
with tf.variable_scope("foo") as foo:
    with tf.variable_scope("bar"): v = tf.get_variable("v", [1]); x = v + 1.0
log.append([v.name, x.op.name, foo.name, tf.get_variable_scope().name, foo.original_name_scope])
with tf.variable_scope("other"):
    with tf.variable_scope(foo) as again: w = tf.get_variable("w", [1]); y = w + 1.0; log.append(again.name)
log.append([w.name, y.op.name])
with tf.variable_scope("foo"): z = tf.constant(1.0, name="z")
with tf.variable_scope(None, default_name="d"): a = tf.get_variable("a", [1])
with tf.variable_scope(None, "d"): b = tf.get_variable("a", [1])
log.append([z.name, a.name, b.name])
# 29_reuse
with tf.variable_scope("s"):
    v = tf.get_variable("v", [1]); log.append(tf.get_variable_scope().reuse); tf.get_variable_scope().reuse_variables(); log.append([tf.get_variable_scope().reuse, tf.get_variable("v", [1]) is v])
with tf.variable_scope("s", reuse=True):
    with tf.variable_scope("t"): log.append(tf.get_variable_scope().reuse)
    with tf.variable_scope("t", reuse=False): log.append(tf.get_variable_scope().reuse)
with tf.variable_scope("s", reuse=tf.AUTO_REUSE): log.append([tf.get_variable("v", [1]) is v, tf.get_variable("n", [1]).name])
# 29_initializer
with tf.variable_scope("s", initializer=tf.constant_initializer(0.4), dtype=tf.float64) as scope:
    v = tf.get_variable("v", [1]); w = tf.get_variable("w", [1], initializer=tf.constant_initializer(0.3)); scope.set_initializer(tf.ones_initializer())
    with tf.variable_scope("t"): u = tf.get_variable("u", [1])
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append(s.run([v, w, u])); log.append(v.dtype.name)
# 29_errors
log.append(raises("ValueError", "", lambda: tf.variable_scope("s", reuse=3).__enter__())); log.append(raises("TypeError", "VariableScope: name_or_scope must be a string or VariableScope.", lambda: tf.variable_scope(3).__enter__()))
log.append(raises("TypeError", "", lambda: tf.variable_scope(None).__enter__()))
# 30_values
tf.set_random_seed(3)
made = [tf.constant_initializer(2.5), tf.zeros_initializer(), tf.ones_initializer(), tf.random_normal_initializer(1.0, 2.0, seed=1), tf.truncated_normal_initializer(0.0, 0.5, seed=2), tf.random_uniform_initializer(-1.0, 1.0, seed=3), tf.uniform_unit_scaling_initializer(1.5, seed=4), tf.glorot_uniform_initializer(), tf.glorot_normal_initializer(seed=6), tf.variance_scaling_initializer(seed=7), None]
vs = [tf.get_variable("v%d" % k, [3, 2], initializer=i) for k, i in enumerate(made)]; f = tf.get_variable("f", [3, 3, 2, 4], initializer=tf.uniform_unit_scaling_initializer(seed=5))
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append(s.run(vs)); log.append([bool(np.abs(s.run(f)).max() <= np.sqrt(3) / np.sqrt(18)), s.run(f)[0, 0]])
# 30_statistics
v = tf.get_variable("v", [100, 100], initializer=tf.truncated_normal_initializer(1.0, 2.0, seed=1)); w = tf.get_variable("w", [100, 100], initializer=tf.random_normal_initializer(1.0, 2.0, seed=1))
with tf.Session() as s: s.run(tf.global_variables_initializer()); a, b = s.run([v, w]); log.append([bool(np.abs(a - 1.0).max() < 4.0), bool(np.abs(b - 1.0).max() > 4.0), [float(x) for x in (a.mean(), a.std(), b.mean(), b.std())]])
# 31_graph_and_op_seed
tf.set_random_seed(1); x = tf.random_normal([3], seed=5)
with tf.Session() as s: log.append([s.run(x), s.run(x)])
with tf.Session() as s: log.append(s.run(x))
# 31_all_ops
tf.set_random_seed(7)
xs = [tf.random_normal([3]), tf.random_uniform([3]), tf.truncated_normal([3]), tf.random_uniform([3], 0, 100, tf.int32), tf.random_shuffle([1, 2, 3, 4, 5]), tf.random_crop(tf.reshape(tf.range(20), [4, 5]), [2, 2]), tf.random_normal([2], dtype=tf.float64), tf.multinomial([[0.0, 1.0]], 4)]
with tf.Session() as s: log.append(s.run(xs)); log.append(s.run(xs[:4]))
# 31_seeds
log.append([list(tf.get_seed(None)), list(tf.get_seed(5))]); tf.set_random_seed(9); log.append([list(tf.get_seed(None)), list(tf.get_seed(5))]); x = tf.random_uniform([1]); log.append([x.op.get_attr("seed"), x.op.get_attr("seed2")])
# 32_resource_variables
v = tf.Variable([1.0, 2.0], use_resource=True, name="v"); w = tf.get_variable("w", [2], initializer=tf.zeros_initializer(), use_resource=True); log.append([n.op for n in tf.get_default_graph().as_graph_def().node])
with tf.Session() as s:
    log.append(raises("FailedPreconditionError", "", lambda: s.run(v + 1.0))); s.run(tf.global_variables_initializer()); log.append([s.run(v.assign_add([1.0, 1.0])), s.run(v.read_value()), s.run(v * 2.0 + w), s.run(tf.gather(v, [1, 0]))]); log.append(raises("ValueError", "", lambda: v.assign([1.0])))
    s.run(tf.scatter_add(v, [0, 0], [1.0, 2.0])); log.append(s.run(v)); v.load([0.0, 1.0], s); log.append(s.run([v, v.is_initialized()]))
# 32_imported
v = tf.Variable([1.0, 2.0], use_resource=True, name="v"); y = tf.multiply(v, 3.0, name="y"); a = v.assign_add([1.0, 1.0], read_value=False); i = v.initializer; g = tf.get_default_graph().as_graph_def()
with tf.Graph().as_default(), tf.Session() as s: tf.import_graph_def(g, name=""); s.run(i.name); s.run(a.name); log.append(s.run("y:0"))
# 33_scatter
v = tf.Variable(np.zeros((4, 2), np.float32), name="v")
with tf.Session() as s:
    s.run(v.initializer); log.append([s.run(x) for x in (tf.scatter_update(v, 1, [1.0, 2.0]), tf.scatter_add(v, [1, 1, 3], [[1.0, 1.0]] * 3), tf.scatter_sub(v, [[0, 2], [2, 2]], np.ones((2, 2, 2), np.float32)), tf.scatter_update(v, [0, 0], [[1.0, 1.0], [9.0, 9.0]], use_locking=False))])
# 33_dtypes
vs = [tf.Variable(np.zeros(3), dtype=d) for d in (tf.float32, tf.float64, tf.int64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64)]; adds = [tf.scatter_add(v, [0, 2, 2], tf.cast([1, 2, 3], v.dtype.base_dtype)) for v in vs]
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append([np.real(x) for x in s.run(adds)])
# 33_errors
v = tf.Variable(np.zeros((4, 2), np.float32), name="v"); i = tf.placeholder(tf.int32, [1], name="i"); u = tf.scatter_add(v, i, [[1.0, 1.0]], name="add")
log.append(raises("ValueError", "", lambda: tf.scatter_update(v, [0], [[1.0, 2.0, 3.0]]))); log.append(raises("ValueError", "", lambda: tf.scatter_update(v, [0, 1], [[1.0, 2.0]]))); log.append(raises("TypeError", "", lambda: tf.scatter_update(v, [0], tf.constant([[1, 2]]))))
with tf.Session() as s: s.run(v.initializer); log.append(raises("InvalidArgumentError", "indices[0] = 4 is not in [0, 4)", lambda: s.run(u, {i: [4]}), "add")); log.append(raises("InvalidArgumentError", "indices[0] = -1 is not in [0, 4)", lambda: s.run(u, {i: [-1]}))); log.append(s.run(v))
# 34_properties
x = tf.IndexedSlices(tf.constant([[1.0, 2.0]], name="v"), tf.constant([1]), tf.constant([4, 2])); log.append([x.values.name, x.indices.shape.as_list(), x.dense_shape.shape.as_list(), x.name, x.dtype.name, x.device, x.op.name, x.graph is tf.get_default_graph(), tf.IndexedSlices(x.values, x.indices).dense_shape])
with tf.Session() as s: log.append([s.run(tf.convert_to_tensor(x)), s.run(tf.add(x, 1.0))])
log.append(raises("ValueError", "int32", lambda: tf.convert_to_tensor(x, dtype=tf.int32))); log.append(raises("ValueError", "dense_shape", lambda: tf.convert_to_tensor(tf.IndexedSlices(x.values, x.indices))))
# 34_gradient_of_gather
p = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2), name="p"); loss = tf.reduce_sum(tf.square(tf.gather(p, [1, 3, 1]))); g = tf.gradients(loss, p)[0]; log.append([type(g).__name__, g.values.shape.as_list(), g.indices.shape.as_list()])
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss); log.append(sorted({o.type for o in tf.get_default_graph().get_operations() if "Scatter" in o.type or o.type.startswith("Apply")}))
with tf.Session() as s: s.run(p.initializer); log.append([s.run(g.values), s.run(g.indices), s.run(tf.convert_to_tensor(g))]); s.run(step); log.append(s.run(p))
# 35_sparse_mask
a = tf.IndexedSlices(tf.constant([2, 4, 6, 10, 12, 14][:4]), tf.constant([12, 26, 37, 45])); b = tf.sparse_mask(tf.IndexedSlices(tf.constant([[1, 1], [2, 2], [3, 3], [10, 10]]), tf.constant([12, 26, 37, 45])), [12, 45])
with tf.Session() as s: log.append([s.run(b.indices), s.run(b.values), s.run(tf.sparse_mask(a, [12, 45]).values)])
""")
