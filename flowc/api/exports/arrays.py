"""Which module holds which public name, where names are of arrays, images and numbers that are made
of ops.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_HISTOGRAMS = "bincount histogram_fixed_width histogram_fixed_width_bins"
_FOURIER = "fft fft2d fft3d ifft ifft2d ifft3d"
_FOURIER_OF_REALS = "irfft irfft2d irfft3d rfft rfft2d rfft3d"
_FAKE_QUANTIZATION = """
fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
fake_quant_with_min_max_vars_per_channel_gradient
"""
_STATIC_VALUES = """
broadcast_dynamic_shape broadcast_static_shape dimension_at_index dimension_value get_static_value
guarantee_const is_symbolic_tensor make_ndarray make_tensor_proto required_space_to_batch_paddings
"""
_VERSIONS = """
COMPILER_VERSION CXX11_ABI_FLAG CXX_VERSION GIT_VERSION GRAPH_DEF_VERSION
GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD
VERSION
"""
_BOXES = """
combined_non_max_suppression extract_patches non_max_suppression_overlaps
non_max_suppression_padded
"""

TOP: Mapping[str, str] = {
    "flowc.api.arrays.ordering": "arg_max arg_min argsort sort unravel_index",
    "flowc.api.arrays.repeats": "edit_distance repeat",
    "flowc.api.arrays.scatters": "batch_gather batch_scatter_update",
    "flowc.api.framework.logging": "get_logger",
    "flowc.api.arrays.static_values": _STATIC_VALUES,
    "flowc.api.image.image": "extract_image_patches extract_volume_patches",
    "flowc.api.math.counting": _HISTOGRAMS,
    "flowc.api.math.quantization": "dequantize quantize quantize_v2",
    "flowc.api.math.special": "lbeta",
    "flowc.api.variables.templates": "make_template",
    "flowc.graph.device": "DeviceSpec",
    "flowc.proto.meta_graph_pb2": "TensorInfo",
    "flowc.version": _VERSIONS,
}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "image": {
        "flowc.api.image.boxes": _BOXES,
        "flowc.api.image.colors": """adjust_brightness adjust_contrast adjust_gamma adjust_hue
            adjust_saturation convert_image_dtype grayscale_to_rgb hsv_to_rgb
            per_image_standardization rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv yiq_to_rgb
            yuv_to_rgb""",
        "flowc.api.image.image": "rot90",
        "flowc.api.image.quality": """image_gradients psnr sobel_edges ssim ssim_multiscale
            total_variation""",
        "flowc.api.image.random_changes": """random_brightness random_contrast
            random_flip_left_right random_flip_up_down random_hue random_saturation""",
        "flowc.api.image.sizes": """central_crop crop_to_bounding_box pad_to_bounding_box
            resize_image_with_crop_or_pad resize_image_with_pad
            resize_with_crop_or_pad=resize_image_with_crop_or_pad""",
        "flowc.api.random.random_ops": "random_crop",
    },
    "manip": {
        "flowc.api.arrays.blocks": """batch_to_space_nd space_to_batch_nd""",
        "flowc.api.arrays.selection": "gather_nd scatter_nd",
        "flowc.api.arrays.shaping": "reshape reverse roll tile",
    },
    "math": {
        "flowc.api.framework.plain_ops": "nextafter",
        "flowc.api.math.counting": "bincount",
        "flowc.api.math.special": "erfcinv lbeta polyval reciprocal_no_nan",
        "flowc.api.framework.assertions": "is_non_decreasing is_strictly_increasing",
    },
    "math.special": {
        "flowc.api.math.elementwise": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e",
        "flowc.api.math.special": """bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e
            bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence""",
    },
    "nn": {
        "flowc.api.arrays.blocks": "space_to_batch",
        "flowc.api.framework.plain_ops": """fractional_avg_pool fractional_max_pool
            quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x""",
        "flowc.api.nn.losses": "log_poisson_loss",
        "flowc.api.nn.transposed_convolutions": """atrous_conv2d_transpose conv1d_transpose
            conv2d_backprop_filter conv3d_backprop_filter=conv3d_backprop_filter_v2
            conv3d_backprop_filter_v2 conv_transpose
            depthwise_conv2d_backprop_filter=depthwise_conv2d_native_backprop_filter
            depthwise_conv2d_backprop_input=depthwise_conv2d_native_backprop_input
            depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input""",
        "flowc.api.nn.windows": """atrous_conv2d avg_pool1d avg_pool_v2 convolution erosion2d
            max_pool1d max_pool_v2 pool with_space_to_batch""",
    },
    "quantization": {
        "flowc.api.framework.plain_ops": f"{_FAKE_QUANTIZATION} quantized_concat",
        "flowc.api.math.quantization": """dequantize quantize quantize_and_dequantize
            quantize_and_dequantize_v2""",
    },
    "random": {"flowc.api.random.random_ops": "stateless_categorical stateless_multinomial"},
    "signal": {
        "flowc.api.math.cosine_transforms": """dct fftshift idct ifftshift
            mfccs_from_log_mel_spectrograms""",
        "flowc.api.math.frames": """frame inverse_stft inverse_stft_window_fn overlap_and_add
            stft""",
        "flowc.api.framework.plain_ops": _FOURIER,
        "flowc.api.math.spectral": _FOURIER_OF_REALS,
        "flowc.api.math.window_functions": """hamming_window hann_window
            kaiser_bessel_derived_window kaiser_window vorbis_window""",
    },
    "spectral": {
        "flowc.api.math.cosine_transforms": "dct idct",
        "flowc.api.framework.plain_ops": _FOURIER,
        "flowc.api.math.spectral": _FOURIER_OF_REALS,
    },
}
