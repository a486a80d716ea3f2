"""Small programs of tf.data, each of which makes a dataset `d`.

In: a module that goes by `tf` (flowc, or TensorFlow 1's names), an empty folder. Out: what goes
through the dataset finds, twice, as plain values; `tests/recorded/datasets.json` has TensorFlow's.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

import collections
import gzip
import os
import sqlite3
import struct
from contextlib import closing
from typing import Any

import numpy as np

MOST = 24  # elements of a dataset
Point = collections.namedtuple("Point", ("x", "y"))

PROGRAMS = r"""
range: d = D.range(5)
range_steps: d = D.zip((D.range(2, 12, 4), D.range(5, 0, -2), D.range(3, 3).concatenate(D.range(2))))
range_type: d = D.range(3, output_type=tf.int32)
tensors: d = D.from_tensors(([1, 2], {"b": 3.0, "a": "x"}))
tensors_scalar: d = D.from_tensors(7)
slices: d = D.from_tensor_slices(([1, 2, 3], [[1.0], [2.0], [3.0]]))
slices_dict: d = D.from_tensor_slices({"a": [1, 2], "b": (["x", "y"], [0.5, 1.5])})
slices_named: d = D.from_tensor_slices(Point([1, 2], [3, 4])).map(lambda p: Point(p.y, p.x))
slices_ordered: d = D.from_tensor_slices(collections.OrderedDict([("z", [1, 2]), ("a", [3, 4])]))
slices_unequal: d = D.from_tensor_slices(([1, 2, 3], [1, 2]))
slices_scalar: d = D.from_tensor_slices(3)
slices_strings: d = D.from_tensor_slices(["a", "bc", ""]).repeat(2)
slices_empty: d = D.from_tensor_slices(np.zeros((0, 3), np.float32))
map: d = D.range(4).map(lambda x: x * x + 1)
map_two: d = D.from_tensor_slices(([1.0, 2.0], [3.0, 4.0])).map(lambda a, b: (a + b, {"d": a - b}))
map_list: d = D.range(3).map(lambda x: [x, x + 1])
map_constant: d = D.range(2).map(lambda x: "c")
map_dict: d = D.from_tensor_slices({"a": [1, 2], "b": [3, 4]}).map(lambda e: e["a"] * e["b"])
map_capture: c = tf.constant([10, 20]); d = D.range(3).map(lambda x: tf.cast(x, tf.int32) * c)
map_shapes: d = D.range(4).map(lambda x: tf.ones([tf.cast(x, tf.int32), 2]))
map_strings: d = D.from_tensor_slices([1, 2]).map(lambda x: tf.strings.join([tf.as_string(x), "!"]))
map_parallel: d = D.range(9).map(lambda x: x * 2, num_parallel_calls=3)
map_autotune: d = D.range(4).map(lambda x: x - 1, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
map_fails: d = D.range(4).map(lambda x: tf.gather(tf.constant([1, 2]), tf.cast(x, tf.int32)))
map_check: d = D.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.check_numerics(1.0 / x, "bad"))
map_nothing: d = D.range(3).map(lambda x: None)
map_random: d = D.range(3).map(lambda x: tf.random_uniform([2], seed=4))
map_random_normal: d = D.range(3).map(lambda x: tf.random_normal([], seed=4)).repeat(2)
map_random_graph_seed: tf.set_random_seed(3); d = D.range(3).map(lambda x: (tf.random_uniform([]), tf.random_uniform([], 0, 10, tf.int32)))
map_cond: d = D.range(4).map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: x))
map_while: d = D.range(4).map(lambda x: tf.while_loop(lambda i, a: i < x, lambda i, a: (i + 1, a + i), [tf.constant(0, tf.int64), tf.constant(0, tf.int64)])[1])
map_py_func: d = D.range(3).map(lambda x: tf.py_func(lambda v: v + 5, [x], tf.int64))
map_py_func_fails: d = D.range(2).map(lambda x: tf.py_func(lambda v: 1 // v, [x], tf.int64))
filter: d = D.range(9).filter(lambda x: tf.equal(x % 3, 0))
filter_tuple: d = D.from_tensor_slices(([1, 2, 3], [3, 2, 1])).filter(lambda a, b: a >= b)
filter_no_bool: d = D.range(3).filter(lambda x: x)
filter_none: d = D.range(3).filter(lambda x: x > 5)
take: d = D.range(5).take(2)
take_all: d = D.range(3).take(-1)
take_none: d = D.range(3).take(0)
skip: d = D.range(5).skip(3)
skip_all: d = D.range(5).skip(-1)
repeat: d = D.range(2).repeat(3)
repeat_endless: d = D.range(2).repeat()
repeat_none: d = D.range(2).repeat(0)
repeat_empty: d = D.range(0).repeat()
shard: d = D.range(10).shard(3, 1)
shard_bad: d = D.range(10).shard(3, 3)
concatenate: d = D.range(2).concatenate(D.range(5, 7))
concatenate_shapes: d = D.from_tensors([1, 2]).concatenate(D.from_tensors([3]))
concatenate_types: d = D.range(2).concatenate(D.from_tensors(1.0))
zip: d = D.zip({"a": D.range(3), "b": (D.range(5, 9), D.from_tensors("s").repeat())})
zip_not: d = D.zip((D.range(3), 4))
enumerate: d = D.from_tensor_slices(["a", "b"]).enumerate(start=5)
cache: d = D.range(3).map(lambda x: x + tf.cast(tf.random_uniform([], 0, 9, tf.int32, seed=1), tf.int64)).cache().repeat(2)
cache_file: d = D.range(3).cache(folder + "kept").repeat(2)
prefetch_negative: d = D.range(5).prefetch(-2)
prefetch: d = D.range(5).map(lambda x: x * 3).prefetch(2)
batch: d = D.range(7).batch(3)
batch_drop: d = D.range(7).batch(3, drop_remainder=True)
batch_twice: d = D.range(8).batch(2).batch(3)
batch_strings: d = D.from_tensor_slices(["a", "b", "c"]).batch(2)
batch_structure: d = D.from_tensor_slices({"a": [1, 2, 3], "b": [[1.5], [2.5], [3.5]]}).batch(2)
batch_shapes: d = D.range(3).map(lambda x: tf.ones([x])).batch(2)
batch_zero: d = D.range(3).batch(0)
batch_mapped: d = D.range(6).batch(4).map(lambda x: (tf.reduce_sum(x), tf.size(x)))
padded: d = D.range(4).map(lambda x: tf.fill([x], x)).padded_batch(2, [None])
padded_to: d = D.range(3).map(lambda x: tf.fill([x], x)).padded_batch(2, [4], padding_values=tf.constant(-1, tf.int64))
padded_pair: d = D.range(4).map(lambda x: (tf.fill([x], "s"), tf.ones([tf.cast(x, tf.int32), 2]))).padded_batch(3, ([-1], [None, 3]), ("-", 9.0))
padded_drop: d = D.range(5).map(lambda x: tf.fill([x], x)).padded_batch(2, [None], drop_remainder=True)
padded_small: d = D.range(4).map(lambda x: tf.fill([x], x)).padded_batch(2, [2])
padded_scalars: d = D.range(3).padded_batch(2, [])
padded_type: d = D.range(3).map(lambda x: tf.fill([x], x)).padded_batch(2, [None], 0.5)
unbatch: d = D.from_tensor_slices([[1, 2], [3, 4]]).unbatch()
unbatch_pair: d = D.range(5).batch(2).map(lambda x: (x, x * 2)).unbatch()
flat_map: d = D.range(4).flat_map(lambda x: D.range(x))
flat_map_nested: d = D.range(3).flat_map(lambda x: D.range(2).map(lambda y: x * 10 + y))
flat_map_slices: d = D.from_tensor_slices([[1, 2], [3, 4]]).flat_map(D.from_tensor_slices)
flat_map_not: d = D.range(3).flat_map(lambda x: x)
interleave: d = D.range(1, 5).interleave(lambda x: D.from_tensors(x).repeat(5), cycle_length=2, block_length=3)
interleave_no_block: d = D.range(3).interleave(lambda x: D.range(x), cycle_length=2, block_length=0)
interleave_short: d = D.range(7).interleave(lambda x: D.from_tensors(x).repeat(x % 3), cycle_length=3, block_length=1)
interleave_blocks: d = D.range(5).interleave(lambda x: D.range(x, x + 4), cycle_length=3, block_length=2)
interleave_parallel: d = D.range(7).interleave(lambda x: D.from_tensors(x).repeat(x % 3 + 1), cycle_length=3, block_length=2, num_parallel_calls=2)
interleave_legacy: d = D.range(5).apply(E.parallel_interleave(lambda x: D.from_tensors(x).repeat(x % 3 + 1), cycle_length=2, block_length=1))
interleave_legacy_blocks: d = D.range(6).apply(E.parallel_interleave(lambda x: D.range(x), cycle_length=3, block_length=2))
shuffle: d = D.range(10).shuffle(4, seed=3)
shuffle_all: d = D.range(10).shuffle(100, seed=11)
shuffle_one: d = D.range(4).shuffle(1, seed=11)
shuffle_repeat: d = D.range(6).shuffle(4, seed=3).repeat(3)
shuffle_same: d = D.range(6).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(3)
shuffle_repeated: d = D.range(4).repeat(3).shuffle(5, seed=9)
shuffle_graph_seed: tf.set_random_seed(7); d = D.range(6).shuffle(10)
shuffle_both_seeds: tf.set_random_seed(7); d = D.range(6).shuffle(10, seed=5)
shuffle_two: tf.set_random_seed(7); d = D.zip((D.range(6).shuffle(10), D.range(6).shuffle(3)))
shuffle_mapped: d = D.range(8).map(lambda x: x * 2).shuffle(3, seed=1)
shuffle_batch: d = D.range(12).shuffle(5, seed=2).batch(4).repeat(2)
shuffle_slices: d = D.from_tensor_slices((np.arange(8.0).reshape(4, 2), [0, 1, 2, 3])).shuffle(3, seed=2).batch(3)
shuffle_zipped: d = D.zip((D.range(6), D.range(6, 12))).shuffle(4, seed=6).batch(4)
shuffle_bad: d = D.range(3).shuffle(0)
shuffle_and_repeat: d = D.range(6).apply(E.shuffle_and_repeat(4, 2, seed=3))
window: d = D.range(7).window(3).flat_map(lambda w: w.batch(3))
window_shift: d = D.range(7).window(3, shift=2, stride=2, drop_remainder=True).flat_map(lambda w: w.batch(3))
window_pair: d = D.zip((D.range(5), D.range(5, 10))).window(2, 1).flat_map(lambda a, b: D.zip((a.batch(2), b.batch(2))))
window_far: d = D.range(9).window(2, shift=4).flat_map(lambda w: w)
group_by_window: d = D.range(10).apply(E.group_by_window(lambda x: x % 3, lambda k, w: w.batch(2), window_size=2))
group_window_sizes: d = D.range(10).apply(E.group_by_window(lambda x: x % 2, lambda k, w: w.batch(10), window_size_func=lambda k: k + 2))
group_by_reducer: d = D.range(10).apply(E.group_by_reducer(lambda x: x % 3, E.Reducer(lambda k: (tf.constant(0, tf.int64), k), lambda s, x: (s[0] + x, s[1]), lambda s, k: (k, s))))
buckets: d = D.range(1, 9).map(lambda x: tf.fill([x], x)).apply(E.bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3, 6], [2, 3, 2]))
buckets_to_boundary: d = D.range(1, 6).map(lambda x: tf.fill([x], x)).apply(E.bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3, 6], [2, 3, 2], pad_to_bucket_boundary=True))
scan: d = D.range(5).apply(E.scan(tf.constant(1, tf.int64), lambda s, x: (s + x, s * x)))
scan_pair: d = D.range(4).apply(E.scan((tf.constant(0, tf.int64), tf.constant([1.0])), lambda s, x: ((s[0] + x, s[1] * 2.0), (s[0], s[1]))))
take_while: d = D.range(9).apply(E.take_while(lambda x: x < 4))
unique: d = D.from_tensor_slices([1, 2, 1, 3, 2]).apply(E.unique())
ignore_errors: d = D.from_tensor_slices([1.0, 0.0, 2.0, 0.0]).map(lambda x: tf.check_numerics(1.0 / x, "bad")).apply(E.ignore_errors())
map_and_batch: d = D.range(7).apply(E.map_and_batch(lambda x: x * 2, 3))
map_and_batch_drop: d = D.range(7).apply(E.map_and_batch(lambda x: (x, x + 1), 3, drop_remainder=True, num_parallel_calls=2))
counter: d = E.Counter(3, 2).take(4)
random: d = E.RandomDataset(seed=5).take(4)
sample: d = E.sample_from_datasets([D.range(5), D.range(10, 15)], [0.5, 0.5], seed=3)
sample_three: d = E.sample_from_datasets([D.range(5), D.range(10, 15), D.range(20, 23)], [0.2, 0.5, 0.3], seed=8)
choose: d = E.choose_from_datasets([D.from_tensors("a").repeat(), D.from_tensors("b").repeat(2)], D.from_tensor_slices(np.array([0, 1, 1, 1, 0], np.int64)))
assert_cardinality: d = D.range(3).apply(E.assert_cardinality(4))
cardinalities: d = D.from_tensors([E.cardinality(x) for x in (D.range(5), D.range(5).batch(2), D.range(3).repeat(), D.range(3).filter(lambda x: x > 0), D.range(7).batch(2, True), D.range(3).repeat(2).skip(1).take(9), D.zip((D.range(3), D.range(2))), D.range(10).shard(3, 1), D.range(2).concatenate(D.range(3)))])
reduce: d = D.from_tensors(D.range(5).reduce(np.int64(0), lambda a, x: a + x))
reduce_pair: d = D.from_tensors(D.range(5).reduce((np.int64(0), 1.0), lambda s, x: (s[0] + x, s[1] * 2.0)))
single: d = D.from_tensors(E.get_single_element(D.range(3).batch(5)))
single_none: d = D.from_tensors(E.get_single_element(D.range(0)))
single_several: d = D.from_tensors(E.get_single_element(D.range(2)))
generator: d = D.from_generator(lambda: iter(range(3)), tf.int32)
generator_pair: d = D.from_generator(lambda: (([k], {"s": str(k)}) for k in range(3)), ([tf.int64][0], {"s": tf.string}), ([None], {"s": []})).repeat(2)
generator_args: d = D.from_generator(lambda n: range(int(n)), tf.float32, [], args=(3,))
generator_shape: d = D.from_generator(lambda: [[1, 2], [3]], tf.int32, [2])
generator_type: d = D.from_generator(lambda: ["x"], tf.int32)
generator_fails: d = D.from_generator(lambda: (1 // k for k in (1, 0)), tf.int32)
sparse: d = D.from_tensors(tf.SparseTensor([[0, 1], [1, 0]], [5.0, 6.0], [2, 3]))
sparse_slices: d = D.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [3, 3]))
sparse_batch: d = D.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [3, 3])).batch(2)
sparse_map: d = D.range(3).map(lambda x: tf.SparseTensor([[x]], [x * 2], [4])).map(lambda s: (s, s.values + 1))
sparse_row_slices: d = D.from_sparse_tensor_slices(tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 4]))
ragged: d = D.from_tensors((RT.from_row_splits([1, 2, 3], LS([0, 2, 2, 3])), 5)).repeat(2)
ragged_slices: d = D.from_tensor_slices({"a": RT.from_row_splits([1, 2, 3], LS([0, 2, 2, 3])), "b": [7, 8, 9]})
ragged_of_rows: d = D.from_tensor_slices(RT.from_row_splits(RT.from_row_splits(["a", "b", "c"], LS([0, 1, 3, 3])), LS([0, 2, 2, 3])))
ragged_batch: d = D.from_tensor_slices(RT.from_row_splits([[1, 2], [3, 4], [5, 6]], LS([0, 2, 2, 3]))).shuffle(2, seed=3).batch(2)
ragged_batches: d = D.from_tensor_slices(RT.from_row_splits(RT.from_row_splits([1, 2, 3], LS([0, 1, 3, 3])), LS([0, 2, 2, 3]))).batch(2).batch(2)
ragged_map: d = D.range(4).map(lambda x: (RT.from_row_lengths(tf.range(x), tf.reshape(x, [1])), x)).batch(3)
ragged_mapped: d = D.from_tensor_slices(RT.from_row_splits([1, 2, 3], LS([0, 2, 2, 3]))).batch(2).map(lambda r: (r.values * 2, r.row_splits, r))
ragged_sizes: d = D.from_tensor_slices(RT.from_row_splits([1, 2, 3], LS([0, 2, 2, 3]))).filter(lambda r: tf.size(r) < 2).map(lambda r: (tf.shape(r), tf.rank(r), r))
ragged_rows: d = D.from_tensors((RT.from_row_splits([1, 2, 3], LS([0, 2, 2, 3])), [1, 2, 3])).apply(E.unbatch()).batch(2)
sparse_rows: d = D.from_tensors(tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [2, 3])).apply(E.unbatch())
dense_to_ragged: d = D.range(5).map(lambda x: (tf.fill([x], x), x)).apply(E.dense_to_ragged_batch(2))
dense_to_ragged_axes: d = D.range(1, 6).map(lambda x: {"a": tf.fill([x, 2, 6 - x], x), "b": tf.fill([x - 1, x, 2], 0.5)}).apply(E.dense_to_ragged_batch(2, True))
dense_to_sparse: d = D.range(1, 5).map(lambda x: tf.fill([x], x)).apply(E.dense_to_sparse_batch(2, [5]))
text_lines: d = tf.data.TextLineDataset([folder + "a.txt", folder + "b.txt"])
text_lines_gzip: d = tf.data.TextLineDataset(folder + "a.txt.gz", "GZIP").skip(1)
text_lines_parallel: d = tf.data.TextLineDataset([folder + "a.txt", folder + "b.txt"], num_parallel_reads=2)
text_lines_dataset: d = tf.data.TextLineDataset(D.from_tensor_slices([folder + "b.txt"]))
text_missing: d = tf.data.TextLineDataset([folder + "none.txt"])
text_numbers: d = tf.data.TextLineDataset([3])
fixed_length: d = tf.data.FixedLengthRecordDataset(folder + "a.bin", 3, header_bytes=2, footer_bytes=1)
fixed_length_odd: d = tf.data.FixedLengthRecordDataset(folder + "a.bin", 4)
tf_records: d = tf.data.TFRecordDataset([folder + "a.tfr"])
tf_records_damaged: d = tf.data.TFRecordDataset([folder + "bad.tfr"])
text_carriage_returns: d = tf.data.TextLineDataset(folder + "returns.lines").concatenate(tf.data.TextLineDataset(folder + "returns.fields"))
csv_carriage_returns: d = E.CsvDataset(folder + "returns.fields", ["", "z"]).concatenate(E.CsvDataset(folder + "returns.fields", ["", "z"], header=True, use_quote_delim=False))
csv: d = E.CsvDataset(folder + "a.csv", [tf.float32, [0], "none"], header=True)
csv_columns: d = E.CsvDataset(folder + "a.csv", [[1.5], tf.string], header=True, select_cols=[0, 2])
csv_required: d = E.CsvDataset(folder + "a.csv", [tf.float32, tf.int32, tf.string], header=True)
csv_bad: d = E.CsvDataset(folder + "bad.csv", [tf.int32, tf.int32])
csv_made: d = E.make_csv_dataset(folder + "a.csv", 2, num_epochs=1, shuffle=False, label_name="c")
csv_made_columns: d = E.make_csv_dataset(folder + "a.csv", 3, num_epochs=2, shuffle=False, select_columns=["c", "a"], column_defaults=[1.0, "x"])
examples_parsed: d = tf.data.TFRecordDataset(folder + "e.tfr").batch(3).apply(E.parse_example_dataset({"i": tf.FixedLenFeature([], tf.int64), "t": tf.VarLenFeature(tf.string)}, 2))
examples_batched: d = E.make_batched_features_dataset(folder + "e.tfr", 2, {"i": tf.FixedLenFeature([], tf.int64), "x": tf.FixedLenFeature([2], tf.float32)}, label_key="i", num_epochs=1, shuffle=False)
examples_shuffled: d = E.make_batched_features_dataset(folder + "e.tfr", 3, {"i": tf.FixedLenFeature([], tf.int64)}, num_epochs=2, shuffle_buffer_size=3, shuffle_seed=5, drop_final_batch=True)
examples_label: d = E.make_batched_features_dataset(folder + "e.tfr", 3, {"i": tf.FixedLenFeature([], tf.int64)}, label_key="x")
examples_reader: d = E.make_batched_features_dataset(folder + "e.tfr", 3, {"i": tf.FixedLenFeature([], tf.int64)}, reader=tf.TFRecordReader)
list_files: d = D.list_files(folder + "*.txt", shuffle=False).map(lambda n: tf.py_func(lambda v: v[len(folder):], [n], tf.string))
list_files_shuffled: d = D.list_files(folder + "*.txt", seed=4).map(lambda n: tf.py_func(lambda v: v[len(folder):], [n], tf.string))
list_files_none: d = D.list_files(folder + "*.none", shuffle=False)
options: o = tf.data.Options(); o.experimental_deterministic = True; d = D.range(3).with_options(o)
apply_not: d = D.range(3).apply(lambda x: 3)
from_list: d = D.zip((E.from_list([(1, "a"), (2, "b"), (3, "c")]), E.from_list([[1, 2], [3], [4, 5, 6]])))
from_list_empty: d = E.from_list([])
from_list_structures: d = E.from_list([1, (2, 3)])
query: d = E.SqlDataset("sqlite", folder + "a.db", "select a, b, c from t order by a", (tf.int64, tf.string, tf.float64)).repeat(2)
query_converted: d = E.SqlDataset("sqlite", folder + "a.db", "select a, a, a, c, c, d, d, d, b from t", (tf.string, tf.int8, tf.bool, tf.string, tf.uint8, tf.string, tf.int32, tf.float64, tf.float64))
query_columns: d = E.SqlDataset("sqlite", folder + "a.db", "select a from t", (tf.int32, tf.int32))
query_type: d = E.SqlDataset("sqlite", folder + "a.db", "select a from t", tf.float32)
query_wrong: d = E.SqlDataset("sqlite", folder + "a.db", "select nothing from t", tf.int32)
query_driver: d = E.SqlDataset("mysql", folder + "a.db", "select a from t", tf.int32)
query_no_database: d = E.SqlDataset("sqlite", folder + "a.txt", "select a from t", tf.int32)
written: init = E.TFRecordWriter(folder + "w.tfr").write(D.from_tensor_slices(["a", "bc", ""])); d = tf.data.TFRecordDataset(folder + "w.tfr")
written_gzip: init = E.TFRecordWriter(folder + "w.tfr", "GZIP").write(D.range(3).map(tf.as_string)); d = tf.data.TFRecordDataset(folder + "w.tfr", "GZIP")
written_numbers: init = E.TFRecordWriter(folder + "w.tfr").write(D.range(3))
to_device: d = D.range(3).apply(E.copy_to_device("/cpu:0")).apply(E.prefetch_to_device("/cpu:0"))
table: t = E.table_from_dataset(D.from_tensor_slices((["a", "b"], [3, 4])), default_value=-1); init = tf.tables_initializer(); d = D.from_tensor_slices(["b", "z", "a"]).map(t.lookup)
table_buckets: t = E.index_table_from_dataset(D.from_tensor_slices(["a", "b", "c"]), num_oov_buckets=5, vocab_size=2); init = tf.tables_initializer(); d = D.from_tensor_slices(["b", "c", "z", "a"]).map(t.lookup)
table_twice: t = E.index_table_from_dataset(D.from_tensor_slices(["a", "a"])); init = tf.tables_initializer(); d = D.range(1)
table_few: t = E.index_table_from_dataset(D.range(2), vocab_size=3); init = tf.tables_initializer(); d = D.range(1)
optional: i = tf.data.make_one_shot_iterator(D.range(2).map(lambda x: (x, tf.as_string(x)))); o = [E.get_next_as_optional(i) for k in range(2)]; d = D.from_tensors((o[0].has_value(), E.get_next_as_optional(tf.data.make_one_shot_iterator(D.range(0))).has_value(), o[1].get_value()[1]))
optional_none: d = D.from_tensors(E.get_next_as_optional(tf.data.make_one_shot_iterator(D.range(0))).get_value())
optional_branch: o = E.get_next_as_optional(tf.data.make_one_shot_iterator(D.range(7, 9))); d = D.from_tensors(tf.cond(o.has_value(), lambda: o.get_value() * 10, lambda: tf.constant(-1, tf.int64)))
optional_made: o = E.Optional.from_value((1, {"a": "x"})); e = E.Optional.empty(tf.TensorSpec([2], tf.int32)); d = D.from_tensors((o.get_value(), o.has_value(), e.has_value()))
optional_made_none: d = D.from_tensors(E.Optional.empty(tf.TensorSpec([2], tf.int32)).get_value())
resampled: d = D.from_tensor_slices([0, 0, 0, 1] * 12).apply(E.rejection_resample(lambda x: x, [0.5, 0.5], [0.75, 0.25], seed=7))
resampled_estimated: d = D.from_tensor_slices(([0, 0, 1] * 16, np.arange(48))).apply(E.rejection_resample(lambda c, x: c, [0.6, 0.4], seed=7))
resampled_as_it_comes: d = D.range(4).apply(E.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.5, 0.5]))
resampled_filtered: d = D.range(20).apply(E.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.0, 1.0], [0.5, 0.5], seed=3))
placeholder: p = tf.placeholder(tf.int64, []); d = D.range(p); feed = {p: 3}
placeholder_map: p = tf.placeholder(tf.float32, [None]); d = D.from_tensor_slices(p).map(lambda x: x + p[0]).batch(2); feed = {p: [1.0, 2.0, 3.0]}
variable: v = tf.Variable(2.0); init = v.initializer; d = D.from_tensors(3.0).repeat(2).map(lambda x: x * v)
"""


def write_files(folder: str) -> None:
    """What the programs read."""
    with open(folder + "a.txt", "wb") as file:
        file.write(b"one\ntwo\r\n\nfour\n")
    with open(folder + "b.txt", "wb") as file:
        file.write(b"five\nsix")
    with open(folder + "returns.lines", "wb") as file:
        file.write(b"a\rb\r\r\n\r\nc\r\rd\r\ne\r")
    with open(folder + "returns.fields", "wb") as file:
        file.write(b'a,b\r\n1,"x\r\ny\rz"\r2,"w"\r\n3,"v"\r')
    with closing(sqlite3.connect(folder + "a.db")) as database:
        database.execute("drop table if exists t")
        database.execute("create table t(a integer, b text, c real, d)")
        rows = [(1, "x", 0.5, None), (2, "\xff", 2.0, "12abc"), (3, None, 1e20, b"\0z")]
        database.executemany("insert into t values (?, ?, ?, ?)", [*rows, (300, "7.9", -3.7, 5)])
        database.commit()
    with gzip.open(folder + "a.txt.gz", "wb") as packed:
        packed.write(b"one\ntwo\nthree")
    with open(folder + "a.bin", "wb") as file:
        file.write(b"hh" + b"abcdefghi" + b"f")
    with open(folder + "a.csv", "w") as text:
        text.write('a,b,c\n1.5,2,"x, ""y"""\n2,,z\n3e1,-4,\n')
    with open(folder + "bad.csv", "w") as text:
        text.write("1,2\n3,x\n4,5\n6\n7,8,9\n10,11\n")
    records = b"".join(map(_record, (b"first", b"", b"third record")))
    with open(folder + "a.tfr", "wb") as file:
        file.write(records)
    with open(folder + "e.tfr", "wb") as file:
        file.write(b"".join(_record(_example(k)) for k in range(7)))
    with open(folder + "bad.tfr", "wb") as file:
        file.write(records[:23] + b"\0" + records[24:])


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked(length)) + data + struct.pack("<I", _masked(data))


