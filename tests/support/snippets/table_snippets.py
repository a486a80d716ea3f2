"""Programs with lookup tables, in the form of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

# TensorFlow 2 has what was in contrib elsewhere.
_BEGIN = """
try: L = tf.contrib.lookup
except AttributeError: from tensorflow.python.ops import lookup_ops as L
def nodes(): return [[n.name, n.op, list(n.input), sorted((k, str(n.attr[k].i or n.attr[k].type or n.attr[k].b)) for k in n.attr if k in ("key_dtype", "value_dtype", "Tin", "Tout", "key_index", "value_index", "vocab_size", "offset", "use_node_name_sharing"))] for n in tf.get_default_graph().as_graph_def().node]
def collections(): return [[k, [x.name for x in tf.get_collection(k)]] for k in ("table_initializer", "asset_filepaths", "saveable_objects")]
def pairs(found): return sorted([str(k), str(v)] for k, v in zip(found[0].tolist(), found[1].tolist()))
KV, SH, TI, TX, I64, c, R = tf.lookup.KeyValueTensorInitializer, tf.lookup.StaticHashTable, tf.lookup.TextFileInitializer, tf.lookup.TextFileIndex, tf.int64, tf.constant, tf.raw_ops
MT, DT = tf.lookup.experimental.MutableHashTable, tf.lookup.experimental.DenseHashTable
def fed(x, t=None): return tf.placeholder_with_default(c(x, t), None)
def file(text): open(folder + "v.txt", "w").write(text); return folder + "v.txt"
"""
_PROGRAMS = r"""
# static_nodes
t = SH(KV(["a", "b"], [1, 2]), -1); t.lookup(c(["a", "z"])); t.size(); t.export(); tf.tables_initializer(); log += [nodes(), collections(), t.name, t.key_dtype.name, t.value_dtype.name]
# mutable_nodes
t = MT(tf.string, tf.float32, [0.0, 0.0]); k = c(["a"]); t.insert(k, [[1.0, 2.0]]); t.lookup(k); t.size(); t.export(); t.remove(k); log += [nodes(), collections()]
# dense_nodes
t = DT(I64, I64, -1, 0, -2); k = c([5], I64); t.insert(k, k); t.lookup(k); t.size(); t.erase(k); log += [nodes(), collections()]
# vocabulary_nodes
t = L.index_table_from_tensor(["a", "b"]); t.lookup(c(["a"])); u = L.index_to_string_table_from_tensor(["a", "b"], default_value="U"); u.lookup(c([1], I64)); log += [nodes(), collections()]
# no_tables
log.append([tf.tables_initializer().name, tf.tables_initializer().type]); log.append(nodes())
# static
t = SH(KV(["a", "b"], [1, 2]), -1); y, e, z = t.lookup(c([["a", "q"]])), t.export(), t.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2]))
with tf.Session() as s:
    log += [s.run(t.size()), raises("FailedPreconditionError", "Table not initialized.", lambda: s.run(y)), raises("AbortedError", "HashTable is not initialized.", lambda: s.run(e))]
    s.run(t.initializer); s.run(tf.tables_initializer()); log += [s.run(y), s.run(t.size()), pairs(s.run(e)), s.run(z).values.tolist()]
with tf.Session() as s: log.append(raises("FailedPreconditionError", "Table not initialized.", lambda: s.run(y)))
# static_errors
log += [raises("TypeError", "Dtype of argument `keys` must be <dtype: 'string'>, received: <dtype: 'int32'>", lambda: SH(KV(["a"], [1]), -1).lookup(c([1]))), raises("TypeError", "Expected int32, but got", lambda: SH(KV(["a"], [1]), "x")), raises("ValueError", "LookupTableImportV2", lambda: SH(KV(["a", "b"], [1]), 1)), raises("TypeError", "", lambda: KV(["a"], [1.5], tf.string, I64))]
with tf.Session() as s:
    log += [raises("FailedPreconditionError", "HashTable has different value for same key. Key a has 1 and trying to add value 2", lambda: s.run(SH(KV(["a", "a"], [1, 2]), -1).initializer)), s.run(SH(KV(["a", "a"], [1, 1]), -1).initializer), raises("InvalidArgumentError", "", lambda: s.run(SH(KV(c([1.5]), c([1])), 1).initializer))]
# raw
h = R.HashTableV2(key_dtype=tf.string, value_dtype=I64); a, one = c(["a"]), c([1], I64)
with tf.Session() as s:
    log += [raises("InvalidArgumentError", "", lambda: s.run(R.InitializeTableV2(table_handle=h, keys=fed(["a", "b"]), values=fed([1], I64)))), raises("UnimplementedError", "Insert not supported by InitializableLookupTable implementations", lambda: s.run(R.LookupTableInsertV2(table_handle=h, keys=a, values=one)))]
    s.run(R.InitializeTableV2(table_handle=h, keys=a, values=one)); s.run(R.InitializeTableV2(table_handle=h, keys=a, values=one + 1)); log.append(s.run(R.LookupTableFindV2(table_handle=h, keys=c(["a", "b"]), default_value=c(7, I64))))
    log += [raises("InvalidArgumentError", "Signature mismatch", lambda: s.run(R.LookupTableFindV2(table_handle=h, keys=a, default_value=c(2)))), raises("InvalidArgumentError", "Signature mismatch", lambda: s.run(R.LookupTableFindV2(table_handle=h, keys=one, default_value=c(2, I64)))), raises("UnimplementedError", "Remove not supported by InitializableLookupTable implementations", lambda: s.run(R.LookupTableRemoveV2(table_handle=h, keys=a)))]
