"""Programs of rows 51 and 84 to 87: numbers in texts, CSV, raw bytes, records, examples. The form
is that of `row_program.py`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

_BEGIN = r"""
def run(*fetches):
    with tf.Session() as s: log.extend(s.run(list(fetches)))
def fails(words, make, kind="InvalidArgumentError"):
    def attempt():
        fetch = make()
        with tf.Session() as s: return s.run(fetch)
    log.append(raises(kind, words, attempt))
F = tf.train; Ex = tf.FixedLenFeature; Seq = tf.FixedLenSequenceFeature; Var = tf.VarLenFeature; Rag = tf.io.RaggedFeature
def feature(v): return F.Feature(bytes_list=F.BytesList(value=v)) if v and isinstance(v[0], bytes) else F.Feature(float_list=F.FloatList(value=v)) if v and isinstance(v[0], float) else F.Feature(int64_list=F.Int64List(value=v)) if v else F.Feature()
def ex(**k): return F.Example(features=F.Features(feature={n: feature(v) for n, v in k.items()})).SerializeToString()
def sq(ctx, lists): return F.SequenceExample(context=F.Features(feature={n: feature(v) for n, v in ctx.items()}), feature_lists=F.FeatureLists(feature_list={n: F.FeatureList(feature=[feature(x) for x in v]) for n, v in lists.items()})).SerializeToString()
def flat(t): return [t.indices, t.values, t.dense_shape] if hasattr(t, "dense_shape") else [t.flat_values, *t.nested_row_splits] if hasattr(t, "row_splits") else [t]
def parsed(*dicts): run(*[x for d in dicts for k in sorted(d) for x in flat(d[k])])
A = ex(a=[1.0, 2.0], b=[3], c=[b"x", b"yy"]); B = ex(a=[5.0, 6.0], c=[])
Q = sq({"n": [3], "s": [b"a", b"b"]}, {"x": [[1.0, 2.0], [3.0, 4.0]], "y": [[1], [2, 3], []]}); P = sq({"n": [4]}, {"x": [[5.0, 6.0]], "y": []})
"""

_ROWS = read_snippets(r"""
# 51_string_to_number
run(tf.string_to_number(["1", "-2.5e3", " 7 ", "1e99"]), tf.string_to_number(["12", "-4"], out_type=tf.int32), tf.string_to_number("3", tf.int64), tf.string_to_number([["0.1"]], tf.float64))
fails("StringToNumberOp could not correctly convert string: 99999999999", lambda: tf.string_to_number(["99999999999"], tf.int32)); fails("StringToNumberOp could not correctly convert string: junk", lambda: tf.string_to_number("junk"))
# 84_decode_csv
I = tf.constant([], tf.int32); csv = tf.decode_csv
run(*csv(["1,2.5,a", "3,4,b"], [[0], [0.0], [""]]), *csv([",,"], [[7], [1.5], ["z"]]), *csv("1,2", [[0], [0]]), *csv(['"a,b",2', '"x""y",3', '"",4', '"a\nb",5'], [["q"], [0]]), *csv(['"ab",2'], [[""], [0]], use_quote_delim=False), *csv(["1;2"], [[0], [0]], field_delim=";"), *csv(["NA,2"], [[9], [0]], na_value="NA"), *csv(["1,2,3"], [[0], [0]], select_cols=[0, 2]), *csv(["1,"], [[5], [6]]), *csv([" 1, 2 "], [[5], [6]]), *csv([["1,2", "3,4"]], [[0], [0]]), *csv(["1e99"], [[0.0]]), *csv(["7"], [I]), *csv(["7,8"], [tf.constant([0], tf.int64), tf.constant([0], tf.float64)]))
for words, lines, defaults in (("Expect 5 fields but have 2 in record 0", ["1,2"], [[0]] * 5), ("Expect 2 fields but have 3 in record 1", ["1,2", "1,2,3"], [[0]] * 2), ("Field 0 is required but missing in record 0!", [","], ["I", [0]]), ("Field 0 in record 0 is not a valid int32: x", ["x"], [[0]]), ("Field 0 in record 0 is not a valid float: x", ["x"], [[0.0]]), ("Field 0 in record 0 is not a valid int32: 99999999999", ["99999999999"], [[0]]), ("Unquoted fields cannot have quotes/CRLFs inside", ['a"b,2'], [[""], [0]]), ("Unquoted fields cannot have quotes/CRLFs inside", ["1,b\r\n"], [[5], ["z"]]), ("Quote inside a string has to be escaped by another quote", ['"ab"c,2'], [[""], [0]]), ("Quoted field has to end with quote followed by delim or end", ['"ab,2'], [[""], [0]]), ("Expect 1 fields but have 0 in record 0", [""], [[5]])):
    fails(words, lambda: csv(lines, [tf.constant([], tf.int32) if d == "I" else d for d in defaults]))
