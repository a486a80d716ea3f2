"""Programs of rows 1 to 16: graphs, tensors, sessions. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

GRAPH_SNIPPETS: tuple[Snippet, ...] = read_snippets("""
# 1_graphs_in_sessions
a, b = tf.Graph(), tf.Graph()
with a.as_default(): x = tf.constant(1.0, name="x"); log.append(tf.get_default_graph() is a)
with b.as_default(): y = tf.constant(2.0, name="x")
with tf.Session(graph=a) as s, tf.Session(graph=a) as t, tf.Session(graph=b) as u: log.append([s.run("x:0"), t.run(x), u.run(y)])
log.append([x.graph is a, y.graph is b, tf.get_default_graph() is a])
# 1_default_graph_of_a_thread
import threading
mine = tf.get_default_graph()
thread = threading.Thread(target=lambda: log.append(tf.get_default_graph() is mine)); thread.start(); thread.join()
# 1_variables_are_uniquified
log.append([tf.Variable(1.0).name, tf.Variable(1.0).name, tf.Variable(1.0, name="W").name, tf.Variable(1.0, name="W").name, tf.get_default_graph().unique_name("W")])
# 1_finalized
g = tf.get_default_graph(); tf.constant(1.0); log.append(g.finalized); g.finalize(); log.append(g.finalized)
log.append(raises("RuntimeError", "Graph is finalized and cannot be modified.", lambda: tf.constant(2.0)))
# 1_elements
x = tf.constant([1.0], name="x"); g = tf.get_default_graph()
log.append([g.get_tensor_by_name("x:0") is x, g.get_operation_by_name("x") is x.op, g.as_graph_element("x:0") is x, [o.name for o in g.get_operations()], g.is_fetchable(x), g.is_feedable(x)])
log.append(raises("KeyError", "refers to a Tensor which does not exist", lambda: g.get_tensor_by_name("y:0")))
log.append(raises("ValueError", "", lambda: g.get_tensor_by_name("x")))
log.append(raises("KeyError", "refers to an Operation not in the graph", lambda: g.get_operation_by_name("y")))
# 2_arguments_are_converted
with tf.Session() as s:
    log.append(s.run([tf.add(1, [2, 3]), tf.multiply(np.float32(2.0), tf.constant([1.0])), tf.reduce_sum([[1.0, 2.0]]), tf.string_join(["a", np.array("b")]), tf.matmul([[1.0, 2.0]], np.ones((2, 1), np.float32))]))
