# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "AUTO_REUSE",
    "AggregationMethod",
    "Assert",
    "AttrValue",
    "COMPILER_VERSION",
    "CXX11_ABI_FLAG",
    "CXX_VERSION",
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "ConfigProto",
    "DType",
    "DeviceSpec",
    "Dimension",
    "Event",
    "FIFOQueue",
    "FLOWC_VERSION",
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "FixedLengthRecordReader",
    "GIT_VERSION",
    "GPUOptions",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "Graph",
    "GraphDef",
    "GraphKeys",
    "GraphOptions",
    "HistogramProto",
    "IdentityReader",
    "IndexedSlices",
    "IndexedSlicesValue",
    "InteractiveSession",
    "LogMessage",
    "MONOLITHIC_BUILD",
    "MetaGraphDef",
    "NameAttrList",
    "NoGradient",
    "NodeDef",
    "NotDifferentiable",
    "OpDef",
    "OpError",
    "Operation",
    "OptimizerOptions",
    "PaddingFIFOQueue",
    "Print",
    "PriorityQueue",
    "Profile",
    "Program",
    "QueueBase",
    "RaggedTensor",
    "RaggedTensorSpec",
    "RandomShuffleQueue",
    "ReaderBase",
    "RegisterGradient",
    "RunMetadata",
    "RunOptions",
    "Session",
    "SessionLog",
    "SparseConditionalAccumulator",
    "SparseFeature",
    "SparseTensor",
    "SparseTensorSpec",
    "SparseTensorValue",
    "Summary",
    "SummaryMetadata",
    "TFRecordReader",
    "Tensor",
    "TensorArray",
    "TensorInfo",
    "TensorShape",
    "TensorSpec",
    "TextLineReader",
    "UnconnectedGradients",
    "VERSION",
    "VarLenFeature",
    "Variable",
    "VariableAggregation",
    "VariableScope",
    "VariableSynchronization",
    "VariableV1",
    "WholeFileReader",
    "__version__",
    "__version__",
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_check_numerics_ops",
    "add_n",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "angle",
    "app",
    "approximate_equal",
    "arg_max",
    "arg_min",
    "argmax",
    "argmin",
    "argsort",
    "as_dtype",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "assert_variables_initialized",
    "assign",
    "assign_add",
    "assign_sub",
    "atan",
    "atan2",
    "atanh",
    "audio",
    "audio_summary",
    "batch_gather",
    "batch_scatter_update",
    "batch_to_space",
    "batch_to_space_nd",
    "betainc",
    "bfloat16",
    "bincount",
    "bitcast",
    "bitwise",
    "bool",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "case",
    "cast",
    "ceil",
    "check_numerics",
    "cholesky",
    "cholesky_solve",
    "clip_by_average_norm",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "colocate_with",
    "compat",
    "compile",
    "complex",
    "complex128",
    "complex64",
    "complex_abs",
    "concat",
    "cond",
    "config",
    "confusion_matrix",
    "conj",
    "constant",
    "constant_initializer",
    "container",
    "contrib",
    "control_dependencies",
    "control_flow_v2_enabled",
    "convert_to_tensor",
    "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor",
    "cos",
    "cosh",
    "count_nonzero",
    "count_up_to",
    "create_partitioned_variables",
    "cross",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "data",
    "debugging",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "depth_to_space",
    "dequantize",
    "deserialize_many_sparse",
    "device",
    "diag",
    "diag_part",
    "digamma",
    "dimension_at_index",
    "dimension_value",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "distributions",
    "div",
    "div_no_nan",
    "divide",
    "double",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "edit_distance",
    "einsum",
    "enable_resource_variables",
    "encode_base64",
    "ensure_shape",
    "equal",
    "erf",
    "erfc",
    "errors",
    "executing_eagerly",
    "executing_eagerly_outside_functions",
    "exp",
    "expand_dims",
    "expm1",
    "extending",
    "extract_image_patches",
    "extract_volume_patches",
    "eye",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "fft",
    "fft2d",
    "fft3d",
    "fill",
    "fingerprint",
    "fixed_size_partitioner",
    "flags",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_div",
    "floordiv",
    "floormod",
    "foldl",
    "foldr",
    "gather",
    "gather_nd",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "get_local_variable",
    "get_logger",
    "get_seed",
    "get_static_value",
    "get_variable",
    "get_variable_scope",
    "gfile",
    "global_norm",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "grad_pass_through",
    "gradients",
    "graph_util",
    "greater",
    "greater_equal",
    "group",
    "guarantee_const",
    "half",
    "hessians",
    "histogram_fixed_width",
    "histogram_fixed_width_bins",
    "histogram_summary",
    "identity",
    "identity_n",
    "ifft",
    "ifft2d",
    "ifft3d",
    "igamma",
    "igammac",
    "imag",
    "image",
    "image_summary",
    "import_graph_def",
    "init_scope",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "initializers",
    "int16",
    "int32",
    "int64",
    "int8",
    "inv",
    "invert_permutation",
    "io",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_symbolic_tensor",
    "is_tensor",
    "is_variable_initialized",
    "layers",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "lin_space",
    "linalg",
    "linspace",
    "load",
    "load_graph",
    "load_library",
    "load_op_library",
    "local_variables",
    "local_variables_initializer",
    "log",
    "log1p",
    "log_sigmoid",
    "logging",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lookup",
    "losses",
    "make_ndarray",
    "make_template",
    "make_tensor_proto",
    "manip",
    "map_fn",
    "matching_files",
    "math",
    "matmul",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_inverse",
    "matrix_set_diag",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_square_root",
    "matrix_transpose",
    "matrix_triangular_solve",
    "maximum",
    "merge_all_summaries",
    "merge_summary",
    "meshgrid",
    "metrics",
    "min_max_variable_partitioner",
    "minimum",
    "mod",
    "model_variables",
    "moving_average_variables",
    "mul",
    "multinomial",
    "multiply",
    "name_scope",
    "neg",
    "negative",
    "nest",
    "newaxis",
    "nn",
    "no_gradient",
    "no_op",
    "no_regularizer",
    "norm",
    "not_equal",
    "numpy_function",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "op_scope",
    "orthogonal_initializer",
    "pack",
    "pad",
    "parallel_stack",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "placeholder",
    "placeholder_with_default",
    "polygamma",
    "pow",
    "print",
    "profile",
    "profiler",
    "py_func",
    "py_function",
    "python_io",
    "qint16",
    "qint32",
    "qint8",
    "qr",
    "quantization",
    "quantize",
    "quantize_v2",
    "quantized_concat",
    "queue",
    "quint16",
    "quint8",
    "ragged",
    "random",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_normal_initializer",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "raw_ops",
    "read_file",
    "real",
    "realdiv",
    "reciprocal",
    "recompute_grad",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_join",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "regex_replace",
    "register_kernel",
    "register_op",
    "register_resource",
    "register_tensor_conversion_function",
    "repeat",
    "report_uninitialized_variables",
    "required_space_to_batch_paddings",
    "reset_default_graph",
    "reshape",
    "resource",
    "resource_variables_enabled",
    "reverse",
    "reverse_sequence",
    "reverse_v2",
    "rint",
    "roll",
    "round",
    "rsqrt",
    "saturate_cast",
    "saved_model",
    "scalar_mul",
    "scalar_summary",
    "scan",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "self_adjoint_eig",
    "self_adjoint_eigvals",
    "sequence_mask",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "set_random_seed",
    "setdiff1d",
    "sets",
    "shape",
    "shape_n",
    "sigmoid",
    "sign",
    "signal",
    "sin",
    "sinh",
    "size",
    "slice",
    "sort",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
    "sparse",
    "sparse_add",
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_mask",
    "sparse_matmul",
    "sparse_maximum",
    "sparse_merge",
    "sparse_minimum",
    "sparse_placeholder",
    "sparse_reduce_max",
    "sparse_reduce_max_sparse",
    "sparse_reduce_sum",
    "sparse_reduce_sum_sparse",
    "sparse_reorder",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
    "sparse_slice",
    "sparse_softmax",
    "sparse_split",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
    "sparse_transpose",
    "spectral",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "string",
    "string_join",
    "string_split",
    "string_strip",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "string_to_number",
    "strings",
    "sub",
    "substr",
    "subtract",
    "summary",
    "svd",
    "switch_case",
    "sysconfig",
    "tables_initializer",
    "tan",
    "tanh",
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensordot",
    "test",
    "testing",
    "tile",
    "timeline",
    "timestamp",
    "to_bfloat16",
    "to_complex128",
    "to_complex64",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "trace",
    "train",
    "trainable_variables",
    "transpose",
    "truediv",
    "truncated_normal",
    "truncated_normal_initializer",
    "truncatediv",
    "truncatemod",
    "tuple",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uniform_unit_scaling_initializer",
    "unique",
    "unique_with_counts",
    "unpack",
    "unravel_index",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "unstack",
    "variable_axis_size_partitioner",
    "variable_creator_scope",
    "variable_op_scope",
    "variable_scope",
    "variables_initializer",
    "variance_scaling_initializer",
    "variant",
    "vectorized_map",
    "verify_tensor_all_finite",
    "where",
    "where_v2",
    "while_loop",
    "write_file",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    "zeta",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.variables.scope_state import _AutoReuse