def _example(k: int) -> bytes:
    """A `tf.train.Example` with a number, two floats and up to two words."""

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    values = {
        b"i": field(3, field(1, bytes([k]))),
        b"x": field(2, field(1, struct.pack("<2f", k / 2, -k))),
        b"t": field(1, b"".join(field(1, b"w%d" % n) for n in range(k % 3))),
    }
    entries = [field(1, name) + field(2, value) for name, value in values.items()]
    return field(1, b"".join(field(1, entry) for entry in entries))


def _masked(data: bytes) -> int:
    """CRC-32C, as TFRecords have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def programs() -> dict[str, str]:
    lines = (line.partition(": ") for line in PROGRAMS.strip().splitlines())
    return {name: code for name, _, code in lines}


def plain(value: Any) -> Any:
    """A fetched element as JSON has it, with the dtypes of its arrays."""
    if hasattr(value, "row_splits"):
        return ["ragged", plain(value.values), plain(value.row_splits)]
    if hasattr(value, "dense_shape"):
        return ["sparse", *(plain(part) for part in value)]
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if hasattr(value, "_fields"):
        return [type(value).__name__, *(plain(part) for part in value)]
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, bytes):
        return value.decode()
    array = np.asarray(value)
    if array.dtype == object:
        return [b.decode() for b in array.reshape(-1)] + [list(array.shape)]
    return [str(array.dtype), [float(f"{x:.6g}") for x in array.reshape(-1)], list(array.shape)]


def fault(error: Exception, folder: str) -> list[str]:
    """The class of an error and what it says first."""
    text = str(error).replace(folder, "FOLDER/").removeprefix("Graph execution error:\n\n")
    if "Detected at node" in text:
        text = text.partition("\nNode: ")[2].partition("\n")[2]
    if "Error in user-defined function" in text:
        text = text.partition(" transformation with iterator: ")[2].partition(": ")[2]
    return ["error", type(error).__name__, text.partition("\n")[0]]


# Programs whose graphs are imported as TensorFlow writes them.
IMPORTED = [
    "slices_dict",
    "map_two",
    "map_capture",
    "map_parallel",
    "map_random",
    "map_cond",
    "map_while",
    "filter_tuple",
    "shard",
    "concatenate",
    "cache",
    "prefetch",
    "batch_drop",
    "padded_to",
    "padded_pair",
    "unbatch_pair",
    "flat_map_nested",
    "interleave_short",
    "interleave_parallel",
    "interleave_legacy",
    "shuffle_repeat",
    "shuffle_graph_seed",
    "shuffle_batch",
    "shuffle_and_repeat",
    "window",
    "group_window_sizes",
    "buckets",
    "scan_pair",
    "take_while",
    "unique",
    "ignore_errors",
    "map_and_batch_drop",
    "sample",
    "choose",
    "reduce_pair",
    "single",
]
FIRST = 12  # elements that are compared


def imported(tf: Any, graph_def: Any) -> list[Any]:
    """The components of the elements that a graph's only iterator gives."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        following = graph.get_operation_by_name("IteratorGetNext").outputs
        with tf.Session() as session:
            session.run(graph.get_operation_by_name("MakeIterator"))
            found: list[Any] = []
            faults = 0
            while len(found) < FIRST and faults < 3:
                try:
                    found.append([plain(array) for array in session.run(following)])
                except tf.errors.OpError as error:
                    found.append([type(error).__name__])
                    faults += 1
            return found


