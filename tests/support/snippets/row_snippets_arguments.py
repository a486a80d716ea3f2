"""Programs with settings as messages, placeholders in branches that are not taken, and arguments
that do not fit. The form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

ARGUMENT_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 10_settings_from_bytes
C = tf.ConfigProto; c = C(allow_soft_placement=True, device_count={"CPU": 2}, device_filters=["a", "b"], gpu_options={"allow_growth": True, "per_process_gpu_memory_fraction": 0.5}, graph_options=None); c.graph_options.optimizer_options.opt_level = -1; b = c.SerializeToString()
d = C(); log.append([d.ParseFromString(b), d == c, C.FromString(b) == c, str(d), d.ByteSize(), d.IsInitialized()]); d.MergeFrom(C(device_filters=["z"], intra_op_parallelism_threads=4, gpu_options=tf.GPUOptions(visible_device_list="1"))); log.append(str(d))
e = C(); e.CopyFrom(c); log.append([e == c, [f.name for f, _ in e.ListFields()]]); e.ClearField("gpu_options"); log.append([str(e), e.HasField("gpu_options")]); e.Clear(); log.append([str(e), e.ByteSize(), e.MergeFromString(b), e == c])
log.append([C.FromString(b"\xf8\x7f\x01").SerializeToString(), str(C.FromString(b"")), c.device_count["CPU"], c.device_count["q"]]); g = tf.GPUOptions(allow_growth=True); h = C(gpu_options=g); g.allow_growth = False; log.append(h.gpu_options.allow_growth)
for kind, words, call in (("ValueError", 'has no "zz" field', lambda: c.ClearField("zz")), ("TypeError", "Parameter to MergeFrom() must be instance of same class", lambda: c.MergeFrom(3)), ("TypeError", "Parameter to CopyFrom() must be instance of same class", lambda: c.CopyFrom(tf.RunOptions())), ("DecodeError", "Error parsing message with type 'tensorflow.ConfigProto'", lambda: d.ParseFromString(b"\xff\xff")), ("DecodeError", "corrupt", lambda: C.FromString(b"\x0a\x05")), ("TypeError", "expected bytes, str found", lambda: d.ParseFromString("abc")), ("AttributeError", 'Assignment not allowed to message field "gpu_options"', lambda: setattr(c, "gpu_options", tf.GPUOptions())), ("AttributeError", 'Assignment not allowed to map, or repeated field "device_count"', lambda: setattr(c, "device_count", {})), ("ValueError", "device_filters does not have presence", lambda: c.HasField("device_filters")), ("TypeError", "", lambda: C(device_filters=[3])), ("TypeError", "", lambda: C(device_count={"a": "b"})), ("TypeError", "", lambda: C(gpu_options=3))): log.append(raises(kind, words, call))
R = tf.RunOptions; O = tf.OptimizerOptions; log.append([str(R.FromString(R(trace_level="FULL_TRACE", timeout_in_ms=7).SerializeToString())), R.TraceLevel.Value("FULL_TRACE"), R.TraceLevel.Name(0), R.TraceLevel.keys(), R.TraceLevel.values(), R.TraceLevel.items(), O.GlobalJitLevel.Value("ON_2"), O.Level.Name(-1), str(O.FromString(O(opt_level=-1, global_jit_level=1).SerializeToString()))])
log.append([raises("ValueError", "Enum TraceLevel has no value defined for name 'Q'", lambda: R.TraceLevel.Value("Q")), raises("ValueError", "Enum TraceLevel has no name defined for value 9", lambda: R.TraceLevel.Name(9)), raises("ValueError", "", lambda: R(trace_level="Q"))])
# 3_placeholders_in_branches
t = tf.placeholder(tf.bool, [], name="t"); made = []
def branch(): made.append(tf.placeholder(tf.float32, name="q")); return made[0] * 2
y = [tf.cond(t, lambda: tf.constant(1.0), branch), tf.cond(t, lambda: tf.zeros([2, 2]), lambda: tf.matmul(tf.placeholder(tf.float32, [None, 3]), tf.ones([3, 2]))), tf.cond(t, lambda: "a", lambda: tf.placeholder(tf.string)), tf.while_loop(lambda i: i < 0, lambda i: i + tf.placeholder(tf.int32, []), [1])]
with tf.Session() as s: log.append(s.run(y, {t: True})); log.append(s.run([y[0], y[3]], {t: False, made[0]: 4.0})); log.append([raises("InvalidArgumentError", "You must feed a value for placeholder tensor 'cond/q' with dtype float", lambda: s.run(y[0], {t: False}), "cond/q"), raises("InvalidArgumentError", "You must feed a value for placeholder tensor 'cond_1/Placeholder' with dtype float and shape [?,3]", lambda: s.run(y[1], {t: False})), raises("InvalidArgumentError", "with dtype string", lambda: s.run(y[2], {t: False}))])
# 68_sizes_that_belong_together
A = tf.debugging.assert_shapes; x = tf.ones([2, 3], name="x"); y = tf.placeholder(tf.float32, [None, 3], name="y"); u = tf.placeholder(tf.float32, name="u")
for words, call in (("Specified explicitly.  Tensor x:0 dimension 1 must have size 4.  Received size 3, shape (2, 3)", lambda: A([(x, ("N", 4))])), ("Tensor x:0 must have rank 3.  Received rank 2, shape (2, 3)", lambda: A([(x, ("N", "M", 1))])), ("Specified by tensor x:0 dimension 0.  Tensor x:0 dimension 1 must have size 2.  Received size 3", lambda: A([(x, ("N", "N"))])), ("Tensor x:0.  Specified shape must be an iterable.", lambda: A([(x, 3)])), ("Tensor x:0 specified shape index 1.  Symbol `...` or `*`", lambda: A([(x, ("N", ...))])), ("must have rank in (0, 1).  Received rank 2", lambda: A([(x, ())])), ("told.  Specified by tensor x:0 dimension 0.", lambda: A([(x, "NM"), (tf.ones([4]), "N")], message="told"))): log.append(raises("ValueError", words, call))
a = [A([(x, ("N", "M")), (y, ("N", "M")), (tf.ones([]), [1])]), A([(x, "*M"), (y, (..., "M")), (u, "*N"), (x, ".M"), (x, None)]), A([(u, ("N", "K")), (y, ("N", 3))])]
rows = lambda n: np.ones([n, 3], np.float32)
with tf.Session() as s: log.append(s.run(a, {y: rows(2), u: [[1.0], [2.0]]})); log.append([raises("InvalidArgumentError", "[Specified by tensor x:0 dimension 0] [Tensor y:0 dimension] [0] [must have size] [2]", lambda: s.run(a[0], {y: rows(4)})), raises("InvalidArgumentError", "[must have size]", lambda: s.run(a[2], {y: rows(2), u: [[1.0]]})), raises("InvalidArgumentError", "Tensor u:0 must have rank", lambda: s.run(a[2], {y: rows(1), u: [1.0]}))])
# 68_ranks_without_sizes
x = tf.ones([2, 3]); n = tf.placeholder(tf.int32); m = tf.placeholder(tf.int32, [None]); k = tf.placeholder(tf.int32, [None, 2]); y = [tf.concat([x, x], n), tf.tile(x, n), tf.tile(x, m), tf.pad(x, n), tf.pad(x, k), tf.pad(x, k, "SYMMETRIC")]; log.append([t.shape.as_list() for t in y])
with tf.Session() as s: log.append([s.run(t, {n: v}) for t, v in zip(y[:2], (1, [2, 1]))]); log.append(s.run(y[2:3], {m: [1, 2]})); log.append(s.run(y[4:], {k: [[1, 0], [0, 1]]})); log.append([raises("InvalidArgumentError", "", lambda: s.run(y[2], {m: [1, 2, 3]})), raises("InvalidArgumentError", "", lambda: s.run(y[4], {k: [[1, 0]]}))])
# 68_arguments_that_do_not_fit
x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="x"); i = tf.constant([[1, 2, 3], [4, 5, 6]], name="i"); image = x[None, ..., None]
for words, call in (("requested dtype float32 for Tensor with dtype int32", lambda: tf.div(x, i)), ("inputs must be a list of at least one Tensor with the same dtype and shape", lambda: tf.accumulate_n([])), ("inputs must be a list of at least one Tensor with the same dtype and shape", lambda: tf.accumulate_n([x, i])), ("Shapes (5,) and (2, 3) are not compatible", lambda: tf.accumulate_n([x, x], shape=[5])), ("Output subscripts contain a label appearing more than once", lambda: tf.einsum("ij->jj", x)), ('Got 1 inputs for equation "ij,jk->ik", expecting 2', lambda: tf.einsum("ij,jk->ik", x)), ("Dimensions 2 and 1 are not compatible", lambda: tf.nn.separable_conv2d(image, tf.ones([1, 1, 1, 1]), tf.ones([2, 1, 1, 1]), [1] * 4, "SAME"))): log.append(raises("ValueError", words, call))
y = [tf.div(7, 2), tf.div(x, 2), tf.accumulate_n([x, x], [2, 3]), *tf.nn.moments(x, None), *tf.nn.moments(x, None, keep_dims=True), tf.math.unsorted_segment_mean(x, [1, 1], 2), tf.math.unsorted_segment_sqrt_n(x, [0, 0], 1), tf.verify_tensor_all_finite(x, "m")]; log.append([t.name for t in y])
with tf.Session() as s: log.append(s.run(y))
# 95_gradients_of_dense_tensors_beside_sparse_ones
v = tf.constant([0.5, 1.0, 1.5]); sp = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], v, [2, 3]); fed = tf.sparse_placeholder(tf.float32); full = tf.constant([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]])
y = [g for d in (tf.constant([1.0, 2.0, 4.0]), tf.constant([[1.0], [2.0]]), full, tf.placeholder_with_default(full, [None, None])) for z in (sp * d, sp / d, fed * d) for g in tf.gradients(z.values ** 2, [d, v if z.indices is sp.indices else fed.values])]
with tf.Session() as s: log.append(s.run(y, {fed: tf.SparseTensorValue([[0, 0], [1, 2]], [3.0, 4.0], [2, 3])}))
# 103_variables_of_custom_gradients
@tf.custom_gradient
def f(a): w = tf.get_variable("w", [2], initializer=tf.ones_initializer()); return a * w, lambda dy, variables=None: (dy * 7, [dy])
log.append(raises("TypeError", "must be `ResourceVariable`s", lambda: f(tf.ones([2])))); x = tf.ones([2])
with tf.variable_scope("r", use_resource=True): y = f(x)
with tf.Session() as s: s.run(tf.global_variables_initializer()); log.append(s.run([y, *tf.gradients(y, x)]))
g = tf.recompute_grad(lambda a: tf.sin(a) * a) if hasattr(tf, "recompute_grad") else None; y = g(x)
with tf.Session() as s: log.append([[round(float(e), 4) for e in r] for r in s.run([y, *tf.gradients(y, x)])])
# 77_functions_of_all_rows
x = tf.constant([[1.0, 2.0], [3.0, 4.0]]); m = tf.vectorized_map; n = tf.placeholder_with_default([[1, 2]], [None, 2])
y = [m(lambda r: r * 2 + 1, x), m(tf.reduce_sum, x), m(lambda t: t[0] * t[1], (x, x)), m(lambda r: tf.matmul(r[None], x), x), m(lambda r: {"a": tf.cast(r, tf.int32), "b": r[0]}, x), m(lambda r: r + 1, n)]
with tf.Session() as s: log.append(s.run(y))
# 10_flags_of_enumerations
F = tf.flags; F.DEFINE_multi_enum("rows_me", ["a"], ["a", "b"], "help"); F.FLAGS(["p", "--rows_me=b", "--rows_me=a"]); log.append([F.FLAGS.rows_me, raises("IllegalFlagValueError", "value should be one of <a|b>", lambda: F.FLAGS(["p", "--rows_me=c"]))]); F.FLAGS.__delattr__("rows_me")
""")
