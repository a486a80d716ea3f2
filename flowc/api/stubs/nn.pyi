# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "gelu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_sigmoid",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "quantized_avg_pool",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "xw_plus_b",
    "zero_fraction",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.arrays.blocks import space_to_batch as space_to_batch
from flowc.api.arrays.selection import in_top_k as in_top_k
from flowc.api.arrays.selection import top_k as top_k
from flowc.api.nn.activations import crelu as crelu
from flowc.api.nn.activations import gelu as gelu
from flowc.api.nn.activations import leaky_relu as leaky_relu
from flowc.api.nn.activations import swish as swish
from flowc.api.nn.candidates import all_candidate_sampler as all_candidate_sampler
from flowc.api.nn.candidates import compute_accidental_hits as compute_accidental_hits
from flowc.api.nn.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from flowc.api.nn.candidates import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from flowc.api.nn.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from flowc.api.nn.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from flowc.api.nn.convolutions import conv1d as conv1d
from flowc.api.nn.convolutions import conv2d as conv2d
from flowc.api.nn.convolutions import conv2d_backprop_input as conv2d_backprop_input
from flowc.api.nn.convolutions import conv2d_transpose as conv2d_transpose
from flowc.api.nn.convolutions import conv3d as conv3d
from flowc.api.nn.convolutions import conv3d_transpose as conv3d_transpose
from flowc.api.nn.convolutions import depthwise_conv2d as depthwise_conv2d
from flowc.api.nn.convolutions import depthwise_conv2d_native as depthwise_conv2d_native
from flowc.api.nn.convolutions import dilation2d as dilation2d
from flowc.api.nn.convolutions import max_pool_with_argmax as max_pool_with_argmax
from flowc.api.nn.convolutions import separable_conv2d as separable_conv2d
from flowc.api.nn.ctc import collapse_repeated as collapse_repeated
from flowc.api.nn.ctc import ctc_beam_search_decoder as ctc_beam_search_decoder
from flowc.api.nn.ctc import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from flowc.api.nn.ctc import ctc_greedy_decoder as ctc_greedy_decoder
from flowc.api.nn.ctc import ctc_loss as ctc_loss
from flowc.api.nn.ctc import ctc_loss_v2 as ctc_loss_v2
from flowc.api.nn.ctc import ctc_unique_labels as ctc_unique_labels
from flowc.api.nn.dropout import dropout as dropout
from flowc.api.nn.embedding import embedding_lookup as embedding_lookup
from flowc.api.nn.embedding import embedding_lookup_sparse as embedding_lookup_sparse
from flowc.api.nn.embedding import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from flowc.api.nn.losses import log_poisson_loss as log_poisson_loss
from flowc.api.nn.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from flowc.api.nn.losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from flowc.api.nn.losses import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from flowc.api.nn.losses import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from flowc.api.nn.losses import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from flowc.api.nn.normalization import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from flowc.api.nn.normalization import batch_normalization as batch_normalization
from flowc.api.nn.normalization import bias_add as bias_add
from flowc.api.nn.normalization import fused_batch_norm as fused_batch_norm
from flowc.api.nn.normalization import l2_normalize as l2_normalize
from flowc.api.nn.normalization import lrn as lrn
from flowc.api.nn.normalization import moments as moments
from flowc.api.nn.normalization import normalize_moments as normalize_moments
from flowc.api.nn.normalization import relu_layer as relu_layer
from flowc.api.nn.normalization import sufficient_statistics as sufficient_statistics
from flowc.api.nn.normalization import weighted_moments as weighted_moments
from flowc.api.nn.normalization import xw_plus_b as xw_plus_b
from flowc.api.nn.normalization import zero_fraction as zero_fraction
from flowc.api.nn.other_rnn import raw_rnn as raw_rnn
from flowc.api.nn.other_rnn import static_bidirectional_rnn as static_bidirectional_rnn
from flowc.api.nn.rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from flowc.api.nn.rnn import dynamic_rnn as dynamic_rnn
from flowc.api.nn.rnn import static_rnn as static_rnn
from flowc.api.nn.sampling import nce_loss as nce_loss
from flowc.api.nn.sampling import sampled_softmax_loss as sampled_softmax_loss
from flowc.api.nn.transposed_convolutions import atrous_conv2d_transpose as atrous_conv2d_transpose
from flowc.api.nn.transposed_convolutions import conv1d_transpose as conv1d_transpose
from flowc.api.nn.transposed_convolutions import conv2d_backprop_filter as conv2d_backprop_filter
from flowc.api.nn.transposed_convolutions import conv3d_backprop_filter_v2 as conv3d_backprop_filter
from flowc.api.nn.transposed_convolutions import conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2
from flowc.api.nn.transposed_convolutions import conv_transpose as conv_transpose
from flowc.api.nn.transposed_convolutions import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter
from flowc.api.nn.transposed_convolutions import depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter
from flowc.api.nn.transposed_convolutions import depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input
from flowc.api.nn.transposed_convolutions import depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input
from flowc.api.nn.windows import atrous_conv2d as atrous_conv2d
from flowc.api.nn.windows import avg_pool1d as avg_pool1d
from flowc.api.nn.windows import avg_pool_v2 as avg_pool_v2
from flowc.api.nn.windows import convolution as convolution
from flowc.api.nn.windows import erosion2d as erosion2d
from flowc.api.nn.windows import max_pool1d as max_pool1d
from flowc.api.nn.windows import max_pool_v2 as max_pool_v2
from flowc.api.nn.windows import pool as pool
from flowc.api.nn.windows import with_space_to_batch as with_space_to_batch