# 2_constants_are_inlined
c = tf.constant([[1.5, 2.5]], name="c"); node = tf.get_default_graph().as_graph_def().node[0]
log.append([node.op, node.attr["dtype"].type, [d.size for d in node.attr["value"].tensor.tensor_shape.dim], node.attr["value"].tensor.tensor_content])
# 2_dtypes_are_shown
log.append([str(d) for d in (tf.float32, tf.qint8, tf.string, tf.Variable(1.0).dtype)]); log.append(["%s %r" % (tf.bool, tf.half), repr([tf.int64])]); log.append([tf.uint8.limits, tf.float32.limits, tf.int16.limits]); log.append(raises("ValueError", "<dtype: 'string'> does not have defined limits.", lambda: tf.string.limits)); log.append(raises("TypeError", "Cannot find maximum value of <dtype: 'string'>", lambda: tf.string.max))
# 2_no_tensors
log.append(raises("TypeError", "Failed to convert elements of {1: 2} to Tensor.", lambda: tf.constant({1: 2}))); log.append(raises("TypeError", "", lambda: tf.gradients(tf.constant(1.0), {"a": tf.constant(1.0)})))
# 3_shapes_that_are_none
log.append(raises("ValueError", "Error converting shape to a TensorShape: Dimension -1 must be >= 0.", lambda: tf.placeholder(tf.float32, [-1]))); log.append(raises("TypeError", "Error converting shape to a TensorShape: ", lambda: tf.placeholder(tf.float32, "a")))
# 3_unfed
x = tf.placeholder(tf.float32, name="x"); y = x + 1.0
with tf.Session() as s: log.append(raises("InvalidArgumentError", "You must feed a value for placeholder tensor 'x' with dtype float", lambda: s.run(y), "x"))
# 3_default_of_another_shape
d = tf.placeholder_with_default; both = "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2] and [3]."
log.append([raises("ValueError", both, lambda: d([1.0, 2.0], [3])), raises("ValueError", "Shapes must be equal rank, but are 1 and 0", lambda: d([1.0, 2.0], [])), raises("ValueError", "Shapes must be equal rank, but are 2 and 1", lambda: d([[1.0, 2.0]], [None]))])
log.append([raises("ValueError", both, lambda: tf.string_join([["a", "b"], ["c", "d", "e"]])), raises("ValueError", "Shapes must be equal rank, but are 1 and 2", lambda: tf.string_join([["a", "b"], [["c"]]])), tf.string_join([["a", "b"], "c"]).shape.as_list()])
x, k = tf.zeros([1, 5, 5, 2]), tf.zeros([3, 3, 2, 4])
log.append([raises("TypeError", "Expected string for argument 'padding' not None.", lambda: tf.nn.conv2d(x, k, [1, 1, 1, 1])), raises("TypeError", "Expected string for argument 'padding' not 5.", lambda: tf.nn.conv2d(x, k, [1, 1, 1, 1], 5)), raises("ValueError", "strides should be of length 1, 2 or 4. Received: strides=[1, 1, 1] of length 3", lambda: tf.nn.conv2d(x, k, [1, 1, 1], "SAME"))])
log.append(raises("TypeError", 'Argument `graph` must be a tf.Graph, but got "int"', lambda: tf.Session("", 5)))
# 3_partial_shapes
x = tf.placeholder(tf.float32, [None, 784]); log.append([x.shape.as_list(), x.get_shape().ndims, tf.placeholder(tf.int32).shape.ndims, tf.placeholder(tf.int32, []).shape.as_list()])
with tf.Session() as s: log.append(raises("ValueError", "Cannot feed value of shape (2, 3) for Tensor", lambda: s.run(tf.reduce_sum(x), {x: np.zeros((2, 3))})))
# 4_symbolic
t = tf.string_join(["a", "b"]); log.append(str(t))
log.append(raises("TypeError", "", lambda: bool(t))); log.append(raises("TypeError", "", lambda: iter(t)))
log.append(raises("TypeError", "", lambda: [1 for _ in tf.constant(1.0)])); log.append(raises("TypeError", "", lambda: len(tf.constant([1.0]))))
# 4_properties
x = tf.placeholder(tf.float32, [None, 2], name="x"); y = tf.add(x, x, name="y")
log.append([y.name, y.dtype.name, y.shape.as_list(), y.op.name, y.op.type, y.value_index, y.device, [t.name for t in y.op.inputs], [o.name for o in x.consumers()], y.graph is x.graph])
y.set_shape([3, None]); log.append(y.shape.as_list()); log.append(raises("ValueError", "", lambda: y.set_shape([4, 2])))
# 4_operators_of_variables
v = tf.Variable([3.0, 4.0]); i = tf.Variable([7, -7])
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    log.append(s.run([v + 1, 1 - v, v * v, v / 2.0, 2.0 / v, v // 2.0, v % 2.0, v ** 2, 2.0 ** v, -v, abs(-v), v < 3.5, v >= 4.0, v[1], v[:1], i // 2, i % 3, i / 2]))
# 4_shape_at_run_time
x = tf.placeholder(tf.float32); y = tf.where(x > 0.0)
with tf.Session() as s: log.append([y.shape.as_list(), s.run(y, {x: [1.0, -1.0, 2.0]}), s.run(y, {x: [[0.0, 1.0]]})])
# 5_default_graph
x = tf.constant(2.0)
with tf.Session() as s: log.append([s.graph is tf.get_default_graph(), s.run(x), tf.get_default_session() is s])
log.append(tf.get_default_session() is None)
# 5_closes_on_exception
x = tf.constant(2.0); kept = []
def fails():
    with tf.Session() as s: kept.append(s); raise KeyError("mine")
log.append(raises("KeyError", "mine", fails)); log.append(raises("RuntimeError", "Attempted to use a closed Session.", lambda: kept[0].run(x)))
# 5_unknown_target
log.append(raises("NotFoundError", "", lambda: tf.Session("nowhere://x")))
# 5_wrong_arguments
log.append(raises("TypeError", "", lambda: tf.Session(3))); log.append(raises("TypeError", "config", lambda: tf.Session(config=3))); log.append(raises("TypeError", "", lambda: tf.Session(graph=3)))
# 5_interactive
x = tf.constant(2.0); s = tf.InteractiveSession(); log.append([x.eval(), (x * 2.0).eval()]); s.close()
log.append(raises("ValueError", "No default session", lambda: x.eval()))
# 6_structures
from collections import namedtuple, OrderedDict
P = namedtuple("P", "a b"); x, y = tf.constant(1.0, name="x"), tf.constant([2, 3], name="y")
with tf.Session() as s:
    r = s.run(P(x, [y, (x.op, "x:0")])); log.append([type(r).__name__, r.a, r.b])
    r = s.run(OrderedDict([("b", x), ("a", {"k": y})])); log.append([type(r).__name__, list(r), r])
    log.append([s.run([x, x, y, x]), s.run([]), s.run(()), s.run({}), type(s.run((x, y))).__name__, type(s.run(x)).__name__, type(s.run(y)).__name__])
# 6_sparse_and_slices
p = tf.SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 4]); i = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([4, 2]))
with tf.Session() as s:
    r = s.run(p); log.append([type(r).__name__, r.indices, r.values, r.dense_shape]); r = s.run([i, p])
    log.append([type(r[0]).__name__, r[0].values, r[0].indices, r[0].dense_shape])
