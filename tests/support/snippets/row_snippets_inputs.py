"""Programs of rows 81 to 83 and 88 to 93: feeding, producers, readers, queues, batches, threads. The
form is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

INPUT_ROWS: tuple[Snippet, ...] = read_snippets(r"""
# 81_three_ways
data = np.arange(6, dtype=np.float32).reshape(3, 2); x = tf.placeholder(tf.float32, [None, 2]); c = tf.constant(data)
start = tf.placeholder(tf.float32, data.shape); v = tf.Variable(start, trainable=False, collections=[])
with tf.Session() as s: s.run(v.initializer, {start: data}); log.append([s.run(x * 2, {x: data}), s.run(c * 2), s.run(v * 2), tf.global_variables(), tf.trainable_variables()])
# 81_a_preloaded_variable_in_batches
data = np.arange(12, dtype=np.float32).reshape(6, 2); start = tf.placeholder(tf.float32, data.shape); v = tf.Variable(start, trainable=False, collections=[])
row, = tf.train.slice_input_producer([v], num_epochs=1, shuffle=False); b = tf.train.batch([row], 3)
with tf.Session() as s:
    s.run([tf.global_variables_initializer(), tf.local_variables_initializer()]); s.run(v.initializer, {start: data}); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c)
    log.append([s.run(b), s.run(b), raises("OutOfRangeError", "is closed and has insufficient elements", lambda: s.run(b))]); c.request_stop(); c.join(t)
# 82_nodes
def nodes(): log.append([[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node])
tf.train.string_input_producer(["a", "b"], num_epochs=2, seed=3); tf.train.string_input_producer(tf.placeholder(tf.string, [None]), shuffle=False, capacity=5, shared_name="s", name="mine")
tf.train.range_input_producer(5, num_epochs=1, seed=1); tf.train.input_producer(tf.zeros([3, 2]), shuffle=False, summary_name="sn"); tf.train.limit_epochs(tf.constant([1]), 3); tf.train.match_filenames_once("/no/*.x"); nodes()
log.append([[v.op.name for v in tf.local_variables()], [q.name for q in tf.get_collection("queue_runners")], [x.op.name for x in tf.get_collection("summaries")]])
# 82_errors
log.append(raises("ValueError", "string_input_producer requires a non-null input tensor", lambda: tf.train.string_input_producer([]))); log.append(raises("TypeError", "", lambda: tf.train.string_input_producer(1)))
log.append(raises("ValueError", "num_epochs must be > 0 not -1.", lambda: tf.train.limit_epochs(tf.constant(1), -1))); log.append(raises("ValueError", "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified", lambda: tf.train.input_producer(tf.placeholder(tf.float32))))
log.append(raises("ValueError", "", lambda: tf.train.input_producer(tf.zeros([3]), element_shape=[2]))); log.append(raises("ValueError", "", lambda: tf.train.input_producer(3)))
# 82_epochs
q = tf.train.string_input_producer(["a", "b", "c"], num_epochs=4, seed=1); d = q.dequeue()
with tf.Session() as s: log.append(raises("FailedPreconditionError", "uninitialized value", lambda: s.run(tf.get_collection("queue_runners")[0].enqueue_ops[0])))
with tf.Session() as s:
    s.run(tf.local_variables_initializer()); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c)
    found = [s.run(d).decode() for _ in range(12)]; log.append([found[k:k + 3] for k in range(0, 12, 3)]); log.append(raises("OutOfRangeError", "is closed and has insufficient elements (requested 1, current size 0)", lambda: s.run(d))); c.request_stop(); c.join(t); log.append([x.is_alive() for x in t])
# 82_a_null_tensor
p = tf.placeholder(tf.string, [None]); tf.train.string_input_producer(p)
with tf.Session() as s: log.append(raises("InvalidArgumentError", "string_input_producer requires a non-null input tensor", lambda: s.run(tf.get_collection("queue_runners")[0].enqueue_ops[0], {p: []})))
# 82_files_matched_once
for n in ("b.txt", "a.txt", "c.csv"): open(folder + n, "w").write(n + "\n")
m = tf.train.match_filenames_once(folder + "*.txt"); q = tf.train.string_input_producer(m, shuffle=False, num_epochs=1); k, v = tf.WholeFileReader().read(q)
with tf.Session() as s:
    s.run([tf.global_variables_initializer(), tf.local_variables_initializer()]); open(folder + "d.txt", "w").write("late"); log.append(s.run(m)); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c)
    log.append([s.run([k, v]), s.run([k, v]), raises("OutOfRangeError", "", lambda: s.run(k))]); c.request_stop(); c.join(t); log.append(s.run(tf.matching_files([folder + "*.csv", folder + "d*"])))