from flowc.dtypes import DType
from flowc.api.arrays.blocks import batch_to_space as batch_to_space
from flowc.api.arrays.blocks import batch_to_space_nd as batch_to_space_nd
from flowc.api.stubs.nn import depth_to_space as depth_to_space
from flowc.api.arrays.blocks import diag as diag
from flowc.api.arrays.blocks import diag_part as diag_part
from flowc.api.arrays.blocks import matrix_band_part as matrix_band_part
from flowc.api.arrays.blocks import matrix_diag as matrix_diag
from flowc.api.arrays.blocks import space_to_batch as space_to_batch
from flowc.api.arrays.blocks import space_to_batch_nd as space_to_batch_nd
from flowc.api.stubs.nn import space_to_depth as space_to_depth
from flowc.api.arrays.filling import eye as eye
from flowc.api.arrays.filling import fill as fill
from flowc.api.arrays.filling import meshgrid as meshgrid
from flowc.api.arrays.filling import one_hot as one_hot
from flowc.api.arrays.filling import ones as ones
from flowc.api.arrays.filling import ones_like as ones_like
from flowc.api.arrays.filling import range as range
from flowc.api.arrays.filling import sequence_mask as sequence_mask
from flowc.api.arrays.filling import zeros as zeros
from flowc.api.arrays.filling import zeros_like as zeros_like
from flowc.api.arrays.linspace import linspace as lin_space
from flowc.api.arrays.linspace import linspace as linspace
from flowc.api.arrays.ordering import arg_max as arg_max
from flowc.api.arrays.ordering import arg_min as arg_min
from flowc.api.arrays.ordering import argsort as argsort
from flowc.api.arrays.ordering import sort as sort
from flowc.api.arrays.ordering import unravel_index as unravel_index
from flowc.api.arrays.repeats import edit_distance as edit_distance
from flowc.api.arrays.repeats import repeat as repeat
from flowc.api.arrays.scatters import batch_gather as batch_gather
from flowc.api.arrays.scatters import batch_scatter_update as batch_scatter_update
from flowc.api.arrays.selection import dynamic_partition as dynamic_partition
from flowc.api.arrays.selection import dynamic_stitch as dynamic_stitch
from flowc.api.arrays.selection import gather as gather
from flowc.api.arrays.selection import gather_nd as gather_nd
from flowc.api.arrays.selection import scatter_nd as scatter_nd
from flowc.api.arrays.selection import searchsorted as searchsorted
from flowc.api.arrays.selection import setdiff1d as setdiff1d
from flowc.api.arrays.selection import unique as unique
from flowc.api.arrays.selection import unique_with_counts as unique_with_counts
from flowc.api.arrays.selection import where as where
from flowc.api.arrays.selection import where_v2 as where_v2
from flowc.api.arrays.shaping import broadcast_to as broadcast_to
from flowc.api.arrays.shaping import concat as concat
from flowc.api.arrays.shaping import expand_dims as expand_dims
from flowc.api.arrays.shaping import matrix_transpose as matrix_transpose
from flowc.api.arrays.shaping import pack as pack
from flowc.api.arrays.shaping import pad as pad
from flowc.api.arrays.shaping import parallel_stack as parallel_stack
from flowc.api.arrays.shaping import rank as rank
from flowc.api.arrays.shaping import reshape as reshape
from flowc.api.arrays.shaping import reverse as reverse
from flowc.api.arrays.shaping import reverse as reverse_v2
from flowc.api.arrays.shaping import reverse_sequence as reverse_sequence
from flowc.api.arrays.shaping import roll as roll
from flowc.api.arrays.shaping import shape as shape
from flowc.api.arrays.shaping import shape_n as shape_n
from flowc.api.arrays.shaping import size as size
from flowc.api.arrays.shaping import slice_ as slice
from flowc.api.arrays.shaping import split as split
from flowc.api.arrays.shaping import squeeze as squeeze
from flowc.api.arrays.shaping import stack as stack
from flowc.api.arrays.shaping import strided_slice as strided_slice
from flowc.api.arrays.shaping import tile as tile
from flowc.api.arrays.shaping import transpose as transpose
from flowc.api.arrays.shaping import unpack as unpack
from flowc.api.arrays.shaping import unstack as unstack
from flowc.api.arrays.static_values import broadcast_dynamic_shape as broadcast_dynamic_shape
from flowc.api.arrays.static_values import broadcast_static_shape as broadcast_static_shape
from flowc.api.arrays.static_values import dimension_at_index as dimension_at_index
from flowc.api.arrays.static_values import dimension_value as dimension_value
from flowc.api.arrays.static_values import get_static_value as get_static_value
from flowc.api.arrays.static_values import guarantee_const as guarantee_const
from flowc.api.arrays.static_values import is_symbolic_tensor as is_symbolic_tensor
from flowc.api.arrays.static_values import make_ndarray as make_ndarray
from flowc.api.arrays.static_values import make_tensor_proto as make_tensor_proto
from flowc.api.arrays.static_values import required_space_to_batch_paddings as required_space_to_batch_paddings
from flowc.api.control_flow.cases import case as case
from flowc.api.control_flow.cases import switch_case as switch_case
from flowc.api.control_flow.conditionals import cond as cond
from flowc.api.control_flow.functional import map_fn as map_fn
from flowc.api.control_flow.functional import scan as scan
from flowc.api.control_flow.functional import vectorized_map as vectorized_map
from flowc.api.control_flow.loops import while_loop as while_loop
from flowc.api.control_flow.tensor_array import TensorArray as TensorArray
from flowc.api.data.structure import ComponentSpec as TensorSpec
from flowc.api.data.structure import RaggedTensorSpec as RaggedTensorSpec
from flowc.api.data.structure import SparseTensorSpec as SparseTensorSpec
from flowc.api.framework.assertions import assert_all_finite as verify_tensor_all_finite
from flowc.api.stubs.debugging import assert_equal as assert_equal
from flowc.api.stubs.debugging import assert_greater as assert_greater
from flowc.api.stubs.debugging import assert_greater_equal as assert_greater_equal
from flowc.api.framework.assertions import assert_integer as assert_integer
from flowc.api.stubs.debugging import assert_less as assert_less
from flowc.api.stubs.debugging import assert_less_equal as assert_less_equal
from flowc.api.framework.assertions import assert_near as assert_near
from flowc.api.stubs.debugging import assert_negative as assert_negative
from flowc.api.stubs.debugging import assert_non_negative as assert_non_negative
from flowc.api.stubs.debugging import assert_non_positive as assert_non_positive
from flowc.api.stubs.debugging import assert_none_equal as assert_none_equal
from flowc.api.stubs.debugging import assert_positive as assert_positive
from flowc.api.framework.assertions import assert_proper_iterable as assert_proper_iterable
from flowc.api.stubs.debugging import assert_rank as assert_rank
from flowc.api.stubs.debugging import assert_rank_at_least as assert_rank_at_least
from flowc.api.stubs.debugging import assert_rank_in as assert_rank_in
from flowc.api.framework.assertions import assert_same_float_dtype as assert_same_float_dtype
from flowc.api.framework.assertions import assert_scalar as assert_scalar
from flowc.api.framework.assertions import assert_type as assert_type
from flowc.api.framework.assertions import is_non_decreasing as is_non_decreasing
from flowc.api.framework.assertions import is_numeric_tensor as is_numeric_tensor
from flowc.api.framework.assertions import is_strictly_increasing as is_strictly_increasing
from flowc.api.framework.assertions import is_tensor as is_tensor
from flowc.api.framework.basics import bitcast as bitcast
from flowc.api.framework.basics import cast as cast
from flowc.api.framework.basics import check_numerics as check_numerics
from flowc.api.framework.basics import constant as constant
from flowc.api.framework.basics import convert_to_tensor as convert_to_tensor
from flowc.api.framework.basics import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from flowc.api.framework.basics import ensure_shape as ensure_shape
from flowc.api.framework.basics import identity as identity
from flowc.api.framework.basics import identity_n as identity_n
from flowc.api.framework.basics import placeholder as placeholder
from flowc.api.framework.basics import placeholder_with_default as placeholder_with_default
from flowc.api.framework.basics import stop_gradient as stop_gradient
from flowc.api.framework.checks import Assert as Assert
from flowc.api.framework.checks import Print as Print
from flowc.api.framework.checks import add_check_numerics_ops as add_check_numerics_ops
from flowc.api.framework.checks import print_ as print
from flowc.api.framework.composites import SparseTensor as SparseTensor
from flowc.api.framework.composites import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from flowc.api.framework.composites import sparse_placeholder as sparse_placeholder
from flowc.api.framework.config import ConfigProto as ConfigProto
from flowc.api.framework.config import GPUOptions as GPUOptions
from flowc.api.framework.config import GraphOptions as GraphOptions
from flowc.api.framework.config import OptimizerOptions as OptimizerOptions
from flowc.api.framework.config import RunOptions as RunOptions
from flowc.api.framework.logging import get_logger as get_logger
from flowc.api.framework.models import Program as Program
from flowc.api.framework.models import compile as compile
from flowc.api.framework.models import import_graph_def as import_graph_def
from flowc.api.framework.models import load as load
from flowc.api.framework.models import load_graph as load_graph
from flowc.api.stubs.linalg import cross as cross
from flowc.api.stubs.quantization import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from flowc.api.stubs.quantization import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from flowc.api.stubs.quantization import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from flowc.api.stubs.quantization import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from flowc.api.stubs.quantization import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from flowc.api.stubs.quantization import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from flowc.api.stubs.signal import fft as fft
from flowc.api.stubs.signal import fft2d as fft2d
from flowc.api.stubs.signal import fft3d as fft3d
from flowc.api.stubs.signal import ifft as ifft
from flowc.api.stubs.signal import ifft2d as ifft2d
from flowc.api.stubs.signal import ifft3d as ifft3d
from flowc.api.stubs.linalg import sqrtm as matrix_square_root
from flowc.api.stubs.linalg import qr as qr
from flowc.api.stubs.quantization import quantized_concat as quantized_concat
from flowc.api.framework.python_functions import numpy_function as numpy_function
from flowc.api.framework.python_functions import py_func as py_func
from flowc.api.framework.python_functions import py_function as py_function
from flowc.api.framework.scopes import add_to_collection as add_to_collection
from flowc.api.framework.scopes import add_to_collections as add_to_collections
from flowc.api.framework.scopes import colocate_with as colocate_with
from flowc.api.framework.scopes import container as container
from flowc.api.framework.scopes import control_dependencies as control_dependencies
from flowc.api.framework.scopes import control_flow_v2_enabled as control_flow_v2_enabled
from flowc.api.framework.scopes import device as device
from flowc.api.framework.scopes import disable_control_flow_v2 as disable_control_flow_v2
from flowc.api.framework.scopes import disable_eager_execution as disable_eager_execution
from flowc.api.framework.scopes import executing_eagerly as executing_eagerly
from flowc.api.framework.scopes import executing_eagerly_outside_functions as executing_eagerly_outside_functions
from flowc.api.framework.scopes import get_collection as get_collection
from flowc.api.framework.scopes import get_collection_ref as get_collection_ref
from flowc.api.framework.scopes import group as group
from flowc.api.framework.scopes import init_scope as init_scope
from flowc.api.framework.scopes import name_scope as name_scope
from flowc.api.framework.scopes import no_op as no_op
from flowc.api.framework.scopes import op_scope as op_scope
from flowc.api.framework.scopes import set_random_seed as set_random_seed
from flowc.api.framework.scopes import tuple_ as tuple
from flowc.api.image.image import extract_image_patches as extract_image_patches
from flowc.api.image.image import extract_volume_patches as extract_volume_patches
from flowc.api.inputs.accumulators import ConditionalAccumulator as ConditionalAccumulator
from flowc.api.inputs.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from flowc.api.inputs.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from flowc.api.inputs.queues import FIFOQueue as FIFOQueue
from flowc.api.inputs.queues import PaddingFIFOQueue as PaddingFIFOQueue
from flowc.api.inputs.queues import PriorityQueue as PriorityQueue
from flowc.api.inputs.queues import QueueBase as QueueBase
from flowc.api.inputs.queues import RandomShuffleQueue as RandomShuffleQueue
from flowc.api.inputs.readers import FixedLengthRecordReader as FixedLengthRecordReader
from flowc.api.inputs.readers import IdentityReader as IdentityReader
from flowc.api.inputs.readers import ReaderBase as ReaderBase
from flowc.api.inputs.readers import TFRecordReader as TFRecordReader
from flowc.api.inputs.readers import TextLineReader as TextLineReader
from flowc.api.inputs.readers import WholeFileReader as WholeFileReader
from flowc.api.io.decoding import decode_compressed as decode_compressed
from flowc.api.io.decoding import decode_csv as decode_csv
from flowc.api.io.decoding import decode_json_example as decode_json_example
from flowc.api.io.decoding import decode_raw as decode_raw
from flowc.api.io.decoding import matching_files as matching_files
from flowc.api.io.decoding import parse_tensor as parse_tensor
from flowc.api.io.decoding import read_file as read_file
from flowc.api.io.decoding import serialize_tensor as serialize_tensor
from flowc.api.io.decoding import write_file as write_file
from flowc.api.io.examples import parse_example as parse_example
from flowc.api.io.examples import parse_single_example as parse_single_example
from flowc.api.io.examples import parse_single_sequence_example as parse_single_sequence_example
from flowc.api.io.features import FixedLenFeature as FixedLenFeature
from flowc.api.io.features import FixedLenSequenceFeature as FixedLenSequenceFeature
from flowc.api.io.features import SparseFeature as SparseFeature
from flowc.api.io.features import VarLenFeature as VarLenFeature
from flowc.api.linear_operators.functions import cholesky as cholesky
from flowc.api.linear_operators.functions import diag_part as matrix_diag_part
from flowc.api.linear_operators.functions import matmul as matmul
from flowc.api.linear_operators.functions import matrix_determinant as matrix_determinant
from flowc.api.linear_operators.functions import matrix_inverse as matrix_inverse
from flowc.api.linear_operators.functions import matrix_solve as matrix_solve
from flowc.api.linear_operators.functions import trace as trace
from flowc.api.lookup.table import tables_initializer as initialize_all_tables
from flowc.api.lookup.table import tables_initializer as tables_initializer
from flowc.api.math.counting import bincount as bincount
from flowc.api.math.counting import histogram_fixed_width as histogram_fixed_width
from flowc.api.math.counting import histogram_fixed_width_bins as histogram_fixed_width_bins
from flowc.api.math.elementwise import abs as abs
from flowc.api.math.elementwise import accumulate_n as accumulate_n
from flowc.api.stubs.math import acos as acos
from flowc.api.stubs.math import acosh as acosh
from flowc.api.math.elementwise import add as add
from flowc.api.math.elementwise import add_n as add_n
from flowc.api.math.elementwise import angle as angle
from flowc.api.math.elementwise import approximate_equal as approximate_equal
from flowc.api.stubs.math import asin as asin
from flowc.api.stubs.math import asinh as asinh
from flowc.api.stubs.math import atan as atan
from flowc.api.stubs.math import atan2 as atan2
from flowc.api.stubs.math import atanh as atanh
from flowc.api.math.elementwise import betainc as betainc
from flowc.api.stubs.math import ceil as ceil
from flowc.api.math.elementwise import clip_by_value as clip_by_value
from flowc.api.math.elementwise import complex as complex
from flowc.api.math.elementwise import complex_abs as complex_abs
from flowc.api.math.elementwise import conj as conj
from flowc.api.stubs.math import cos as cos
from flowc.api.stubs.math import cosh as cosh
from flowc.api.stubs.math import digamma as digamma
from flowc.api.math.elementwise import div as div
from flowc.api.math.elementwise import div_no_nan as div_no_nan
from flowc.api.math.elementwise import divide as divide
from flowc.api.stubs.math import equal as equal
from flowc.api.stubs.math import erf as erf
from flowc.api.stubs.math import erfc as erfc
from flowc.api.stubs.math import exp as exp
from flowc.api.stubs.math import expm1 as expm1
from flowc.api.stubs.math import floor as floor
from flowc.api.stubs.math import floor_div as floor_div
from flowc.api.stubs.math import floordiv as floordiv
from flowc.api.stubs.math import floormod as floormod
from flowc.api.stubs.math import greater as greater
from flowc.api.stubs.math import greater_equal as greater_equal
from flowc.api.stubs.math import igamma as igamma
from flowc.api.stubs.math import igammac as igammac
from flowc.api.stubs.math import imag as imag
from flowc.api.stubs.math import inv as inv
from flowc.api.stubs.math import invert_permutation as invert_permutation
from flowc.api.stubs.math import is_finite as is_finite
from flowc.api.stubs.math import is_inf as is_inf
from flowc.api.stubs.math import is_nan as is_nan
from flowc.api.stubs.math import less as less
from flowc.api.stubs.math import less_equal as less_equal
from flowc.api.stubs.math import lgamma as lgamma
from flowc.api.stubs.math import log as log
from flowc.api.stubs.math import log1p as log1p
from flowc.api.math.elementwise import log_sigmoid as log_sigmoid
from flowc.api.stubs.math import logical_and as logical_and
from flowc.api.stubs.math import logical_not as logical_not
from flowc.api.stubs.math import logical_or as logical_or
from flowc.api.math.elementwise import logical_xor as logical_xor
from flowc.api.stubs.math import maximum as maximum
from flowc.api.stubs.math import minimum as minimum
from flowc.api.stubs.math import mod as mod
from flowc.api.stubs.math import mul as mul
from flowc.api.stubs.math import multiply as multiply
from flowc.api.stubs.math import neg as neg
from flowc.api.stubs.math import negative as negative
from flowc.api.stubs.math import not_equal as not_equal
from flowc.api.stubs.math import polygamma as polygamma
from flowc.api.stubs.math import pow as pow
from flowc.api.stubs.math import real as real
from flowc.api.stubs.math import realdiv as realdiv
from flowc.api.stubs.math import reciprocal as reciprocal
from flowc.api.stubs.math import rint as rint
from flowc.api.math.elementwise import round as round
from flowc.api.stubs.math import rsqrt as rsqrt
from flowc.api.math.elementwise import saturate_cast as saturate_cast
from flowc.api.math.elementwise import scalar_mul as scalar_mul
from flowc.api.stubs.math import sigmoid as sigmoid
from flowc.api.stubs.math import sign as sign
from flowc.api.stubs.math import sin as sin
from flowc.api.stubs.math import sinh as sinh
from flowc.api.stubs.math import sqrt as sqrt
from flowc.api.stubs.math import square as square
from flowc.api.stubs.math import squared_difference as squared_difference
from flowc.api.stubs.math import sub as sub
from flowc.api.stubs.math import subtract as subtract
from flowc.api.stubs.math import tan as tan
from flowc.api.stubs.math import tanh as tanh
from flowc.api.math.elementwise import truediv as truediv
from flowc.api.stubs.math import truncatediv as truncatediv
from flowc.api.stubs.math import truncatemod as truncatemod
from flowc.api.stubs.math import zeta as zeta
from flowc.api.math.linear_algebra import set_diag as matrix_set_diag
from flowc.api.math.matrix_equations import cholesky_solve as cholesky_solve
from flowc.api.math.matrix_equations import matrix_solve_ls as matrix_solve_ls
from flowc.api.math.matrix_equations import matrix_triangular_solve as matrix_triangular_solve
from flowc.api.math.matrix_equations import self_adjoint_eig as self_adjoint_eig
from flowc.api.math.matrix_equations import self_adjoint_eigvals as self_adjoint_eigvals
from flowc.api.math.matrix_equations import svd as svd
from flowc.api.math.norms import norm as norm
from flowc.api.math.quantization import dequantize as dequantize
from flowc.api.math.quantization import quantize as quantize
from flowc.api.math.quantization import quantize_v2 as quantize_v2
from flowc.api.stubs.math import argmax as argmax
from flowc.api.stubs.math import argmin as argmin
from flowc.api.math.reductions import count_nonzero as count_nonzero
from flowc.api.stubs.math import cumprod as cumprod
from flowc.api.stubs.math import cumsum as cumsum
from flowc.api.math.reductions import einsum as einsum
from flowc.api.stubs.math import reduce_all as reduce_all
from flowc.api.stubs.math import reduce_any as reduce_any
from flowc.api.stubs.math import reduce_euclidean_norm as reduce_euclidean_norm
from flowc.api.stubs.math import reduce_logsumexp as reduce_logsumexp
from flowc.api.stubs.math import reduce_max as reduce_max
from flowc.api.stubs.math import reduce_mean as reduce_mean
from flowc.api.stubs.math import reduce_min as reduce_min
from flowc.api.stubs.math import reduce_prod as reduce_prod
from flowc.api.math.reductions import reduce_std as reduce_std
from flowc.api.stubs.math import reduce_sum as reduce_sum
from flowc.api.math.reductions import reduce_variance as reduce_variance
from flowc.api.stubs.math import segment_max as segment_max
from flowc.api.stubs.math import segment_mean as segment_mean
from flowc.api.stubs.math import segment_min as segment_min
from flowc.api.stubs.math import segment_prod as segment_prod
from flowc.api.stubs.math import segment_sum as segment_sum
from flowc.api.math.reductions import sparse_matmul as sparse_matmul
from flowc.api.stubs.math import sparse_segment_mean as sparse_segment_mean
from flowc.api.stubs.math import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from flowc.api.stubs.math import sparse_segment_sum as sparse_segment_sum
from flowc.api.stubs.math import unsorted_segment_max as unsorted_segment_max
from flowc.api.stubs.math import unsorted_segment_mean as unsorted_segment_mean
from flowc.api.stubs.math import unsorted_segment_min as unsorted_segment_min
from flowc.api.stubs.math import unsorted_segment_prod as unsorted_segment_prod
from flowc.api.stubs.math import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from flowc.api.stubs.math import unsorted_segment_sum as unsorted_segment_sum
from flowc.api.math.special import lbeta as lbeta
from flowc.api.math.tensordot import tensordot as tensordot
from flowc.api.metrics.confusion import confusion_matrix as confusion_matrix
from flowc.api.profiling.profiles import Profile as Profile
from flowc.api.profiling.profiles import profile as profile
from flowc.api.ragged.ragged_tensor import RaggedTensor as RaggedTensor
from flowc.api.random.random_ops import get_seed as get_seed
from flowc.api.random.random_ops import multinomial as multinomial
from flowc.api.random.random_ops import random_crop as random_crop
from flowc.api.random.random_ops import random_gamma as random_gamma
from flowc.api.stubs.random import normal as random_normal
from flowc.api.random.random_ops import random_poisson as random_poisson
from flowc.api.random.random_ops import random_shuffle as random_shuffle
from flowc.api.random.random_ops import random_uniform as random_uniform
from flowc.api.stubs.random import truncated_normal as truncated_normal
from flowc.api.sparse.serialized import deserialize_many_sparse as deserialize_many_sparse
from flowc.api.sparse.serialized import serialize_many_sparse as serialize_many_sparse
from flowc.api.sparse.serialized import serialize_sparse as serialize_sparse
from flowc.api.sparse.sparse_changes import sparse_add as sparse_add
from flowc.api.sparse.sparse_changes import sparse_concat as sparse_concat
from flowc.api.sparse.sparse_changes import sparse_fill_empty_rows as sparse_fill_empty_rows
from flowc.api.sparse.sparse_changes import sparse_maximum as sparse_maximum
from flowc.api.sparse.sparse_changes import sparse_merge as sparse_merge
from flowc.api.sparse.sparse_changes import sparse_minimum as sparse_minimum
from flowc.api.sparse.sparse_changes import sparse_reorder as sparse_reorder
from flowc.api.sparse.sparse_changes import sparse_reset_shape as sparse_reset_shape
from flowc.api.sparse.sparse_changes import sparse_reshape as sparse_reshape
from flowc.api.sparse.sparse_changes import sparse_slice as sparse_slice
from flowc.api.sparse.sparse_changes import sparse_split as sparse_split
from flowc.api.sparse.sparse_changes import sparse_to_indicator as sparse_to_indicator
from flowc.api.sparse.sparse_changes import sparse_transpose as sparse_transpose
from flowc.api.sparse.sparse_ops import sparse_reduce_max as sparse_reduce_max
from flowc.api.sparse.sparse_ops import sparse_reduce_max_sparse as sparse_reduce_max_sparse
from flowc.api.sparse.sparse_ops import sparse_reduce_sum as sparse_reduce_sum
from flowc.api.sparse.sparse_ops import sparse_reduce_sum_sparse as sparse_reduce_sum_sparse
from flowc.api.sparse.sparse_ops import sparse_retain as sparse_retain
from flowc.api.sparse.sparse_ops import sparse_softmax as sparse_softmax
from flowc.api.sparse.sparse_ops import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from flowc.api.sparse.sparse_ops import sparse_tensor_to_dense as sparse_tensor_to_dense
from flowc.api.sparse.sparse_ops import sparse_to_dense as sparse_to_dense
from flowc.api.strings.pieces import string_split as string_split
from flowc.api.strings.strings import as_string as as_string
from flowc.api.strings.strings import join as string_join
from flowc.api.strings.text import decode_base64 as decode_base64
from flowc.api.strings.text import encode_base64 as encode_base64
from flowc.api.strings.text import fingerprint as fingerprint
from flowc.api.strings.text import reduce_join as reduce_join
from flowc.api.strings.text import regex_replace as regex_replace
from flowc.api.strings.text import string_strip as string_strip
from flowc.api.strings.text import string_to_hash_bucket as string_to_hash_bucket
from flowc.api.strings.text import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from flowc.api.strings.text import string_to_hash_bucket_strong as string_to_hash_bucket_strong
from flowc.api.strings.text import string_to_number as string_to_number
from flowc.api.strings.text import substr as substr
from flowc.api.summaries.merging import merge as merge_summary
from flowc.api.summaries.merging import merge_all as merge_all_summaries
from flowc.api.summaries.merging import scalar_summary as scalar_summary
from flowc.api.summaries.values import audio_summary as audio_summary
from flowc.api.summaries.values import histogram_summary as histogram_summary
from flowc.api.summaries.values import image_summary as image_summary
from flowc.api.training.clipping import clip_by_average_norm as clip_by_average_norm
from flowc.api.training.clipping import clip_by_global_norm as clip_by_global_norm
from flowc.api.training.clipping import clip_by_norm as clip_by_norm
from flowc.api.training.clipping import global_norm as global_norm
from flowc.api.training.gradients import UnconnectedGradients as UnconnectedGradients
from flowc.api.training.gradients import gradients as gradients
from flowc.api.training.gradients import hessians as hessians
from flowc.api.training.registration import RegisterGradient as RegisterGradient
from flowc.api.training.registration import custom_gradient as custom_gradient
from flowc.api.training.registration import grad_pass_through as grad_pass_through
from flowc.api.training.registration import no_gradient as NoGradient
from flowc.api.training.registration import no_gradient as NotDifferentiable
from flowc.api.training.registration import no_gradient as no_gradient
from flowc.api.training.registration import recompute_grad as recompute_grad
from flowc.api.variables.graph_keys import GraphKeys as GraphKeys
from flowc.api.stubs.initializers import constant as constant_initializer
from flowc.api.stubs.initializers import glorot_normal as glorot_normal_initializer
from flowc.api.stubs.initializers import glorot_uniform as glorot_uniform_initializer
from flowc.api.stubs.initializers import ones as ones_initializer
from flowc.api.stubs.initializers import orthogonal as orthogonal_initializer
from flowc.api.stubs.initializers import random_normal as random_normal_initializer
from flowc.api.stubs.initializers import random_uniform as random_uniform_initializer
from flowc.api.stubs.initializers import truncated_normal as truncated_normal_initializer
from flowc.api.stubs.initializers import uniform_unit_scaling as uniform_unit_scaling_initializer
from flowc.api.stubs.initializers import variance_scaling as variance_scaling_initializer
from flowc.api.stubs.initializers import zeros as zeros_initializer
from flowc.api.variables.partitioned_variables import create_partitioned_variables as create_partitioned_variables
from flowc.api.variables.partitioned_variables import fixed_size_partitioner as fixed_size_partitioner
from flowc.api.variables.partitioned_variables import min_max_variable_partitioner as min_max_variable_partitioner
from flowc.api.variables.partitioned_variables import variable_axis_size_partitioner as variable_axis_size_partitioner
from flowc.api.variables.scope_state import VariableAggregation as VariableAggregation
from flowc.api.variables.scope_state import VariableScope as VariableScope
from flowc.api.variables.scope_state import VariableSynchronization as VariableSynchronization
from flowc.api.variables.scope_state import get_variable_scope as get_variable_scope
from flowc.api.variables.scope_state import variable_creator_scope as variable_creator_scope
from flowc.api.variables.templates import make_template as make_template
from flowc.api.variables.variable_ops import assert_variables_initialized as assert_variables_initialized
from flowc.api.variables.variable_ops import assign as assign
from flowc.api.variables.variable_ops import assign_add as assign_add
from flowc.api.variables.variable_ops import assign_sub as assign_sub
from flowc.api.variables.variable_ops import count_up_to as count_up_to
from flowc.api.variables.variable_ops import global_variables as all_variables
from flowc.api.variables.variable_ops import global_variables as global_variables
from flowc.api.variables.variable_ops import global_variables_initializer as global_variables_initializer
from flowc.api.variables.variable_ops import global_variables_initializer as initialize_all_variables
from flowc.api.variables.variable_ops import is_variable_initialized as is_variable_initialized
from flowc.api.variables.variable_ops import local_variables as local_variables
from flowc.api.variables.variable_ops import local_variables_initializer as initialize_local_variables
from flowc.api.variables.variable_ops import local_variables_initializer as local_variables_initializer
from flowc.api.variables.variable_ops import model_variables as model_variables
from flowc.api.variables.variable_ops import moving_average_variables as moving_average_variables
from flowc.api.variables.variable_ops import report_uninitialized_variables as report_uninitialized_variables
from flowc.api.variables.variable_ops import sparse_mask as sparse_mask
from flowc.api.variables.variable_ops import trainable_variables as trainable_variables
from flowc.api.variables.variable_ops import variables_initializer as initialize_variables
from flowc.api.variables.variable_ops import variables_initializer as variables_initializer
from flowc.api.variables.variable_scope import get_local_variable as get_local_variable
from flowc.api.variables.variable_scope import get_variable as get_variable
from flowc.api.variables.variable_scope import no_regularizer as no_regularizer
from flowc.api.variables.variable_scope import variable_op_scope as variable_op_scope
from flowc.api.variables.variable_scope import variable_scope as variable_scope
from flowc.api.variables.variables import Variable as Variable
from flowc.api.variables.variables import Variable as VariableV1
from flowc.dtypes import DType as DType
from flowc.dtypes import as_dtype as as_dtype
from flowc.errors import OpError as OpError
from flowc.extending.op_library import load_library as load_library
from flowc.extending.op_library import load_op_library as load_op_library
from flowc.extending.registration import register_kernel as register_kernel
from flowc.extending.registration import register_op as register_op
from flowc.extending.resources import register_resource as register_resource
from flowc.graph import Dimension as Dimension
from flowc.graph import Graph as Graph
from flowc.graph import Operation as Operation
from flowc.graph import Tensor as Tensor
from flowc.graph import TensorShape as TensorShape
from flowc.graph import get_default_graph as get_default_graph
from flowc.graph import reset_default_graph as reset_default_graph
from flowc.graph.building.conversion import register_tensor_conversion_function as register_tensor_conversion_function
from flowc.graph.building.subscripts import boolean_mask as boolean_mask
from flowc.graph.default import disable_resource_variables as disable_resource_variables
from flowc.graph.default import enable_resource_variables as enable_resource_variables
from flowc.graph.default import get_default_session as get_default_session
from flowc.graph.default import resource_variables_enabled as resource_variables_enabled
from flowc.graph.device import DeviceSpec as DeviceSpec
from flowc.graph.gradients.aggregation import AggregationMethod as AggregationMethod
from flowc.graph.indexed_slices import IndexedSlices as IndexedSlices
from flowc.proto.graph_pb2 import AttrValue as AttrValue
from flowc.proto.graph_pb2 import GraphDef as GraphDef
from flowc.proto.graph_pb2 import NameAttrList as NameAttrList
from flowc.proto.graph_pb2 import NodeDef as NodeDef
from flowc.proto.graph_pb2 import OpDef as OpDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef as MetaGraphDef
from flowc.proto.meta_graph_pb2 import TensorInfo as TensorInfo
from flowc.proto.step_stats_pb2 import RunMetadata as RunMetadata
from flowc.proto.summary_pb2 import Event as Event
from flowc.proto.summary_pb2 import HistogramProto as HistogramProto
from flowc.proto.summary_pb2 import LogMessage as LogMessage
from flowc.proto.summary_pb2 import SessionLog as SessionLog
from flowc.proto.summary_pb2 import Summary as Summary
from flowc.proto.summary_pb2 import SummaryMetadata as SummaryMetadata
from flowc.run.session import InteractiveSession as InteractiveSession
from flowc.run.session import Session as Session
from flowc.api.stubs.sysconfig import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from flowc.api.stubs.sysconfig import CXX_VERSION as CXX_VERSION
from flowc.api.stubs.sysconfig import MONOLITHIC_BUILD as MONOLITHIC_BUILD