# old_handles
h = R.MutableHashTable(key_dtype=tf.string, value_dtype=I64)
with tf.Session() as s: s.run(R.LookupTableInsert(table_handle=h, keys=c(["a"]), values=c([4], I64))); log += [s.run(R.LookupTableFind(table_handle=h, keys=c(["a", "b"]), default_value=c(0, I64))), s.run(R.LookupTableSize(table_handle=h))]
# shared
one, two = [R.MutableHashTableV2(key_dtype=I64, value_dtype=tf.float32, shared_name="one", name=n) for n in "ab"]
with tf.Session() as s: s.run(R.LookupTableInsertV2(table_handle=one, keys=c([1], I64), values=c([4.0]))); log.append(s.run(R.LookupTableFindV2(table_handle=two, keys=c([[1], [2]], I64), default_value=0.5)))
# files
def load(text, *a, **kw):
    t = SH(TI(file(text), *a, **kw), "" if a[2] == tf.string else -1)
    with tf.Session() as s: s.run(tf.tables_initializer()); return pairs(s.run(t.export()))
for args, kw in [((tf.string, TX.WHOLE_LINE, I64, TX.LINE_NUMBER), {}), ((I64, TX.LINE_NUMBER, tf.string, TX.WHOLE_LINE), {"vocab_size": 2}), ((tf.string, 0, tf.float32, 1), {"delimiter": " "}), ((tf.string, 0, tf.string, 1), {"delimiter": " "}), ((tf.string, 0, I64, TX.LINE_NUMBER), {"delimiter": " ", "value_index_offset": 10})]:
    with tf.Graph().as_default(): log.append(load("a 1\nb 2\nc 3.5\n", *args, **kw))
with tf.Graph().as_default(): log += [load("a\nb", tf.string, TX.WHOLE_LINE, I64, TX.LINE_NUMBER), load("a\r\nb\rc\r\r\nd\r", tf.string, TX.WHOLE_LINE, I64, TX.LINE_NUMBER)]
# file_errors
def load(text, *a, **kw):
    with tf.Graph().as_default(), tf.Session() as s: s.run(SH(TI(file(text), *a, **kw), -1).initializer)
log += [raises("InvalidArgumentError", "Field x in line 2 is not a valid int64.", lambda: load("a 1\nb 2\nc x\n", tf.string, 0, I64, 1, delimiter=" ")), raises("InvalidArgumentError", "line 0 (a 1) : expected at least 6 got 2", lambda: load("a 1\n", tf.string, 0, I64, 5, delimiter=" ")), raises("InvalidArgumentError", "empty line found at position 5.", lambda: load("a\nb\n\nc\n", tf.string, -2, I64, -1)), raises("FailedPreconditionError", "Key a has 0 and trying to add value 2", lambda: load("a\nb\na\n", tf.string, -2, I64, -1)), raises("InvalidArgumentError", "Invalid vocab_size in", lambda: load("a\nb\n", tf.string, -2, I64, -1, vocab_size=9)), raises("InvalidArgumentError", "Field a in line 0 is not a valid int64.", lambda: load("a\n", I64, -2, I64, -1))]
with tf.Session() as s: log.append(raises("NotFoundError", "nofile.txt", lambda: s.run(SH(TI(folder + "nofile.txt", tf.string, -2, I64, -1), -1).initializer)))
log += [raises("ValueError", "`key_index` should be >= -2, received: -3.", lambda: TI("x", tf.string, -3, I64, 0)), raises("ValueError", "`key_dtype` must be int64 if `key_index` is -1, received: <dtype: 'int32'>", lambda: TI("x", tf.int32, -1, I64, 0)), raises("ValueError", "`vocab_size` should be > 0, received: 0", lambda: TI("x", tf.string, -2, I64, -1, vocab_size=0))]
# mutable
t = MT(tf.string, tf.float32, [0.0, 9.0]); k, v = fed(["a", "b"]), fed([[1.0, 2.0], [3.0, 4.0]])
with tf.Session() as s:
    log.append(s.run(t.size())); s.run(t.insert(k, v)); log += [s.run(t.size()), s.run(t.lookup(c([["a"], ["z"]]))), s.run(t.lookup(c(["z", "a"]), dynamic_default_values=c([[5.0, 5.0], [6.0, 6.0]])))]
    s.run(t.remove(c(["a", "none"]))); log += [pairs(s.run(t.export())), raises("InvalidArgumentError", "Expected shape [2,2] for value, got [2,1]", lambda: s.run(t.insert(k, fed([[1.0], [3.0]])))), raises("InvalidArgumentError", "Expected shape [2,2] for value, got [1,2]", lambda: s.run(t.insert(k, fed([[1.0, 2.0]]))))]