# 82_numbers_shuffled
q = tf.train.range_input_producer(tf.constant(10), seed=5); d = q.dequeue_many(30)
with tf.Session() as s: c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c); log.append(s.run(d)); c.request_stop(); c.join(t)
# 83_nodes
q = tf.FIFOQueue(3, tf.string, [[]]); r = tf.TextLineReader(skip_header_lines=1); k, v = r.read(q); a = r.read_up_to(q, 3); i = tf.IdentityReader(); w = tf.WholeFileReader(name="w")
tf.FixedLengthRecordReader(4, 1, 1, 2, encoding="GZIP"); tf.TFRecordReader(options=tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)).read(q.queue_ref); w.read(q)
log.append([r.num_records_produced().dtype.name, r.num_work_units_completed().dtype.name, i.serialize_state().dtype.name, i.restore_state("x").name, r.reset().name, r.supports_serialize, i.supports_serialize, w.supports_serialize, r.reader_ref.name, a.keys.shape.as_list(), k.shape.as_list()])
log.append([[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node])
# 83_readers
import gzip
for n, x in (("a.txt", b"h\nl1\nl2\r\n\nlast"), ("b.txt", b"h2\nx1\n"), ("e.txt", b""), ("cr.txt", b"a\rb\r\r\nc\r\n\r\n\rd\xff\x00e"), ("f.bin", bytes(range(65, 85)))): open(folder + n, "wb").write(x)
with gzip.open(folder + "f.gz", "wb") as f: f.write(bytes(range(65, 85)))
z = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
for n, o in (("t.rec", None), ("z.rec", z)):
    with tf.python_io.TFRecordWriter(folder + n, options=o) as w: [w.write(b"r%d" % k) for k in range(3)]
raw = open(folder + "t.rec", "rb").read(); open(folder + "cut.rec", "wb").write(raw[:-5]); open(folder + "bad.rec", "wb").write(raw[:13] + b"!" + raw[14:]); open(folder + "bad2.rec", "wb").write(raw[:9] + b"!" + raw[10:])
def read(make, names, up=None, plain=False, error="OutOfRangeError", words="", n=30):
    with tf.Graph().as_default(), tf.Session() as s:
        q = tf.FIFOQueue(10, tf.string, [[]]); r = make(); o = r.read(q) if up is None else r.read_up_to(q, up); counts = [r.num_records_produced(), r.num_work_units_completed()]; found = []
        s.run(q.enqueue_many([[x if plain else folder + x for x in names]])); s.run(q.close())
        def run():
            for _ in range(n): found.append([x.tolist() if up is not None else x for x in s.run(list(o))])
        end = raises(error, words, run); log.append([found, end, s.run(counts)])
read(tf.TextLineReader, ["a.txt", "e.txt", "b.txt"]); read(lambda: tf.TextLineReader(skip_header_lines=1), ["a.txt", "e.txt", "b.txt"]); read(tf.TextLineReader, ["a.txt", "e.txt", "b.txt"], up=4); read(tf.TextLineReader, ["cr.txt"])
for k in (dict(), dict(header_bytes=2, footer_bytes=2), dict(hop_bytes=2), dict(hop_bytes=6), dict(record_bytes=6), dict(record_bytes=6, header_bytes=1, footer_bytes=1)): read(lambda: tf.FixedLengthRecordReader(**{"record_bytes": 4, **k}), ["f.bin", "e.txt", "f.bin"]); read(lambda: tf.FixedLengthRecordReader(4, header_bytes=2), ["e.txt"], words="reached end of file")
for k in (dict(header_bytes=1, footer_bytes=3), dict(hop_bytes=2)): read(lambda: tf.FixedLengthRecordReader(4, encoding="GZIP", **k), ["f.gz"])
read(lambda: tf.FixedLengthRecordReader(4), ["f.bin", "f.bin"], up=7); read(tf.TFRecordReader, ["t.rec", "t.rec"]); read(tf.TFRecordReader, ["t.rec", "t.rec"], up=2); read(lambda: tf.TFRecordReader(options=z), ["z.rec"])
read(tf.WholeFileReader, ["e.txt", "b.txt"]); read(tf.WholeFileReader, ["e.txt", "b.txt"], up=5); read(tf.IdentityReader, ["x", "y"], plain=True); read(tf.IdentityReader, ["x", "y", "z"], up=2, plain=True); read(tf.TextLineReader, ["a.txt"], up=0, n=2)
read(tf.TextLineReader, ["a.txt", "no.txt"], error="NotFoundError", words="No such file or directory"); read(tf.WholeFileReader, ["no.txt"], error="NotFoundError", words="no.txt"); read(tf.TextLineReader, [""], error="FailedPreconditionError", words="")
read(tf.TFRecordReader, ["cut.rec"], error="DataLossError", words="truncated record at 36"); read(tf.TFRecordReader, ["bad.rec"], error="DataLossError", words="corrupted record at 12"); read(tf.TFRecordReader, ["bad2.rec"], error="DataLossError", words="corrupted record at 0"); read(lambda: tf.TFRecordReader(options=z), ["t.rec"], error="DataLossError", words="")
# 83_states
q = tf.FIFOQueue(9, tf.string, [[]]); r = tf.IdentityReader(name="ir"); k, v = r.read(q); state = r.serialize_state(); p = tf.placeholder(tf.string); restore = r.restore_state(p); n = r.num_records_produced(); t = tf.TextLineReader()
with tf.Session() as s:
    s.run(q.enqueue_many([["a", "b", "c"]])); s.run(k); x = s.run(state); log.append(x); s.run(k); log.append(s.run(state)); s.run(restore, {p: x}); log.append(s.run([n, state])); log.append(raises("InvalidArgumentError", "Could not parse state for IdentityReader 'ir': \\377", lambda: s.run(restore, {p: b"\xff"})))
    s.run(r.reset()); log.append(s.run([state, n])); log.append(raises("UnimplementedError", "Reader SerializeState", lambda: s.run(t.serialize_state()))); log.append(raises("UnimplementedError", "Reader RestoreState", lambda: s.run(t.restore_state("x"))))
# 83_arguments
with tf.Session() as s:
    for f, words in ((lambda: tf.TextLineReader(skip_header_lines=-1), "skip_header_lines must be >= 0 not -1"), (lambda: tf.FixedLengthRecordReader(-4), "record_bytes must be >= 0 not -4"), (lambda: tf.FixedLengthRecordReader(4, footer_bytes=-1), "footer_bytes must be >= 0 not -1"), (lambda: tf.FixedLengthRecordReader(4, hop_bytes=-1), "hop_bytes must be >= 0 not -1")): log.append(raises("InvalidArgumentError", words, lambda: s.run(f().num_records_produced())))
# 83_timeouts
q = tf.train.string_input_producer(["a"]); k, v = tf.TextLineReader().read(q)
with tf.Session() as s: log.append(raises("DeadlineExceededError", "Timed out waiting for notification", lambda: s.run(k, options=tf.RunOptions(timeout_in_ms=50))))
with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as s: log.append(raises("DeadlineExceededError", "", lambda: s.run(k)))
# 88_nodes
def nodes(f):
    with tf.Graph().as_default(): out = f(); log.append([[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node]); log.append([[[x.name, x.shape.as_list(), x.dtype.name] for x in tf.get_default_graph().get_collection("summaries")], [[q.name, [o.name for o in q.enqueue_ops]] for q in tf.get_collection("queue_runners")]]); log.append([[x.name, x.shape.as_list() if x.shape.ndims is not None else None, x.dtype.name] for x in (out if isinstance(out, list) else [out[k] for k in sorted(out)] if isinstance(out, dict) else [out])])
c = tf.constant; P = tf.placeholder; T = tf.train
nodes(lambda: T.batch([c(1.0), tf.zeros([3], tf.int32)], 4)); nodes(lambda: T.batch({"b": c(1.0), "a": P(tf.int32, [None])}, 4, num_threads=2, capacity=8, dynamic_pad=True, allow_smaller_final_batch=True, shared_name="s", name="mine")); nodes(lambda: T.batch([tf.zeros([5, 2])], 4, enqueue_many=True)); nodes(lambda: T.batch([1], P(tf.int32, [])))
nodes(lambda: T.batch_join([[c(1)], [c(2)]], 4)); nodes(lambda: T.batch_join([{"a": 1}, {"a": 2}], 2)); nodes(lambda: T.shuffle_batch([c(1), tf.zeros([2])], 4, 10, 3, seed=3)); nodes(lambda: T.shuffle_batch_join([[c(1)], [c(2)]], 4, 50, 10, seed=3, allow_smaller_final_batch=True))
nodes(lambda: T.maybe_batch([c(1)], P(tf.bool, []), 4)); nodes(lambda: T.maybe_batch([tf.zeros([5])], P(tf.bool, [5]), 4, enqueue_many=True)); nodes(lambda: T.maybe_batch([c(1)], True, 4)); nodes(lambda: T.maybe_shuffle_batch_join([[c(1)], [c(2)]], 4, 50, 10, True, seed=1)); nodes(lambda: T.maybe_batch_join([[c(1)], [c(2)]], P(tf.bool, []), 4)); nodes(lambda: T.maybe_shuffle_batch([c(1)], 4, 50, 10, P(tf.bool, []), seed=1))
# 88_nodes_of_sparse_batches
def nodes(f):
    with tf.Graph().as_default(): out = f(); log.append([[n.name, n.op, list(n.input), sorted(s.decode() for s in n.attr["_class"].list.s)] for n in tf.get_default_graph().as_graph_def().node]); log.append([[y.name for y in (x.indices, x.values, x.dense_shape)] if isinstance(x, tf.SparseTensor) else x.name for x in (out if isinstance(out, list) else [out])])
P = tf.placeholder; S = lambda r: tf.SparseTensor(P(tf.int64, [None, r]), P(tf.string, [None]), P(tf.int64, [r]))
nodes(lambda: tf.train.batch([S(1), tf.constant(2)], 4)); nodes(lambda: tf.train.batch([S(2)], 4, enqueue_many=True, allow_smaller_final_batch=True)); nodes(lambda: tf.train.maybe_batch([S(1)], P(tf.bool, []), 4)); nodes(lambda: tf.train.batch_join([[S(1)], [S(1)]], 4))
# 88_errors
T = tf.train; P = tf.placeholder
log.append(raises("ValueError", "Cannot infer Tensor's rank", lambda: T.batch([P(tf.float32)], 4))); log.append(raises("ValueError", "capacity 3 must be bigger than min_after_dequeue 5.", lambda: T.shuffle_batch([tf.constant(1)], 4, 3, 5))); log.append(raises("ValueError", "capacity 5 must be bigger than min_after_dequeue 5.", lambda: T.shuffle_batch([tf.constant(1)], 4, 5, 5)))
log.append(raises("ValueError", "All shapes must be fully defined", lambda: T.batch([P(tf.float32, [None])], 4))); log.append(raises("ValueError", "Expected at least one tensor in batch().", lambda: T.batch([], 4))); log.append(raises("ValueError", "Expected at least one set of tensors", lambda: T.batch_join([], 4))); log.append(raises("TypeError", "Expected types to be consistent: int32 vs. float32.", lambda: T.batch_join([[1], [2.0]], 4)))
log.append(raises("ValueError", "Must provide queue and enqueue_ops.", lambda: T.batch([1], 4, num_threads=0))); log.append(raises("TypeError", "", lambda: T.batch(1, 4))); log.append(raises("ValueError", "`keep_input` cannot be a vector when `enqueue_many=False`.", lambda: T.maybe_batch([1], [True, False], 4))); log.append(raises("ValueError", "", lambda: T.batch([1], 4, shapes=[[1]]))); log.append(raises("ValueError", "All dictionaries in tensors_list must have the same keys", lambda: T.batch_join([{"a": 1}, {"b": 1}], 2)))
# 88_runs
def batches(make, n=50, seeds=True):
    with tf.Graph().as_default(), tf.Session() as s:
        q = tf.train.range_input_producer(7, num_epochs=2, shuffle=False); b = make(q); s.run([tf.global_variables_initializer(), tf.local_variables_initializer()]); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c); found = []
        def run():
            for _ in range(n): found.append(s.run(b))
        end = raises("OutOfRangeError", "is closed and has insufficient elements", run); c.request_stop(); c.join(t); return found, end, any(x.is_alive() for x in t)
T = tf.train
log.append(batches(lambda q: T.batch([q.dequeue()], 4))); log.append(batches(lambda q: T.batch([q.dequeue()], 4, allow_smaller_final_batch=True))); log.append(batches(lambda q: T.batch([tf.ones([q.dequeue()], tf.int32)], 4, dynamic_pad=True, shapes=[[None]])))
log.append(batches(lambda q: T.maybe_batch([tf.range(4) * q.dequeue()], tf.constant([True, False, True, False]), 6, enqueue_many=True))); log.append(batches(lambda q: T.batch([tf.zeros([0, 2])], 1, enqueue_many=True) if False else T.batch([tf.fill([tf.mod(q.dequeue(), 3)], 5)], 3, enqueue_many=True)))
def kept(q): d = q.dequeue(); return T.maybe_batch([d], tf.equal(tf.mod(d, 2), 0), 3)
log.append(batches(kept)); log.append(batches(lambda q: {"x": T.batch({"b": q.dequeue(), "a": 1.5}, 2)["b"]}))
found, end, alive = batches(lambda q: T.shuffle_batch([q.dequeue()], 3, 20, 5, num_threads=2, allow_smaller_final_batch=True)); log.append([sorted(int(x) for b in found for x in b), [len(b) for b in found], end, alive])
found, end, alive = batches(lambda q: T.shuffle_batch_join([[q.dequeue()], [q.dequeue()]], 3, 20, 5)); log.append([len(found), [len(b) for b in found], end, alive])
found, end, alive = batches(lambda q: T.batch_join([[q.dequeue(), "x"], [q.dequeue(), "y"]], 7)); log.append([sorted(int(x) for b in found for x in b[0]), sorted(set(x for b in found for x in b[1])) != [], end, alive])
# 88_sparse_runs
q = tf.train.range_input_producer(6, num_epochs=1, shuffle=False); d = q.dequeue(); n = tf.mod(d, 3); i = tf.expand_dims(tf.cast(tf.range(n), tf.int64), 1); sp = tf.SparseTensor(i, tf.fill([n], tf.as_string(d)), [4]); b = tf.train.batch([sp, d], 3)
with tf.Session() as s:
    s.run(tf.local_variables_initializer()); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c)
    for _ in range(2): x, y = s.run(b); log.append([x.indices, x.values, x.dense_shape, y])
    log.append(raises("OutOfRangeError", "", lambda: s.run(b))); c.request_stop(); c.join(t)