newaxis: NoneType
def foldl(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: str | None = None) -> Any:
    """The last `a` of `a = fn(a, row)` over the rows of `elems`, from `initializer`, or from the
    first row. Raises as `map_fn`, but `IndexError` for scalars."""
def foldr(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: str | None = None) -> Any:
    """`foldl` from the last row to the first. Raises as it does, `TypeError` and `IndexError`."""
def to_bfloat16(x: Any, name: str = 'ToBFloat16') -> Tensor:
    """`x` as bfloat16, by `cast`. Raises `TypeError` for strings."""
def to_complex128(x: Any, name: str = 'ToComplex128') -> Tensor:
    """`x` as complex128, by `cast`. Raises `TypeError` for strings."""
def to_complex64(x: Any, name: str = 'ToComplex64') -> Tensor:
    """`x` as complex64, by `cast`. Raises `TypeError` for strings."""
def to_double(x: Any, name: str = 'ToDouble') -> Tensor:
    """`x` as float64, by `cast`. Raises `TypeError` for strings."""
def to_float(x: Any, name: str = 'ToFloat') -> Tensor:
    """`x` as float32, by `cast`. Raises `TypeError` for strings."""
def to_int32(x: Any, name: str = 'ToInt32') -> Tensor:
    """`x` as int32, by `cast`. Raises `TypeError` for strings."""