def names_of(tf: Any, folder: str) -> dict[str, Any]:
    """What programs have."""
    return {
        "tf": tf,
        "np": np,
        "D": tf.data.Dataset,
        "E": tf.data.experimental,
        "RT": tf.RaggedTensor,
        "LS": lambda numbers: np.array(numbers, np.int64),
        "Point": Point,
        "collections": collections,
        "folder": folder,
        "feed": None,
        "init": None,
        "os": os,
    }


def run_code(code: str, names: dict[str, Any]) -> None:
    for statement in code.split("; "):
        exec(statement, names)


def seen(tf: Any, code: str, folder: str) -> list[Any]:
    """What a program finds: types and shapes, then the elements of two iterations."""
    write_files(folder)
    names = names_of(tf, folder)
    with tf.Graph().as_default():
        try:
            run_code(code, names)
            d = names["d"]
            iterator = tf.data.make_initializable_iterator(d)
            following = iterator.get_next()
        except Exception as error:
            return [fault(error, folder)]
        types = tf.nest.flatten(tf.data.get_output_types(d))
        shapes = [s for s in tf.nest.flatten(tf.data.get_output_shapes(d))]
        found: list[Any] = [
            [[t.name for t in types], [None if s.ndims is None else s.as_list() for s in shapes]]
        ]
        with tf.Session() as session:
            if names["init"] is not None:
                try:
                    session.run(names["init"])
                except tf.errors.OpError as error:
                    return [*found, fault(error, folder)]
            first, second = (
                _elements(tf, session, iterator, following, names["feed"], folder) for _ in range(2)
            )
    return [*found, first, "the same" if second == first else second]


def _elements(
    tf: Any, session: Any, iterator: Any, following: Any, feed: Any, folder: str
) -> list[Any]:
    found: list[Any] = []
    try:
        session.run(iterator.initializer, feed)
    except Exception as error:
        return [fault(error, folder)]
    faults = 0
    while len(found) < MOST and faults < 6:
        try:
            found.append(plain(session.run(following)))
        except tf.errors.OutOfRangeError as error:
            found.append(fault(error, folder))
            break
        except Exception as error:
            found.append(fault(error, folder))
            faults += 1
    return found