# 88_summaries
b = tf.train.shuffle_batch([tf.constant(1)], 1, 10, 3); m = tf.summary.merge_all()
with tf.Session() as s: e = tf.get_collection("queue_runners")[0].enqueue_ops[0]; [s.run(e) for _ in range(6)]; log.append([m.name, s.run(m)])
# 89_slices
tf.set_random_seed(3); a, b = tf.train.slice_input_producer([np.arange(10, dtype=np.float32).reshape(5, 2), tf.constant([0, 1, 2, 3, 4])], num_epochs=2, seed=4); log.append([[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node]); log.append([a.shape.as_list(), b.shape.as_list()])
with tf.Session() as s:
    s.run(tf.local_variables_initializer()); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c); log.append([s.run([a, b]) for _ in range(10)]); log.append(raises("OutOfRangeError", "", lambda: s.run(a))); c.request_stop(); c.join(t)
log.append(raises("ValueError", "Expected at least one tensor in slice_input_producer().", lambda: tf.train.slice_input_producer([])))
# 89_slices_in_batches
x, y = tf.train.slice_input_producer([tf.constant(np.arange(20, dtype=np.float32)), tf.range(20)], num_epochs=1); b = tf.train.batch([x, y], 6, num_threads=3, allow_smaller_final_batch=True)
with tf.Session() as s:
    s.run(tf.local_variables_initializer()); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c); found = []
    def run():
        while True: found.append(s.run(b))
    log.append(raises("OutOfRangeError", "", run)); c.request_stop(); c.join(t); log.append([sorted(int(v) for f in found for v in f[0]), [len(f[0]) for f in found], all((f[0] == f[1]).all() for f in found)])