def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = 'NHWC') -> Tensor:
    """The inverse of `space_to_depth`. Raises `ValueError` where the channels are no multiple of the square of `block_size`, and for a size below 2."""
def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = 'NHWC') -> Tensor:
    """Blocks of `block_size` rows and columns of images [batch, height, width, channels] moved to the channels, which grow by its square. Raises `ValueError` where height or width is no multiple of it, and for a size below 2."""
def fractional_avg_pool(value: Any, pooling_ratio: Any, pseudo_random: Any = False, overlapping: Any = False, deterministic: Any = False, seed: Any = 0, seed2: Any = 0, name: str | None = None) -> Any:
    """TensorFlow's op `FractionalAvgPool`:
    
        FractionalAvgPool(value: T; pooling_ratio: list(float) >= 4, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, T: {f32, f64, i32, i64}) -> (output: T, row_pooling_sequence: i64, col_pooling_sequence: i64)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fractional_max_pool(value: Any, pooling_ratio: Any, pseudo_random: Any = False, overlapping: Any = False, deterministic: Any = False, seed: Any = 0, seed2: Any = 0, name: str | None = None) -> Any:
    """TensorFlow's op `FractionalMaxPool`:
    
        FractionalMaxPool(value: T; pooling_ratio: list(float) >= 4, pseudo_random: bool = False, overlapping: bool = False, deterministic: bool = False, seed: int = 0, seed2: int = 0, T: {f32, f64, i32, i64}) -> (output: T, row_pooling_sequence: i64, col_pooling_sequence: i64)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def quantized_avg_pool(input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: Any, name: str | None = None) -> Any:
    """TensorFlow's op `QuantizedAvgPool`:
    
        QuantizedAvgPool(input: T, min_input: f32, max_input: f32; T: {qu8, qi8}, ksize: list(int), strides: list(int), padding: {"SAME", "VALID"}) -> (output: T, min_output: f32, max_output: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def quantized_conv2d(input: Any, filter: Any, min_input: Any, max_input: Any, min_filter: Any, max_filter: Any, strides: Any, padding: Any, out_type: Any = ..., dilations: Any = ..., name: str | None = None) -> Any:
    """TensorFlow's op `QuantizedConv2D`:
    
        QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: f32, max_input: f32, min_filter: f32, max_filter: f32; Tinput: {qu8}, Tfilter: {qu8}, out_type: {qi32} = qi32, strides: list(int), padding: {"SAME", "VALID"}, dilations: list(int) = [1, 1, 1, 1]) -> (output: out_type, min_output: f32, max_output: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def quantized_max_pool(input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: Any, name: str | None = None) -> Any:
    """TensorFlow's op `QuantizedMaxPool`:
    
        QuantizedMaxPool(input: T, min_input: f32, max_input: f32; T: {qu8, qi8}, ksize: list(int), strides: list(int), padding: {"SAME", "VALID"}) -> (output: T, min_output: f32, max_output: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def quantized_relu_x(features: Any, max_value: Any, min_features: Any, max_features: Any, out_type: Any = ..., name: str | None = None) -> Any:
    """TensorFlow's op `QuantizedReluX`:
    
        QuantizedReluX(features: Tinput, max_value: f32, min_features: f32, max_features: f32; Tinput: {qu8, qi32}, out_type: {qu8, qi32} = qu8) -> (activations: out_type, min_activations: f32, max_activations: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def elu(features: Any, name: str | None = None) -> Tensor:
    """Each element, or exp(x) - 1 where it is negative, of floats.
    
    Takes `(features, name=None)`. Raises `TypeError` for other dtypes."""
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)) of floats, without overflow. Raises `TypeError` for other dtypes."""
def log_softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """log(softmax(x)) along `axis` (the last), in the shape and dtype of the logits. Raises `TypeError` for dtypes other than floats, `ValueError` for a scalar and an axis out of range."""
def relu(features: Any, name: str | None = None) -> Tensor:
    """Each element, or 0 where it is negative, of real numbers.
    
    Takes `(features, name=None)`. Raises `TypeError` for other dtypes."""
def relu6(features: Any, name: str | None = None) -> Tensor:
    """Each element, but at least 0 and at most 6, of real numbers.
    
    Takes `(features, name=None)`. Raises `TypeError` for other dtypes."""
def selu(features: Any, name: str | None = None) -> Tensor:
    """`elu` scaled for self-normalising networks (Klambauer et al., 2017), of floats.
    
    Takes `(features, name=None)`. Raises `TypeError` for other dtypes."""
def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def silu(features: Any, beta: Any = 1.0, name: str | None = None) -> Tensor:
    """`x * sigmoid(beta * x)`. Floats of any shape. Raises `TypeError` for other dtypes."""
def softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """exp(x) divided by its sum along `axis` (the last), in the shape and dtype of the logits. Raises `TypeError` for dtypes other than floats, `ValueError` for a scalar and an axis out of range."""
def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(1 + exp(x)), without overflow, of floats.
    
    Takes `(features, name=None)`. Raises `TypeError` for other dtypes."""