fails("field_delim should be only 1 char", lambda: csv(["1"], [[0]], field_delim=";;")); log.append(raises("ValueError", "select_cols is not strictly increasing.", lambda: csv(["1,2,3"], [[0], [0]], select_cols=[2, 0]))); log.append(raises("ValueError", "Length of select_cols and record_defaults do not match.", lambda: csv(["1,2,3"], [[0], [0]], select_cols=[2]))); log.append(raises("ValueError", "Shape of a default must be a length-0 or length-1 vector, or a scalar.", lambda: csv(["1"], [[0, 1]])))
# 84_lines_of_a_file
open(folder + "f.csv", "w").write("5.1,3.5,a\n4.9,,b\n"); lines = tf.string_split([tf.read_file(folder + "f.csv")], "\n").values; cols = tf.decode_csv(lines, [[0.0], [1.5], [""]]); run(tf.stack(cols[:2], axis=1), cols[2])
# 85_decode_raw
run(tf.decode_raw([b"abcd", b"efgh"], tf.uint8), tf.decode_raw([b"abcd", b"efgh"], tf.int16), tf.decode_raw([b"abcd"], tf.int16, little_endian=False), tf.decode_raw([b"", b""], tf.int32), tf.decode_raw(b"\x01\x00", tf.bool), tf.decode_raw(np.zeros((0,), object), tf.int32), tf.raw_ops.DecodePaddedRaw(input_bytes=[b"abc", b"abcdef"], fixed_length=4, out_type=tf.int16))
fails("Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16", lambda: tf.decode_raw([b"abc"], tf.int16)); fails("DecodeRaw requires input strings to all be the same size, but element 1 has size 2 != 3", lambda: tf.decode_raw([b"ab", b"abc"], tf.uint8)); fails("fixed_length (0) must be greater than zero.", lambda: tf.raw_ops.DecodePaddedRaw(input_bytes=[b"abc"], fixed_length=0, out_type=tf.int16))
# 85_cifar10_record
record = bytes([7]) + bytes(k % 251 for k in range(3072)); data = tf.decode_raw(tf.constant(record), tf.uint8); label = tf.cast(tf.strided_slice(data, [0], [1]), tf.int32); image = tf.transpose(tf.reshape(tf.strided_slice(data, [1], [3073]), [3, 32, 32]), [1, 2, 0]); run(label, tf.cast(image, tf.float32)[0, :3], tf.reduce_sum(tf.cast(image, tf.int32)))
# 86_records
w = tf.python_io.TFRecordWriter(folder + "r"); [w.write(x) for x in (b"one", b"\x00" * 9, b"")]; w.close(); log.append([x for x in tf.python_io.tf_record_iterator(folder + "r")]); b = bytearray(open(folder + "r", "rb").read()); log.append(bytes(b[:15]))
b[12] ^= 1; open(folder + "r", "wb").write(b); log.append(raises("DataLossError", "corrupted record at 12", lambda: list(tf.python_io.tf_record_iterator(folder + "r")))); open(folder + "t", "wb").write(b[:17]); log.append(raises("DataLossError", "truncated record at 0", lambda: list(tf.python_io.tf_record_iterator(folder + "t"))))
for c in ("GZIP", "ZLIB", tf.python_io.TFRecordCompressionType.GZIP):
    o = tf.python_io.TFRecordOptions(c)
    with tf.io.TFRecordWriter(folder + "z", o) as w: w.write(b"a" * 50); w.flush()
    log.append([tf.io.TFRecordOptions.get_compression_type_string(o), list(tf.io.tf_record_iterator(folder + "z", o))])
