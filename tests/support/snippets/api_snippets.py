"""Programs of TensorFlow's API, run in TensorFlow once and in flowc by the tests.

In: nothing. Out: `SNIPPETS`, each the text of a program over `tf` and `np` that sets `out` (what is
fetched) and perhaps `feed`. The name begins with the row of the specification that it is about.
`alike`: flowc's GraphDef must have the very nodes that TensorFlow's has.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    name: str
    code: str
    alike: bool = False


def read_snippets(text: str) -> tuple[Snippet, ...]:
    """Snippets stand under `# name` lines; `# name =` marks those of equal GraphDefs."""
    found: list[Snippet] = []
    for block in text.strip().split("\n# ")[0:]:
        head, _, code = block.removeprefix("# ").partition("\n")
        name, _, mark = head.partition(" ")
        found.append(Snippet(name, code.strip(), mark == "="))
    return tuple(found)


SNIPPETS: tuple[Snippet, ...] = read_snippets("""
# 1_names_are_unique =
a = tf.constant(1.0); b = tf.constant(2.0); c = tf.constant(3.0, name="a/b"); d = tf.identity(c, name="a/b")
with tf.name_scope("s"):
    e = tf.add(a, b)
with tf.name_scope("s"):
    f = tf.add(e, d)
out = f
# 1_finalized
tf.get_default_graph().finalize()
tf.constant(1.0)
# 2_constants =
out = [tf.constant(3), tf.constant(2.5), tf.constant([[1, 2], [3, 4]], dtype=tf.float64), tf.constant(7, shape=[2, 2]),
       tf.constant(np.arange(3)), tf.constant(True), tf.constant([1, 2], tf.int64), tf.constant([1.0, 2.0], shape=[4])]
# 2_strings =
out = tf.constant(["a", "bc"]).op
# 2_convert
out = [tf.convert_to_tensor(np.float64(2)), tf.convert_to_tensor([1, 2]), tf.convert_to_tensor([[1.0], [tf.constant(2.0)]])]
# 2_convert_mixed_list =
out = tf.convert_to_tensor([1.0, tf.constant(2.0), 3])
# 2_big_int
out = tf.constant(2**40)
# 2_float_as_int
tf.constant(1.5, dtype=tf.int32)
# 2_string_as_float
tf.constant("a", dtype=tf.float32)
# 2_none
tf.convert_to_tensor(None)
# 2_ragged
tf.constant([[1, 2], [3]])
# 2_wrong_dtype
tf.convert_to_tensor(tf.constant(1.0), dtype=tf.int32)
# 2_too_many_elements
tf.constant([1, 2, 3], shape=[2])
# 3_placeholder =
x = tf.placeholder(tf.float32, [None, 2], name="x")
out = x * 2.0
feed = {x: [[1, 2], [3, 4]]}
# 3_unknown_rank =
x = tf.placeholder(tf.int32)
out = x + 1
feed = {x: [1, 2]}
# 3_unfed
x = tf.placeholder(tf.float32, name="x")
out = x + 1
# 3_with_default =
x = tf.placeholder_with_default([1.0, 2.0], [None])
out = x + 1
# 3_with_default_fed
x = tf.placeholder_with_default([1.0, 2.0], [None])
out = x + 1
feed = {x: [5.0, 6.0, 7.0]}
# 4_bool
bool(tf.constant(1))
# 4_iter
iter(tf.constant([1, 2]))
# 6_structures
a, b = tf.constant(1.0), tf.constant([2, 3])
out = {"l": [a, (b, a)], "t": (a.name, b)}
# 6_operation
out = [tf.no_op(), tf.constant(1)]
# 6_bad_type
tf.constant(1); out = 5.0
# 6_empty_graph
out = []
# 6_none
tf.constant(1); out = None
# 6_unknown_name
tf.constant(1); out = "nope:0"
# 7_feed_constant
c = tf.constant([1.0, 2.0]); out = c * 3.0; feed = {c: [5.0, 6.0]}
# 7_feed_intermediate
c = tf.placeholder(tf.float32, [2]); d = c * 2; out = d + 1; feed = {d: [1.0, 2.0]}
# 7_wrong_shape
x = tf.placeholder(tf.float32, [2], name="x"); out = x + 1; feed = {x: [1.0, 2.0, 3.0]}
# 7_feed_tensor
x = tf.placeholder(tf.float32, [2]); out = x + 1; feed = {x: tf.constant([1.0, 2.0])}
# 7_bad_key
out = tf.constant(1); feed = {"nope:0": 1}
# 7_bad_key_type
out = tf.constant(1); feed = {3: 1}
# 7_float_for_int
x = tf.placeholder(tf.int32, []); out = x + 1; feed = {x: 2.5}
# 7_text_for_float
x = tf.placeholder(tf.float32, []); out = x + 1; feed = {x: "a"}
# 13_group_and_control =
a = tf.constant(1.0, name="a"); b = tf.constant(2.0, name="b")
with tf.control_dependencies([a]):
    n = tf.no_op(name="n")
    d = tf.add(b, 1.0)