# 90_nodes
q = tf.FIFOQueue(3, [tf.int32, tf.float32], shapes=[[], [2]], name="q"); q.enqueue([1, [1.0, 2.0]]); q.enqueue_many([[1, 2], [[1.0, 2.0], [3.0, 4.0]]]); out = [q.dequeue(), q.dequeue_many(2), q.dequeue_up_to(2)]; out2 = [q.size(), q.close(), q.close(True), q.is_closed()]
r = tf.RandomShuffleQueue(3, 1, [tf.int32, tf.string], shapes=[[], []], names=["a", "b"], seed=5); r.enqueue({"a": 1, "b": "x"}); d = r.dequeue(); p = tf.PaddingFIFOQueue(3, tf.float32, shapes=[[None]]); p.enqueue([[1.0, 2.0]]); x = [p.dequeue_many(tf.placeholder(tf.int32)), p.dequeue()]
w = tf.PriorityQueue(3, [tf.string], shapes=[[]]); w.enqueue([1, "a"]); z = w.dequeue(); f = tf.FIFOQueue(3, tf.int32); g = f.dequeue(); f.enqueue(3); f.enqueue((4,)); l = tf.QueueBase.from_list(tf.placeholder(tf.int32), [p, p]); l.dequeue()
log.append([[n.name, n.op, list(n.input)] for n in tf.get_default_graph().as_graph_def().node]); log.append([[[t.name, t.shape.as_list(), t.dtype.name] for t in o] for o in out]); log.append([t.name for t in out2]); log.append([sorted(d), [t.shape.as_list() for t in x], w.dtypes == [tf.int64, tf.string], [h.as_list() for h in w.shapes], q.name, q.names, r.names, f.shapes, g.shape.ndims, q.queue_ref.dtype.name, l.name])
# 90_errors_of_graphs
F = tf.FIFOQueue; i = tf.int32
for f in (lambda: F(3, [i], shapes=[[], []]), lambda: F(3, [i], names=["a", "b"]), lambda: F(3, [i], names=["a"]).enqueue(3), lambda: F(3, [i], names=["a"]).enqueue({"b": 3}), lambda: F(3, [i]).enqueue({"a": 1}), lambda: F(3, [i], shapes=[[2]]).enqueue([[1, 2, 3]]), lambda: F(3, [i], shapes=[[2]]).enqueue_many([[1, 2, 3]]), lambda: F(3, [i, i], shapes=[[], []]).enqueue_many([[1, 2, 3], [1, 2]]), lambda: F(3, [i], shapes=[[]]).enqueue_many([1]), lambda: F(3, [i], shapes=[[None]]), lambda: tf.PaddingFIFOQueue(3, [i], None), lambda: tf.PaddingFIFOQueue(3, [i], [None]), lambda: F(3, [i], shapes=[[]]).enqueue(tf.constant(1.0)), lambda: F(3, [i], [[]]).dequeue_many(-2)): log.append(raises("ValueError", "", f))
for f in (lambda: F(3, [i]).enqueue("x"), lambda: tf.QueueBase.from_list(0, [1]), lambda: tf.QueueBase.from_list(0, [F(3, i), F(3, tf.float32)]), lambda: F(3, [i]).dequeue_many("x")): log.append(raises("TypeError", "", f))
# 90_errors_of_runs
P = tf.placeholder; i = tf.int32; F = lambda *a, **k: tf.FIFOQueue(3, *a, **k)
def fails(kind, words, f):
    with tf.Graph().as_default(), tf.Session() as s: log.append(raises(kind, words, lambda: f(s)))