log.append(raises("DataLossError", "inflate() failed with error -3: incorrect header check", lambda: list(tf.io.tf_record_iterator(folder + "r", tf.io.TFRecordOptions("GZIP"))))); log.append(raises("NotFoundError", "No such file or directory", lambda: list(tf.io.tf_record_iterator(folder + "none"))))
# 86_examples_of_other_writers
other = bytes([0x0A, 16, 0x0A, 14, 0x0A, 1, 97, 0x12, 9, 0x1A, 7, 8, 3, 8, 0xAC, 2, 8, 1]); floats = bytes([0x0A, 19, 0x0A, 17, 0x0A, 1, 102, 0x12, 12, 0x12, 10, 0x0D, 0, 0, 0x80, 0x3F, 0x0D, 0, 0, 0, 0x40]); strange = bytes([0x3A, 2, 9, 9]) + floats
log.append([list(F.Example.FromString(other).features.feature["a"].int64_list.value), list(F.Example.FromString(strange).features.feature["f"].float_list.value)]); parsed(tf.parse_example([other, ex(a=[-1])], {"a": Var(tf.int64)}), tf.parse_example([strange, floats], {"f": Ex([2], tf.float32)}))
# 86_messages
e = F.Example(features=F.Features(feature={"i": feature([1, -2]), "s": feature([b"\xff", b""]), "f": feature([0.5])})); d = F.Example.FromString(e.SerializeToString()); log.append([d == e, sorted(d.features.feature), d.features.feature["i"].WhichOneof("kind"), list(d.features.feature["i"].int64_list.value), list(d.features.feature["s"].bytes_list.value), str(F.Int64List(value=[1, 2])), F.SequenceExample.FromString(Q).feature_lists.feature_list["y"].feature[1].int64_list.value[1]])
# 87_parse_example
parsed(tf.parse_example([A, B], {"a": Ex([2], tf.float32), "b": Ex([], tf.int64, 9), "c": Var(tf.string)}), tf.parse_example([A, B], {"c": Seq([], tf.string, allow_missing=True), "a": Seq([2], tf.float32, allow_missing=True)}), tf.parse_example([A, B], {"c": Seq([], tf.string, allow_missing=True, default_value="zz"), "z": Var(tf.int64)}))
parsed(tf.parse_single_example(A, {"a": Ex([2], tf.float32), "b": Ex([], tf.int64, 9), "c": Var(tf.string)}), tf.parse_single_example(B, {"b": Ex([2], tf.int64, [4, 5]), "a": Seq([], tf.float32, allow_missing=True), "c": Var(tf.string)}))
# 87_features
parsed(tf.parse_example([ex(i=[3, 1], v=[1.0, 2.0]), ex(i=[0], v=[9.0])], {"s": tf.SparseFeature("i", "v", tf.float32, 5)}), tf.parse_example([ex(i=[3, 1], j=[0, 1], v=[1.0, 2.0]), ex(i=[0], j=[0], v=[9.0])], {"s": tf.SparseFeature(["i", "j"], "v", tf.float32, [5, 2])}), tf.parse_example([A, B], {"a": Rag(tf.float32), "q": Rag(tf.int64, row_splits_dtype=tf.int64)}))
r = [ex(v=[1, 2, 3], s=[0, 1, 3], l=[2, 1], e=[2, 3], t=[0, 2]), ex(v=[4, 5], s=[0, 2], l=[0, 2], e=[0, 2], t=[0, 0])]; parsed(tf.parse_example(r, {"r": Rag(tf.int64, "v", [Rag.RowSplits("s")]), "u": Rag(tf.int64, "v", [Rag.RowLengths("l")]), "w": Rag(tf.int64, "v", [Rag.RowLimits("e")]), "x": Rag(tf.int64, "v", [Rag.RowStarts("t")])}), tf.parse_single_example(r[0], {"r": Rag(tf.int64, "v", [Rag.RowSplits("s")]), "v": Rag(tf.int64)}))
# 87_refused
f32, i6, st = tf.float32, tf.int64, tf.string
for words, feats, names in (("Name: <unknown>, Feature: b (data type: int64) is required but could not be found.", {"b": Ex([], i6)}, None), ("Name: n1, Feature: b (data type: int64) is required", {"b": Ex([], i6)}, ["n0", "n1"]), ("Name: <unknown>, Key: a, Index: 0.  Data types don't match. Data type: float but expected type: int64", {"a": Ex([2], i6)}, None), ("Key: a, Index: 0.  Data types don't match. Expected type: string, Actual type: float", {"a": Var(st)}, None), ("Key: a, Index: 0.  Number of float values != expected.  Values size: 2 but output shape: [3]", {"a": Ex([3], f32)}, None), ("Number of float values is not a multiple of stride length. Saw 2 values but output shape is: [?,3]", {"a": Seq([3], f32, allow_missing=True)}, None)):
    fails(words, lambda: tf.parse_example([A, B], feats, example_names=names))