# 6_one_step
v = tf.Variable(0.0); add = tf.assign_add(v, 1.0); a = tf.identity(add); b = add * 10.0
with tf.Session() as s: s.run(v.initializer); log.append([s.run([a, b, add.op]), s.run([b, a, b])])
# 6_errors
x = tf.constant(1.0, name="x"); s = tf.Session()
with tf.Graph().as_default(): other = tf.constant(1.0)
for f in (5.0, None, [x, None], [x, 3]): log.append(raises("TypeError", "", lambda: s.run(f)))
for f in ("nope:0", "nope", "x:7", other, [x, other]): log.append(raises("ValueError", "", lambda: s.run(f)))
s.close(); log.append(raises("RuntimeError", "closed", lambda: s.run(x)))
# 6_failing_node
x = tf.placeholder(tf.float32, [None], name="x"); y = tf.check_numerics(x, "found", name="checked") * 2.0
with tf.Session() as s: log.append(raises("InvalidArgumentError", "found : Tensor had NaN", lambda: s.run(y, {x: [np.nan]}), "checked"))
# 6_make_callable
x = tf.placeholder(tf.float32, []); y = x * 2.0
with tf.Session() as s: f = s.make_callable([y, x], [x]); log.append([f(3.0), f(np.float32(4.0))]); log.append(s.make_callable(y, [x])(1.5))
# 6_partial_run
a = tf.placeholder(tf.float32, []); b = tf.placeholder(tf.float32, []); c = a + 1.0; d = c * b
with tf.Session() as s: h = s.partial_run_setup([c, d], [a, b]); log.append([s.partial_run(h, c, {a: 1.0}), s.partial_run(h, d, {b: 5.0})])
# 7_any_tensor
c = tf.constant([1.0, 2.0], name="c"); d = c * 2.0; e = d + 1.0; v = tf.Variable(3.0); r = v + 1.0
with tf.Session() as s: log.append([s.run(e, {c: [3.0, 4.0]}), s.run(e, {d: [0.0, 0.0]}), s.run([c, e], {"c:0": [5.0, 6.0]}), s.run(e, {e: [7.0, 8.0]}), s.run(r, {v: 9.0})])
# 7_kinds_of_values
x = tf.placeholder(tf.float32); t = tf.placeholder(tf.string); n = tf.placeholder(tf.int32, []); q = tf.placeholder(tf.bool)
with tf.Session() as s: log.append([s.run([x, t, n, q], {x: 1, t: "a", n: 3, q: True}), s.run([x, t, q], {x: [[1, 2]], t: ["a", "b"], q: [True, False]}), s.run(x, {x: np.arange(3)}), s.run(x, {x: (1, 2)})])
# 7_sparse_keys
p = tf.sparse_placeholder(tf.float32); i = tf.IndexedSlices(tf.placeholder(tf.float32), tf.placeholder(tf.int32), tf.placeholder(tf.int32))
with tf.Session() as s:
    r = s.run(p, {p: tf.SparseTensorValue([[0, 1]], [5.0], [2, 3])}); log.append([r.indices, r.values, r.dense_shape])
    r = s.run(p, {p: ([[0, 1]], [5.0], [2, 3])}); log.append([r.indices, r.values, r.dense_shape])
    r = s.run(i, {i: tf.IndexedSlicesValue([[5.0]], [1], [2, 1])} if hasattr(tf, "IndexedSlicesValue") else {i.values: [[5.0]], i.indices: [1], i.dense_shape: [2, 1]}); log.append([r.values, r.indices, r.dense_shape])
