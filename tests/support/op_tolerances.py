"""Where results may differ by more than four units in the last place, and why.

TENSORFLOW: reference against TensorFlow's recorded answers. COMPILED: compiled code against the
reference. The other tables name what is not compared with TensorFlow at all.
"""

from __future__ import annotations

from calls.op_examples import Case
from closeness import Closeness

# Sums of products in another order; TensorFlow adds up f16 and bf16 in their own precision in some
# kernels, where flowc adds up in f32.
_SUMS = Closeness(16, of_largest=True, half=16)
# Products of complex numbers, one after another.
_PRODUCTS = Closeness(16, half=2)
# Computed in f32 and rounded once by one side, step by step by the other.
_ROUNDED_ONCE = Closeness(4, of_largest=True, half=4)

_CONTRACTIONS = """
    isotonic_regression xla_einsum xla_dot xla_dot_v2 xla_conv xla_conv_v2
    conv conv2d_backprop_input_v2 conv2d_backprop_filter_v2 conv3d_backprop_input_v1
    conv3d_backprop_filter_v1
    lstm_block_cell gru_block_cell ctc_beam_search_decoder joined_mat_mul
    mat_mul sparse_mat_mul batch_mat_mul_v1 batch_mat_mul batch_mat_mul_mixed einsum bias_add_grad
    convolution_by_channels_filter_gradient convolution_filter_gradient
    conv2d conv3d depthwise_conv2d conv2d_backprop_filter depthwise_conv2d_backprop_filter
    conv3d_backprop_filter conv2d_backprop_input depthwise_conv2d_backprop_input
    conv3d_backprop_input convolution_transposed fused_conv2d fused_depthwise_conv2d fused_mat_mul
    fused_batch_norm_v1 fused_batch_norm_v2 fused_batch_norm fused_batch_norm_ex
    batch_norm_with_global_normalization fused_batch_norm_grad_v1 fused_batch_norm_grad_v2
    fused_batch_norm_grad sum mean euclidean_norm cumsum l2_loss resize_area resize_bicubic
    avg_pool avg_pool_3d avg_pool_grad avg_pool_3d_grad lrn lrn_grad
    resize_bilinear_grad resize_bicubic_grad crop_and_resize_grad_image crop_and_resize_grad_boxes
    batch_norm_with_global_normalization_grad lstm_block_cell_grad gru_block_cell_grad
    dilation2d_backprop_input dilation2d_backprop_filter
"""
_SOFT = """
    softmax log_softmax softmax_cross_entropy_with_logits elu selu softplus softsign_grad
    sparse_softmax_cross_entropy_with_logits
"""

# Images: a channel is a sum or difference of others, weights are sums that were divided.
_IMAGES = """
    adjust_contrast adjust_contrast_v2 adjust_saturation hsv_to_rgb scale_and_translate
    scale_and_translate_grad image_projective_transform_v2 image_projective_transform_v3
    fused_pad_conv2d fused_resize_and_pad_conv2d audio_spectrogram mfcc
"""

_SPECTRA = "fft fft2d fft3d ifft ifft2d ifft3d rfft rfft2d rfft3d irfft irfft2d irfft3d"

# Matrices: sums of products in another order, whose errors grow with the condition of a matrix.
_FACTORS = Closeness(64, of_largest=True, half=16)
_MATRICES = """
    xla_self_adjoint_eig xla_svd
    cholesky checked_cholesky cholesky_grad lu pivoted_lu triangular_solve matrix_inverse
    log_matrix_determinant matrix_determinant matrix_solve matrix_triangular_solve matrix_solve_ls
    qr svd eig complex_eig self_adjoint_eig_v1 self_adjoint_eig tridiagonal_solve
    tridiagonal_mat_mul banded_triangular_solve matrix_exponential matrix_logarithm
    matrix_square_root complex_square_root complex_logarithm
"""

# Near zeros of a function the error is that of its terms.
_SPECIAL = Closeness(16, of_largest=True, half=1)
_TERMS = """
    bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1e bessel_y0 bessel_y1
    erfinv digamma lgamma igamma igammac betainc spence
"""