def fed(s, q, put, *values): p = [P(i) for _ in values]; s.run(getattr(q, put)(p), dict(zip(p, values)))
I = "InvalidArgumentError"
fails(I, "Shape mismatch in tuple component 0. Expected [2], got [3]", lambda s: fed(s, F([i], [[2]]), "enqueue", [1, 2, 3])); fails(I, "Shape mismatch in tuple component 0. Expected [1,2], got [1,3]", lambda s: fed(s, F([i], [[2]]), "enqueue_many", [[1, 2, 3]])); fails(I, "Shape mismatch in tuple component 1. Expected [3], got [2]", lambda s: fed(s, F([i, i], [[], []]), "enqueue_many", [1, 2, 3], [1, 2]))
fails(I, "Shape mismatch in tuple component 0. Expected [?,2], got [1,3]", lambda s: fed(s, tf.PaddingFIFOQueue(3, [i], [[None, 2]]), "enqueue", [[1, 2, 3]])); fails(I, "Shape mismatch in tuple component 0. Expected [1,?,2], got [1,1,3]", lambda s: fed(s, tf.PaddingFIFOQueue(3, [i], [[None, 2]]), "enqueue_many", [[[1, 2, 3]]]))
fails(I, "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.", lambda s: s.run(F([i]).dequeue_many(2))); fails(I, "DequeueUpToOp requested -2 < 0 elements", lambda s: s.run(F([i], [[]]).dequeue_up_to(-2))); fails(I, "min_after_dequeue 3 must be < capacity 2", lambda s: s.run(tf.RandomShuffleQueue(2, 3, [i]).size())); fails(I, "min_after_dequeue -3 must be >= 0", lambda s: s.run(tf.RandomShuffleQueue(2, -3, [i]).size()))
def shared(a, b): return lambda s: [s.run(a().size()), s.run(b().size())]
fails(I, "Shared queue 'x' has capacity 3 but requested capacity was 2", shared(lambda: F([i], [[]], shared_name="x"), lambda: tf.FIFOQueue(2, [i], [[]], shared_name="x"))); fails(I, "Shared queue 'x' has component types int32 but requested component types were float", shared(lambda: F([i], [[]], shared_name="x"), lambda: F([tf.float32], [[]], shared_name="x"))); fails(I, "Shared queue 'x' has component shapes [[]] but requested component shapes were [[2]]", shared(lambda: F([i], [[]], shared_name="x"), lambda: F([i], [[2]], shared_name="x"))); fails(I, "Expected FIFOQueue, found RandomShuffleQueueV2", shared(lambda: F([i], [[]], shared_name="x"), lambda: tf.RandomShuffleQueue(3, 0, [i], [[]], shared_name="x")))
fails(I, "Signature mismatch, have: resource, float-> expected: resource, int32->", lambda s: s.run(tf.raw_ops.QueueEnqueueV2(handle=F([i], [[]]).queue_ref, components=[tf.constant(1.0)]))); fails("DeadlineExceededError", "Timed out waiting for notification", lambda s: s.run(F([i], [[]]).dequeue(), options=tf.RunOptions(timeout_in_ms=50)))
# 90_closed
i = tf.int32
for make in (lambda: tf.FIFOQueue(9, i, [[]], shared_name="q"), lambda: tf.PaddingFIFOQueue(9, i, [[]], shared_name="q"), lambda: tf.RandomShuffleQueue(9, 4, i, [[]], seed=1, shared_name="q")):
    with tf.Graph().as_default(), tf.Session() as s:
        q = make(); kind = "FIFOQueue" if "FIFO" in type(q).__name__ else "RandomShuffleQueue"; s.run(q.enqueue_many([[1, 2, 3, 4]])); s.run(q.close()); log.append(raises("CancelledError", f"{kind} 'q' is closed.", lambda: s.run(q.enqueue(1)))); log.append(raises("CancelledError", f"{kind} 'q' is closed.", lambda: s.run(q.enqueue_many([[1, 2]])))); s.run(q.enqueue_many([tf.zeros([0], i)])); log.append(raises("CancelledError", "Queue 'q' is already closed.", lambda: s.run(q.close()))); s.run(q.close(True))
        log.append([s.run(q.is_closed()), s.run(q.size()), s.run(q.dequeue()), raises("OutOfRangeError", f"{kind} 'q' is closed and has insufficient elements (requested 4, current size 3)", lambda: s.run(q.dequeue_many(4))), s.run(q.dequeue_many(0)), s.run(q.dequeue_many(2)), s.run(q.dequeue_up_to(9)), raises("OutOfRangeError", f"{kind} 'q' is closed and has insufficient elements (requested 1, current size 0)", lambda: s.run(q.dequeue())), raises("OutOfRangeError", "", lambda: s.run(q.dequeue_up_to(2)))])