t = MT(I64, tf.string, "d")
with tf.Session() as s: s.run(t.insert(c([1, 1, 2], I64), c(["x", "y", "z"]))); log += [s.run(t.lookup(c([1, 2, 3], I64))), s.run(t.lookup(c(2, I64))), s.run(t.size())]
log += [raises("ValueError", "Tensor conversion requested dtype string", lambda: MT(tf.string, I64, -1).lookup(c([1]))), raises("TypeError", "Expected int64", lambda: MT(tf.string, I64, "a"))]
# dense
t = DT(I64, tf.float32, -1.0, 0, -2); e, d = fed([0], I64), fed([-2], I64)
with tf.Session() as s:
    s.run(t.insert(c([5, 6], I64), c([1.0, 2.0]))); log += [s.run(t.lookup(c([5, 7], I64))), s.run(t.size())]; s.run(t.erase(c([5], I64))); log.append(s.run(t.size()))
    for f in (lambda: t.insert(e, c([1.0])), lambda: t.lookup(e), lambda: t.erase(e)): log.append(raises("InvalidArgumentError", "Using the empty_key as a table key is not allowed", lambda: s.run(f())))
    for f in (lambda: t.insert(d, c([1.0])), lambda: t.lookup(d)): log.append(raises("InvalidArgumentError", "Using the deleted_key as a table key is not allowed", lambda: s.run(f())))
t = DT(I64, I64, [-1, -1], [0, 0], [-2, -2])
with tf.Session() as s: s.run(t.insert(c([[5, 6]], I64), c([[1, 2]], I64))); log += [s.run(t.lookup(c([[5, 6], [1, 1]], I64))), s.run(t.size())]
log.append(raises("ValueError", "Tensor conversion requested dtype int64", lambda: t.lookup(c(["a"]))))
# in_a_loop
t = MT(I64, I64, 100)
n = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + t.lookup(i)), [c(0, I64), c(0, I64)])
with tf.Session() as s: s.run(t.insert(c([0, 2], I64), c([1, 5], I64))); log.append(s.run(n))
# in_branches
t = MT(I64, I64, 100); p = tf.placeholder(tf.bool, [])
def put():
    with tf.control_dependencies([t.insert(c([1], I64), c([7], I64))]): return c(1)
chosen = tf.cond(p, put, lambda: c(0))
with tf.Session() as s: log += [s.run(chosen, {p: False}), s.run(t.size()), s.run(chosen, {p: True}), s.run(t.lookup(c([1], I64)))]
# beside_variables
t = SH(KV(["a", "b"], c([0, 1], I64)), 0); v = tf.Variable([[1.0, 2.0], [3.0, 4.0]]); k = tf.placeholder(tf.string, [None])
y = tf.reduce_sum(tf.gather(v, t.lookup(k))); step = tf.train.GradientDescentOptimizer(0.5).minimize(y)
with tf.Session() as s: s.run([tf.global_variables_initializer(), tf.tables_initializer()]); s.run(step, {k: ["b", "b"]}); log += [s.run(v), s.run(y, {k: ["a", "b"]})]
# saved
t = MT(tf.string, I64, -1, name="mt"); v = tf.Variable(1.0, name="v"); put, drop, y = t.insert(c(["a", "b"]), c([5, 6], I64)), t.remove(c(["a"])), t.lookup(c(["a", "q"]))
saver = tf.train.Saver(); log.append([n for n in nodes() if n[0].startswith("save/Restore") or n[1] == "LookupTableImportV2"])
with tf.Session() as s: s.run([v.initializer, put]); path = saver.save(s, folder + "m"); s.run(drop); log.append(s.run(y)); saver.restore(s, path); log += [s.run(y), tf.train.list_variables(path)]
with tf.Session() as s: saver.restore(s, folder + "m"); log.append(s.run(y))
# vocabulary_errors
for f in (lambda: L.index_table_from_tensor(None), lambda: L.index_table_from_tensor([]), lambda: L.index_table_from_tensor(["a"], num_oov_buckets=-1), lambda: L.index_table_from_tensor(["a"], dtype=tf.int32), lambda: L.index_table_from_file(None), lambda: L.index_table_from_file("x", vocab_size=0), lambda: tf.lookup.StaticVocabularyTable(KV(["a"], c([0], I64)), 0)):
    try: f(); log.append("no error")
    except Exception as error: log.append([type(error).__name__, str(error)])
log.append(raises("TypeError", "Invalid `value_dtype`", lambda: tf.lookup.StaticVocabularyTable(KV(["a"], [0]), 1)))
"""


def _snippets() -> tuple[Snippet, ...]:
    found = read_snippets(_PROGRAMS)
    return tuple(Snippet(s.name, _BEGIN + s.code) for s in found)


TABLE_SNIPPETS = _snippets()