g = tf.group(n, d, a)
t = tf.tuple([a, d])
out = [g, t]
# 15_devices =
with tf.device("/cpu:0"):
    a = tf.constant(1.0)
    with tf.device("/job:localhost"):
        b = a + 1
with tf.colocate_with(a):
    c = tf.identity(b)
out = c
# 53_shape_size_rank =
t = tf.constant([[[1, 1, 1], [2, 2, 2]], [[3, 3, 3], [4, 4, 4]]])
out = [tf.shape(t), tf.size(t), tf.rank(t)]
# 53_unknown =
x = tf.placeholder(tf.float32, [None, 3]); out = [tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x, out_type=tf.int64)]
feed = {x: np.zeros((4, 3), np.float32)}
# 54_reshape =
t = tf.constant([1, 2, 3, 4, 5, 6, 7, 8, 9]); out = [tf.reshape(t, [3, 3]), tf.reshape(t, [-1, 3])]
# 54_to_scalar
out = tf.reshape([7], [])
# 54_count
tf.reshape(tf.constant([1, 2, 3]), [2, 2])
# 54_two_unknown
out = tf.reshape(tf.constant([1, 2, 3, 4]), [-1, -1])
# 54_count_at_run
x = tf.placeholder(tf.float32, [None]); out = tf.reshape(x, [2, 2]); feed = {x: [1.0, 2.0, 3.0]}
# 55_squeeze =
t = tf.ones([1, 2, 1, 3, 1, 1]); out = [tf.squeeze(t), tf.squeeze(t, [2, 4]), tf.squeeze(t, squeeze_dims=[0])]
# 55_not_one
tf.squeeze(tf.ones([1, 2]), [1])
# 55_axis
tf.squeeze(tf.ones([1, 2]), [2])
# 56_expand_dims =
t = tf.constant([1, 2]); out = [tf.expand_dims(t, 0), tf.expand_dims(t, 1), tf.expand_dims(t, -1), tf.expand_dims(t, dim=0)]
# 56_axis
tf.expand_dims(tf.constant([1, 2]), 5)
# 57_slice =
t = tf.constant(np.arange(18).reshape(3, 2, 3))
out = [tf.slice(t, [1, 0, 0], [1, 1, 3]), tf.slice(t, [1, 0, 0], [-1, 2, 1])]
# 57_subscripts =
t = tf.constant(np.arange(24).reshape(2, 3, 4).astype(np.int32))
out = [t[0], t[:, 1], t[..., -1], t[:, ::2, 1:3], t[1, :, tf.newaxis], t[::-1], t[-1:, ..., None, 2]]
# 57_tensor_index =
t = tf.constant([5, 6, 7]); i = tf.placeholder(tf.int32, []); out = [t[i], t[i:], t[:i]]; feed = {i: 1}
# 57_bool_mask
t = tf.constant([1.0, 2.0, 3.0]); out = t[t > 1.5]
# 57_outside
x = tf.placeholder(tf.int32, [None]); out = tf.slice(x, [2], [2]); feed = {x: [1, 2, 3]}
# 57_index_outside
tf.constant([1, 2, 3])[5]
# 57_bad_index
tf.constant([1, 2, 3])["a"]
# 57_float_index
tf.constant([1, 2, 3])[1.5]
# 58_split =
t = tf.constant(np.arange(30).reshape(5, 6))
out = [tf.split(t, 3, 1), tf.split(t, [1, 4], 0), tf.split(t, num_or_size_splits=2, axis=1)]
# 58_uneven
tf.split(tf.ones([5, 3]), 2, 0)
# 58_sizes
tf.split(tf.ones([5, 3]), [2, 2], 0)
# 59_tile_pad =
t = tf.constant([[1, 2, 3], [4, 5, 6]])
out = [tf.tile(t, [1, 2]), tf.pad(t, [[1, 1], [2, 1]]), tf.pad(t, [[1, 1], [2, 2]], "REFLECT"), tf.pad(t, [[1, 1], [2, 2]], mode="SYMMETRIC"),
       tf.pad(t, [[0, 1], [0, 0]], constant_values=9)]