TENSORFLOW: dict[str, Closeness] = {
    **dict.fromkeys((*_CONTRACTIONS.split(), *_SPECTRA.split(), *_IMAGES.split()), _SUMS),
    **dict.fromkeys(_SOFT.split(), _ROUNDED_ONCE),
    **dict.fromkeys(("prod", "cumprod", "segment_prod", "unsorted_segment_prod"), _PRODUCTS),
    **dict.fromkeys(_TERMS.split(), _SPECIAL),
    **dict.fromkeys(_MATRICES.split(), _FACTORS),
    # A series and its derivative, each rounded term by term.
    "igamma_grad_a": Closeness(256, of_largest=True),
    "random_gamma_grad": Closeness(256, of_largest=True),
    # By logarithms, in f32 for c64.
    "pow": Closeness(16),
    # Sums of logarithms over the steps, in f32 for f32.
    "ctc_loss": Closeness(32, of_largest=True),
}
COMPILED: dict[str, Closeness] = {
    **dict.fromkeys((*_CONTRACTIONS.split(), *_SPECTRA.split(), *_IMAGES.split()), _SUMS),
    **dict.fromkeys(("prod", "cumprod", "segment_prod", "unsorted_segment_prod"), _PRODUCTS),
    **dict.fromkeys(_TERMS.split(), _SPECIAL),
    **dict.fromkeys(_MATRICES.split(), _FACTORS),
    "pow": Closeness(16),
    # The phase of numbers to 1,000 is rounded: 23 ulp were seen in f64.
    **dict.fromkeys(
        ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"),
        Closeness(64, of_largest=True, half=1),
    ),
    # A series and its derivative, in another order than the reference sums them.
    **dict.fromkeys(
        ("igamma_grad_a", "random_gamma_grad", "gamma_derivative", "gamma_number_derivative"),
        Closeness(512, of_largest=True),  # 350 ulp were seen in f64
    ),
    # A power, a factorial and a sum of a series, each rounded: 8 ulp were seen in f64.
    "polygamma": Closeness(12),
    # Of complex numbers: the parts are rounded in another order.
    "div": Closeness(8, half=1),
    # f16 is rounded after every primitive in compiled code, once in the reference.
    **dict.fromkeys(("softsign_grad", "squared_difference", "tanh_grad"), _ROUNDED_ONCE),
    # A probability less its label.
    **dict.fromkeys(
        ("softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits"),
        Closeness(4, of_largest=True),
    ),
    "ctc_loss": Closeness(4, of_largest=True),
    # Sums of logarithms over the steps.
    "ctc_best_paths": Closeness(32, of_largest=True),
    # Squared as often as its norm asks for: 76 ulp were seen in f64.
    "matrix_exponential": Closeness(128, of_largest=True, half=16),
}
# What these give for numbers that are alike is anything: the vectors of equal eigenvalues, the best
# of paths that are as good, the solution of equations that have none.
_ORDINARY = """
    qr svd eig complex_eig self_adjoint_eig_v1 self_adjoint_eig xla_self_adjoint_eig xla_svd
    tridiagonal_solve banded_triangular_solve matrix_logarithm complex_logarithm matrix_square_root
    complex_square_root pivoted_lu lu ctc_beam_search_decoder ctc_best_paths
"""
ORDINARY_NUMBERS_ALONE = frozenset(_ORDINARY.split())
# Examples that TensorFlow refuses.
ANSWERS_APART: dict[tuple[str, int], str] = {
    ("conv2d_backprop_filter", 2): "TensorFlow has no grouped filter gradient on a CPU",
    ("ensure_shape", 1): "TensorFlow's inference takes an unknown rank for a rank of -1",
    ("fused_depthwise_conv2d", 0): "the kernel needs oneDNN",
    ("fused_depthwise_conv2d", 1): "the kernel needs oneDNN",
    ("fused_batch_norm_ex", 0): "the kernel needs oneDNN",
    ("fused_batch_norm_ex", 1): "the kernel needs oneDNN",
}
# Elementwise ops whose answers for NaN, infinities, zeros and the largest numbers are not compared.
EXTREMES_APART: dict[str, str] = {
    "floor_div": "TensorFlow flushes a subnormal quotient to zero before it rounds down",
    "erf": "TensorFlow's erf of the largest f64 and of infinity is NaN",
    "lgamma": "of zero, TensorFlow's is that of the smallest normal number",
    "igamma": "TensorFlow gives NaN where an argument is infinite and a limit exists",
    "igammac": "TensorFlow gives NaN where an argument is infinite and a limit exists",
    "betainc": "TensorFlow gives NaN where an argument is infinite and a limit exists",
    "expint": "TensorFlow overflows to NaN",
    "fresnel_cos": "of the largest f64, whose square overflows",
    "fresnel_sin": "of the largest f64, whose square overflows",
    "spence": "TensorFlow overflows to NaN",
    "sqrt_grad": "0 / infinity at a half precision",
    "bessel_j0": "the phase of the largest numbers is lost",
    "bessel_j1": "the phase of the largest numbers is lost",
    "bessel_y0": "the phase of the largest numbers is lost",
    "bessel_y1": "the phase of the largest numbers is lost",
}
# The same between compiled code and the reference.
COMPILED_EXTREMES_APART: dict[str, str] = {
    **dict.fromkeys(
        ("igamma", "igammac", "betainc"),
        "the reference knows the limit where compiled code gives TensorFlow's NaN",
    ),
    **dict.fromkeys(
        ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"),
        "the reference computes in f64, where the largest f32 keeps its phase",
    ),
    **dict.fromkeys(
        ("fresnel_cos", "fresnel_sin"), "SciPy's square of the largest f64 overflows to NaN"
    ),
}
# The first output that TensorFlow leaves unspecified: what only its GPU kernels fill.
UNSPECIFIED: dict[str, int] = dict.fromkeys(
    ("fused_batch_norm_grad_v1", "fused_batch_norm_grad_v2", "fused_batch_norm_grad"), 3
) | {
    "fused_batch_norm": 5,
    # The signs of vectors, and the order of complex eigenvalues, are anything: test_matrices.py.
    "svd": 1,
    "self_adjoint_eig": 1,
    "xla_self_adjoint_eig": 1,
    "xla_svd": 1,
    "eig": 0,
}
# The same, where the attr is_training is off.
UNSPECIFIED_AT_INFERENCE: dict[str, int] = dict.fromkeys(
    ("fused_batch_norm_v1", "fused_batch_norm_v2", "fused_batch_norm"), 3
)
# Examples in dtypes that those of the record leave out, and that stand together: they are compiled,
# not compared with TensorFlow.
EXAMPLES_BESIDE: dict[str, tuple[str, ...]] = {
    "isotonic_regression": ("f32[3,9]", "f16[2,7]; output_dtype=f16"),
    "bitcast": (
        "i8[3,4]; type=f32",
        "u16[4]; type=bf16",
        "u16[3]; type=f16",
        "i64[2]; type=f64",
        "f32[3]; type=u32",
        "u32[2,2]; type=u64",
        "u8[3]; type=i8",
        "u64[3,2]; type=c128",
        "qi8[3]; type=qu8",
        "qu8[3]; type=qi8",
        "qi16[2]; type=qu16",
        "qu16[2]; type=qi16",
        "qi32[2]; type=qi32",
    ),
    "rfft3d": ("f64[2,3,4] i32[3]=[2,3,4]; Treal=f64, Tcomplex=c128",),
    "irfft2d": ("c128[2,6,3] i32[2]=[6,4]; Treal=f64, Tcomplex=c128",),
    "irfft3d": ("c128[2,3,3] i32[3]=[2,3,4]; Treal=f64, Tcomplex=c128",),
    "fused_conv2d": (
        "T[1,3,4,2] T[2,2,2,3] T[3]; num_args=1, strides=[1,1,1,1],"
        ' padding="SAME", fused_ops=["BiasAdd"]',
    ),
}
# Dtypes of the signature that neither TensorFlow nor flowc has code for: (op, attr, dtype).
NO_KERNEL: frozenset[tuple[str, str, str]] = frozenset(
    {
        ("tensor_scatter_sub", "T", "bool"),
        ("in_place_sub", "T", "bool"),
        ("mirror_pad_grad", "T", "bool"),
        *(("xla_sort", "T", t) for t in ("c64", "c128")),
        *((f"tensor_scatter_{x}", "T", t) for x in ("min", "max") for t in ("c64", "c128")),
    }
)
# Signatures that are not those of TensorFlow 2.21 to the letter.
SIGNATURES_APART: dict[str, str] = {
    "_FusedConv2D": "takes graphs from before and after TensorFlow named the operands' types",
}


def specified_outputs(case: Case, count: int) -> int:
    """How many of an op's `count` outputs TensorFlow specifies."""
    found = UNSPECIFIED.get(case.op.name, count)
    if not case.attrs.get("is_training", True):
        found = UNSPECIFIED_AT_INFERENCE.get(case.op.name, found)
    return found