# 7_errors
x = tf.placeholder(tf.float32, [2], name="x"); y = x + 1.0; s = tf.Session()
with tf.Graph().as_default(): other = tf.placeholder(tf.float32)
log.append(raises("ValueError", "Cannot feed value of shape (3,) for Tensor", lambda: s.run(y, {x: [1.0, 2.0, 3.0]})))
log.append(raises("TypeError", "The value of a feed cannot be a tf.Tensor object", lambda: s.run(y, {x: y})))
log.append(raises("TypeError", "Cannot interpret feed_dict key as Tensor", lambda: s.run(y, {3: 1.0})))
log.append(raises("TypeError", "Cannot interpret feed_dict key as Tensor", lambda: s.run(y, {"nope:0": 1.0})))
log.append(raises("TypeError", "Cannot interpret feed_dict key as Tensor", lambda: s.run(y, {other: 1.0})))
log.append(raises("TypeError", "", lambda: s.run(y, [1.0]))); log.append(raises("ValueError", "", lambda: s.run(y, {x: ["a", "b"]})))
# 8_close_frees
v = tf.Variable(1.0, name="v"); s = tf.Session(); s.run(v.initializer); s.close(); s.close()
log.append(raises("RuntimeError", "Attempted to use a closed Session.", lambda: s.run(v)))
with tf.Session() as t: log.append(raises("FailedPreconditionError", "uninitialized value v", lambda: t.run(v)))
# 8_as_default_does_not_close
x = tf.constant(1.0); s = tf.Session()
with s.as_default(): log.append([tf.get_default_session() is s, x.eval()])
log.append([tf.get_default_session() is None, s.run(x), s.graph is x.graph])
# 8_default_session_of_a_thread
import threading
x = tf.constant(1.0); s = tf.Session()
def work():
    log.append(raises("ValueError", "default session", lambda: x.eval()))
    with s.as_default(): log.append(x.eval())
with s.as_default(): t = threading.Thread(target=work); t.start(); t.join()
# 8_nested_sessions
v = tf.Variable(1.0); s, t = tf.Session(), tf.Session()
with s.as_default():
    v.initializer.run()
    with t.as_default(): v.assign(5.0).eval(); log.append(v.eval())
    log.append([v.eval(), tf.get_default_session() is s])
# 9_thin_calls
x = tf.placeholder(tf.float32, []); y = x * 2.0; v = tf.Variable([1.0, 2.0]); n = tf.group(v.initializer)
s = tf.Session(); n.run(session=s); log.append([y.eval({x: 3.0}, s), y.eval(feed_dict={x: 4.0}, session=s), v.eval(session=s), v.eval(s)])
copy = v.eval(s); copy[0] = 9.0; log.append(v.eval(s))
log.append(raises("ValueError", "Cannot evaluate tensor using `eval()`: No default session is registered", lambda: y.eval({x: 1.0})))
log.append(raises("ValueError", "No default session is registered", lambda: n.run())); log.append(raises("ValueError", "", lambda: v.eval()))
with tf.Graph().as_default():
    with tf.Session() as other: log.append(raises("ValueError", "the tensor's graph is different from the session's graph", lambda: y.eval({x: 1.0}))); log.append(raises("ValueError", "graph is different from the session's graph", lambda: n.run()))
# 10_absent_device
with tf.device("/gpu:7"): x = tf.constant([1.0, 2.0], name="x") * 2.0
with tf.Session() as s: log.append(raises("InvalidArgumentError", "Cannot assign a device for operation", lambda: s.run(x)))
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as s: log.append(s.run(x))
# 10_device_names
for name in ("/cpu:0", "/device:CPU:0", "/job:localhost/replica:0/task:0/cpu:0"):
    with tf.device(name): x = tf.constant(1.0)
    log.append(x.device)
    with tf.Session() as s: log.append(s.run(x))
log.append(raises("ValueError", "", lambda: tf.Session().run(tf.constant(1.0)) if False else tf.device("/what/ever").__enter__()))
# 10_device_scopes
with tf.device("/job:worker"):
    a = tf.constant(1.0)
    with tf.device("/cpu:0"): b = tf.constant(1.0)
    with tf.device(None): c = tf.constant(1.0)