# 59_tile_length
tf.tile(tf.constant([[1, 2]]), [2])
# 59_negative_padding
tf.pad(tf.constant([1, 2]), [[-1, 0]])
# 59_bad_mode
tf.pad(tf.constant([1, 2]), [[1, 0]], "WRAP")
# 60_concat =
a = tf.constant([[1, 2, 3], [4, 5, 6]]); b = tf.constant([[7, 8, 9], [10, 11, 12]])
out = [tf.concat([a, b], 0), tf.concat([a, b], 1), tf.concat(values=[a, b], axis=-1), tf.concat([a], 0)]
# 60_ranks
tf.concat([tf.constant([1, 2]), tf.constant([[1, 2]])], 0)
# 60_sizes
tf.concat([tf.ones([2, 3]), tf.ones([2, 4])], 0)
# 61_stack =
x = tf.constant([1, 4]); y = tf.constant([2, 5])
out = [tf.stack([x, y]), tf.stack([x, y], axis=1), tf.unstack(tf.stack([x, y])), tf.unstack(tf.ones([2, 3]), axis=1)]
# 61_unknown_num
tf.unstack(tf.placeholder(tf.float32, [None, 2]))
# 61_shapes
tf.stack([tf.constant([1, 2]), tf.constant([1, 2, 3])])
# 61_axis
tf.stack([tf.constant([1, 2])], axis=3)
# 62_reverse_sequence =
t = tf.constant(np.arange(24).reshape(2, 4, 3).astype(np.float32))
out = [tf.reverse_sequence(t, [2, 4], 1, 0), tf.reverse_sequence(t, [1, 0], seq_dim=1, batch_dim=0)]
# 62_too_long
out = tf.reverse_sequence(tf.ones([2, 3]), [2, 4], 1, 0)
# 62_lengths
tf.reverse_sequence(tf.ones([2, 3]), [2, 1, 1], 1, 0)
# 63_reverse =
t = tf.constant(np.arange(6).reshape(2, 3)); out = [tf.reverse(t, [0]), tf.reverse(t, [-1]), tf.reverse(t, [0, 1])]
# 63_rank
tf.reverse(tf.ones([1] * 9), [0])
# 64_transpose =
x = tf.constant([[1, 2, 3], [4, 5, 6]]); t = tf.constant(np.arange(12).reshape(2, 2, 3))
out = [tf.transpose(x), tf.transpose(x, [1, 0]), tf.transpose(t, perm=[0, 2, 1])]
# 64_repeated
out = tf.transpose(tf.ones([2, 3]), [0, 0])
# 64_length
tf.transpose(tf.ones([2, 3]), [0])
# 64_unknown_rank
x = tf.placeholder(tf.float32); out = tf.transpose(x); feed = {x: np.arange(6, dtype=np.float32).reshape(2, 3)}
# 65_gather =
p = tf.constant(np.arange(12).reshape(4, 3)); out = [tf.gather(p, [0, 2]), tf.gather(p, 1), tf.gather(p, [[0], [3]]), tf.gather(p, [2, 0], axis=1)]
# 65_outside
out = tf.gather(tf.constant([1, 2, 3]), [0, 4])
# 65_negative
out = tf.gather(tf.constant([1, 2, 3]), [-1])
# 65_gather_nd =
p = tf.constant([[1, 2], [3, 4]]); out = [tf.gather_nd(p, [[0, 0], [1, 1]]), tf.gather_nd(p, [[1]])]
# 66_dynamic_partition =
out = [tf.dynamic_partition([10, 20, 30, 40, 50], [0, 0, 1, 1, 0], 2), tf.dynamic_partition(tf.constant([10, 20]), 1, 2)]
# 66_prefix
tf.dynamic_partition(tf.constant([1, 2, 3]), [0, 1], 2)
# 66_id
out = tf.dynamic_partition(tf.constant([1, 2, 3]), [0, 1, 2], 2)
# 66_none
tf.dynamic_partition(tf.constant([1, 2, 3]), [0, 0, 0], 0)
# 67_dynamic_stitch =
out = tf.dynamic_stitch([6, [4, 1], [[5, 2], [0, 3]]], [[61, 62], [[41, 42], [11, 12]], [[[51, 52], [21, 22]], [[1, 2], [31, 32]]]])
# 67_later_wins
out = tf.dynamic_stitch([[0, 1], [1, 2]], [[1, 2], [3, 4]])
# 67_suffix
tf.dynamic_stitch([[0], [1]], [[[1, 2]], [[1, 2, 3]]])
# 68_operators =
x = tf.constant([1.0, 2.0, 3.0]); y = tf.constant([4.0, 5.0, 6.0])
out = [x + y, x - y, x * y, x / y, x // 2.0, y % x, x ** 2, -x, abs(-y), 1.0 - x, 2 / x, 3 + x, x < y, x <= 2, x > 2.0, x >= y]
# 68_integer_division =
x = tf.constant([7, -7]); out = [x / 2, x // 2, x % 3, tf.div(x, 2), tf.truediv(x, 2), tf.floordiv(x, 2), tf.mod(x, 3)]
# 68_logic =
a = tf.constant([True, False]); b = tf.constant([True, True]); out = [a & b, a | b, a ^ b, ~a, tf.logical_not(a), tf.logical_xor(a, b)]
# 68_bits
i = tf.constant([6, 3]); out = [i & 2, i | 8, i ^ 1, ~i, tf.bitwise.left_shift(i, 1)]
# 68_functions =
x = tf.constant([[0.5, -1.0], [2.0, 0.0]])
out = [tf.square(x), tf.tanh(x), tf.sigmoid(x), tf.nn.relu(x), tf.exp(x), tf.sqrt(tf.abs(x)), tf.nn.softmax(x), tf.reduce_sum(x), tf.reduce_mean(x, 1), tf.less(x, 0.1), tf.equal(x, 2.0),
       tf.maximum(x, 0.0), tf.reduce_max(x, axis=0, keepdims=True), tf.cast(x, tf.int32), tf.to_double(x), tf.add(x, 1), tf.multiply(x, 2), tf.subtract(x, 1), tf.argmax(x, 1), tf.negative(x)]
# 68_matmul =
a = tf.constant([[1.0, 2.0], [3.0, 4.0]]); b = tf.constant([[5.0, 6.0], [7.0, 8.0]]); c = tf.ones([3, 2, 2])
out = [tf.matmul(a, b), tf.matmul(a, b, transpose_a=True), tf.matmul(a, b, transpose_b=True), a @ b, tf.matmul(c, c), tf.matmul(c, c, adjoint_b=True)]
# 68_fill =
out = [tf.zeros([2, 3]), tf.ones([2], tf.int32), tf.fill([2, 2], 7), tf.range(5), tf.range(1, 10, 3), tf.range(0.0, 1.0, 0.25), tf.zeros_like(tf.ones([2])), tf.ones_like(tf.zeros([2])),
       tf.one_hot([0, 2], 3), tf.where([True, False], [1, 2], [3, 4]), tf.where([True, False, True])]
# 68_linspace
out = tf.linspace(0.0, 1.0, 5)
# 68_broadcast
x = tf.placeholder(tf.float32, [None, 1]); y = tf.placeholder(tf.float32, [3]); out = x * y + 1; feed = {x: [[1.0], [2.0]], y: [1.0, 2.0, 3.0]}
# 68_shapes_differ
tf.add(tf.ones([2, 3]), tf.ones([4]))
# 68_inner_sizes
tf.matmul(tf.ones([2, 3]), tf.ones([4, 2]))
# 68_dtypes_differ
tf.add(tf.constant(1.0), tf.constant(1))
# 68_dtype_not_allowed
tf.sqrt(tf.constant(1))
# 68_reduce_axis
tf.reduce_sum(tf.ones([2]), 3)
# nn_layers
rng = np.random.RandomState(0)
x = tf.constant(rng.rand(2, 6, 6, 3).astype(np.float32)); w = tf.constant(rng.rand(3, 3, 3, 4).astype(np.float32)); dw = tf.constant(rng.rand(3, 3, 3, 2).astype(np.float32))
out = [tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"), tf.nn.depthwise_conv2d(x, dw, [1, 1, 1, 1], "VALID"), tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
       tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), tf.nn.bias_add(x, [1.0, 2.0, 3.0]), tf.nn.lrn(x), tf.nn.moments(x, [0, 1, 2]), tf.nn.l2_loss(x), tf.nn.l2_normalize(x, 3),
       tf.nn.conv2d_transpose(tf.ones([1, 2, 2, 4]), w, [1, 4, 4, 3], [1, 2, 2, 1]), tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), tf.zeros([3]), tf.ones([3]), is_training=False)[0],
       tf.nn.batch_normalization(x, 0.5, 2.0, 0.1, 1.5, 1e-3)]
