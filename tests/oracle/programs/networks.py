"""Neural networks and images."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from programs.values import integers, numbers

nn, image, raw = tf.nn, tf.image, tf.raw_ops
tf1 = tf.compat.v1

m = lambda *shape: tf.constant(numbers(*shape))
positive = lambda *shape: tf.abs(m(*shape)) + 0.1
pixels = lambda *shape: tf.constant(integers(*shape, high=256).astype("uint8"))
unknown = lambda value: tf1.placeholder_with_default(value, None)


def _gradient(function: Any, *values: Any) -> Any:
    result = function(*values)
    return tf1.gradients(tf.reduce_sum(result * tf.cos(result)), list(values))


def _batch_norm(training: bool) -> Any:
    return tf1.nn.fused_batch_norm(
        unknown(m(2, 3, 3, 4)), m(4), m(4), m(4), positive(4), is_training=training
    )


def _second(function: Any, value: Any) -> Any:
    """A gradient of a gradient."""
    return _gradient(lambda x: tf1.gradients(tf.reduce_sum(tf.sin(function(x))), x)[0], value)


EXPRESSIONS = {
    "conv1d": lambda: nn.conv1d(m(2, 9, 3), m(3, 3, 4), 2, "SAME"),
    "conv2d dilated": lambda: nn.conv2d(m(1, 9, 9, 3), m(3, 3, 3, 4), 1, "VALID", dilations=2),
    "conv2d explicit": lambda: nn.conv2d(
        m(1, 7, 7, 3), m(3, 3, 3, 4), 2, [[0, 0], [2, 1], [0, 3], [0, 0]]
    ),
    "conv2d grouped": lambda: nn.conv2d(m(1, 7, 7, 6), m(3, 3, 2, 6), 1, "SAME"),
    "conv3d": lambda: nn.conv3d(m(1, 4, 5, 6, 2), m(2, 3, 2, 2, 3), [1, 1, 2, 1, 1], "SAME"),
    "conv2d f64": lambda: nn.conv2d(
        tf.cast(m(1, 5, 5, 2), tf.float64), tf.cast(m(3, 3, 2, 2), tf.float64), 1, "SAME"
    ),
    "conv2d of nothing": lambda: nn.conv2d(tf.zeros([0, 5, 5, 2]), m(3, 3, 2, 2), 1, "SAME"),
    "conv2d of other channels": lambda: nn.conv2d(
        unknown(m(1, 4, 4, 3)), unknown(m(3, 3, 2, 1)), 1, "SAME"
    ),
    "raw conv": lambda: raw.Conv(
        input=m(1, 5, 6, 3), filter=m(2, 2, 3, 4), strides=[1, 2, 1, 1], padding="SAME"
    ),
    "conv2d_transpose": lambda: nn.conv2d_transpose(
        m(2, 3, 3, 4), m(3, 3, 2, 4), [2, 6, 6, 2], 2, "SAME"
    ),
    "conv1d_transpose": lambda: nn.conv1d_transpose(m(2, 4, 3), m(3, 2, 3), [2, 9, 2], 2, "VALID"),
    "conv3d_transpose": lambda: nn.conv3d_transpose(
        m(1, 2, 2, 2, 3), m(2, 2, 2, 2, 3), [1, 4, 4, 4, 2], 2
    ),
    "conv3d_transpose of nothing": lambda: nn.conv3d_transpose(
        tf.zeros([0, 2, 2, 2, 3]), m(2, 2, 2, 2, 3), [0, 4, 4, 4, 2], 2
    ),
    "atrous_conv2d": lambda: nn.atrous_conv2d(m(1, 9, 9, 2), m(3, 3, 2, 3), 2, "SAME"),
    "atrous_conv2d_transpose": lambda: nn.atrous_conv2d_transpose(
        m(1, 5, 5, 3), m(3, 3, 2, 3), [1, 5, 5, 2], 2, "SAME"
    ),
    "depthwise": lambda: nn.depthwise_conv2d(m(1, 6, 6, 3), m(3, 3, 3, 2), [1, 1, 1, 1], "SAME"),
    "depthwise dilated": lambda: nn.depthwise_conv2d(
        m(1, 8, 8, 3), m(3, 3, 3, 1), [1, 1, 1, 1], "VALID", dilations=[2, 2]
    ),
    "separable": lambda: nn.separable_conv2d(
        m(1, 6, 6, 3), m(3, 3, 3, 2), m(1, 1, 6, 4), [1, 2, 2, 1], "SAME"
    ),
    "convolution": lambda: nn.convolution(
        m(1, 8, 8, 2), m(2, 2, 2, 3), [1, 1], "SAME", None, [2, 1]
    ),
    "gradient of conv2d": lambda: _gradient(
        lambda x, w: nn.conv2d(x, w, 2, "SAME"), m(1, 7, 7, 2), m(3, 3, 2, 3)
    ),
    "gradient of conv3d": lambda: _gradient(
        lambda x, w: nn.conv3d(x, w, [1, 1, 1, 1, 1], "VALID"), m(1, 4, 4, 4, 2), m(2, 2, 2, 2, 2)
    ),
    "gradient of depthwise": lambda: _gradient(
        lambda x, w: nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"), m(1, 5, 5, 2), m(3, 3, 2, 2)
    ),
    "dilation2d": lambda: nn.dilation2d(
        m(1, 7, 7, 2), m(3, 3, 2), [1, 1, 1, 1], "SAME", "NHWC", [1, 2, 2, 1]
    ),
    "erosion2d": lambda: nn.erosion2d(
        m(1, 7, 7, 2), m(3, 3, 2), [1, 2, 2, 1], "VALID", "NHWC", [1, 1, 1, 1]
    ),
    "gradient of dilation2d": lambda: _gradient(
        lambda x, w: nn.dilation2d(x, w, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]),
        m(1, 5, 5, 2),
        m(2, 2, 2),
    ),
    "max_pool": lambda: nn.max_pool(m(1, 7, 8, 3), [3, 2], 2, "SAME"),
    "max_pool explicit": lambda: nn.max_pool(m(1, 5, 5, 2), 3, 2, [[0, 0], [1, 1], [0, 1], [0, 0]]),
    "max_pool of depth": lambda: nn.max_pool2d(m(1, 3, 3, 6), [1, 1, 1, 2], [1, 1, 1, 2], "SAME"),
    "max_pool of int": lambda: nn.max_pool(tf.cast(10 * m(1, 5, 5, 2), tf.int32), 2, 1, "VALID"),
    "max_pool1d": lambda: nn.max_pool1d(m(2, 9, 2), 3, 2, "SAME"),
    "max_pool3d": lambda: nn.max_pool3d(m(1, 5, 4, 4, 2), 2, 2, "SAME"),
    "avg_pool": lambda: nn.avg_pool(m(1, 7, 7, 2), 3, 2, "SAME"),
    "avg_pool3d": lambda: nn.avg_pool3d(m(1, 4, 4, 4, 2), [2, 3, 2], 2, "SAME"),
    "max_pool_with_argmax": lambda: nn.max_pool_with_argmax(
        m(2, 5, 5, 2), 2, 2, "SAME", include_batch_in_index=True
    ),
    "fractional_max_pool": lambda: nn.fractional_max_pool(m(1, 8, 8, 2), 1.5, seed=3),
    "fractional_avg_pool": lambda: nn.fractional_avg_pool(
        m(1, 8, 8, 2), [1.0, 1.4, 1.4, 1.0], pseudo_random=True, overlapping=True, seed=5
    ),
    "gradient of max_pool": lambda: _gradient(
        lambda x: nn.max_pool(x, 2, 2, "SAME"), m(1, 5, 5, 2)
    ),
    "gradient of max_pool3d": lambda: _gradient(
        lambda x: nn.max_pool3d(x, 2, 1, "VALID"), m(1, 3, 3, 3, 2)
    ),
    "second gradient of max_pool3d": lambda: _second(
        lambda x: nn.max_pool3d(x, 2, 2, "SAME"), m(1, 4, 4, 4, 1)
    ),
    "second gradient of conv2d": lambda: _second(
        lambda x: nn.conv2d(x, m(3, 3, 1, 2), 1, "SAME"), m(1, 4, 4, 1)
    ),
    "gradient of avg_pool3d": lambda: _gradient(
        lambda x: nn.avg_pool3d(x, 2, 1, "SAME"), m(1, 3, 3, 3, 2)
    ),
    "pool": lambda: nn.pool(m(1, 9, 9, 2), [3, 3], "AVG", padding="VALID", dilations=[2, 2]),
    "lrn": lambda: nn.local_response_normalization(m(1, 3, 3, 8), 2, 1.0, 0.1, 0.6),
    "gradient of lrn": lambda: _gradient(
        lambda x: nn.local_response_normalization(x, 2), m(1, 2, 2, 6)
    ),
    "fused_batch_norm": lambda: _batch_norm(False)[:1],
    "fused_batch_norm training": lambda: _batch_norm(True)[:3],
    "batch_norm_with_global_normalization": lambda: nn.batch_norm_with_global_normalization(
        m(2, 2, 2, 3), m(3), positive(3), m(3), m(3), 1e-3, True
    ),
    "moments": lambda: nn.moments(m(3, 4, 5), [0, 2], keepdims=True),
    "weighted_moments": lambda: nn.weighted_moments(m(3, 4), [0], positive(3, 4)),
    "sufficient_statistics": lambda: nn.sufficient_statistics(m(3, 4), [1])[:3],
    "activations": lambda: [
        f(m(3, 4))
        for f in (nn.relu6, nn.crelu, nn.elu, nn.selu, nn.silu, nn.softplus, nn.softsign, nn.gelu)
    ],
    "leaky_relu": lambda: [nn.leaky_relu(tf.cast(m(5), d), 0.3) for d in (tf.float64, tf.bfloat16)],
    "gelu exact": lambda: [nn.gelu(m(6), approximate=a) for a in (False, True)],
    "softmax of axes": lambda: [nn.softmax(m(2, 3, 4), k) for k in (0, 1, 2, -1)],
    "log_softmax f16": lambda: nn.log_softmax(tf.cast(m(3, 4), tf.float16)),
    "cross_entropies": lambda: [
        nn.softmax_cross_entropy_with_logits(nn.softmax(m(3, 4)), m(3, 4) * 2),
        nn.sparse_softmax_cross_entropy_with_logits(integers(3, high=4), m(3, 4)),
        nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(m(5)), m(5) * 3),
        nn.weighted_cross_entropy_with_logits(tf.sigmoid(m(5)), m(5) * 3, 0.7),
        nn.log_poisson_loss(positive(4), m(4), True),
    ],
    "sparse cross entropy of a bad label": lambda: nn.sparse_softmax_cross_entropy_with_logits(
        unknown(tf.constant([0, 9])), unknown(m(2, 4))
    ),
    "ctc_loss": lambda: nn.ctc_loss(
        tf.constant([[1, 2, 2], [3, 1, 0]]),
        m(6, 2, 5),
        tf.constant([3, 2]),
        tf.constant([6, 5]),
        logits_time_major=True,
        blank_index=4,
    ),
    "ctc_greedy_decoder": lambda: nn.ctc_greedy_decoder(m(6, 2, 5), [6, 4]),
    "ctc_beam_search_decoder": lambda: nn.ctc_beam_search_decoder(m(6, 2, 4), [6, 4], 8, 2),
    "top_k": lambda: nn.top_k(m(3, 7), 4),
    "top_k of int": lambda: nn.top_k(integers(3, 7), 7, sorted=True),
    "in_top_k": lambda: nn.in_top_k([1, 0, 2], m(3, 4), 2),
    "approx_max_k": lambda: nn.approx_max_k(m(3, 16), 4),
    "embedding_lookup": lambda: nn.embedding_lookup(m(6, 3), [[0, 5], [2, 2]], max_norm=1.0),
    "embedding_lookup_sparse": lambda: nn.embedding_lookup_sparse(
        m(6, 3),
        tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 0], tf.int64), [3, 2]),
        tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 2.0, 0.5], [3, 2]),
        combiner="sqrtn",
    ),
    "l2_normalize": lambda: nn.l2_normalize(m(3, 4), 1),
    "bias_add NCHW": lambda: nn.bias_add(m(2, 3, 2, 2), m(3), "NCHW"),
    "space_to_depth": lambda: [
        nn.space_to_depth(m(1, 4, 6, 2), 2),
        nn.depth_to_space(m(1, 2, 2, 8), 2),
    ],
    "space_to_batch_nd": lambda: tf.batch_to_space(
        tf.space_to_batch(m(2, 5, 7, 1), [2, 3], [[1, 0], [1, 1]]), [2, 3], [[1, 0], [1, 1]]
    ),
    "scale_and_translate": lambda: image.resize(m(1, 5, 5, 2), [8, 3], "lanczos3", antialias=True),
    "resize": lambda: [
        image.resize(pixels(1, 5, 6, 3), [9, 4], k)
        for k in ("bilinear", "nearest", "bicubic", "area", "gaussian", "mitchellcubic", "lanczos5")
    ],
    "resize keeping the ratio": lambda: image.resize_with_pad(m(1, 5, 7, 1), 8, 8),
    "v1 resize": lambda: [
        tf1.image.resize_images(m(1, 4, 4, 2), [7, 7], k, align_corners=True) for k in range(4)
    ],
    "gradient of resize": lambda: _gradient(
        lambda x: image.resize(x, [7, 5], "bicubic"), m(1, 4, 4, 2)
    ),
    "crop_and_resize": lambda: image.crop_and_resize(
        m(2, 6, 6, 2), [[0.0, 0.1, 0.8, 1.2], [0.5, 0.5, 0.1, 0.1]], [1, 0], [3, 4], "bilinear", 2.0
    ),
    "crop_and_resize of a bad box": lambda: image.crop_and_resize(
        m(1, 4, 4, 1), [[0.0, 0, 1, 1]], unknown(tf.constant([3])), [2, 2]
    ),
    "gradient of crop_and_resize": lambda: _gradient(
        lambda x, b: image.crop_and_resize(x, b, [0], [3, 3]),
        m(1, 5, 5, 1),
        tf.constant([[0.1, 0.2, 0.7, 0.9]]),
    ),
    "central_crop": lambda: image.central_crop(m(8, 8, 3), 0.5),
    "crop_to_bounding_box": lambda: image.crop_to_bounding_box(m(6, 6, 1), 1, 2, 3, 3),
    "resize_with_crop_or_pad": lambda: image.resize_with_crop_or_pad(m(5, 9, 1), 7, 4),
    "flips": lambda: [
        f(m(2, 3, 4, 1))
        for f in (image.flip_left_right, image.flip_up_down, image.transpose, image.rot90)
    ],
    "colours": lambda: [
        f(tf.sigmoid(m(4, 4, 3)))
        for f in (image.rgb_to_hsv, image.hsv_to_rgb, image.rgb_to_yiq, image.rgb_to_yuv)
    ],
    "greys": lambda: [image.rgb_to_grayscale(pixels(3, 3, 3)), image.grayscale_to_rgb(m(2, 2, 1))],
    "adjust": lambda: [
        image.adjust_brightness(pixels(3, 3, 3), 0.2),
        image.adjust_contrast(tf.sigmoid(m(3, 3, 3)), 1.7),
        image.adjust_hue(tf.sigmoid(m(3, 3, 3)), 0.3),
        image.adjust_saturation(tf.sigmoid(m(3, 3, 3)), 0.4),
        image.adjust_gamma(tf.sigmoid(m(3, 3, 3)), 2.2),
    ],
    "per_image_standardization": lambda: image.per_image_standardization(pixels(2, 4, 4, 3)),
    "convert_image_dtype": lambda: [
        image.convert_image_dtype(pixels(3, 3, 1), d, saturate=True)
        for d in (tf.float32, tf.int16, tf.uint16)
    ],
    "draw_bounding_boxes": lambda: image.draw_bounding_boxes(
        tf.zeros([1, 6, 6, 3]), [[[0.1, 0.1, 0.8, 0.7]]], [[1.0, 0.5, 0.2]]
    ),
    "non_max_suppression": lambda: image.non_max_suppression(
        tf.sort(tf.sigmoid(m(8, 4)), 1), tf.sigmoid(m(8)), 5, 0.4, 0.3
    ),
    "non_max_suppression_padded": lambda: image.non_max_suppression_padded(
        tf.sort(tf.sigmoid(m(8, 4)), 1), tf.sigmoid(m(8)), 6, 0.4, pad_to_max_output_size=True
    ),
    "non_max_suppression_with_scores": lambda: image.non_max_suppression_with_scores(
        tf.sort(tf.sigmoid(m(8, 4)), 1), tf.sigmoid(m(8)), 5, 0.4, 0.1, 0.5
    ),
    "combined_non_max_suppression": lambda: image.combined_non_max_suppression(
        tf.sort(tf.sigmoid(m(2, 6, 1, 4)), -1), tf.sigmoid(m(2, 6, 3)), 3, 5, 0.4, 0.2
    ),
    "extract_patches": lambda: image.extract_patches(
        m(1, 7, 7, 2), [1, 3, 3, 1], [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
    ),
    "extract_volume_patches": lambda: tf1.extract_volume_patches(
        m(1, 4, 4, 4, 1), [1, 2, 2, 2, 1], [1, 1, 2, 1, 1], "VALID"
    ),
    "extract_glimpse": lambda: image.extract_glimpse(
        m(2, 6, 6, 1), [3, 3], [[0.1, -0.2], [0.8, 0.9]], noise="zero"
    ),
    "image_gradients": lambda: [
        image.image_gradients(m(1, 4, 4, 2)),
        image.sobel_edges(m(1, 5, 5, 1)),
    ],
    "ssim": lambda: image.ssim(tf.sigmoid(m(1, 16, 16, 1)), tf.sigmoid(m(1, 16, 16, 1) * 0.9), 1.0),
    "psnr": lambda: image.psnr(pixels(2, 5, 5, 3), pixels(2, 5, 5, 3)[:, ::-1], 255),
    "total_variation": lambda: image.total_variation(m(2, 4, 4, 3)),
    "stateless image draws": lambda: [
        image.stateless_random_flip_left_right(m(2, 3, 3, 1), [1, 2]),
        image.stateless_random_brightness(m(3, 3, 1), 0.3, [3, 4]),
        image.stateless_random_contrast(m(3, 3, 1), 0.3, 0.9, [5, 6]),
        image.stateless_random_crop(m(6, 6, 1), [3, 3, 1], [7, 8]),
    ],
    "png": lambda: [
        tf.io.decode_png(tf.io.encode_png(pixels(5, 4, 3))),
        tf.io.decode_png(tf.io.encode_png(pixels(1, 2, 1)), 3),
    ],
    "decode_image": lambda: tf.io.decode_image(tf.io.encode_png(pixels(5, 4, 4)), 3),
    "decode_bmp of a png": lambda: tf.io.decode_bmp(tf.io.encode_png(pixels(2, 2, 3))),
    "projective transform": lambda: raw.ImageProjectiveTransformV3(
        images=m(1, 5, 5, 1),
        transforms=tf.constant([[1.0, 0.2, 0.5, -0.1, 0.9, 0.3, 0.0, 0.0]]),
        output_shape=[4, 6],
        interpolation="BILINEAR",
        fill_mode="REFLECT",
        fill_value=0.0,
    ),
    "fused resize and pad": lambda: raw.FusedResizeAndPadConv2D(
        input=m(1, 4, 4, 2),
        size=[6, 6],
        paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        filter=m(3, 3, 2, 2),
        mode="REFLECT",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    "fused pad": lambda: raw.FusedPadConv2D(
        input=m(1, 4, 4, 2),
        paddings=[[0, 0], [1, 1], [1, 1], [0, 0]],
        filter=m(3, 3, 2, 2),
        mode="SYMMETRIC",
        strides=[1, 1, 1, 1],
        padding="VALID",
    ),
    "data format": lambda: [
        raw.DataFormatVecPermute(x=[1, 2, 3, 4], src_format="NHWC", dst_format="NCHW"),
        raw.DataFormatDimMap(x=[0, 1, 2, 3, -1], src_format="NHWC", dst_format="NCHW"),
    ],
    "block_lstm": lambda: raw.BlockLSTMV2(
        seq_len_max=tf.constant(4, tf.int64),
        x=m(4, 2, 3),
        cs_prev=m(2, 3),
        h_prev=m(2, 3),
        w=m(6, 12),
        wci=m(3),
        wcf=m(3),
        wco=m(3),
        b=m(12),
        cell_clip=0.0,
        use_peephole=False,
    ),
    "gru_block_cell": lambda: raw.GRUBlockCell(
        x=m(2, 3), h_prev=m(2, 4), w_ru=m(7, 8), w_c=m(7, 4), b_ru=m(8), b_c=m(4)
    ),
    "quantize": lambda: [
        tf.cast(x, tf.int32) if x.dtype.is_quantized else x
        for x in tf.quantization.quantize(m(6), -2.0, 2.0, tf.quint8)[1:]
    ],
    "quantize and dequantize": lambda: [
        tf.quantization.quantize_and_dequantize_v2(m(3, 4), -1.0, 1.0, range_given=g, num_bits=5)
        for g in (True, False)
    ],
    "dequantize": lambda: [
        tf.quantization.dequantize(
            tf.quantization.quantize(m(7), -2.0, 2.0, d, mode).output, -2.0, 2.0, mode
        )
        for d in (tf.quint8, tf.qint8)
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
        if (d, mode) != (tf.quint8, "SCALED")
    ],
    "fake_quant": lambda: [
        tf.quantization.fake_quant_with_min_max_args(m(8), -1.0, 1.5, 4, True),
        tf.quantization.fake_quant_with_min_max_vars(m(8), -1.0, 1.5),
        tf.quantization.fake_quant_with_min_max_vars_per_channel(
            m(3, 4), -positive(4), positive(4)
        ),
    ],
    "gradient of fake_quant": lambda: _gradient(
        lambda x, low, high: tf.quantization.fake_quant_with_min_max_vars(x, low, high),
        m(8),
        tf.constant(-1.0),
        tf.constant(1.5),
    ),
}