# 90_orders
q = tf.RandomShuffleQueue(100, 5, [tf.int32], [[]], seed=3); w = tf.PriorityQueue(100, [tf.int32], [[]]); p = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], [[None, None], []])
with tf.Session() as s:
    s.run(q.enqueue_many([tf.range(40)])); d = q.dequeue(); log.append([s.run(q.dequeue_many(10)), [s.run(d) for _ in range(10)]]); s.run(q.close()); log.append(s.run(q.dequeue_up_to(30)))
    s.run(w.enqueue_many([tf.constant([3, 1, 2, 1, 3, 2, 1, 1, 2, 3, 1, 1], tf.int64), tf.range(12)])); d = w.dequeue(); log.append([s.run(w.dequeue_many(5)), [s.run(d) for _ in range(3)], s.run(w.dequeue_many(4))])
    e = [p.enqueue([[[k] * n], str(k)]) for k, n in ((1, 2), (2, 3), (3, 1))]; [s.run(x) for x in e]; log.append(s.run(p.dequeue_many(2))); log.append(s.run(p.dequeue()))
# 90_waiting
import threading, time
def until(f):
    end = time.time() + 60
    while not f() and time.time() < end: time.sleep(0.01)
q = tf.FIFOQueue(2, [tf.int32], [[]]); five, size, put, close, rest = q.dequeue_many(5), q.size(), q.enqueue_many([[1, 2, 3]]), q.close(), q.dequeue_up_to(5); seen = []
with tf.Session() as s:
    t = threading.Thread(target=lambda: seen.append(raises("OutOfRangeError", "is closed and has insufficient elements (requested 2, current size 0)", lambda: s.run(five)))); t.start(); time.sleep(0.3); s.run(put); until(lambda: s.run(size) == 0); n = s.run(size); s.run(close); t.join(); log.append([seen, n, s.run(rest)])
q = tf.FIFOQueue(1, [tf.int32], [[]]); put, cancel, size, one, closed = q.enqueue_many([[1, 2, 3]]), q.close(True), q.size(), q.dequeue(), q.is_closed(); seen = []
with tf.Session() as s:
    t = threading.Thread(target=lambda: seen.append(raises("CancelledError", "", lambda: s.run(put)))); t.start(); until(lambda: s.run(size) == 1); time.sleep(0.2); s.run(cancel); t.join(); log.append([seen, s.run(size), s.run(closed), s.run(one)])
q = tf.FIFOQueue(1, [tf.int32], [[]]); put, close, size, one, closed = q.enqueue_many([[1, 2, 3]]), q.close(), q.size(), q.dequeue(), q.is_closed(); seen = []
with tf.Session() as s:
    t = threading.Thread(target=lambda: seen.append(s.run(put))); t.start(); until(lambda: s.run(size) == 1); c = threading.Thread(target=lambda: s.run(close)); c.start(); time.sleep(0.3); log.append([s.run(closed), s.run(one), s.run(one)]); t.join(); c.join(); log.append([s.run(closed), s.run(one), s.run(size)])