fails("Feature: b (data type: int64) is required but could not be found.", lambda: tf.parse_single_example(B, {"b": Ex([], i6)})); fails("Key: a.  Data types don't match. Data type: float but expected type: int64", lambda: tf.parse_single_example(A, {"a": Ex([2], i6)})); fails("Key: a.", lambda: tf.parse_single_example(A, {"a": Ex([3], f32)})); fails("", lambda: tf.parse_example([A, b"junk"], {"a": Ex([2], f32)}))
for words, feats in (("Argument `features` cannot be None or falsy. Got {}", {}), ("Unsupported int 3 for key 'a'", {"a": 3}), ("Missing shape for feature a.", {"a": Ex(None, f32)}), ("First dimension of shape for feature a unknown.", {"a": Ex([None], f32)}), ("Missing type for feature a.", {"a": Var(None)}), ("requires allow_missing to be True", {"a": Seq([3], f32)}), ("", {"a": Ex([2], f32, [1.0, 2.0, 3.0])})): log.append(raises("ValueError", words, lambda: tf.parse_example([A], feats)))
log.append(raises("TypeError", "", lambda: tf.parse_example([A], {"a": Ex([2], tf.int32)})))
# 87_sequences
single = tf.parse_single_sequence_example
parsed(*single(Q, {"n": Ex([], tf.int64), "s": Var(tf.string)}, {"x": Seq([2], tf.float32), "y": Var(tf.int64)}), *single(P, {"n": Ex([], tf.int64), "s": Var(tf.string)}, {"x": Seq([2], tf.float32), "y": Var(tf.int64), "w": Seq([], tf.int64, allow_missing=True)}))
parsed(*tf.io.parse_sequence_example([Q, P], {"n": Ex([], tf.int64), "s": Var(tf.string)}, {"x": Seq([2], tf.float32), "y": Var(tf.int64)}), *tf.io.parse_sequence_example([Q, P], {"s": Rag(tf.string)}, {"y": Rag(tf.int64)}))
fails("Feature list 'w' is required but could not be found.", lambda: single(P, None, {"w": Seq([2], tf.float32)})); fails("Feature list 'x' has an unexpected number of values.", lambda: single(Q, None, {"x": Seq([3], tf.float32)})); fails("Name: nm, Feature list: x, Index: 0.  Data types don't match. Expected type: int64", lambda: single(Q, None, {"x": Seq([2], tf.int64)}, example_name="nm")); fails("Context feature: n.  Data types don't match. Expected type: string", lambda: tf.io.parse_sequence_example([Q], {"n": Ex([], tf.string)}, None)); fails("", lambda: tf.io.parse_sequence_example([P], {"m": Ex([], tf.int64)}, None))
# 87_older_versions
r = tf.raw_ops; empty = np.zeros(0, object); none = lambda t: np.zeros(0, t)
def outputs(t): run(*[x for part in t for x in (part if isinstance(part, list) else [part])])
outputs(r.ParseExample(serialized=[A, B], names=empty, sparse_keys=["c"], dense_keys=["a", "b"], dense_defaults=[none(np.float32), np.int64(9)], sparse_types=[tf.string], dense_shapes=[[2], []])); outputs(r.ParseSingleExample(serialized=A, dense_defaults=[none(np.float32)], num_sparse=1, sparse_keys=["c"], dense_keys=["a"], sparse_types=[tf.string], dense_shapes=[[2]]))
outputs(r.ParseSingleSequenceExample(serialized=Q, feature_list_dense_missing_assumed_empty=empty, context_sparse_keys=["s"], context_dense_keys=["n"], feature_list_sparse_keys=["y"], feature_list_dense_keys=["x"], context_dense_defaults=[none(np.int64)], debug_name="", context_sparse_types=[tf.string], feature_list_dense_types=[tf.float32], context_dense_shapes=[[]], feature_list_sparse_types=[tf.int64], feature_list_dense_shapes=[[2]]))
outputs(r.ParseSequenceExample(serialized=[Q, P], debug_name=empty, feature_list_dense_missing_assumed_empty=[], context_sparse_keys=["s"], context_dense_keys=["n"], feature_list_sparse_keys=["y"], feature_list_dense_keys=["x"], context_dense_defaults=[none(np.int64)], context_sparse_types=[tf.string], feature_list_dense_types=[tf.float32], context_dense_shapes=[[]], feature_list_sparse_types=[tf.int64], feature_list_dense_shapes=[[2]], Ncontext_sparse=1, Ncontext_dense=1, Nfeature_list_sparse=1, Nfeature_list_dense=1))
# 87_json
parsed(tf.parse_example(tf.decode_json_example(['{"features": {"feature": {"a": {"int64List": {"value": ["3", 4]}}, "b": {"bytesList": {"value": ["aGk="]}}, "c": {"floatList": {"value": [1.5, "NaN"]}}}}}', "{}"]), {"a": Var(tf.int64), "b": Var(tf.string), "c": Var(tf.float32)})); fails("Error while parsing JSON: ", lambda: tf.io.decode_json_example(['{"features": 3}'])); fails("Error while parsing JSON: ", lambda: tf.io.decode_json_example(['{"foo": 3}']))
# 87_batches_of_a_file
with tf.python_io.TFRecordWriter(folder + "r") as w: [w.write(ex(x=[k / 2, 1.0], y=[k], **({"t": [b"w%d" % j for j in range(k % 3)]} if k % 3 else {}))) for k in range(6)]
s_in = tf.placeholder(tf.string, [None]); p = tf.parse_example(s_in, {"x": Ex([2], tf.float32), "y": Ex([], tf.int64), "t": Var(tf.string)})
with tf.Session() as s:
    rows = list(tf.python_io.tf_record_iterator(folder + "r")); log.extend([s.run([tf.reduce_sum(p["x"]), p["y"], p["t"].values, p["t"].dense_shape], {s_in: rows[k:k + 4]}) for k in (0, 4)])
""")

RECORD_ROWS: tuple[Snippet, ...] = tuple(Snippet(p.name, _BEGIN + p.code, p.alike) for p in _ROWS)