with tf.device(lambda op: "/cpu:0" if op.type == "Const" else "/cpu:1"): d = tf.constant(1.0); e = tf.identity(d)
log.append([t.device for t in (a, b, c, d, e)])
# 10_options
c = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False, intra_op_parallelism_threads=1, inter_op_parallelism_threads=1); c.gpu_options.allow_growth = True
with tf.Session(config=c) as s: log.append([s.run(tf.constant(1.0)), [d.device_type for d in s.list_devices() if d.device_type == "CPU"]])
# 12_only_what_is_needed
x = tf.placeholder(tf.float32, [], name="x"); bad = tf.check_numerics(tf.constant(np.nan), "bad"); v = tf.Variable(0.0); add = tf.assign_add(v, 1.0); y = x + 1.0
with tf.Session() as s: s.run(v.initializer); log.append([s.run(y, {x: 1.0}), s.run(v), s.run([y, add], {x: 1.0}), s.run(v)]); log.append(raises("InvalidArgumentError", "bad", lambda: s.run([y, bad], {x: 1.0})))
# 12_textual_order_means_nothing
v = tf.Variable(1.0); late = tf.assign(v, 5.0)
with tf.control_dependencies([late]): y = tf.identity(v.read_value())
first = tf.constant(2.0); third = first * 2.0; second = first + 1.0
with tf.Session() as s: s.run(v.initializer); log.append(s.run([third, y, second, first]))
# 13_read_before_update
v = tf.Variable(2.0); top = v * 2.0
with tf.control_dependencies([top]): bot = v.assign_add(2.0)
seen = set()
with tf.Session() as s:
    for k in range(50): s.run(v.initializer); seen.add(float(s.run([top, bot])[0] + 1.0))
log.append(seen)
# 13_init_op
a = tf.Variable(1.0, name="a"); b = tf.Variable(1.0, name="b"); op = tf.global_variables_initializer()
log.append([op.type, op.name, list(op.node_def.input), [c.name for c in op.control_inputs]])
# 13_scopes
a = tf.constant(1.0, name="a"); b = tf.constant(2.0, name="b")
with tf.control_dependencies([a]):
    with tf.control_dependencies([b.op]): c = tf.no_op(name="c")
    with tf.control_dependencies(None): d = tf.no_op(name="d")
    e = tf.identity(a, name="e")
g = tf.group(c, d, name="g"); log.append([[x.name for x in o.control_inputs] for o in (c, d, e.op, g)]); log.append(tf.group(name="none").type)
log.append(raises("TypeError", "", lambda: tf.control_dependencies([3]).__enter__()))
# 14_graph_extends
x = tf.constant(2.0); v = tf.Variable(1.0)
with tf.Session() as s:
    s.run(v.initializer); log.append(s.run(x)); y = x * 3.0 + v; log.append(s.run(y)); w = tf.Variable(4.0); s.run(w.initializer); log.append(s.run([w + y, v]))
# 14_new_consumers_and_gradients
x = tf.placeholder(tf.float32, []); v = tf.Variable(3.0); y = v * x
with tf.Session() as s:
    s.run(v.initializer); log.append(s.run(y, {x: 2.0})); g, = tf.gradients(y, v); log.append(s.run([y, g], {x: 4.0})); step = tf.train.GradientDescentOptimizer(0.5).minimize(y); s.run(step, {x: 2.0}); log.append(s.run(v))
    with tf.Session() as t: log.append(raises("FailedPreconditionError", "uninitialized value", lambda: t.run(y, {x: 1.0})))
# 15_colocation
w = tf.Variable(1.0, name="W")
with tf.colocate_with(w): c = tf.constant(1.0, name="c")
with tf.colocate_with(c, ignore_existing=True): d = tf.constant(1.0, name="d")
g = tf.get_default_graph().as_graph_def(); log.append([[n.name, n.device, list(n.attr["_class"].list.s)] for n in g.node if n.name != "x"]); log.append([c.op.colocation_groups(), d.op.colocation_groups()])
# 15_remote_devices
with tf.device("/job:ps/task:3/cpu:0"): x = tf.constant(1.0, name="x")
log.append([x.device, tf.get_default_graph().as_graph_def().node[0].device]); log.append(raises("NotFoundError", "", lambda: tf.Session("tpu://far")))
# 16_switches
tf.disable_eager_execution(); x = tf.constant([1.0, 2.0]) * 3.0; log.append([tf.executing_eagerly(), isinstance(x, tf.Tensor), x.op.type])
with tf.init_scope(): log.append(tf.executing_eagerly())
# 16_graph_first
log.append([tf.executing_eagerly(), tf.constant(1.0).op.type]); log.append(raises("AttributeError", "", lambda: tf.constant(1.0).numpy()))
""")
