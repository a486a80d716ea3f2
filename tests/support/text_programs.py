"""Programs over strings, records, ragged and sparse tensors. The form is that of `row_program.py`;
TensorFlow's answers are in `tests/recorded/text_programs.json`."""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

_BEGIN = r"""
r = tf.raw_ops; S = tf.strings; i64 = lambda x: np.array(x, np.int64); rg = lambda t: [t.flat_values, *t.nested_row_splits]
def run(*fetches):
    with tf.Session() as s: log.extend(s.run(list(fetches)))
def fails(words, make, kind="InvalidArgumentError"):
    def attempt():
        fetch = make()
        with tf.Session() as s: return s.run(fetch)
    log.append(raises(kind, words, attempt))
"""

_PROGRAMS = read_snippets(r"""
# numbers
run(tf.string_to_number(["1", " 2.5 ", "-3e2", "inf", "-nan", "0x1p3", ".5", "5.", "+7", "1e99", "1e-99", "nan(1)", " 1\n"]), S.to_number(["1", " 2 ", "+3", "007"], tf.int32), S.to_number(["9223372036854775807"], tf.int64), S.to_number([["1e308", "1e309"]], out_type=tf.float64))
# numbers_refused
for text, out in (("12a", tf.float32), ("", tf.float32), ("1f", tf.float64), ("0x", tf.float32), ("99999999999", tf.int32), ("1.5", tf.int32), ("0x10", tf.int32), ("9223372036854775808", tf.int64), ("1_0", tf.float64)): fails("StringToNumberOp could not correctly convert string: " + text, lambda: tf.string_to_number([text], out_type=out))
# splits
sp = lambda t: [t.indices, t.values, t.dense_shape]
run(*sp(tf.string_split(["a b  c", "", " x "])), *sp(tf.string_split(["a,b;;c"], ",;")), *sp(tf.string_split(["a,b,,c", ""], ",", skip_empty=False)), *sp(tf.string_split([b"h\xc3\xa9y", b""], "")))
run(*sp(S.split(["a b  c", "", " x "])), *sp(S.split(["a,b,,c", ""], ",")), *sp(S.split(["  a   b  c  "], maxsplit=1)), *sp(S.split(["a,b,c"], ",", maxsplit=1)), *sp(S.split(["a<>b<>c"], "<>")), *sp(S.split([[b"a b", b"c"]])))
run(*rg(S.split([b"a b", b"c"], result_type="RaggedTensor")), *rg(S.split([[b"a b", b"c"]], result_type="RaggedTensor")), *rg(tf.string_split([b"a b", b"c"], result_type="RaggedTensor")), *rg(S.bytes_split([b"h\xc3\xa9", b""])), S.bytes_split("ab"))
# parts
run(tf.substr(["hello", "worldly"], [1, -3], [2, 2]), S.substr(["hello", "worldly"], 1, 3), S.substr([b"h\xc3\xa9llo"], -4, 2, unit="UTF8_CHAR"), S.substr("hello", [0, 1, 2], [1, 1, 1]), S.substr(["hello", "world"], [[0, 1], [1, 2]], [[1, 1], [2, 2]]), S.substr(["hello"], 1, -1), S.substr([b"\xff\xfeab"], 1, 2, unit="UTF8_CHAR"), S.substr(["hi"], 2, 1))
fails("pos 3 out of range for string b'hi' at index 0", lambda: tf.substr(["hi"], 3, 1)); fails("pos -3 out of range", lambda: S.substr([b"ab", b"hi"], -3, 1)); fails("pos 3 out of range for string at index 0", lambda: S.substr([b"h\xc3\xa9"], 3, 2, unit="UTF8_CHAR"))
# letters
run(S.length([b"a", b"h\xc3\xa9", b""]), S.length([b"h\xc3\xa9", b"\xff\x80"], unit="UTF8_CHAR"), S.lower([b"ABc\xc3\x89"]), S.lower([b"ABc\xc3\x89\xc4\xb0", b"A\xff"], encoding="utf-8"), S.upper([b"abc\xc3\xa9\xc3\x9f\xc5\x89"], encoding="utf-8"), S.upper([b"ab"]), S.strip(["  a b\t\n\r\v\f ", "", "\0 a"]), tf.string_strip(" a "))
run(tf.encode_base64([b"hello", b"", b"\xff"]), tf.io.encode_base64(["hell"], pad=True), tf.decode_base64(["aGVsbG8", "", "aGVsbA==", "_-8", "aGVsbB"]))
fails("only utf-8 or '' (no encoding) is supported, received x", lambda: S.lower(["a"], encoding="x"))
for text, words in (("a", "Base64 string length cannot be 1 modulo 4."), ("a+b/", "Invalid character found in base64."), ("aGVsbA=", "Invalid character found in base64."), ("aGV sbG8", "Invalid character found in base64.")): fails(words, lambda: tf.decode_base64([text]))
# regexes
run(S.regex_full_match(["abc", "abcd", ""], "[a-c]+"), S.regex_full_match(["abc"], tf.constant("a.*")), S.regex_replace(["hello world", "aaa"], "(l+)|a", r"<\1\0>"), tf.regex_replace(["aaa"], "a", "b", replace_global=False), S.regex_replace(["aaa"], "a", r"\3"), S.regex_replace([b"abc", b"\xe6\x97\xa5"], "", "-"), r.RegexReplace(input=["abc"], pattern=tf.constant("b"), rewrite=tf.constant("\\\\")))
run(S.regex_replace([b"\xff\xfe\xc3\xa9", b"\xc3\xa9\xe6\x97\xa5"], ".", "x"), S.regex_replace([b"\xc3\xa9"], "\\C", "x"), S.regex_replace(["baac"], "a*", "x"), S.regex_replace([b"a\nb"], "a.b", "x"), S.regex_replace(["aaa\naa"], "^a", "x"), S.regex_replace([["ab1", "c22"]], r"[^\d]+(\d)", r"\1\1"), S.regex_replace(["a b  c"], r"\s+", " "), S.regex_full_match([b"a|b", b"a"], r"a\|b"))
for make in (lambda: S.regex_full_match(["abc"], "a["), lambda: S.regex_full_match(["abc"], tf.constant("a["))): fails("Invalid pattern: a[, error: missing ]: [", make)
fails("Invalid pattern: (, error: missing ): (", lambda: S.regex_replace(["aaa"], "(", "b"))
# hashes
words = [b"hello", b"", b"TensorFlow", b"\xc3\xa9"] + [b"xyzw"[k % 4:k % 4 + 1] * k + b"abc"[:k % 3] for k in (1, 2, 3, 4, 7, 8, 14, 15, 16, 29, 31, 32, 33, 60, 63, 64, 65, 126, 127, 128, 129, 500)]
run(S.to_hash_bucket(words, 1 << 62), S.to_hash_bucket_fast(words, 1 << 62), S.to_hash_bucket_strong(words, 1 << 62, [1, 2]), S.to_hash_bucket_strong(["hello"], 10, [2**63 - 1, -5]), tf.string_to_hash_bucket([["a"], [b"b"]], 5), tf.string_to_hash_bucket_fast("a", 1), tf.fingerprint(["hello", "x"]), tf.fingerprint([[1, 2], [3, 4]]), tf.fingerprint([[b"a", b"b"], ["c", "d"]]))
fails("Key must have 2 elements", lambda: S.to_hash_bucket_strong(["hello"], 10, [1])); log.append(raises("ValueError", "", lambda: S.to_hash_bucket_fast(["a"], 0)))
# unicode_decode
D = lambda t, e="UTF-8", **k: list(r.UnicodeDecodeWithOffsets(input=t, input_encoding=e, **k)); bad = [b"a\xff\xfeb\xe6\x97", b"\xed\xa0\x80x", b"\xc0\x80x\xf4\x90\x80\x80"]
run(*D([b"h\xc3\xa9y", b"", b"\xe6\x97\xa5\xe6\x9c\xac"]), *D(bad), *D(bad, errors="ignore"), *D(["a\x00\x01\tb\x7f"], replace_control_characters=True), *D([b"\x00a\xd8=\xde\x00"], "UTF-16-BE"), *D([b"\x00\x00\x00a\x00\x01\xf6\x00"], "UTF-32-BE"), *D([b"\xe9a"], "ISO-8859-1"), *D([b"\x93\xfa\x96{"], "SHIFT-JIS"), *D([b"a\xffb"], replacement_char=63), *r.UnicodeDecode(input=[[b"ab"], ["c"]], input_encoding="UTF-8", Tsplits=tf.int32))
fails("Invalid formatting on input string", lambda: D([b"a\xff"], errors="strict")); fails("Could not create converter for input encoding: FOO", lambda: D(["a"], "FOO"))
run(*rg(S.unicode_decode([b"h\xc3\xa9", b""], "UTF-8")), S.unicode_decode(b"h\xc3\xa9", "UTF-8"), *rg(S.unicode_split([b"h\xc3\xa9\xe6\x97\xa5", b""], "UTF-8")), *S.unicode_split_with_offsets(b"h\xc3\xa9\xe6\x97\xa5", "UTF-8"), *rg(S.unicode_decode_with_offsets([b"h\xc3\xa9"], "UTF-8")[1]))
# unicode_encode
E = lambda v, s, e="UTF-8", **k: r.UnicodeEncode(input_values=v, input_splits=i64(s), output_encoding=e, **k)
run(E([104, 233, 0x1F600], [0, 2, 2, 3]), E([104, 233, 0x1F600], [0, 2, 2, 3], "UTF-16-BE"), E([104, -1, 0xD800, 0x110000], [0, 4]), E([104, -1, 0xD800], [0, 3], errors="ignore"), S.unicode_encode([[104, 233], [26085, 26412]], "UTF-8"), S.unicode_encode([104, 233], "UTF-32-BE"))
fails("Code point is out of range for Unicode, or is a surrogate.", lambda: E([104, -1], [0, 2], errors="strict")); fails("Last value in input_splits must be equal to length of input_tensor.", lambda: E([104, 1], [0, 5])); fails("First value in input_splits must be zero.", lambda: E([104, 1], [1, 2]))
run(S.unicode_transcode([b"h\xc3\xa9y", b"a\xff"], "UTF-8", "UTF-16-BE"), S.unicode_transcode([b"a\x01b"], "UTF-8", "UTF-8", replace_control_characters=True, replacement_char=32), S.unicode_transcode([b"a\xffb", b"\xe6\x97"], "UTF-8", "UTF-8"), S.unicode_script([97, 0x65e5, 0x430, 48, -1, 0x1F600, 0x3b1, 0x5d0, 0x627, 0x3042, 0x30a2, 0xac00, 0x110000, 0, 0x10ffff]))
# ngrams
N = lambda d, s, w, sep=" ", l="", rp="", pw=0, ps=False: list(r.StringNGrams(data=np.array(d, object), data_splits=i64(s), separator=sep, ngram_widths=w, left_pad=l, right_pad=rp, pad_width=pw, preserve_short_sequences=ps)); d = [b"a", b"b", b"c", b"d"]
run(*N(d, [0, 3, 4], [2]), *N(d, [0, 3, 4], [2, 3], "|", "<", ">", -1), *N(d, [0, 3, 4], [3], "|", "<", ">", 1), *N(d, [0, 3, 4], [2], ps=True), *N([*d, "e"], [0, 3, 5, 5], [3, 4], ps=True), *N([], [0], [2]), *N(["a"], [0, 1], [5], "|", "<", ">", 1, True), *N([b"a", b"b"], [0, 1, 2], [4, 6], "|", "<", ">", -1, True))
run(*rg(S.ngrams(S.split(["a b c", "d"], result_type="RaggedTensor"), 2)), *rg(S.ngrams(S.split(["a b c", "d"], result_type="RaggedTensor"), [1, 2], "_", ("<", ">"))))
for s, w, words in (([0, 3], [2], "Invalid split value 3, must be in [0, 1]"), ([1, 1], [2], "First split value must be 0, got 1"), ([0, 1], [0], "ngram_widths must contain positive values")): fails(words, lambda: N(["a"], s, w))
# joins
t = [[b"a", b"b"], ["c", "d"]]; c = np.array([[[b"a", b"b"], ["c", "d"]], [["e", "f"], ["g", "h"]]], object)
run(tf.reduce_join(t, 0), tf.reduce_join(t, -1, separator="-", keep_dims=True), tf.reduce_join(t, [1, 0], separator="."), tf.reduce_join(t, [0, 1], separator="."), tf.reduce_join(t), tf.reduce_join([[b"a", b"b"]], []), S.reduce_join(c, [0, 2]), r.ReduceJoin(inputs=np.zeros((0, 2), object), reduction_indices=[0]))
run(S.unsorted_segment_join([b"a", b"b", b"c"], [1, 0, 1], 3, separator=":"), S.unsorted_segment_join(t, [0, 0], 1), S.unsorted_segment_join(t, [[0, 1], [1, 0]], 2, "-"), S.join([b"a", b"b"], "-"), S.format("{}", [tf.constant([1])]))
fails("Duplicate reduction dimension 0", lambda: tf.reduce_join([["a"]], [0, 0])); log.append(raises("ValueError", "Invalid reduction dimension 3 for input with 2 dimensions", lambda: tf.reduce_join([["a"]], 3)))
for ids in ([-1], [3]): fails("segment_ids are not allowed to exceed num_segments or to have negative values.", lambda: S.unsorted_segment_join(["a"], ids, 1))
# ragged
T = lambda shape, v, d, parts, kinds: r.RaggedTensorToTensor(shape=i64(shape), values=v, default_value=d, row_partition_tensors=[i64(p) for p in parts], row_partition_types=kinds); RS = "ROW_SPLITS"; FD = ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
run(T(-1, [1, 2, 3], 9, [[0, 2, 2, 3]], [RS]), T([-1, 4], [1, 2, 3], 9, [[0, 2, 2, 3]], [RS]), T([2, 1], [1, 2, 3], 9, [[0, 2, 2, 3]], [RS]), T([-1, -1, -1], [1.0, 2.0, 3.0, 4.0], 0.5, [[0, 2, 3], [0, 1, 3, 4]], [RS, RS]), T([-1, -1, 2], [[1, 2], [3, 4]], 0, [[0, 0, 2]], [RS]), T([-1, -1], [b"a", b"b"], "", [3, [0, 2]], FD), T([-1, -1, -1], [1, 2, 3], 0, [2, [0, 0, 1], [0, 2, 2]], [*FD, "VALUE_ROWIDS"]), T([-1, -1, 2], [[1, 2], [3, 4]], [7, 8], [[0, 0, 2]], [RS]))
run(*r.RaggedTensorToSparse(rt_nested_splits=[i64([0, 2, 2, 3])], rt_dense_values=[1, 2, 3]), *r.RaggedTensorToSparse(rt_nested_splits=[i64([0, 2, 3]), i64([0, 1, 3, 4])], rt_dense_values=[b"a", b"b", b"c", b"d"]), *r.RaggedRange(starts=[2, 5, 8], limits=[3, 5, 12], deltas=1), *r.RaggedRange(starts=0.0, limits=[1.0, -1.0], deltas=[0.3, -0.5]), *r.RaggedRange(starts=[5], limits=[0], deltas=[-2], Tsplits=tf.int32))
G = lambda s, v, i, n: r.RaggedGather(params_nested_splits=[i64(p) for p in s], params_dense_values=v, indices=i, OUTPUT_RAGGED_RANK=n); flat = lambda g: [*g.output_nested_splits, g.output_dense_values]
run(*flat(G([[0, 2, 2, 3]], [b"a", b"b", b"c"], [2, 0, 0], 1)), *flat(G([[0, 2, 3], [0, 1, 3, 4]], [1, 2, 3, 4], [1, 0], 2)), *flat(G([[0, 2, 2, 3]], [1, 2, 3], [[0, 2], [1, 1]], 2)))
fails("indices[1] = 5 is not in [0, 3)", lambda: G([[0, 2, 2, 3]], [1, 2, 3], [0, 5], 1)[0]); fails("Requires delta != 0", lambda: r.RaggedRange(starts=[1], limits=[2], deltas=[0])[0])
# ragged_tensors
R = tf.RaggedTensor; a = R.from_row_splits([1, 2, 3], [0, 2, 2, 3]); b = R.from_nested_row_splits([b"a", b"b", b"c", b"d"], [[0, 2, 3], [0, 1, 3, 4]])
run(a.to_tensor(), a.to_tensor(7), b.to_tensor(""), *rg(R.from_row_lengths([1, 2, 3], [1, 0, 2])), *rg(R.from_value_rowids([1, 2, 3], [0, 2, 2])), *rg(R.from_value_rowids([1, 2, 3], [0, 2, 2], nrows=5)), *rg(R.from_row_starts([1, 2, 3], [0, 1])), *rg(R.from_row_limits([1, 2, 3], [1, 3])), *rg(R.from_uniform_row_length([1, 2, 3, 4], 2)), a.row_lengths(), a.value_rowids(), a.nrows(), a.row_starts(), a.row_limits(), b.to_sparse().indices, b.to_sparse().values, b.to_sparse().dense_shape)
with tf.Session() as s: v = s.run(b); log.append([v.to_list(), v.ragged_rank, [x.tolist() for x in v.nested_row_splits], list(v.shape)])
log.append([a.ragged_rank, b.ragged_rank, b.shape.as_list(), a.dtype.name])
# sparse
sp = lambda t: [t.indices, t.values, t.dense_shape]; a = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [4, 3]); b = tf.SparseTensor([[0, 1], [1, 2]], [-1.0, 5.0], [4, 3]); w = tf.SparseTensor([[2, 0], [0, 1], [0, 0]], ["x", "y", "z"], [3, 2])
run(*sp(tf.sparse_reorder(w)), *sp(tf.sparse_reshape(w, [2, -1])), *sp(tf.sparse_reshape(a, [3, 4])), *sp(tf.sparse_slice(a, [0, 0], [2, 3])), *sp(tf.sparse_slice(a, [1, 0], [9, 9])), *sp(tf.sparse_fill_empty_rows(a, 9.0)[0]), tf.sparse_fill_empty_rows(a, 9.0)[1], *sp(tf.sparse_concat(0, [a, b])), *sp(tf.sparse_concat(1, [a, b])), *sp(tf.sparse_transpose(a)), *sp(tf.sparse.expand_dims(a, 1)))
run(*sp(tf.sparse_add(a, b)), *sp(tf.sparse_add(a, b, threshold=1.5)), tf.sparse_add(a, tf.ones([4, 3])), *sp(tf.sparse_maximum(a, b)), *sp(tf.sparse_minimum(a, b)), *[x for t in tf.sparse_split(sp_input=a, num_split=2, axis=0) for x in sp(t)], *sp(tf.sparse_merge(tf.SparseTensor([[0, 0], [1, 0], [1, 1]], i64([2, 1, 0]), [2, 2]), tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [5.0, 6.0, 7.0], [2, 2]), 4)), tf.sparse_to_indicator(tf.SparseTensor([[0, 0], [1, 0], [1, 1]], i64([2, 1, 0]), [2, 2]), 4))
run(tf.sparse_tensor_dense_matmul(a, tf.reshape(tf.range(6.0), [3, 2])), r.SparseTensorDenseMatMul(a_indices=a.indices, a_values=a.values, a_shape=a.dense_shape, b=np.arange(8, dtype=np.float32).reshape(4, 2), adjoint_a=True), r.SparseTensorDenseMatMul(a_indices=a.indices, a_values=a.values, a_shape=i64([4, 3]), b=np.arange(6, dtype=np.float32).reshape(2, 3), adjoint_b=True))
fails("", lambda: tf.sparse_fill_empty_rows(tf.SparseTensor([[7, 0]], [1], [2, 2]), 0)[1])
x = tf.placeholder_with_default([1.0, 2.0], [2]); d = tf.placeholder_with_default(3.0, []); filled = tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 1], [2, 0]], x, [4, 3]), d)[0]; run(*tf.gradients(filled.values * tf.constant([1.0, 2.0, 3.0, 4.0]), [x, d]))
y = tf.placeholder_with_default(np.arange(6, dtype=np.float32).reshape(3, 2), [3, 2]); run(*tf.gradients(tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 1], [2, 0]], x, [4, 3]), y) ** 2, [x, y]))
# sparse_crosses
C = lambda out, buckets=0, rows=3, dense=True: list(r.SparseCross(indices=[i64([[0, 0], [0, 1], [2, 0]]), i64([[0, 0], [2, 0], [2, 1]])], values=[np.array([b"a", b"b", b"c"], object), i64([5, -6, 7])], shapes=[i64([3, 2]), i64([rows, 2])], dense_inputs=[np.array([[b"x", b"y"], [b"z", b"w"], [b"u", b"v"]], object), i64([[1], [2], [3]])] if dense else [], hashed_output=out == tf.int64, num_buckets=buckets, hash_key=956888297470, out_type=out, internal_type=tf.int64))
run(*C(tf.string), *C(tf.int64), *C(tf.int64, 10), *C(tf.string, dense=False)); fails("", lambda: C(tf.int64, rows=4)[1])
P = i64([[0, 0], [0, 1], [2, 0]]); words = np.array([b"a", b"bb", b"c"], object); ints = i64([5, -6, 7 << 40]); both = np.array([[b"x"], [b"y"], [b"z"]], object); more = dict(indices=[P, P], values=[words, words], shapes=[i64([3, 2])] * 2, dense_inputs=[both])
H = lambda strong, buckets, **k: list(r.SparseCrossHashed(num_buckets=np.int64(buckets), strong_hash=np.bool_(strong), salt=i64([3, 5]), **k))
run(*r.SparseCrossV2(sep="_Y_", **more), *r.SparseCrossV2(sep="", indices=[], values=[], shapes=[], dense_inputs=[i64([[1], [-2]])]), *[x for strong in (False, True) for b in (0, 100) for x in H(strong, b, **more)], *[H(strong, 0, indices=[P], values=[ints], shapes=[i64([3, 2])], dense_inputs=[])[1] for strong in (False, True)], H(False, 0, indices=[], values=[], shapes=[], dense_inputs=[i64([[5], [-6]])])[1])
fails('Input "salt" must have length 2', lambda: r.SparseCrossHashed(num_buckets=1, strong_hash=False, salt=i64([]), indices=[], values=[], shapes=[], dense_inputs=[both])[1]); fails("Input separator should be a scalar.", lambda: r.SparseCrossV2(sep=["a", "b"], indices=[], values=[], shapes=[], dense_inputs=[both])[1])
for words_of, k in (("Input indices should be a matrix", 0), ("Input values should be a vector", 1), ("Input shapes should be a vector", 2)): t = [tf.placeholder_with_default(v, None) for v in (P, words, i64([3, 2]))]; t[k] = tf.placeholder_with_default(tf.expand_dims(t[k], 0), None); fails(words_of, lambda: r.SparseCrossV2(sep="", indices=[t[0]], values=[t[1]], shapes=[t[2]], dense_inputs=[])[1])
fails("Expected D2 of index to be 2", lambda: r.SparseCrossV2(sep="", indices=[i64([[0]])], values=[i64([0])], shapes=[i64([10])], dense_inputs=[])[1])
# ragged_crosses
X = lambda out, order, splits=([0, 2, 2, 3],), buckets=0, rows=3: list(r.RaggedCross(ragged_values=[np.array([b"a", b"bb", b"c"], object), i64([4, 5, 6])][:len(splits)], ragged_row_splits=[np.array(s, np.int32) for s in splits], sparse_indices=[i64([[0, 0], [0, 1], [2, 0]])] * order.count("S"), sparse_values=[i64([5, -6, 7])] * order.count("S"), sparse_shape=[i64([rows, 2])] * order.count("S"), dense_inputs=[np.array([[b"x", b"y"], [b"z", b"w"], [b"u", b"v"]], object)] * order.count("D"), input_order=order, hashed_output=out == tf.int64, num_buckets=buckets, hash_key=956888297470, out_values_type=out, out_row_splits_type=tf.int32))
run(*X(tf.string, "RSD"), *X(tf.string, "DRRS", ([0, 2, 2, 3], [0, 1, 2, 3])), *X(tf.int64, "DSR"), *X(tf.int64, "R", buckets=10), *X(tf.string, "RR", ([0, 0, 3], [0, 2, 3])), *X(tf.string, "", ()))
fails("inputs must all have the same batch dimension size", lambda: X(tf.string, "RS", rows=4)[0]); fails("", lambda: X(tf.string, "R", ([0, 2, 9],))[0])
# compressed
import zlib, gzip
run(tf.decode_compressed([zlib.compress(b"hi" * 3), b""], "ZLIB"), tf.io.decode_compressed(gzip.compress(b"hi" * 3), "GZIP"), tf.io.decode_compressed([b"xx"]), tf.io.decode_compressed([zlib.compress(b"hi" * 30)[:6]], "ZLIB"))
fails("inflate() failed with error -3: incorrect header check", lambda: tf.decode_compressed([b"xx"], "ZLIB"), "DataLossError"); fails("supported compressions", lambda: tf.decode_compressed([b"xx"], "FOO"))
# tensors
run(tf.io.serialize_tensor(tf.constant([[1, 2]])), tf.io.serialize_tensor(tf.constant(["a", "bc"])), tf.io.serialize_tensor(tf.constant(1.5)), tf.io.serialize_tensor(tf.zeros([0, 2], tf.int64)), tf.parse_tensor(tf.io.serialize_tensor(tf.constant([[1, 2]])), tf.int32), tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant(["a"])), tf.string))
fails("Type mismatch between parsed tensor (int32) and dtype (int64)", lambda: tf.parse_tensor(tf.io.serialize_tensor(tf.constant([[1, 2]])), tf.int64)); fails("Could not parse `serialized` as TensorProto, base64: anVuaw==", lambda: tf.parse_tensor("junk", tf.int64))
# sparse_serialized
sp = lambda t: [t.indices, t.values, t.dense_shape]; W = lambda i, v, d: tf.SparseTensor(tf.placeholder_with_default(i64(i), None), tf.placeholder_with_default(np.array(v), None), tf.placeholder_with_default(i64(d), None))
a = tf.SparseTensor([[0, 1], [2, 0], [2, 3]], ["a", "", "bcd"], [3, 4]); b = tf.SparseTensor([[0, 2]], ["z"], [1, 9]); f = tf.SparseTensor([[1, 1]], [True], [2, 2]); many = tf.serialize_many_sparse(a); log.extend([many.shape.as_list(), tf.serialize_sparse(a).shape.as_list()])
run(tf.serialize_sparse(a), many, tf.io.serialize_sparse(f), tf.io.serialize_many_sparse(f), *sp(tf.deserialize_many_sparse(many, tf.string, rank=2)), *sp(tf.io.deserialize_many_sparse(tf.stack([tf.serialize_sparse(a), tf.serialize_sparse(b)]), tf.string)), *sp(tf.deserialize_many_sparse(tf.io.serialize_many_sparse(f), tf.bool)))
run(*r.DeserializeSparse(serialized_sparse=tf.reshape(tf.stack([tf.serialize_sparse(a), tf.serialize_sparse(b)]), [2, 1, 3]), dtype=tf.string), *r.DeserializeSparse(serialized_sparse=tf.serialize_sparse(f), dtype=tf.bool), *r.DeserializeSparse(serialized_sparse=tf.serialize_many_sparse(a, out_type=tf.variant), dtype=tf.string))
for i, v, d, words in (([[-1, 0]], [1], [3, 3], "indices[0] = [-1,0] is out of bounds: need 0 <= index < [3,3]"), ([[0, 0], [0, 5]], [1, 1], [3, 3], "indices[1] = [0,5] is out of bounds"), ([[1, 0], [0, 0]], [1, 2], [3, 3], "indices[1] = [0,0] is out of order"), ([[1, 0], [1, 0]], [1, 2], [3, 3], "indices[1] = [1,0] is repeated"), ([[0, 0]], [1], [-3, 3], "Expected shape dimensions to be non-negative, got -3"), ([[0]], [1], [3], "saw rank: 1"), ([[0, 0]], [[1]], [3, 3], "Input values should be a vector but received shape [1,1]"), ([0], [1], [3, 3], "Input indices should be a matrix but received shape [1]")): fails(words, lambda: tf.serialize_many_sparse(W(i, v, d)))
M = lambda rows, t=tf.string: sp(tf.deserialize_many_sparse(tf.placeholder_with_default(rows, None), t)); s = tf.serialize_sparse(a)
fails("Could not parse serialized proto", lambda: M([["x", "y", "z"]])); fails("Requested SparseTensor of type int64 but SparseTensor[0].values.dtype() == string", lambda: M(many, tf.int64)); fails("rank prior to SparseTensor[1] was: 2 but rank of SparseTensor[1] is: 1", lambda: M(tf.stack([s, many[0]]))); fails("Expected serialized_sparse[0, 0] to represent an index matrix", lambda: M([[s[1], s[0], s[2]]])); fails("has a zero dimension [0,3]", lambda: M(tf.zeros([0, 3], tf.string))); fails("should have 3 as the last dimension [1,2]", lambda: M([s[:2]]))
for shape in ([3], [2, 4]): log.append(raises("ValueError", "", lambda: tf.deserialize_many_sparse(tf.placeholder(tf.string, shape), tf.string)))
log.append(raises("TypeError", "Input must be a SparseTensor", lambda: tf.serialize_sparse(3))); log.append(raises("TypeError", "Input must be a SparseTensor", lambda: tf.serialize_many_sparse([1])))
# files
open(folder + "f1", "wb").write(b"hello\n"); os.makedirs(folder + "dd/ee"); [open(folder + "dd/" + n, "w").close() for n in ("a1", "a2", "b1", "ee/a3")]
run(tf.read_file(folder + "f1"), *[tf.matching_files(folder + p) for p in ("dd/*", "dd/a?", "dd/[ab]1", "none*", "dd/*/a*", "nodir/*", "dd/a1")], tf.io.matching_files([folder + "dd/b*", folder + "dd/a*"]))
run(tf.write_file(folder + "new/deep/f", "abc")); log.append(open(folder + "new/deep/f").read())
for make, words, kind in ((lambda: tf.read_file(folder + "none"), "none; No such file or directory", "NotFoundError"), (lambda: tf.read_file(folder + "dd"), "dd; Is a directory", "FailedPreconditionError"), (lambda: tf.write_file(folder + "dd", "abc"), "dd; Is a directory", "FailedPreconditionError")): fails(words, make, kind)
# language_detection
text = tf.placeholder(tf.string, [None], name="text"); clean = S.regex_replace(S.lower(text), r"[^a-z ]", ""); letters = S.bytes_split(S.regex_replace(clean, " +", "_")); grams = S.ngrams(letters, [2, 3], ""); ids = tf.string_to_hash_bucket_fast(grams.values, 50); dense = r.RaggedTensorToTensor(shape=i64([-1, 40]), values=ids, default_value=i64(0), row_partition_tensors=[grams.row_splits], row_partition_types=["ROW_SPLITS"]); table = tf.reshape(tf.range(100.0), [50, 2]) / 100.0; scores = tf.nn.softmax(tf.reduce_mean(tf.gather(table, dense), axis=1))
with tf.Session() as s: log.append(s.run([dense, scores], {text: ["Hello, World!", "Guten  Tag 123", ""]}))
# wide_and_deep
F = tf.train; ex = lambda **k: F.Example(features=F.Features(feature={n: F.Feature(bytes_list=F.BytesList(value=v)) if isinstance(v[0], bytes) else F.Feature(float_list=F.FloatList(value=v)) for n, v in k.items()})).SerializeToString()
s_in = tf.placeholder(tf.string, [None]); p = tf.parse_example(s_in, {"words": tf.VarLenFeature(tf.string), "age": tf.FixedLenFeature([], tf.float32, 0.5), "job": tf.FixedLenFeature([1], tf.string, "none")}); ids = tf.string_to_hash_bucket_fast(p["words"].values, 7); one = tf.SparseTensor(p["words"].indices, ids, p["words"].dense_shape); filled, empty = tf.sparse_fill_empty_rows(one, 0); emb = tf.reshape(tf.range(21.0), [7, 3]); deep = tf.nn.embedding_lookup_sparse(emb, filled, None, combiner="mean")
wide = tf.sparse_tensor_dense_matmul(tf.SparseTensor(tf.stack([p["words"].indices[:, 0], ids], 1), tf.ones_like(ids, tf.float32), tf.stack([tf.shape(s_in, out_type=tf.int64)[0], tf.constant(7, tf.int64)])), tf.reshape(tf.range(14.0), [7, 2])); job = tf.string_to_hash_bucket_strong(p["job"], 5, [3, 4])
with tf.Session() as s: log.append(s.run([deep, wide, empty, job, p["age"]], {s_in: [ex(words=[b"a", b"bc"], age=[30.0]), ex(job=[b"cook"]), ex(words=[b"a"])]}))
""")

TEXT_PROGRAMS: tuple[Snippet, ...] = tuple(
    Snippet(p.name, _BEGIN + p.code, p.alike) for p in _PROGRAMS
)
