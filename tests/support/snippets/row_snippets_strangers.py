"""Programs of what users of TensorFlow tried that flowc had otherwise, a row each. The form is that
of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

STRANGER_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 94_components_that_are_none
D = tf.data.Dataset; d = D.range(3).map(lambda x: (x, None)); log.append([str(d.output_types), str(d.output_shapes)])
def elements(d):
    iterator = d.make_initializable_iterator(); x = iterator.get_next(); kept = [v for v in tf.nest.flatten(x) if v is not None]; session = tf.Session(); session.run(iterator.initializer); log.append([[v is None for v in tf.nest.flatten(x)], [[np.asarray(v).tolist() for v in session.run(kept)] for _ in range(2)]])
for other in (d, d.batch(1), d.repeat(2).shuffle(3, seed=1), d.filter(lambda a, b: a > 0), D.zip((d, D.range(3))), d.interleave(lambda a, b: D.from_tensors((a, b)).repeat(2), 2), d.map(lambda a, b: a if b is None else a * 100), D.from_tensor_slices(({"x": [1, 2], "y": None}, [3, 4])), D.range(2).map(lambda x: {"a": x, "b": None, "c": (None, x)}), D.from_tensors((None, 1)).repeat(2)): elements(other)
log.append(raises("ValueError", "", lambda: D.range(2).map(lambda x: None))); log.append(raises("ValueError", "", lambda: D.range(2).map(lambda x: (None,)))); log.append(raises("ValueError", "", lambda: D.from_tensors(None).make_one_shot_iterator()))
# 2_numbers_before_tensors
x = tf.constant([1.0, 2.0], tf.float64); functions = {"Maximum": tf.maximum, "Pow": tf.pow, "AddV2": tf.add, "Sub": tf.subtract, "Mul": tf.multiply, "Less": tf.less, "FloorMod": tf.mod, "SquaredDifference": tf.squared_difference}
for op, function in functions.items(): log.append(raises("TypeError", f"Input 'y' of '{op}' Op has type float64 that does not match type float32 of argument 'x'.", lambda: function(1.0, x)))
log.append(raises("TypeError", "Input 'e' of 'Select' Op has type float64 that does not match type float32 of argument 't'.", lambda: tf.where([True, False], [0.0, 0.0], x))); log.append(raises("TypeError", "of 'Minimum' Op has type float32 that does not match type int32", lambda: tf.minimum(1, tf.constant([1.0]))))
made = [tf.maximum(x, 0.0), 1.0 - x, 2.0 / x, 1 + x, 3.0 ** x, 5.0 % x, 5.0 // x, 1.0 < x, tf.divide(1.0, x), tf.maximum(np.float64(1.5), x)]; log.append([[t.name, t.dtype.name] for t in made]); log.append(tf.Session().run(made))
# 10_experimental_settings
C = tf.ConfigProto(experimental=tf.ConfigProto.Experimental(collective_group_leader="x", session_metadata=dict(name="a", version=3)), gpu_options=dict(experimental=dict(use_unified_memory=True, internal_fragmentation_fraction=0.25))); C.experimental.mlir_bridge_rollout = C.experimental.MLIR_BRIDGE_ROLLOUT_ENABLED; C.experimental.disable_thread_spinning = True
log.append([str(C), C.SerializeToString(), tf.ConfigProto.FromString(C.SerializeToString()) == C, C.HasField("experimental"), tf.ConfigProto().HasField("experimental"), tf.ConfigProto.Experimental.MlirBridgeRollout.Value("MLIR_BRIDGE_ROLLOUT_DISABLED"), C.experimental.xla_fusion_autotuner_thresh]); log.append(raises("AttributeError", 'Protocol message Experimental has no "nothing" field.', lambda: setattr(C.experimental, "nothing", 3))); log.append(raises("ValueError", 'Protocol message Experimental has no "qq" field.', lambda: tf.ConfigProto.Experimental(qq=3)))
r = tf.RunOptions(); r.experimental.run_handler_pool_options.priority = 4; r.experimental.use_run_handler_pool = True; log.append([str(r), r.SerializeToString(), tf.RunOptions.Experimental.RunHandlerPoolOptions(priority=3).priority]); log.append(tf.Session(config=C).run(tf.constant(1), options=r))
# 69_cells_and_what_they_are_called
cells = tf.nn.rnn_cell; c = cells.BasicLSTMCell(3); x = tf.ones([2, 4]); log.append([c.name, cells.BasicLSTMCell(3).name, cells.GRUCell(3, name="mine").name, cells.MultiRNNCell([c]).name, cells.DropoutWrapper(c).name, c.built]); log.append(raises("ValueError", "No name available for layer scope because the layer", lambda: c.scope_name))
with tf.variable_scope("outer"): c(x, c.zero_state(2, tf.float32))
log.append([c.name, c.scope_name, c.built, [v.name for v in c.variables], c.non_trainable_variables]); log.append([cells.BasicRNNCell(3, activation="sigmoid")(x, tf.zeros([2, 3]))[0].name, cells.LSTMCell(3, activation="relu")(x, c.zero_state(2, tf.float32))[0].name]); log.append(raises("ValueError", "nope", lambda: cells.GRUCell(3, activation="nope")))
make = lambda: [cells.LSTMCell(3, state_is_tuple=False, initializer=tf.constant_initializer(0.1)), cells.GRUCell(2, kernel_initializer=tf.constant_initializer(0.2))]; m = cells.MultiRNNCell(make(), state_is_tuple=False); z = m.zero_state(2, tf.float32); o, s = m(x, z); log.append([m.state_size, m.output_size, z.name, o.name, s.name]); log.append(raises("ValueError", "Some cells return tuples of states, but the flag state_is_tuple is not set. State sizes are: [LSTMStateTuple(c=3, h=3)]", lambda: cells.MultiRNNCell([c], state_is_tuple=False))); log.append(raises("ValueError", "Expected state to be a tuple of length 1, but received", lambda: cells.MultiRNNCell([cells.GRUCell(3)])(x, tf.ones([2, 3]))))
with tf.Session() as session: session.run([v.initializer for v in tf.global_variables() if v.name.startswith("multi")]); log.append(session.run([o, s], {z: np.arange(16.0).reshape(2, 8) / 10}))
# 2_names_of_dtypes
for name in ("q", "f", "d", "<f4", "u1", "b1", "?", "O", "U", "str", "complex", "long", "uint", "single", "bool_", "datetime64"): log.append(raises("TypeError", f"Cannot convert the argument `type_value`: {name!r} to a TensorFlow DType", lambda: tf.as_dtype(name)))
for number in (0, 99, None, [1]): log.append(raises("TypeError", f"Cannot convert the argument `type_value`: {number!r} to a TensorFlow DType", lambda: tf.as_dtype(number)))
log.append([tf.as_dtype(d).name for d in ("float", "half", "double", "string", "bfloat16", "bool", "int8", "complex64", float, object, np.float16, np.dtype("q"), np.uint8)]); log.append(raises("TypeError", "to a TensorFlow DType", lambda: tf.as_dtype(tf.TensorShape)))
# 10_devices_of_all_operations
b = tf.constant(2)
with tf.device("/gpu:5"): c = tf.Variable(1.0)
words = "Cannot assign a device for operation Variable: {{node Variable}} was explicitly assigned to /device:GPU:5"
log.append(raises("InvalidArgumentError", words, lambda: tf.Session().run(b))); log.append(tf.Session(config=tf.ConfigProto(allow_soft_placement=True)).run(b))
log.append(tf.Session(config=tf.ConfigProto(graph_options=tf.GraphOptions(place_pruned_graph=True))).run(b))
# 10_settings_as_messages
c = tf.ConfigProto(allow_soft_placement=True, log_device_placement=True, device_count={"GPU": 0}, device_filters=["/job:ps", "/job:w"]); c.gpu_options.allow_growth = True; c.gpu_options.per_process_gpu_memory_fraction = 0.3; c.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1; c.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0; c.graph_options.rewrite_options.auto_mixed_precision = 1; c.graph_options.rewrite_options.memory_optimization = 4; c.intra_op_parallelism_threads = 2; c.operation_timeout_in_ms = 70000
other = tf.ConfigProto(); other.CopyFrom(c); log.append([str(c), repr(c) == str(c), c.SerializeToString(), other == c, other == tf.ConfigProto(), str(tf.ConfigProto()), c.HasField("gpu_options"), tf.ConfigProto().HasField("gpu_options"), str(tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=30))])
log.append(raises("AttributeError", 'has no "nope" field', lambda: setattr(c.gpu_options, "nope", 1))); log.append(raises("ValueError", "nope", lambda: c.HasField("nope"))); log.append(raises("TypeError", "expected", lambda: c.CopyFrom(tf.GPUOptions())))
# 46_what_imports_do_not_find
x = tf.placeholder(tf.float32, [None], name="x"); y = tf.nn.relu(x, name="y"); given = tf.get_default_graph().as_graph_def(); one = tf.constant([1.0])
for change, words in (({"input_map": {"nope:0": one}}, "not found in graph_def: [nope:0]"), ({"input_map": {"nope": one}}, "not found in graph_def: [nope:0]"), ({"input_map": {"x:5": one}}, "not found in graph_def: [x:5]"), ({"return_elements": ["nope"]}, "Requested return node 'nope' not found in graph def"), ({"return_elements": ["nope:0"]}, "Requested return tensor 'nope:0' not found in graph def"), ({"return_elements": ["y:3"]}, "Invalid return output 3 of node 'y', which has 1 output(s)")): log.append(raises("ValueError", words, lambda: tf.import_graph_def(given, **change)))
# 69_signs_asserted
for check, x, words in ((tf.assert_positive, [0], "x > 0"), (tf.assert_negative, [0.0], "x < 0"), (tf.assert_non_negative, [-1], "x >= 0"), (tf.assert_non_positive, [1], "x <= 0")):
    log.append(raises("InvalidArgumentError", f"Condition {words} did not hold element-wise:", lambda: check(x))); log.append(raises("InvalidArgumentError", "told", lambda: check(x, message="told")))
    p = tf.placeholder(tf.float32, [1]); log.append(raises("InvalidArgumentError", f"Condition {words} did not hold element-wise:", lambda: tf.Session().run(check(p), {p: x})))
# 69_cells_of_programs
N = tf.nn.rnn_cell
class AttendingGRUCell(N.RNNCell):
    def __init__(self, cell, **given): super().__init__(**given); self._cell = cell
    state_size = output_size = property(lambda self: 2)
    def call(self, inputs, state): w = tf.get_variable("w", [2], initializer=tf.ones_initializer()); y, s = self._cell(tf.layers.dense(inputs, 3, name="mix", kernel_initializer=tf.ones_initializer()), state); return y * w, s
class Peep2LSTM(N.LSTMCell): pass
class _Own(N.BasicRNNCell): pass
x = tf.placeholder(tf.float32, [1, 2, 2], name="x"); ones = tf.ones_initializer(); G = lambda: N.GRUCell(2, kernel_initializer=ones, bias_initializer=tf.zeros_initializer())
y, _ = tf.nn.dynamic_rnn(AttendingGRUCell(G()), x, dtype=tf.float32); z, _ = tf.nn.dynamic_rnn(N.MultiRNNCell([Peep2LSTM(2, initializer=ones), AttendingGRUCell(G(), name="named"), N.DropoutWrapper(_Own(2), output_keep_prob=1.0)]), x, dtype=tf.float32, scope="z")
c = AttendingGRUCell(G()); a, _ = c(x[:, 0], tf.zeros([1, 2])); b, _ = c(x[:, 1], tf.zeros([1, 2]))
log.append([[v.name, v.shape.as_list()] for v in tf.global_variables()]); log.append(a.name)
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append(s.run([y, a, b], {x: [[[0.5, -0.25], [1.0, 0.75]]]}))
# 70_images_of_too_few_dimensions
for flip in (tf.image.flip_left_right, tf.image.flip_up_down): log.append(raises("ValueError", "'image' (shape (3,)) must be at least three-dimensional.", lambda: flip(tf.zeros([3]))))
# 84_no_columns
log.append(raises("ValueError", "Attr 'OUT_TYPE' of 'DecodeCSV' Op passed list of length 0 less than minimum 1.", lambda: tf.decode_csv("1,2", []))); log.append(raises("TypeError", "Expected list for 'record_defaults' argument to 'DecodeCSV' Op, not 3.", lambda: tf.decode_csv("1,2", 3)))
# 94_what_is_no_function
d = tf.data.Dataset.range(3)
for call in (d.map, d.flat_map, d.filter, lambda f: d.interleave(f, 2), lambda f: d.reduce(0, f)): log.append(raises("ValueError", "Argument `func` must be a callable. Received func=3 (of type <class 'int'>)", lambda: call(3))); log.append(raises("ValueError", "Received func=None", lambda: call(None)))
# 87_sparse_features_of_datasets
F = tf.train.Feature; e = tf.train.Example(features=tf.train.Features(feature={"i": F(int64_list=tf.train.Int64List(value=[1, 3])), "v": F(float_list=tf.train.FloatList(value=[1.5, 2.5])), "t": F(bytes_list=tf.train.BytesList(value=[b"a", b"b"]))})).SerializeToString()
spec = {"s": tf.SparseFeature("i", "v", tf.float32, 5), "t": tf.VarLenFeature(tf.string)}; whole = tf.parse_example([e, e], spec); d = tf.data.Dataset.from_tensors([e, e]).map(lambda x: tf.parse_example(x, spec)).prefetch(1); f = d.make_one_shot_iterator().get_next(); one = tf.data.Dataset.from_tensors(e).map(lambda x: tf.parse_single_example(x, spec)).batch(2).make_one_shot_iterator().get_next()
log.append([[v["s"].shape.as_list(), v["t"].shape.as_list(), v["s"].dense_shape.shape.as_list(), v["s"].indices.shape.as_list()] for v in (whole, f, one)]); ids = tf.SparseTensor(f["t"].indices, tf.string_to_hash_bucket_fast(f["t"].values, 7), f["t"].dense_shape)
with tf.Session() as s: log.append(s.run([tf.sparse_tensor_to_dense(f["s"]), tf.sparse_tensor_to_dense(ids, default_value=-1), tf.sparse_reduce_sum(f["s"], 1)])); log.append(s.run([tf.sparse_tensor_to_dense(one["s"]), tf.sparse_tensor_to_dense(one["t"], default_value="-")]))
# 95_confusion_out_of_bounds
labels, found = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None]); matrix = tf.confusion_matrix(labels, found, 4)
for x, y, words in (([9], [0], "`labels` out of bound"), ([0], [9], "`predictions` out of bound"), ([-1], [0], "`labels` contains negative values"), ([0], [-1], "`predictions` contains negative values")): log.append(raises("InvalidArgumentError", words, lambda: tf.Session().run(matrix, {labels: x, found: y})))
log.append(tf.Session().run(matrix, {labels: [1, 2, 2], found: [1, 0, 0]})); log.append(raises("InvalidArgumentError", "`labels` out of bound", lambda: tf.confusion_matrix([7], [1], 4)))
# 99_steps_of_summaries
def training():
    v = tf.Variable(1.0); tf.summary.scalar("v", v); return tf.train.GradientDescentOptimizer(0.1).minimize(v * v, global_step=tf.train.get_or_create_global_step())
step = training()
with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=[tf.train.StopAtStepHook(12)], save_summaries_steps=4, log_step_count_steps=None) as s:
    while not s.should_stop(): s.run(step)
log.append([[e.step, v.tag] for f in sorted(os.listdir(folder)) if "tfevents" in f for e in tf.train.summary_iterator(folder + f) for v in e.summary.value])
# 2_registered_conversions_in_lists
class Money:
    def __init__(self, cents): self.cents = cents
tf.register_tensor_conversion_function(Money, lambda v, dtype=None, name=None, as_ref=False: tf.constant(v.cents, dtype, name=name))
y = [tf.stack([Money([1.0]), Money([2.0])]), tf.stack(tf.constant([1, 2])), tf.stack(3), tf.concat([Money([1.0]), [2.0]], 0)]; log.append([t.shape.as_list() for t in y])
with tf.Session() as s: log.append(s.run(y))
# 23_what_is_no_variable
a = tf.constant([1.0])
for call in (lambda: tf.assign(a, a), lambda: tf.assign_add(a, a), lambda: tf.assign_sub(3, a), lambda: tf.scatter_update(a, [0], a), lambda: tf.count_up_to(a, 3), lambda: tf.is_variable_initialized(a)): log.append(raises("AttributeError", "object has no attribute", call))
# 22_no_list_is_all
v = tf.Variable(1.0); w = tf.Variable([1.0]); y = tf.assert_variables_initialized([]); log.append(y.shape.as_list())
with tf.Session() as s: s.run([v.initializer, w.initializer]); log.append(s.run(y))
# 29_reuse_without_a_name
def opened(**given):
    with tf.variable_scope(None, "d", **given) as scope: return scope.name
log.append([raises("ValueError", "reuse=True cannot be used without a name_or_scope", lambda: opened(reuse=r)) for r in (True, tf.AUTO_REUSE)]); log.append(opened(reuse=False)); t = tf.make_template("t", lambda: tf.get_variable("v", [1])); log.append(t.var_scope); t(); log.append(t.var_scope.name)
# 34_gradients_stopped
s = tf.SparseTensor([[0, 1]], [2.0], [2, 2]); y = [tf.stop_gradient(s), tf.stop_gradient(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))]; log.append([[type(t).__name__, t.values.name] for t in y]); log.append([tf.gradients(tf.stop_gradient(s).values, s.values), tf.SparseTensor.from_value(tf.SparseTensorValue([[0]], [1], [2])).dense_shape.name]); log.append(raises("TypeError", "is neither a SparseTensor nor SparseTensorValue.", lambda: tf.SparseTensor.from_value(3)))
# 43_what_is_no_meta_graph
for name, data in (("a.meta", b"junk!"), ("b.meta", bytes([0, 1]) + b"junk")):
    with open(folder + name, "wb") as f: f.write(data)
    log.append(raises("OSError", "Cannot parse file", lambda: tf.train.import_meta_graph(folder + name)))
# 52_ends_of_ranges
with tf.Session() as s:
    for x, kinds in ((tf.constant([1e10, -1e10, 3.7]), (tf.int32, tf.int8, tf.uint16, tf.float16, tf.int64)), (tf.constant([1e300, -1e300, 2.5], tf.float64), (tf.float32, tf.bfloat16, tf.int32, tf.uint64)), (tf.constant([-300, 300, 7]), (tf.int8, tf.uint8, tf.float16, tf.bfloat16)), (tf.constant([300.0 + 2j]), (tf.uint8, tf.float16))): y = [tf.saturate_cast(x, k) for k in kinds]; log.append([t.name for t in y]); log.append(s.run([tf.cast(t, tf.float64) for t in y]))
log.append([raises("TypeError", "Cannot find minimum value of", lambda: tf.saturate_cast(v, tf.int32)) for v in ("a", True)])
# 54_axes_named_twice
y = [tf.squeeze(tf.zeros([1, 1]), [0, 0]), tf.squeeze(tf.zeros([1, 2, 1]), [0, -3]), tf.squeeze([[5]], [0, -2])]; log.append([t.shape.as_list() for t in y])
with tf.Session() as s: log.append(s.run(y))
log.append(raises("ValueError", "Shape must be rank 1 but is rank 0", lambda: tf.reshape([1, 2], 2))); log.append(raises("ValueError", "Multiple ellipses in slice spec not allowed", lambda: tf.strided_slice([1, 2], [0], [1], ellipsis_mask=3)))
# 59_integers_padded
x = tf.placeholder(tf.float32, [None, 3]); y = [tf.pad([1, 2], [[1, 0]]), tf.pad([[1]], [[1, 1], [0, 2]]), tf.pad(tf.constant([], tf.int64), [[1, 2]]), tf.pad(tf.constant([], tf.string), [[1, 0]]), tf.pad(tf.shape(x), [[0, 1]]), tf.reshape(tf.range(6), tf.pad([6], [[1, 0]], constant_values=1)), tf.tensor_scatter_update(["a", "b"], [[1]], ["z"])]
with tf.Session() as s: log.append(s.run(y, {x: np.zeros((2, 3))}))
# 68_real_numbers_for_complex_ones
y = [tf.fft([1.0, 2.0]), tf.fft([1, 2]), tf.ifft2d([[1.0, 2.0]]), tf.signal.irfft([1.0, 2.0])]; log.append([t.dtype.name for t in y])
with tf.Session() as s: log.append(s.run(y))
log.append(raises("TypeError", "", lambda: tf.fft(tf.constant([1.0])))); c = tf.constant([1, 2]); log.append([raises("TypeError", "Input must be either real or complex. Received integer type <dtype: 'int32'>.", lambda: tf.math.reduce_variance(c))]); log.append(tf.Session().run(tf.math.reduce_variance([1.0 + 1j, 2.0])))
log.append([raises("TypeError", "Expected list for 'inputs' argument to 'string_join' Op", lambda: tf.strings.join("ab")), raises("TypeError", "Expected list for 'data' argument to 'Assert' Op", lambda: tf.Assert(True, "a")), raises("ValueError", "passed list of length 0 less than minimum 1.", lambda: tf.Assert(True, []))])
# 69_cells_check_their_inputs_first
N = tf.nn.rnn_cell
for cell in (N.GRUCell(3), N.LSTMCell(3), N.BasicLSTMCell(3), N.BasicRNNCell(3)): log.append(raises("ValueError", "expected ndim=2, found ndim=3", lambda: cell(tf.ones([2, 3, 4]), cell.zero_state(2, tf.float32))))
log.append(tf.trainable_variables())
# 77_scalars_have_no_rows
f = lambda a, x: a + x
log.append([raises("IndexError", "", lambda: call(f, 3)) for call in (tf.foldl, tf.foldr, tf.scan)]); log.append(raises("ValueError", "must be 1+ dimensional", lambda: tf.map_fn(lambda x: x, 3))); log.append(raises("TypeError", "'branch_index' must be a Tensor, got <class 'int'>", lambda: tf.switch_case(1, [lambda: 1])))
# 82_paths_that_fit
here = os.getcwd(); os.chdir(folder); os.makedirs("sub"); [open(n, "w").close() for n in ("a.txt", "b.txt", "sub/c.txt", ".h.txt")]
patterns = ("*.txt", "a.txt", "./*.txt", "sub/*.txt", "*/c.txt", "[ab].txt", "nope*", "sub")
with tf.Session() as s: log.append([s.run(tf.matching_files(p)).tolist() for p in patterns]); log.append([sorted(tf.gfile.Glob(p)) for p in patterns])
log.append(tf.train.write_graph(tf.GraphDef(), ".", "g.pbtxt")); os.chdir(here)
# 87_order_of_features
F = tf.train.Feature; e = tf.train.Example(features=tf.train.Features(feature={k: F(int64_list=tf.train.Int64List(value=[1])) for k in "zbci"} | {"v": F(float_list=tf.train.FloatList(value=[1.0]))})).SerializeToString()
spec = {"z": tf.FixedLenFeature([], tf.int64), "q": tf.VarLenFeature(tf.int64), "b": tf.io.RaggedFeature(tf.int64), "c": tf.FixedLenFeature([], tf.int64), "a": tf.VarLenFeature(tf.int64), "S": tf.SparseFeature("i", "v", tf.float32, 5)}; log.append([list(tf.parse_example([e], spec)), list(tf.parse_single_example(e, spec))])
# 90_no_components
log.append([raises("ValueError", "passed list of length 0 less than minimum 1.", lambda: make([])) for make in (lambda d: tf.FIFOQueue(1, d), lambda d: tf.RandomShuffleQueue(1, 0, d))])
# 6_calls_are_checked_when_made
p = tf.placeholder(tf.float32); s = tf.Session(); log.append([raises("TypeError", "(Can not convert a int into a Tensor or Operation.)", lambda: s.make_callable(f)) for f in (3, [p, 3])]); log.append(raises("InvalidArgumentError", "Placeholder:0 is both fed and fetched.", lambda: s.partial_run_setup([p], [p])))
log.append([o.name for o in tf.group({"b": p, "a": [tf.constant(1)]}).control_inputs])
# 31_names_of_draws
y = [tf.random.categorical([[1.0, 2.0]], 3, seed=1), tf.multinomial([[1.0, 2.0]], 3, seed=1)]; log.append([[t.name, t.op.inputs[0].name] for t in y])
with tf.Session() as s: log.append(s.run(y))
# 94_ragged_rows_picked_and_joined
x = tf.ragged.constant([[1, 2], [], [3]]); deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]]); text = tf.ragged.constant([["a"], ["b", "c"]]); n = tf.placeholder(tf.int32, [None])
picked = [tf.gather(x, [2, 0]), tf.gather(x, [[0], [2]]), tf.gather([5, 6, 7, 8], x), tf.gather(deep, [2]), tf.gather(x, n), tf.gather_nd(x, [[0], [2]]), tf.nn.embedding_lookup(tf.eye(4), x)]
joined = [tf.concat([x, x], 0), tf.concat([x, x], 1), tf.concat([x, [[9], [8], [7]]], 1), tf.concat([x, x], -1), tf.concat([deep, deep], 0), tf.concat([deep, deep], 1), tf.concat([deep, deep], 2), tf.stack([x, x]), tf.stack([x, x], 1), tf.stack([x, x], 2), tf.ragged.stack([x, x], 1), tf.ragged.stack([deep, deep])]
shaped = [tf.expand_dims(x, 0), tf.expand_dims(x, 1), tf.expand_dims(x, -1), tf.tile(x, [2, 1]), tf.tile(x, [1, 2]), tf.tile(x, [2, 3]), tf.tile(deep, [1, 2, 2]), tf.one_hot(x, 4)]
mapped = [tf.strings.join([text, text], "-"), tf.strings.length(text), tf.strings.substr(text, 0, 1), tf.string_to_hash_bucket_fast(text, 10), tf.as_string(x), tf.clip_by_value(x, 2, 2), tf.strings.upper(text), tf.strings.regex_full_match(text, "[ab]"), x + [[1], [2], [3]], tf.constant([[2], [2], [2]]) * x]
with tf.Session() as s: log.append([[v.to_list() for v in s.run(part, {n: [1, 0, 0]})] for part in (picked, joined, shaped, mapped)]); log.append(s.run([tf.gather(x, 2), tf.gather_nd(x, [[0, 1], [2, 0]]), tf.gather_nd(deep, [[0, 1, 1]])])); log.append([raises("InvalidArgumentError", "", lambda: s.run(y.flat_values, {n: [3]})) for y in (tf.gather(x, n), tf.concat([x, tf.gather(x, n)], 1))])
d = tf.data.Dataset.range(3).map(lambda i: tf.RaggedTensor.from_row_lengths(tf.range(i), [i])).make_one_shot_iterator().get_next()
with tf.Session() as s: log.append([s.run(d).to_list() for _ in range(3)])
# 94_ragged_rows_folded_and_turned
x = tf.ragged.constant([[1, 2], [], [3]]); deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]]); flat = tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1); ids = tf.ragged.constant([[1, 0], [], [0]])
folded = [tf.reduce_sum(deep, 0), tf.reduce_sum(deep, 1), tf.reduce_max(deep, 1), tf.reduce_sum(deep, 1, keepdims=True), tf.reduce_any(deep > 1, 1), tf.reduce_mean(tf.cast(deep, tf.float32), 1), tf.reduce_max(flat, [2])]
turned = [tf.reverse(x, [0]), tf.reverse(x, [1]), tf.reverse(deep, [0, 2]), tf.reverse(flat, [-1]), tf.squeeze(tf.expand_dims(x, 0), 0), tf.squeeze(tf.expand_dims(x, 1), 1), tf.squeeze(tf.expand_dims(x, -1), [2]), tf.squeeze(tf.ragged.constant([[[1]], [[2]]]), [1])]
picked = [tf.batch_gather(x, ids), tf.gather(x, ids, axis=1, batch_dims=1), tf.gather(deep, ids, axis=1, batch_dims=1), tf.gather(deep, tf.ragged.constant([[0], [2, 2]])), tf.batch_gather([[5, 6], [7, 8]], tf.ragged.constant([[1], [0, 1]])), tf.gather(tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]]), [1], axis=2)]
with tf.Session() as s: log.append([[v.to_list() for v in s.run(part)] for part in (folded, turned, picked)]); log.append(s.run([tf.reduce_sum(deep, [1, 2]), tf.reduce_sum(deep, [0, 1, 2]), tf.reduce_mean(tf.cast(deep, tf.float32), [1, 2]), tf.reduce_sum(flat, [0, 2]), tf.gather(tf.ragged.constant([[1, 2], [3]]), [0], axis=1), tf.squeeze(tf.ragged.constant([[1, 2]]), [0])])); log.append([raises("InvalidArgumentError", "is not squeezable!", lambda: s.run(tf.squeeze(x, [k]).flat_values if k else tf.squeeze(x, [k]))) for k in (0,)])
log.append(raises("ValueError", "must have an axis argument", lambda: tf.squeeze(x))); log.append(raises("TypeError", "`axis` must be a list of int", lambda: tf.reverse(x, 1))); log.append(raises("ValueError", "out of bounds", lambda: tf.reduce_sum(x, 2)))
# 94_ragged_loop_variables
x = tf.ragged.constant([[1, 2], [], [3]]); deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]]); p = tf.placeholder(tf.bool, []); body = lambda i, r: (i + 1, tf.concat([r, r], 0)); last = lambda f, r, **more: tf.while_loop(lambda i, r: i < 2, f, [0, r], **more)[1]
y = [tf.cond(p, lambda: x, lambda: x * 2), tf.cond(p, lambda: deep * 3, lambda: deep), tf.cond(p, lambda: {"a": x, "b": 1}, lambda: {"a": x + x, "b": 2})["a"], last(lambda i, r: (i + 1, r * 2), x), last(lambda i, r: (i + 1, tf.concat([r, r], 1)), x), last(lambda i, r: (i + 1, r * 2), deep), last(body, x, shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, None])])]
with tf.Session() as s: log.append([[v.to_list() for v in s.run(y, {p: taken})] for taken in (True, False)])
log.append(raises("ValueError", "enters the loop with shape", lambda: last(body, x)))
# 94_rows_of_different_lengths_mapped
x = tf.ragged.constant([[1, 2], [], [3]]); deep = tf.ragged.constant([[[1], [2, 3]], [], [[4]]]); S = tf.RaggedTensorSpec; f = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
rows = [tf.map_fn(lambda r: r * 2, x), tf.map_fn(lambda r: r * 10, deep), tf.map_fn(tf.range, tf.constant([3, 0, 2]), fn_output_signature=S([None], tf.int32)), tf.map_fn(lambda r: r[:1], x, fn_output_signature=S([None], tf.int32)), tf.map_fn(lambda r: tf.reduce_sum(r, 1), deep, fn_output_signature=S([None], tf.int32)), tf.map_fn(lambda r: tf.ragged.range(r), tf.constant([[1, 2], [0, 3]]), fn_output_signature=S([None, None], tf.int32))]
sums = [tf.map_fn(tf.reduce_sum, x, dtype=tf.int32), tf.map_fn(tf.size, x, fn_output_signature=tf.int32), tf.map_fn(lambda t: tf.reduce_sum(t[0]) + t[1], (x, tf.constant([10, 20, 30])), dtype=tf.int32), tf.gradients(tf.map_fn(lambda r: tf.reduce_sum(r * r), f, dtype=tf.float32), f.flat_values), tf.gradients(tf.map_fn(lambda r: r * r, f).flat_values ** 2, f.flat_values)]
with tf.Session() as s: log.append([v.to_list() for v in s.run(rows)]); log.append(s.run(sums))
# 94_what_does_not_fit_in_datasets
D = tf.data.Dataset; E = tf.data.experimental; d = D.range(5); f = D.from_tensors([1.0])
for words, call in (("Python `list` is not supported", lambda: D.zip([d, d])), ("Python `list` is not supported", lambda: D.zip({"a": [d]}))): log.append(raises("TypeError", words, call))
for values in (0, 1.5): log.append(raises("TypeError", "Invalid `padding_values`", lambda: d.padded_batch(2, [], values)))
log.append(raises("TypeError", "Invalid `padding_values`", lambda: f.padded_batch(2, [2], 1))); log.append(raises("ValueError", "matching leading dimension. Encountered both 2 and 1.", lambda: D.from_tensors(([1, 2], [1])).unbatch())); log.append(raises("ValueError", "Either the `window_size` argument or", lambda: d.apply(E.group_by_window(lambda x: x, lambda k, w: w))))
counted = [d.window(2), d.window(2, 1, 2, True), d.window(4, 1, 3, True), d.window(3, 2), d.repeat().window(2), d.map(lambda x: x), d.map(lambda x: x, 2), d.apply(E.map_and_batch(lambda x: x, 2)), d.apply(E.ignore_errors()), d.enumerate(), d.shuffle(3).cache().prefetch(1).repeat(2)]
with tf.Session() as s: log.append(s.run([E.cardinality(x) for x in counted]))
# 68_arrays_of_what_does_not_fit
A = lambda n: tf.TensorArray(tf.int32, n)
log.append(raises("ValueError", "Dimensions must be equal, but are 2 and 1", lambda: A(4).scatter([0], [7, 8]))); log.append(raises("ValueError", "Shape must be rank 1 but is rank 0", lambda: A(4).scatter(0, [7]))); log.append(raises("ValueError", "Shape must be rank 1 but is rank 0", lambda: A(2).split([1, 2], 2)))
x = tf.constant(1); y = tf.tuple([x, 3, None, [4, 5]]); log.append([None if t is None else t.dtype.name for t in y])
with tf.Session() as s: log.append(s.run([A(2).scatter([x, 0], [7, 8]).stack(), *(t for t in y if t is not None)]))
# 54_axes_that_are_no_integers
log.append(raises("TypeError", "Expected int for argument 'axis' not 'a'.", lambda: tf.squeeze([[1]], "a")))
""")