# nn_losses
x = tf.constant([[1.0, 2.0, 3.0], [1.0, -1.0, 0.0]]); y = tf.constant([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
out = [tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x), tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x), tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x),
       tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=x), tf.nn.top_k(x, 2), tf.nn.in_top_k(x, [2, 1], 1), tf.nn.xw_plus_b(x, tf.ones([3, 2]), [1.0, 2.0]),
       tf.nn.embedding_lookup(x, [1, 0]), tf.nn.softmax(x, axis=0), tf.nn.log_softmax(x), tf.nn.leaky_relu(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.softplus(x), tf.nn.softsign(x), tf.nn.relu6(x)]
# nn_bad_padding
tf.nn.max_pool(tf.ones([1, 2, 2, 1]), [1, 2, 2, 1], [1, 1, 1, 1], "BAD")
# math_more
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
out = [tf.einsum("ij,jk->ik", x, x), tf.einsum("ij->ji", x), tf.tensordot(x, x, 1), tf.tensordot(x, x, [[0], [1]]), tf.reduce_logsumexp(x, 1), tf.cumsum(x, 1, exclusive=True), tf.cumprod(x, reverse=True),
       tf.clip_by_value(x, 1.5, 3.0), tf.boolean_mask(x, [True, False]), tf.reduce_all(x > 0), tf.count_nonzero(x), tf.add_n([x, x, x]), tf.squared_difference(x, 1.0), tf.complex(x, x), tf.real(tf.complex(x, x)),
       tf.reduce_prod(x, reduction_indices=[0], keep_dims=True), tf.sequence_mask([1, 2], 3), tf.meshgrid([1, 2], [3, 4, 5]), tf.unique([1, 1, 2]), tf.diag([1, 2]), tf.log_sigmoid(x)]