def to_int64(x: Any, name: str = 'ToInt64') -> Tensor:
    """`x` as int64, by `cast`. Raises `TypeError` for strings."""
from flowc.api.framework.composites import SparseTensorValue as SparseTensorValue
def tensor_scatter_add(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterAdd`:
    
        TensorScatterAdd(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i32, i64}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_nd_add(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterAdd`:
    
        TensorScatterAdd(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i32, i64}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_nd_max(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterMax`:
    
        TensorScatterMax(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i32, i64}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_nd_min(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterMin`:
    
        TensorScatterMin(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i32, i64}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_nd_sub(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterSub`:
    
        TensorScatterSub(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i32, i64}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_sub(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterSub`:
    
        TensorScatterSub(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i32, i64}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterUpdate`:
    
        TensorScatterUpdate(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i16, i32, i64, u16}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def tensor_scatter_update(tensor: Any, indices: Any, updates: Any, bad_indices_policy: Any = '', name: str | None = None) -> Tensor:
    """TensorFlow's op `TensorScatterUpdate`:
    
        TensorScatterUpdate(tensor: T, indices: Tindices, updates: T; T: type, Tindices: {i16, i32, i64, u16}, bad_indices_policy: string = "") -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def timestamp(name: str | None = None) -> Tensor:
    """TensorFlow's op `Timestamp`:
    
        Timestamp() -> ts: f64
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def disable_tensor_equality() -> None:
    """Nothing to do: flowc never executes eagerly. Raises nothing."""
def disable_v2_behavior() -> None:
    """Nothing to do: flowc never executes eagerly. Raises nothing."""
def disable_v2_tensorshape() -> None:
    """Nothing to do: flowc never executes eagerly. Raises nothing."""
AUTO_REUSE: _AutoReuse
def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterAdd`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterDiv`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterMax`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterMin`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterMul`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterNdAdd`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterNdSub`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = True, name: str | None = None) -> Any:
    """TensorFlow's `ScatterNdUpdate`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterSub`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = True, name: str | None = None) -> Any:
    """TensorFlow's `ScatterUpdate`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `AttributeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
bfloat16: DType
bool: DType
complex128: DType
complex64: DType
float16: DType
half: DType
float32: DType
double: DType
float64: DType
int16: DType
int32: DType
int64: DType
int8: DType
qint16: DType
qint32: DType
qint8: DType
quint16: DType
quint8: DType
resource: DType
string: DType
uint16: DType
uint32: DType
uint64: DType
uint8: DType
variant: DType
from flowc.graph.indexed_slices import IndexedSlicesValue as IndexedSlicesValue
COMPILER_VERSION: str
FLOWC_VERSION: str
GIT_VERSION: str
GRAPH_DEF_VERSION: int
GRAPH_DEF_VERSION_MIN_CONSUMER: int
GRAPH_DEF_VERSION_MIN_PRODUCER: int
VERSION: str
__version__: str
from flowc import compat as compat
from flowc import dtypes as dtypes
from flowc import errors as errors
from flowc import extending as extending
from flowc.api.stubs import nn as nn
from flowc.api.stubs import math as math
from flowc.api.stubs import image as image
from flowc.api.stubs import bitwise as bitwise
from flowc.api.stubs import linalg as linalg
from flowc.api.stubs import random as random
from flowc.api.stubs import strings as strings
from flowc.api.stubs import nest as nest
from flowc.api.stubs import debugging as debugging
from flowc.api.stubs import sparse as sparse
from flowc.api.stubs import initializers as initializers
from flowc.api.stubs import timeline as timeline
from flowc.api.stubs import logging as logging
from flowc.api.stubs import summary as summary
from flowc.api.stubs import test as test
from flowc.api.stubs import graph_util as graph_util
from flowc.api.stubs import app as app
from flowc.api.stubs import flags as flags
from flowc.api.stubs import gfile as gfile
from flowc.api.stubs import lookup as lookup
from flowc.api.stubs import contrib as contrib
from flowc.api.stubs import manip as manip
from flowc.api.stubs import quantization as quantization
from flowc.api.stubs import signal as signal
from flowc.api.stubs import spectral as spectral
from flowc.api.stubs import data as data
from flowc.api.stubs import distributions as distributions
from flowc.api.stubs import config as config
from flowc.api.stubs import testing as testing
from flowc.api.stubs import sysconfig as sysconfig
from flowc.api.stubs import io as io
from flowc.api.stubs import queue as queue
from flowc.api.stubs import train as train
from flowc.api.stubs import audio as audio
from flowc.api.stubs import profiler as profiler
from flowc.api.stubs import python_io as python_io
from flowc.api.stubs import ragged as ragged
from flowc.api.stubs import sets as sets
from flowc.api.stubs import saved_model as saved_model
from flowc.api.stubs import layers as layers
from flowc.api.stubs import losses as losses
from flowc.api.stubs import metrics as metrics
from flowc.api.stubs import raw_ops as raw_ops

__version__: str