# 90_accumulators
a = tf.ConditionalAccumulator(tf.float32, [2]); b = tf.SparseConditionalAccumulator(tf.float32, [3, 2]); w = tf.ConditionalAccumulator(tf.float32, reduction_type="SUM"); P = tf.placeholder; log.append([a.name, a.dtype == tf.float32, b.name, a.accumulator_ref.dtype.name])
a.apply_grad([1.0, 2.0], 3); t = a.take_grad(2); n = a.num_accumulated(); a.set_global_step(4); b.apply_indexed_slices_grad(tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1], tf.int64), tf.constant([3, 2], tf.int64))); b.take_indexed_slices_grad(2); b.num_accumulated(); b.set_global_step(1); b.apply_grad([0], [[1.0, 2.0]])
log.append([[x.name, x.op, list(x.input)] for x in tf.get_default_graph().as_graph_def().node]); log.append([t.shape.as_list(), n.shape.as_list()])
g, i = P(tf.float32, None), P(tf.int64, []); put = a.apply_grad(g, i); I = "InvalidArgumentError"
with tf.Session() as s:
    for x in ([1, 2], [3, 4], [5, 9]): s.run(put, {g: x, i: 0})
    log.append([s.run(n), s.run(t), s.run(n)]); s.run(put, {g: [1, 2], i: 0}); log.append(s.run(n)); s.run(put, {g: [1, 2], i: 1}); log.append(s.run(n)); log.append(raises(I, "Shape mismatch: expected [2], got [3]", lambda: s.run(put, {g: [1, 2, 3], i: 1}))); log.append(raises(I, "Argument num_required must be positive, but was 0", lambda: s.run(a.take_grad(0)))); log.append(raises("DeadlineExceededError", "", lambda: s.run(t, options=tf.RunOptions(timeout_in_ms=50))))
    s.run(a.set_global_step(5)); s.run(put, {g: [1, 2], i: 4}); log.append(s.run(n)); s.run(put, {g: [1, 2], i: 5}); log.append(s.run(n)); [s.run(w.apply_grad([1.0, 2.0])) for _ in range(2)]; log.append(s.run(w.take_grad(2)))
    s.run(b.apply_grad([0, 2], [[1.0, 2.0], [3.0, 4.0]], [3, 2])); s.run(b.apply_grad([1, 2], [[5.0, 6.0], [7.0, 8.0]])); log.append([s.run(b.num_accumulated()), list(s.run(b.take_grad(1)))]); s.run(b.apply_grad([2], [[5.0, 6.0]], local_step=1)); r = s.run(b.take_indexed_slices_grad(1)); log.append([r.indices, r.values, r.dense_shape])
    log.append(raises(I, "index of slice 0 exceeded limits of shape; index is 5 exceeded 3", lambda: s.run(b.apply_grad([5], [[1.0, 2.0]], local_step=9)))); log.append(raises(I, "expected values dim 1 to be 2, got 3", lambda: s.run(b.apply_grad([0], [[1.0, 2.0, 3.0]], local_step=9)))); log.append(raises(I, "expected shape dim 0 to be 3, got 4", lambda: s.run(b.apply_grad([0], [[1.0, 2.0]], [4, 2], local_step=9)))); log.append(raises(I, "Expected 2 non-empty input values, got 1", lambda: s.run(b.apply_grad([0, 1], [[1.0, 2.0]], local_step=9))))
    d = tf.SparseConditionalAccumulator(tf.float32); s.run(d.apply_grad([0, 4], [[1.0, 2.0], [3.0, 4.0]])); s.run(d.apply_grad([4], [[1.0, 2.0]])); log.append(list(s.run(d.take_grad(2))))
log.append(raises("ValueError", "", lambda: tf.ConditionalAccumulator(tf.float32, reduction_type="x"))); log.append(raises("TypeError", "", lambda: tf.ConditionalAccumulator(tf.bool)))
# 91_runners
q = tf.FIFOQueue(3, tf.int32, name="q"); e = q.enqueue(1); r = tf.train.QueueRunner(q, [e] * 2); log.append([r.name, r.queue is q, [x.name for x in r.enqueue_ops], r.close_op.name, r.cancel_op.name, [x.__name__ for x in r.queue_closed_exception_types], r.exceptions_raised]); tf.train.add_queue_runner(r); tf.train.add_queue_runner(r, "other"); log.append([len(tf.get_collection("queue_runners")), len(tf.get_collection("other"))])
log.append([r.to_proto(), tf.train.QueueRunner.from_proto(r.to_proto()).name, tf.train.QueueRunner(q, [e], queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError)).to_proto(), r.to_proto("elsewhere")])
for kind, words, f in (("ValueError", "Must provide queue and enqueue_ops.", lambda: tf.train.QueueRunner()), ("ValueError", "Must provide queue and enqueue_ops.", lambda: tf.train.QueueRunner(q, [])), ("TypeError", "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw: 3", lambda: tf.train.QueueRunner(q, [e], queue_closed_exception_types=3)), ("ValueError", "Cannot start queue runners: No default session is registered.", lambda: tf.train.start_queue_runners()), ("TypeError", "sess must be a `tf.Session` object.", lambda: tf.train.start_queue_runners(3))): log.append(raises(kind, words, f))
with tf.Session() as s:
    c = tf.train.Coordinator(); t = r.create_threads(s, c, start=True); log.append([[x.name, x.daemon] for x in t]); log.append([r.create_threads(s, c), r.create_threads(s)]); c.request_stop(); c.join(t); log.append([[x.is_alive() for x in t], r.exceptions_raised]); log.append([[x.name, x.daemon] for x in r.create_threads(s)])
