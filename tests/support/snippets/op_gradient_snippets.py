"""Programs that ask for the gradients of one op each, as those of `gradient_snippets.py`: of lists,
of pooling and batch normalization (to the second order), of crops, cells, candidates.

In: nothing. Out: `OP_GRADIENT_SNIPPETS`. What all of them begin with is `OPENING`.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from dataclasses import replace

from snippets.api_snippets import Snippet, read_snippets

OPENING = """
L = tf.raw_ops; random = np.random.RandomState(3); feed = {}
def given(*shape):
    fed = tf.placeholder(tf.float32, shape)
    feed[fed] = random.uniform(-1, 1, shape).round(3)
    return fed
def slopes(y, *xs):
    weights = tf.reshape(tf.cast(tf.range(1, 1 + tf.size(y)), tf.float32), tf.shape(y))
    return tf.gradients(tf.reduce_sum(tf.square(y) * weights), list(xs))
def bent(y, *xs):
    flat = [tf.reshape(g, [-1]) for g in tf.gradients(tf.reduce_sum(tf.sin(y) * y), list(xs))]
    return slopes(tf.concat(flat, 0), *xs)
def rows(x): return L.TensorListFromTensor(tensor=x, element_shape=[2])
def stacked(held): return L.TensorListStack(input_handle=held, element_shape=[2], element_dtype=tf.float32)
def item(held, i): return L.TensorListGetItem(input_handle=held, index=i, element_shape=[2], element_dtype=tf.float32)
"""

_PROGRAMS = """
# list_of_rows
x = given(3, 2)
out = slopes(stacked(rows(x)), x)
# list_item_set
x = given(3, 2); y = given(2)
out = slopes(stacked(L.TensorListSetItem(input_handle=rows(x), index=1, item=y)), x, y)
# list_items
x = given(3, 2)
held = rows(x)
out = slopes(item(held, 1) * item(held, 2), x)
# list_pushed
x = given(3, 2); y = given(2)
out = slopes(stacked(L.TensorListPushBack(input_handle=rows(x), tensor=y)), x, y)
# list_popped
x = given(3, 2)
rest, last = L.TensorListPopBack(input_handle=rows(x), element_shape=[2], element_dtype=tf.float32)
out = slopes(stacked(rest) * last, x) + slopes(last, x) + slopes(stacked(rest), x)
# list_gathered
x = given(3, 2)
out = slopes(L.TensorListGather(input_handle=rows(x), indices=[2, 0], element_shape=[2], element_dtype=tf.float32), x)
# list_scattered
x = given(3, 2)
out = slopes(stacked(L.TensorListScatterV2(tensor=x, indices=[2, 0, 3], element_shape=[2], num_elements=5)), x) + slopes(stacked(L.TensorListScatter(tensor=x, indices=[2, 0, 3], element_shape=[2])), x)
# list_scattered_into
x = given(3, 2); y = given(2, 2)
out = slopes(stacked(L.TensorListScatterIntoExistingList(input_handle=rows(x), tensor=y, indices=[2, 0])), x, y)
# list_split_and_joined
x = given(3, 2)
held = L.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=[1, 2])
joined = L.TensorListConcatV2(input_handle=held, element_shape=[-1, 2], leading_dims=[], element_dtype=tf.float32)[0]
first = L.TensorListConcat(input_handle=held, element_shape=[None, 2], element_dtype=tf.float32)[0]
out = slopes(joined, x) + slopes(first, x)
# list_resized
x = given(3, 2)
out = slopes(stacked(L.TensorListResize(input_handle=rows(x), size=5)), x) + slopes(stacked(L.TensorListResize(input_handle=rows(x), size=2)), x)
# optional
x = given(3, 2)
held = L.OptionalFromValue(components=[x])
out = slopes(L.OptionalGetValue(optional=held, output_types=[tf.float32], output_shapes=[[3, 2]])[0], x)
# next_after
x = given(3, 2); y = given(2)
out = slopes(L.NextAfter(x1=x, x2=y), x, y)
# nth_element
x = given(3, 5); y = tf.round(x)
out = slopes(L.NthElement(input=x, n=1), x) + slopes(L.NthElement(input=y, n=1, reverse=True), y)
# products_of_sparse_matrices
x = given(3, 2); y = given(3, 2)
out = slopes(tf.matmul(x, y, transpose_b=True, a_is_sparse=True), x, y) + slopes(tf.matmul(x, y, transpose_a=True, b_is_sparse=True), x, y)
out += slopes(tf.matmul(x, tf.transpose(y), a_is_sparse=True, b_is_sparse=True), x, y) + slopes(tf.matmul(tf.transpose(x), tf.transpose(y), transpose_a=True, transpose_b=True, a_is_sparse=True), x, y)
# numbers_checked
x = given(3, 2)
out = slopes(L.CheckNumericsV2(tensor=x, message="m"), x)
# block_lstm
xs = [given(*s) for s in ([3, 2, 3], [2, 2], [2, 2], [5, 8], [2], [2], [2], [8])]
names = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"]
found = L.BlockLSTM(seq_len_max=tf.constant(3, tf.int64), cell_clip=10.0, forget_bias=0.5, **dict(zip(names, xs)))
out = [g for g in slopes(tf.concat([found.cs, found.h], 0), *xs)]
# block_lstm_peepholes
xs = [given(*s) for s in ([3, 2, 3], [2, 2], [2, 2], [5, 8], [2], [2], [2], [8])]
names = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"]
found = L.BlockLSTM(seq_len_max=tf.constant(2, tf.int64), cell_clip=10.0, use_peephole=True, **dict(zip(names, xs)))
out = slopes(tf.concat([found.cs, found.h], 0), *xs)
# block_lstm_of_version_2
xs = [given(*s) for s in ([3, 2, 3], [2, 2], [2, 2], [5, 8], [2], [2], [2], [8])]
names = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"]
found = L.BlockLSTMV2(seq_len_max=tf.constant(3, tf.int64), use_peephole=True, **dict(zip(names, xs)))
out = slopes(tf.concat([found.cs, found.h], 0), *xs)
# crops
x = given(2, 4, 5, 2); boxes = given(2, 4)
edges = tf.abs(boxes)
out = slopes(tf.image.crop_and_resize(x, edges, [0, 1], [3, 2]), x, boxes)
# crops_of_nearest_pixels
x = given(2, 4, 5, 2); boxes = given(2, 4)
out = slopes(tf.image.crop_and_resize(x, tf.abs(boxes), [0, 1], [3, 2], method="nearest"), x, boxes)
# dilation
x = given(2, 4, 5, 2); w = given(2, 3, 2)
out = slopes(L.Dilation2D(input=x, filter=w, strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], padding="SAME"), x, w)
# places_of_maxima
x = given(2, 4, 5, 2)
sizes = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 2, 1], "padding": "SAME"}
out = slopes(L.MaxPoolWithArgmax(input=x, **sizes)[0], x) + slopes(L.MaxPoolWithArgmax(input=x, include_batch_in_index=True, **sizes)[0], x)
# patches
x = given(2, 4, 5, 2)
out = slopes(L.ExtractImagePatches(images=x, ksizes=[1, 2, 3, 1], strides=[1, 1, 2, 1], rates=[1, 2, 1, 1], padding="SAME"), x)
# maxima_of_windows_twice
x = given(2, 4, 5, 2)
out = bent(tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 2, 1], "SAME"), x)
# maxima_of_windows_three_times
x = given(2, 4, 5, 2)
y = tf.nn.max_pool(x * x * x, [1, 2, 2, 1], [1, 1, 2, 1], "SAME")
(first,) = tf.gradients(tf.sin(y) * y, x)
(second,) = tf.gradients(first * first, x)
out = tf.gradients(second * second, x)
# maxima_of_windows_of_inputs
x = given(2, 4, 5, 2)
out = bent(L.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 1, 2, 1], padding="SAME"), x)
# maxima_of_volumes_twice
x = given(1, 3, 4, 3, 2)
out = bent(tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 1, 2, 1, 1], "SAME"), x)
# batch_norm_twice
x = given(2, 3, 2, 2); scale = given(2); offset = given(2)
out = bent(tf.nn.fused_batch_norm(x, scale, offset, epsilon=0.5)[0] * 0.2, x, scale, offset)
# batch_norm_by_statistics_twice
x = given(2, 3, 2, 2); scale = given(2); offset = given(2)
y = tf.nn.fused_batch_norm(x, scale, offset, mean=tf.constant([0.1, 0.2]), variance=tf.constant([0.5, 0.6]), epsilon=0.01, is_training=False)[0]
out = bent(y, x, scale, offset)
# sparse_reordered
v = given(4); s = tf.sparse_reorder(tf.SparseTensor([[2, 1], [0, 1], [1, 0], [0, 0]], v, [3, 2]))
out = slopes(s.values, v)
# sparse_added
v = given(3); w = given(2)
s = tf.sparse_add(tf.SparseTensor([[0, 1], [1, 0], [2, 1]], v, [3, 2]), tf.SparseTensor([[1, 0], [1, 1]], w, [3, 2]))
out = slopes(s.values, v, w)
# sparse_sliced
v = given(4); s = tf.sparse_slice(tf.SparseTensor([[0, 0], [1, 0], [1, 2], [2, 1]], v, [3, 3]), [1, 0], [2, 2])
out = slopes(s.values, v)
# ragged_to_tensor
v = given(5, 2); d = given(2)
y = L.RaggedTensorToTensor(shape=tf.constant([3, 2, 2], tf.int64), values=v, default_value=d, row_partition_tensors=[tf.constant([0, 3, 3, 5], tf.int64)], row_partition_types=["ROW_SPLITS"])
out = slopes(y, v, d)
# ragged_to_tensor_whole
v = given(5); d = given()
y = L.RaggedTensorToTensor(shape=tf.constant(-1, tf.int64), values=v, default_value=d, row_partition_tensors=[tf.constant(3, tf.int64), tf.constant([0, 0, 2, 2, 2], tf.int64)], row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
out = slopes(y, v, d)
# ragged_to_sparse
v = given(4, 2)
y = L.RaggedTensorToSparse(rt_nested_splits=[tf.constant([0, 1, 4], tf.int64)], rt_dense_values=v)
out = slopes(y.sparse_values, v)
# ragged_gathered
v = given(5, 2)
y = L.RaggedGather(params_nested_splits=[tf.constant([0, 2, 2, 5], tf.int64)], params_dense_values=v, indices=tf.constant([2, 0, 2]), OUTPUT_RAGGED_RANK=1)
out = [tf.convert_to_tensor(g) for g in slopes(y.output_dense_values, v)]
"""

OP_GRADIENT_SNIPPETS: tuple[Snippet, ...] = tuple(
    replace(snippet, code=OPENING + snippet.code) for snippet in read_snippets(_PROGRAMS)
)
