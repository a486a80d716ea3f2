"""Programs over arrays, images and numbers that TensorFlow's functions make of several ops.

In: nothing. Out: `REST_SNIPPETS`, of the form of `api_snippets.py`; the name begins with the group
of functions that it is about.
"""

# ruff: noqa: E501  (a program to a line)
from __future__ import annotations

from snippets.api_snippets import Snippet, read_snippets

REST_SNIPPETS: tuple[Snippet, ...] = read_snippets("""
# sort
x = tf.constant([[3, 1, 2], [9, -7, 8]]); f = tf.constant([[3.0, 1.0, 2.0], [9.0, -7.0, 8.0]])
out = [tf.sort(x), tf.sort(f, axis=0), tf.sort(f, direction="DESCENDING"), tf.argsort(x), tf.argsort(f, axis=0), tf.argsort(f, direction="DESCENDING"), tf.sort(tf.constant([3, 255, 0], tf.uint8)), tf.sort(tf.constant([0, -2**31, 5]))]
# sort_fed
x = tf.placeholder(tf.float32, [None, None]); out = [tf.sort(x), tf.argsort(x)]; feed = {x: [[2.0, 1.0], [0.0, 5.0]]}
# sort_direction
tf.sort(tf.constant([1]), direction="UP")
# sort_axis
tf.sort(tf.constant([1]), axis=[0])
# arg_max
x = tf.constant([[1, 5, 3], [7, 0, 1]]); out = [tf.arg_max(x, 1), tf.arg_min(x, 0), tf.arg_max(x, 0, output_type=tf.int32)]
# unravel_index
out = [tf.unravel_index([22, 41, 37], [7, 6]), tf.unravel_index(1621, [6, 7, 8, 9]), tf.unravel_index(tf.constant([5], tf.int64), [3, 4])]
# repeat
x = tf.constant([[1, 2], [3, 4]])
out = [tf.repeat(x, 3), tf.repeat(x, [1, 2], axis=0), tf.repeat(x, [0, 2], axis=1), tf.repeat(5, 2), tf.repeat(x, 2, axis=-1), tf.repeat([3, 1, 2], [2, 0, 1])]
# edit_distance
h = tf.SparseTensor([[0, 0, 0], [1, 0, 0]], [1, 2], [2, 1, 1]); t = tf.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], [1, 2, 3, 1], [2, 2, 2])
out = [tf.edit_distance(h, t), tf.edit_distance(h, t, normalize=False)]
# edit_distance_dense
tf.edit_distance(tf.constant([1]), tf.constant([1]))
# gather_nd_batches
p = tf.reshape(tf.range(24), [2, 3, 4])
out = [tf.gather_nd(p, [[[0, 1]], [[2, 3]]], batch_dims=1), tf.gather_nd(p, [[[1], [0], [3]], [[0], [0], [2]]], batch_dims=2)]
# matrix_diagonals
d = tf.constant([[1, 2, 3], [4, 5, 0]]); m = tf.reshape(tf.range(12), [3, 4])
out = [tf.matrix_diag(d), tf.matrix_diag(d, k=1), tf.linalg.diag(d, k=(0, 1), padding_value=9), tf.matrix_diag([1, 2], num_rows=3, num_cols=2), tf.matrix_diag_part(m), tf.matrix_diag_part(m, k=-1), tf.linalg.diag_part(m, k=(-1, 1), padding_value=7, align="LEFT_LEFT")]
# errors
e = tf.errors.OutOfRangeError(None, None, "done"); f = tf.errors.OpError(None, None, "x", 7)
assert e.message == "done" and e.op is None and e.node_def is None and e.error_code == 11 and f.error_code == 7
assert tf.errors.exception_type_from_error_code(10) is tf.errors.AbortedError and tf.errors.exception_type_from_error_code(2) is tf.errors.UnknownError and tf.errors.exception_type_from_error_code(16) is tf.errors.UnauthenticatedError
assert tf.errors.error_code_from_exception_type(tf.errors.UnavailableError) == 14 and tf.errors.error_code_from_exception_type(tf.errors.PermissionDeniedError) == 7
raise e
# logging
before_it = tf.logging.get_verbosity(); tf.logging.set_verbosity(tf.logging.FATAL)
assert tf.logging.get_verbosity() == tf.logging.FATAL
tf.logging.info("%s", 1); tf.logging.warn("w"); tf.logging.log(tf.logging.INFO, "x"); tf.logging.log_first_n(tf.logging.ERROR, "y", 1); tf.logging.log_every_n(tf.logging.ERROR, "%d", 2, 5); tf.logging.log_if(tf.logging.ERROR, "z", False)
tf.logging.set_verbosity(before_it); tf.get_logger()
# unravel_index_outside
out = tf.unravel_index([100], [7, 6])
# tensor_scatter
t = tf.zeros([4, 2]); i = tf.constant([[1], [3], [1]]); u = tf.constant([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]])
out = [tf.tensor_scatter_nd_add(t, i, u), tf.tensor_scatter_nd_sub(t, i, u), tf.tensor_scatter_nd_max(t, i, u), tf.tensor_scatter_nd_min(t, i, u), tf.tensor_scatter_nd_update(t, i[:2], u[:2]), tf.tensor_scatter_update(t, [[0, 1]], [9.0]), tf.tensor_scatter_add(t, [[0, 1]], [9.0]), tf.tensor_scatter_sub(t, [[0, 1]], [9.0])]
# batch_gather
out = [tf.batch_gather([[1, 2, 3], [4, 5, 6]], [[2, 0], [1, 1]]), tf.batch_gather(tf.reshape(tf.range(12), [2, 3, 2]), [[2], [0]])]
# batch_scatter_update
v = tf.Variable(np.zeros((2, 3), np.float32)); w = tf.Variable(np.zeros((3, 2), np.float32))
before = [tf.global_variables_initializer()]
out = [tf.batch_scatter_update(v, [[2, 0], [1, 0]], [[1.0, 2.0], [3.0, 4.0]]), tf.batch_scatter_update(w, [2, 0], [[1.0, 2.0], [3.0, 4.0]])]
# static_values
x = tf.placeholder(tf.float32, [None, 3])
out = []
assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2] and tf.get_static_value(x) is None
assert tf.get_static_value(tf.constant("a")) == b"a"
assert tf.is_symbolic_tensor(x) and not tf.is_symbolic_tensor(np.ones(2))
assert tf.dimension_value(x.shape[0]) is None and tf.dimension_value(tf.Dimension(3)) == 3 and tf.dimension_value(5) == 5
assert tf.dimension_at_index(x.shape, 1).value == 3 and tf.dimension_at_index(tf.TensorShape(None), 1).value is None
assert tf.broadcast_static_shape(tf.TensorShape([None, 1, 3]), tf.TensorShape([5, 3])).as_list() == [None, 5, 3]
assert tf.broadcast_static_shape(tf.TensorShape([None]), tf.TensorShape([1])).as_list() == [None]
out = [tf.broadcast_dynamic_shape([2, 1, 3], tf.constant([5, 3])), tf.guarantee_const(tf.constant([1.0]))]
# static_broadcast_error
tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))
# tensor_proto
p = [tf.make_tensor_proto([1, 2, 3], shape=[3, 1]), tf.make_tensor_proto(2.5), tf.make_tensor_proto(["a", b"b"]), tf.make_tensor_proto([[True], [False]]), tf.make_tensor_proto([1.0, 2.0], tf.float64)]
out = [tf.constant(np.array(tf.make_ndarray(q))) for q in [*p, tf.make_tensor_proto([1, 2], shape=[2, 2]), tf.make_tensor_proto(5.0, shape=[2], allow_broadcast=True)]] + [tf.constant([q.SerializeToString() for q in p])]
# tensor_proto_shape
tf.make_tensor_proto([1, 2, 3], shape=[2], verify_shape=True)
# tensor_proto_elements
tf.make_tensor_proto([1, 2, 3], shape=[2])
# space_to_batch_paddings
out = list(tf.required_space_to_batch_paddings([7, 8], [3, 4], [[1, 0], [0, 1]])) + list(tf.required_space_to_batch_paddings([7, 8], [3, 4]))
# segments_unsorted
d = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
out = [tf.unsorted_segment_mean(d, [1, 0, 1], 3), tf.unsorted_segment_sqrt_n(d, [1, 0, 1], 3), tf.math.unsorted_segment_mean(d, [[1, 0], [0, 1], [1, -1]], 2)]
# segments_sparse
d = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]); i = tf.constant([0, 2, 1]); s = tf.constant([0, 0, 2])
out = [tf.sparse_segment_sum(d, i, s), tf.sparse_segment_mean(d, i, s), tf.sparse_segment_sqrt_n(d, i, s), tf.sparse_segment_sum(d, i, s, num_segments=4), tf.sparse_segment_mean(d, i, s, num_segments=4), tf.sparse_segment_sqrt_n(d, i, s, num_segments=4)]
# bincount
x = tf.constant([1, 1, 2, 3, 2, 4, 4, 5])
out = [tf.bincount(x), tf.bincount(x, minlength=8), tf.bincount(x, maxlength=3), tf.bincount([1, 2, 1], weights=[0.5, 1.5, 2.0]), tf.math.bincount(x, dtype=tf.int64), tf.bincount(tf.constant([], tf.int32))]
# histogram
v = tf.constant([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0])
out = [tf.histogram_fixed_width(v, [0.0, 5.0], nbins=5), tf.histogram_fixed_width_bins(v, [0.0, 5.0], nbins=5), tf.histogram_fixed_width(v, [0.0, 5.0], dtype=tf.int64)]
# special
out = [tf.lbeta([[1.0, 2.0], [3.0, 4.5]]), tf.math.polyval([tf.constant(2.0), tf.constant(-1.0), tf.constant(0.5)], tf.constant([1.0, 2.0])), tf.math.erfcinv([0.5, 1.0, 1.5]), tf.math.reciprocal_no_nan([2.0, 0.0]), tf.math.nextafter(tf.constant([1.0], tf.float64), [2.0])]
# special_functions
x = tf.constant([0.5, 1.5, 3.0]); s = tf.math.special
out = [s.dawsn(x), s.expint(x), s.fresnel_cos(x), s.fresnel_sin(x), s.spence(x), s.bessel_i0(x), s.bessel_i1e(x), s.bessel_j0(x), s.bessel_j1(x), s.bessel_k0(x), s.bessel_k0e(x), s.bessel_k1(x), s.bessel_k1e(x), s.bessel_y0(x), s.bessel_y1(x)]
# polyval_no_list
tf.math.polyval(tf.constant([1.0]), 2.0)
# fake_quant
x = tf.constant([[-7.0, -1.3, 0.2], [3.3, 5.9, 9.0]])
out = [tf.fake_quant_with_min_max_args(x), tf.fake_quant_with_min_max_args(x, -1.0, 1.0, 4, True), tf.fake_quant_with_min_max_vars(x, -2.0, 6.0), tf.quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]), tf.fake_quant_with_min_max_args_gradient(tf.ones_like(x), x), list(tf.fake_quant_with_min_max_vars_gradient(tf.ones_like(x), x, -2.0, 6.0)), list(tf.fake_quant_with_min_max_vars_per_channel_gradient(tf.ones_like(x), x, [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]))]
# fourier
r = np.random.RandomState(0); c = tf.constant((r.rand(2, 2, 4) + 1j * r.rand(2, 2, 4)).astype(np.complex64))
out = [tf.fft(c), tf.ifft(c), tf.fft2d(c), tf.ifft2d(c), tf.fft3d(c), tf.ifft3d(c), tf.signal.fft(c), tf.spectral.ifft(c)]
# fourier_of_reals
x = tf.constant(np.random.RandomState(1).rand(2, 3, 6).astype(np.float32)); d = tf.cast(x, tf.float64)
out = [tf.spectral.rfft(x), tf.spectral.rfft(x, [8]), tf.spectral.rfft(d, [4]), tf.signal.rfft2d(x), tf.signal.rfft3d(x), tf.signal.irfft(tf.signal.rfft(x)), tf.signal.irfft(tf.signal.rfft(x), [5]), tf.signal.irfft2d(tf.signal.rfft2d(x), [4, 10]), tf.signal.irfft3d(tf.signal.rfft3d(d))]
# fourier_fed
x = tf.placeholder(tf.float32, [None, None]); out = [tf.signal.rfft(x), tf.signal.irfft(tf.signal.rfft(x))]; feed = {x: np.random.RandomState(2).rand(2, 8)}
# signal_windows
s = tf.signal
out = [s.hann_window(8), s.hann_window(7, periodic=False), s.hamming_window(6), s.hann_window(1), s.kaiser_window(7), s.kaiser_window(6, beta=4.0), s.kaiser_bessel_derived_window(8), s.vorbis_window(8), s.hann_window(5, dtype=tf.float64)]
# signal_windows_of_ints
tf.signal.hann_window(5, dtype=tf.int32)
# signal_frames
x = tf.constant(np.random.RandomState(20).rand(2, 11).astype(np.float32)); s = tf.signal
w = s.inverse_stft_window_fn(2)
out = [s.frame(x, 4, 2), s.frame(x, 4, 3, pad_end=True, pad_value=-1), s.frame(x, 1, 1, axis=0), s.frame(x, 20, 3), s.overlap_and_add(s.frame(x, 5, 2), 2), s.overlap_and_add(s.frame(x, 3, 3), 3), tf.abs(s.stft(x, 6, 2)), tf.abs(s.stft(x, 5, 3, fft_length=6, window_fn=None, pad_end=True)), s.inverse_stft(s.stft(x, 6, 2), 6, 2, window_fn=w), s.inverse_stft(s.stft(x, 4, 2), 6, 2, 4), w(6, tf.float32)]
# signal_cosine
x = tf.constant(np.random.RandomState(21).rand(2, 6).astype(np.float32)); d = tf.cast(x, tf.float64); s = tf.signal
out = [s.dct(x, type=k) for k in (1, 2, 3, 4)] + [s.dct(x, type=k, norm="ortho") for k in (2, 3, 4)] + [s.idct(x), s.idct(s.dct(d, norm="ortho"), norm="ortho"), s.dct(x, n=4), tf.spectral.dct(x, n=8), s.mfccs_from_log_mel_spectrograms(x), s.fftshift(x), s.ifftshift(x, axes=[0]), s.ifftshift(tf.range(5)), s.fftshift(x, axes=1)]
# signal_cosine_axis
tf.signal.dct(tf.ones([2, 3]), axis=0)
# signal_cosine_type
tf.signal.dct(tf.ones([2, 3]), type=5)
# signal_frames_fed
x = tf.placeholder(tf.float32, [None, None]); f = tf.signal.frame(x, 4, 2); out = [f, tf.signal.overlap_and_add(f, 2)]; feed = {x: np.arange(18).reshape(2, 9)}
# fourier_of_ints
tf.signal.rfft(tf.constant([1, 2]))
# linear_algebra
m = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]); c = tf.constant([[1 + 2j, 3 - 1j]])
out = [tf.trace(m), tf.linalg.trace(tf.stack([m, m + 1])), tf.cross([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]], [[0.0, 1.0, -1.0], [3.0, 2.0, 1.0]]), tf.linalg.cross([1, 2, 3], [4, 5, 6]), tf.linalg.adjoint(c), tf.linalg.adjoint(m), list(tf.linalg.normalize(m, axis=1)), list(tf.linalg.normalize(m)), tf.matrix_set_diag(m, [7.0, 8.0]), tf.linalg.set_diag(m, [[0.0, 7.0], [8.0, 9.0]], k=(-1, 0)), tf.linalg.global_norm([m, tf.constant(1.0)])]
# linear_algebra_cross
tf.cross([1.0, 2.0], [3.0, 4.0])
# linear_algebra_tridiagonal
d = tf.constant([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [0.0, 7.0, 8.0]]); r = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
out = [tf.linalg.tridiagonal_matmul(d, r), tf.linalg.tridiagonal_matmul((d[0], d[1], d[2]), r, "sequence"), tf.linalg.tridiagonal_matmul(d, r, "matrix")]
# manip
t = tf.constant([[1, 2, 3], [4, 5, 6]])
out = [tf.manip.roll(t, 1, 1), tf.manip.reshape(t, [3, 2]), tf.manip.reverse(t, [0]), tf.manip.tile(t, [1, 2]), tf.manip.gather_nd(t, [[1, 2]]), tf.manip.scatter_nd([[1]], [5], [3])]
# template
def scaled(x, by):
    return x * tf.get_variable("w", [], initializer=tf.constant_initializer(by))
f = tf.make_template("scale", scaled, by=3.0); a = f(tf.constant(2.0)); b = f(tf.constant(5.0)); g = tf.make_template("scale", scaled, by=4.0); c = g(tf.constant(1.0))
assert [v.name for v in f.variables] == ["scale/w:0"] and [v.name for v in g.trainable_variables] == ["scale_1/w:0"] and f.variable_scope_name == "scale/"
before = [tf.global_variables_initializer()]
out = [a, b, c]
# template_makes_more
f = tf.make_template("t", lambda: tf.Variable(1.0))
f(); f()
# device_spec
s = tf.DeviceSpec(job="ps", task=1, device_type="GPU", device_index=2)
t = tf.DeviceSpec.from_string("/job:ps/device:CPU:0"); t.merge_from(tf.DeviceSpec(task=3)); t.replica = 0
assert s.to_string() == "/job:ps/task:1/device:GPU:2" and t.to_string() == "/job:ps/replica:0/task:3/device:CPU:0", (s.to_string(), t.to_string())
assert s.make_merged_spec(tf.DeviceSpec(task=5)).task == 5 and s.replace(job=None).to_string() == "/task:1/device:GPU:2" and s.device_index == 2
assert tf.DeviceSpec().parse_from_string("/cpu:*").to_string() == "/device:CPU:*" and len({s, s.replace(task=1)}) == 1
with tf.device(tf.DeviceSpec(device_type="CPU", device_index=0)):
    a = tf.constant(1.0)
assert a.device == "/device:CPU:0", a.device
# versions
assert isinstance(tf.VERSION, str) and isinstance(tf.GIT_VERSION, str) and tf.GRAPH_DEF_VERSION > 20 and tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER == 0 and tf.TensorInfo(name="a:0").name == "a:0"
# random_multinomial
l = tf.constant([[0.1, 2.0, 0.5], [1.0, 1.0, 1.0]]); tf.set_random_seed(5)
out = [tf.multinomial(l, 6), tf.multinomial(l, 4, seed=3, output_dtype=tf.int32), tf.random.categorical(l, 5), tf.random.stateless_multinomial(l, 5, [1, 2]), tf.random.stateless_categorical(l, 5, [1, 2], tf.int32), tf.random.multinomial(l, 2)]
# random_multinomial_dtype
tf.multinomial([[1.0]], 1, output_dtype=tf.float32)
# random_crop
tf.set_random_seed(7); x = tf.reshape(tf.range(48), [4, 4, 3])
out = [tf.random_crop(x, [2, 3, 3]), tf.random_crop(x, [2, 2, 3], seed=4), tf.image.random_crop(x, [1, 1, 3])]
# random_crop_too_large
out = tf.random_crop(tf.constant([1, 2]), [3])
# image_crop_pad
i = tf.reshape(tf.range(60, dtype=tf.float32), [4, 5, 3]); b = tf.stack([i, i + 100])
out = [tf.image.central_crop(i, 0.5), tf.image.central_crop(b, 0.7), tf.image.central_crop(i, 1.0), tf.image.crop_to_bounding_box(i, 1, 2, 2, 3), tf.image.crop_to_bounding_box(b, 0, 1, 3, 1), tf.image.pad_to_bounding_box(i, 1, 0, 6, 7), tf.image.pad_to_bounding_box(b, 0, 2, 4, 8), tf.image.resize_image_with_crop_or_pad(i, 2, 8), tf.image.resize_with_crop_or_pad(b, 7, 2), tf.image.resize_image_with_pad(i, 6, 6), tf.image.resize_image_with_pad(b, 3, 9, tf.image.ResizeMethod.NEAREST_NEIGHBOR), tf.image.resize_images(i, [8, 8], preserve_aspect_ratio=True)]
# image_crop_pad_fed
i = tf.placeholder(tf.float32, [None, None, 3]); h = tf.placeholder(tf.int32, []); f = tf.placeholder(tf.float32, [])
out = [tf.image.central_crop(i, 0.5), tf.image.resize_image_with_crop_or_pad(i, 3, 7), tf.image.crop_to_bounding_box(i, 1, 1, h, 2), tf.image.pad_to_bounding_box(i, 1, 1, h + 5, 9), tf.image.resize_image_with_pad(i, 7, 8)]
feed = {i: np.arange(60).reshape(4, 5, 3), h: 2}
# image_crop_outside
tf.image.crop_to_bounding_box(tf.zeros([4, 5, 3]), 1, 2, 4, 3)
# image_crop_outside_fed
h = tf.placeholder(tf.int32, []); out = tf.image.crop_to_bounding_box(tf.zeros([4, 5, 3]), 1, 2, h, 3); feed = {h: 4}
# image_pad_too_small
tf.image.pad_to_bounding_box(tf.zeros([4, 5, 3]), 1, 2, 4, 9)
# image_crop_fraction
tf.image.central_crop(tf.zeros([4, 5, 3]), 1.5)
# image_crop_rank
tf.image.resize_image_with_crop_or_pad(tf.zeros([4, 5]), 2, 2)
# image_dtypes
u = tf.constant([[[0, 128, 255]]], tf.uint8); f = tf.constant([[[-0.2, 0.5, 1.2]]]); c = tf.image.convert_image_dtype
out = [c(u, tf.float32), c(u, tf.int32), c(u, tf.int16, saturate=True), c(f, tf.uint8, saturate=True), c(tf.abs(f) / 2, tf.int16), c(tf.constant([2**30, -5], tf.int32), tf.uint8, saturate=True), c(f, tf.float64), c(u, tf.uint8)]
# image_dtypes_bool
tf.image.convert_image_dtype(tf.constant([1.0]), tf.bool)
# image_gray
i = tf.constant(np.random.RandomState(3).rand(2, 3, 3).astype(np.float32)); u = tf.image.convert_image_dtype(i, tf.uint8)
out = [tf.image.rgb_to_grayscale(i), tf.image.rgb_to_grayscale(u), tf.image.grayscale_to_rgb(i[..., :1]), tf.image.rgb_to_yiq(i), tf.image.yiq_to_rgb(i), tf.image.rgb_to_yuv(i), tf.image.yuv_to_rgb(i), tf.image.per_image_standardization(i), tf.image.per_image_standardization(tf.stack([u, u])), tf.image.per_image_standardization(tf.ones([2, 2, 1]))]
# image_gray_channels
tf.image.grayscale_to_rgb(tf.zeros([2, 2, 3]))
# image_hue
i = tf.constant(np.concatenate([np.random.RandomState(4).rand(2, 3, 3), [[[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 0.5, 1.0]]], [[[0.5, 1.0, 1.0], [1.0, 1.0, 0.5], [0.2, 0.7, 0.7]]]]).astype(np.float32)); u = tf.image.convert_image_dtype(i, tf.uint8)
out = [tf.image.rgb_to_hsv(i), tf.image.hsv_to_rgb(i), tf.image.adjust_hue(i, 0.3), tf.image.adjust_hue(u, -0.2), tf.image.adjust_saturation(i, 0.4), tf.image.adjust_saturation(i, 2.5), tf.image.adjust_saturation(u, 1.5)]
# image_adjust
i = tf.constant(np.random.RandomState(5).rand(2, 3, 3).astype(np.float32)); u = tf.image.convert_image_dtype(i, tf.uint8)
out = [tf.image.adjust_brightness(i, 0.2), tf.image.adjust_brightness(u, -0.3), tf.image.adjust_contrast(i, 1.7), tf.image.adjust_contrast(u, 0.4), tf.image.adjust_contrast(tf.stack([i, 1 - i]), 2.0), tf.image.adjust_gamma(i, 0.5), tf.image.adjust_gamma(u, 2.0, 0.9)]
# image_gamma
tf.image.adjust_gamma(tf.zeros([2, 2, 3]), -1)
# image_rot90
i = tf.reshape(tf.range(12), [2, 3, 2]); b = tf.stack([i, i + 50]); k = tf.constant(7)
out = [tf.image.rot90(i), tf.image.rot90(i, 2), tf.image.rot90(b, 3), tf.image.rot90(b, 4), tf.image.rot90(i, k)]
# image_random
tf.set_random_seed(11); i = tf.constant(np.random.RandomState(6).rand(4, 4, 3).astype(np.float32)); b = tf.stack([i, 1 - i, i / 2, i / 3])
out = [tf.image.random_flip_left_right(i), tf.image.random_flip_up_down(i, seed=2), tf.image.random_flip_left_right(b), tf.image.random_flip_up_down(b, seed=9), tf.image.random_brightness(i, 0.4), tf.image.random_contrast(i, 0.2, 1.8), tf.image.random_hue(i, 0.3), tf.image.random_saturation(i, 0.5, 1.5, seed=1)]
# image_random_brightness
tf.image.random_brightness(tf.zeros([2, 2, 3]), -0.1)
# image_random_contrast
tf.image.random_contrast(tf.zeros([2, 2, 3]), 2.0, 1.0)
# image_random_hue
tf.image.random_hue(tf.zeros([2, 2, 3]), 0.7)
# image_quality
r = np.random.RandomState(8); a = tf.constant(r.rand(2, 14, 15, 3).astype(np.float32)); b = tf.constant(np.clip(r.rand(2, 14, 15, 3) * 0.2 + 0.4, 0, 1).astype(np.float32)); u = tf.image.convert_image_dtype(a, tf.uint8)
out = [tf.image.psnr(a, b, 1.0), tf.image.psnr(u, tf.image.convert_image_dtype(b, tf.uint8), 255), tf.image.ssim(a, b, 1.0), tf.image.ssim(u, u, 255, filter_size=5), tf.image.ssim_multiscale(a, (a + b) / 2, 1.0, power_factors=(0.3, 0.7), filter_size=4), tf.image.total_variation(a), tf.image.total_variation(a[0])]
# image_quality_shapes
tf.image.psnr(tf.zeros([3, 3, 1]), tf.zeros([3, 4, 1]), 1.0)
# image_quality_small
out = tf.image.ssim(tf.zeros([3, 3, 1]), tf.zeros([3, 3, 1]), 1.0)
# image_edges
a = tf.constant(np.random.RandomState(9).rand(1, 4, 5, 2).astype(np.float32))
out = [list(tf.image.image_gradients(a)), tf.image.sobel_edges(a)]
# image_edges_rank
tf.image.image_gradients(tf.zeros([3, 3, 1]))
# image_boxes
b = tf.constant([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, 10.0, 1.0, 11.0]]); s = tf.constant([0.9, 0.75, 0.6])
c = tf.image.combined_non_max_suppression(tf.reshape(b, [1, 3, 1, 4]), tf.reshape(s, [1, 3, 1]), 3, 3, clip_boxes=False)
out = [tf.image.non_max_suppression_overlaps([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]], s, 3), list(tf.image.non_max_suppression_padded(b, s, 3, pad_to_max_output_size=True)), list(c), tf.image.extract_patches(tf.reshape(tf.range(16.0), [1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), tf.extract_image_patches(tf.reshape(tf.range(16.0), [1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")]
# nn_convolution
r = np.random.RandomState(10); x = [tf.constant(r.rand(*s).astype(np.float32)) for s in ((2, 7, 2), (1, 6, 7, 2), (1, 4, 5, 6, 2))]; w = [tf.constant(r.rand(*s).astype(np.float32)) for s in ((3, 2, 3), (2, 3, 2, 2), (2, 2, 2, 2, 1))]
out = [tf.nn.convolution(a, b, "SAME") for a, b in zip(x, w)] + [tf.nn.convolution(a, b, "VALID", strides=[2] * (k + 1)) for k, (a, b) in enumerate(zip(x, w))] + [tf.nn.convolution(a, b, "SAME", dilation_rate=[2] * (k + 1)) for k, (a, b) in enumerate(zip(x[:2], w))] + [tf.nn.convolution(x[1], w[1], "VALID", dilations=[1, 3]), tf.nn.atrous_conv2d(x[1], w[1], 2, "SAME")]
# nn_convolution_dilated_strides
tf.nn.convolution(tf.zeros([1, 6, 6, 1]), tf.zeros([2, 2, 1, 1]), "SAME", strides=[2, 2], dilation_rate=[2, 2])
# nn_pool
r = np.random.RandomState(11); x = [tf.constant(r.rand(*s).astype(np.float32)) for s in ((2, 7, 2), (1, 6, 7, 2), (1, 4, 5, 6, 2))]
out = [tf.nn.pool(a, [2] * (k + 1), t, p) for k, a in enumerate(x) for t, p in (("MAX", "SAME"), ("AVG", "VALID"))] + [tf.nn.pool(x[1], [2, 2], "MAX", "VALID", dilation_rate=[2, 2]), tf.nn.pool(x[1], [3, 2], "AVG", "SAME", strides=[2, 1]), tf.nn.avg_pool1d(x[0], 3, 2, "SAME"), tf.nn.max_pool1d(x[0], 2, 1, "VALID"), tf.nn.avg_pool_v2(x[2], 2, 2, "SAME"), tf.nn.max_pool_v2(x[0], [2], [2], "SAME"), tf.nn.max_pool_v2(x[1], 2, 2, "VALID")]
# nn_pool_dilated_same
tf.nn.pool(tf.zeros([1, 6, 6, 1]), [2, 2], "MAX", "SAME", dilation_rate=[2, 2])
# nn_pool_kind
tf.nn.pool(tf.zeros([1, 6, 6, 1]), [2, 2], "SUM", "SAME")
# nn_pool_strides
tf.nn.pool(tf.zeros([1, 6, 6, 1]), [2, 2], "MAX", "SAME", strides=[3, 1])
# nn_with_space_to_batch
x = tf.constant(np.random.RandomState(12).rand(1, 7, 6, 1).astype(np.float32))
out = [tf.nn.with_space_to_batch(x, [2, 3], p, lambda i, n, p: tf.nn.max_pool(i, 2, 1, p), filter_shape=[2, 2]) for p in ("SAME", "VALID")]
# nn_transposed
r = np.random.RandomState(13); c = lambda *s: tf.constant(r.rand(*s).astype(np.float32))
out = [tf.nn.conv1d_transpose(c(1, 3, 2), c(3, 4, 2), [1, 6, 4], 2), tf.nn.conv3d_transpose(c(1, 2, 2, 3, 2), c(2, 2, 2, 3, 2), [1, 4, 4, 6, 3], [1, 2, 2, 2, 1]), tf.nn.conv_transpose(c(1, 3, 2), c(3, 4, 2), [1, 3, 4], 1), tf.nn.conv_transpose(c(1, 3, 3, 2), c(2, 2, 1, 2), [1, 6, 6, 1], 2), tf.nn.conv_transpose(c(1, 2, 2, 2, 1), c(2, 2, 2, 1, 1), [1, 2, 2, 2, 1], 1), tf.nn.atrous_conv2d_transpose(c(1, 5, 5, 2), c(2, 2, 1, 2), [1, 5, 5, 1], 2, "SAME"), tf.nn.atrous_conv2d_transpose(c(1, 5, 5, 2), c(2, 2, 1, 2), [1, 7, 7, 1], 2, "VALID")]
# nn_transposed_length
tf.nn.conv_transpose(tf.zeros([1, 2]), tf.zeros([1, 2]), [1, 2], 1)
# nn_backprop
r = np.random.RandomState(14); c = lambda *s: tf.constant(r.rand(*s).astype(np.float32)); ones = [1, 1, 1, 1]
out = [tf.nn.conv2d_backprop_filter(c(1, 4, 4, 2), [2, 2, 2, 3], c(1, 4, 4, 3), ones, "SAME"), tf.nn.conv3d_backprop_filter_v2(c(1, 3, 3, 3, 1), [2, 2, 2, 1, 2], c(1, 2, 2, 2, 2), [1] * 5, "VALID"), tf.nn.depthwise_conv2d_native_backprop_filter(c(1, 4, 4, 2), [2, 2, 2, 2], c(1, 3, 3, 4), ones, "VALID"), tf.nn.depthwise_conv2d_backprop_input([1, 4, 4, 2], c(2, 2, 2, 2), c(1, 3, 3, 4), ones, "VALID")]
# nn_erosion
r = np.random.RandomState(15); c = lambda *s: tf.constant(r.rand(*s).astype(np.float32))
out = tf.nn.erosion2d(c(1, 5, 5, 2), c(2, 3, 2), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
# nn_log_poisson_loss
t = tf.constant([0.0, 0.5, 2.0, 5.0]); l = tf.constant([0.1, -0.3, 0.8, 1.5])
out = [tf.nn.log_poisson_loss(t, l), tf.nn.log_poisson_loss(t, l, compute_full_loss=True)]
# nn_log_poisson_loss_shapes
tf.nn.log_poisson_loss(tf.zeros([2]), tf.zeros([3]))
# nn_crelu
x = tf.constant([[1.0, -2.0], [0.0, 3.0]])
out = [tf.nn.crelu(x), tf.nn.crelu(x, axis=0), tf.math.multiply_no_nan(tf.constant([1.0, np.inf]), tf.constant([2.0, 0.0]))]
""")