# 91_ends
import threading
q = tf.FIFOQueue(30, tf.int32, [[]]); n = tf.Variable(0, name="n"); a = tf.train.QueueRunner(q, [q.enqueue(n.count_up_to(5)), q.enqueue(n.count_up_to(9))])
with tf.Session() as s: s.run(n.initializer); c = tf.train.Coordinator(); t = a.create_threads(s, c, daemon=True, start=True); d = q.dequeue_up_to(30); found = s.run(d); log.append([len(found), sorted(found.tolist()), c.should_stop()]); c.request_stop(); c.join(t)
q = tf.FIFOQueue(30, tf.float32, [[]]); b = tf.train.QueueRunner(q, [q.enqueue(tf.check_numerics(tf.constant(np.nan), "bad"))])
with tf.Session() as s: c = tf.train.Coordinator(); t = b.create_threads(s, c, start=True); log.append(raises("InvalidArgumentError", "bad", lambda: c.join(t))); log.append([c.should_stop(), [x.is_alive() for x in t], s.run(q.is_closed())])
# 92_coordinator
c = tf.train.Coordinator(); log.append([c.should_stop(), c.wait_for_stop(0.01)])
with c.stop_on_exception(): raise ValueError("mine")
log.append([c.should_stop(), raises("ValueError", "mine", lambda: c.join([])), c.joined]); c.clear_stop(); log.append(c.should_stop()); c.request_stop(tf.errors.OutOfRangeError(None, None, "end")); c.join(); log.append(c.should_stop())
# 92_the_usual_program
import threading
before = set(threading.enumerate())
for n in "ab": open(folder + n, "w").write("\n".join(f"{n}{k}" for k in range(7)) + "\n")
q = tf.train.string_input_producer([folder + "a", folder + "b"], num_epochs=2, shuffle=False); k, v = tf.TextLineReader().read(q); b = tf.train.shuffle_batch([v], 4, 30, 8, num_threads=3, allow_smaller_final_batch=True); found = []
with tf.Session() as s:
    s.run([tf.global_variables_initializer(), tf.local_variables_initializer()]); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(sess=s, coord=c)
    try:
        while not c.should_stop(): found += s.run(b).tolist()
    except tf.errors.OutOfRangeError: log.append("end")
    finally: c.request_stop()
    c.join(t)
log.append([sorted(x.decode() for x in found), [x for x in threading.enumerate() if x not in before and x in t]])
# 92_closed_while_threads_wait
import threading
q = tf.FIFOQueue(1, tf.int32, [[]]); d, e = q.dequeue_many(3), q.enqueue_many([[1, 2, 3, 4, 5]]); r = tf.FIFOQueue(1, tf.int32, [[]]); f = r.enqueue_many([[1, 2]]); seen = []; started = threading.Barrier(4)
def go(x): started.wait(); seen.append(raises("CancelledError", "", lambda: s.run(x)))
s = tf.Session(); t = [threading.Thread(target=go, args=(x,)) for x in (r.dequeue_many(9), f, f)]; [x.start() for x in t]; started.wait()
import time; time.sleep(0.5); s.close(); [x.join(60) for x in t]; log.append([[x.is_alive() for x in t], len(seen)])
# 93_one_graph
x = tf.train.range_input_producer(8, shuffle=False).dequeue(); y = tf.train.range_input_producer(8, shuffle=False, name="eval").dequeue(); f = lambda x: tf.get_variable("w", initializer=1.0) * tf.cast(x, tf.float32)
with tf.variable_scope("m"): loss = tf.square(f(x) - 2.0 * tf.cast(x, tf.float32))
with tf.variable_scope("m", reuse=True): score = f(y)
step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
with tf.Session() as s: s.run(tf.global_variables_initializer()); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c); before = [s.run(score) for _ in range(4)]; [s.run(step) for _ in range(16)]; log.append([before, [s.run(score) for _ in range(4)]]); c.request_stop(); c.join(t)
# 93_monitored
q = tf.train.range_input_producer(6, num_epochs=1, shuffle=False); b = tf.train.batch([q.dequeue()], 2); step = tf.train.get_or_create_global_step().assign_add(1); seen = []
with tf.train.MonitoredTrainingSession() as s:
    while not s.should_stop(): seen.append(s.run([b, step])[0].tolist())
log.append(seen)
# 93_exported
q = tf.train.range_input_producer(4, num_epochs=1, shuffle=False); b = tf.train.batch([q.dequeue()], 2, name="b"); tf.train.export_meta_graph(folder + "m.meta")
with tf.Graph().as_default(), tf.Session() as s:
    tf.train.import_meta_graph(folder + "m.meta"); log.append([r.name for r in tf.get_collection("queue_runners")]); s.run(tf.local_variables_initializer()); c = tf.train.Coordinator(); t = tf.train.start_queue_runners(s, c); log.append([s.run("b:0"), s.run("b:0"), raises("OutOfRangeError", "", lambda: s.run("b:0"))]); c.request_stop(); c.join(t)
""")