# assert_holds
x = tf.placeholder(tf.float32, [None]); y = tf.placeholder(tf.float32); feed = {x: [1.0, 2.0], y: [[3.0]]}
with tf.control_dependencies([tf.assert_equal(x, [1.0, 2.0]), tf.assert_less(x, 3.0), tf.assert_greater_equal(x, [1.0, 1.0]), tf.assert_none_equal(x, 0.0), tf.assert_positive(x), tf.assert_non_negative(x),
                              tf.assert_near(x, [1.0, 2.0000001]), tf.assert_rank(y, 2), tf.assert_rank_in(y, [1, 2]), tf.assert_rank_at_least(y, 1), tf.assert_integer(tf.constant(1)), tf.assert_type(x, tf.float32)]):
    out = [tf.identity(x), tf.is_non_decreasing(x), tf.is_strictly_increasing(y), tf.verify_tensor_all_finite(x, "m"), tf.assert_scalar(tf.constant(1))]
# assert_equal_static
tf.assert_equal(tf.constant([1.0, 2.0]), [1.0, 3.0])
# assert_equal_run
x = tf.placeholder(tf.float32, [None]); out = tf.assert_equal(x, [1.0, 2.0], message="m"); feed = {x: [1.0, 3.0]}
# assert_positive_run
x = tf.placeholder(tf.float32, [None]); out = tf.assert_positive(x); feed = {x: [1.0, 0.0]}
# assert_near_run
x = tf.placeholder(tf.float32, [None]); out = tf.assert_near(x, [1.0]); feed = {x: [1.001]}
# assert_rank_static
tf.assert_rank(tf.constant([1.0]), 2)
# assert_rank_run
x = tf.placeholder(tf.float32); out = tf.assert_rank_at_least(x, 2); feed = {x: [1.0]}
# assert_integer_static
tf.assert_integer(tf.constant(1.0))
# assert_type_static
tf.assert_type(tf.constant(1.0), tf.int32)
# assert_scalar_static
tf.assert_scalar(tf.constant([1.0]))
# assert_same_float
tf.assert_same_float_dtype([tf.constant(1.0), tf.constant(1.0, tf.float64)])
# assert_iterable
tf.assert_proper_iterable(tf.constant([1.0]))
# math_norm
x = tf.constant([[1.0, -2.0], [3.0, 4.0]]); z = tf.complex(x, x)
out = [tf.norm(x), tf.norm(x, axis=1), tf.norm(x, 1, 0), tf.norm(x, np.inf), tf.norm(x, 3, -1, keepdims=True), tf.norm(x, "fro", [0, 1]), tf.norm(x, 1, [0, 1]), tf.norm(x, np.inf, (0, 1)), tf.linalg.norm(x, 2)]
# math_norm_order
tf.norm(tf.constant([1.0]), "fro")
# image_resize
x = tf.constant(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1))
out = [tf.image.resize_bilinear(x, [2, 2]), tf.image.resize_nearest_neighbor(x, [8, 8]), tf.image.resize_images(x, [3, 3]), tf.space_to_depth(x, 2), tf.depth_to_space(tf.ones([1, 1, 1, 4]), 2),
       tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.1], [5.0, 5.0, 6.0, 6.0]], [0.9, 0.8, 0.7], 2), tf.image.flip_left_right(x)]
""")