def softsign(features: Any, name: str | None = None) -> Tensor:
    """x / (1 + abs(x)), of floats.
    
    Takes `(features, name=None)`. Raises `TypeError` for other dtypes."""
def tanh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic tangent, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def avg_pool(value: Any, ksize: Any, strides: Any, padding: Any, data_format: str = 'NHWC', name: str | None = None, input: Any = None) -> Tensor:
    """The mean, of floats, of each window of images [batch, height, width, channels] (`data_format` NC...: channels second), in their dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` for another rank, other lengths and paddings."""
def avg_pool2d(value: Any, ksize: Any, strides: Any, padding: Any, data_format: str = 'NHWC', name: str | None = None, input: Any = None) -> Tensor:
    """The mean, of floats, of each window of images [batch, height, width, channels] (`data_format` NC...: channels second), in their dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` for another rank, other lengths and paddings."""
def avg_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = 'NDHWC', name: str | None = None) -> Tensor:
    """The mean, of floats, of each window of volumes [batch, depth, height, width, channels] (`data_format` NC...: channels second), in their dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` for another rank, other lengths and paddings."""
def max_pool(value: Any, ksize: Any, strides: Any, padding: Any, data_format: str = 'NHWC', name: str | None = None, input: Any = None) -> Tensor:
    """The maximum, of real numbers, of each window of images [batch, height, width, channels] (`data_format` NC...: channels second), in their dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` for another rank, other lengths and paddings."""
def max_pool2d(value: Any, ksize: Any, strides: Any, padding: Any, data_format: str = 'NHWC', name: str | None = None, input: Any = None) -> Tensor:
    """The maximum, of real numbers, of each window of images [batch, height, width, channels] (`data_format` NC...: channels second), in their dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` for another rank, other lengths and paddings."""
def max_pool3d(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = 'NDHWC', name: str | None = None) -> Tensor:
    """The maximum, of real numbers, of each window of volumes [batch, depth, height, width, channels] (`data_format` NC...: channels second), in their dtype; `ksize` is the window's size. Raises `TypeError` for other dtypes, `ValueError` for another rank, other lengths and paddings."""
def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of the squares of all elements, a scalar, of floats.
    
    Takes `(t, name=None)`. Raises `TypeError` for other dtypes."""
def local_response_normalization(input: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, name: str | None = None) -> Tensor:
    """Local response normalisation of floats [batch, height, width, channels] across channels: `x /
    (bias + alpha * s) ** beta`, where s is the sum of the squares of the channels at most
    `depth_radius` away. Raises `ValueError` for another rank."""
from flowc.api.stubs import nn_rnn_cell as rnn_cell
