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
from flowc.api.arrays.blocks import diag as diag
from flowc.api.arrays.blocks import diag_part as diag_part
from flowc.api.arrays.blocks import matrix_band_part as matrix_band_part
from flowc.api.arrays.blocks import matrix_diag as matrix_diag
from flowc.api.arrays.blocks import space_to_batch as space_to_batch
from flowc.api.arrays.blocks import space_to_batch_nd as space_to_batch_nd
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
from flowc.api.control_flow.loops import while_loop as while_loop
from flowc.api.control_flow.tensor_array import TensorArray as TensorArray
from flowc.api.data.structure import ComponentSpec as TensorSpec
from flowc.api.data.structure import RaggedTensorSpec as RaggedTensorSpec
from flowc.api.data.structure import SparseTensorSpec as SparseTensorSpec
from flowc.api.framework.assertions import assert_all_finite as verify_tensor_all_finite
from flowc.api.framework.assertions import assert_integer as assert_integer
from flowc.api.framework.assertions import assert_near as assert_near
from flowc.api.framework.assertions import assert_proper_iterable as assert_proper_iterable
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
from flowc.api.math.elementwise import add as add
from flowc.api.math.elementwise import add_n as add_n
from flowc.api.math.elementwise import angle as angle
from flowc.api.math.elementwise import approximate_equal as approximate_equal
from flowc.api.math.elementwise import betainc as betainc
from flowc.api.math.elementwise import clip_by_value as clip_by_value
from flowc.api.math.elementwise import complex as complex
from flowc.api.math.elementwise import complex_abs as complex_abs
from flowc.api.math.elementwise import conj as conj
from flowc.api.math.elementwise import div as div
from flowc.api.math.elementwise import div_no_nan as div_no_nan
from flowc.api.math.elementwise import divide as divide
from flowc.api.math.elementwise import log_sigmoid as log_sigmoid
from flowc.api.math.elementwise import logical_xor as logical_xor
from flowc.api.math.elementwise import round as round
from flowc.api.math.elementwise import saturate_cast as saturate_cast
from flowc.api.math.elementwise import scalar_mul as scalar_mul
from flowc.api.math.elementwise import truediv as truediv
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
from flowc.api.math.reductions import count_nonzero as count_nonzero
from flowc.api.math.reductions import einsum as einsum
from flowc.api.math.reductions import reduce_std as reduce_std
from flowc.api.math.reductions import reduce_variance as reduce_variance
from flowc.api.math.reductions import sparse_matmul as sparse_matmul
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
from flowc.api.random.random_ops import random_poisson as random_poisson
from flowc.api.random.random_ops import random_shuffle as random_shuffle
from flowc.api.random.random_ops import random_uniform as random_uniform
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
from flowc.api.variables.graph_keys import GraphKeys as GraphKeys
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

def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = 'NHWC') -> Tensor:
    """The inverse of `space_to_depth`. Raises `ValueError` where the channels are no multiple of the square of `block_size`, and for a size below 2."""
def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = 'NHWC') -> Tensor:
    """Blocks of `block_size` rows and columns of images [batch, height, width, channels] moved to the channels, which grow by its square. Raises `ValueError` where height or width is no multiple of it, and for a size below 2."""
newaxis: NoneType
def foldl(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: str | None = None) -> Any:
    """The last `a` of `a = fn(a, row)` over the rows of `elems`, from `initializer`, or from the
    first row. Raises as `map_fn`."""
def foldr(fn: Any, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: str | None = None) -> Any:
    """`foldl` from the last row to the first. Raises as `map_fn`."""
def assert_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x == y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_greater(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x > y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_greater_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x >= y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_less(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x < y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_less_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x <= y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_negative(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x < 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_non_negative(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x >= 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_non_positive(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x <= 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_none_equal(x: Any, y: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x != y` does not hold in every element (x and y
    broadcast). `data`: what the error shows instead. Raises `InvalidArgumentError`
    where both are constants of which it does not hold."""
def assert_positive(x: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where `x > 0` does not hold in every element. Raises
    `InvalidArgumentError` where x is a constant of which it does not hold."""
def assert_rank(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the rank of `x` is not equal to `rank`.
    Raises `ValueError` where the rank is known and another one."""
def assert_rank_at_least(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the rank of `x` is not at least `rank`.
    Raises `ValueError` where the rank is known and another one."""
def assert_rank_in(x: Any, rank: Any, data: Any = None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that fails where the rank of `x` is not in `rank`.
    Raises `ValueError` where the rank is known and another one."""
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
def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `Cross`:
    
        Cross(a: T, b: T; T: REAL) -> product: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_args(inputs: Any, min: Any = -6.0, max: Any = 6.0, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxArgs`:
    
        FakeQuantWithMinMaxArgs(inputs: f32; min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False) -> outputs: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_args_gradient(gradients: Any, inputs: Any, min: Any = -6.0, max: Any = 6.0, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxArgsGradient`:
    
        FakeQuantWithMinMaxArgsGradient(gradients: f32, inputs: f32; min: float = -6.0, max: float = 6.0, num_bits: int = 8, narrow_range: bool = False) -> backprops: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars(inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxVars`:
    
        FakeQuantWithMinMaxVars(inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> outputs: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Any:
    """TensorFlow's op `FakeQuantWithMinMaxVarsGradient`:
    
        FakeQuantWithMinMaxVarsGradient(gradients: f32, inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> (backprops_wrt_input: f32, backprop_wrt_min: f32, backprop_wrt_max: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars_per_channel(inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Tensor:
    """TensorFlow's op `FakeQuantWithMinMaxVarsPerChannel`:
    
        FakeQuantWithMinMaxVarsPerChannel(inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> outputs: f32
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fake_quant_with_min_max_vars_per_channel_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: Any = 8, narrow_range: Any = False, name: str | None = None) -> Any:
    """TensorFlow's op `FakeQuantWithMinMaxVarsPerChannelGradient`:
    
        FakeQuantWithMinMaxVarsPerChannelGradient(gradients: f32, inputs: f32, min: f32, max: f32; num_bits: int = 8, narrow_range: bool = False) -> (backprops_wrt_input: f32, backprop_wrt_min: f32, backprop_wrt_max: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fft(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `FFT`:
    
        FFT(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fft2d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `FFT2D`:
    
        FFT2D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def fft3d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `FFT3D`:
    
        FFT3D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def ifft(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `IFFT`:
    
        IFFT(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def ifft2d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `IFFT2D`:
    
        IFFT2D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def ifft3d(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `IFFT3D`:
    
        IFFT3D(input: Tcomplex; Tcomplex: COMPLEX = c64) -> output: Tcomplex
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `MatrixSquareRoot`:
    
        MatrixSquareRoot(input: T; T: {f64, f32, f16, c64, c128}) -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def qr(input: Any, full_matrices: Any = False, name: str | None = None) -> Any:
    """TensorFlow's op `Qr`:
    
        Qr(input: T; full_matrices: bool = False, T: {f64, f32, f16, c64, c128}) -> (q: T, r: T)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def quantized_concat(concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None) -> Any:
    """TensorFlow's op `QuantizedConcat`:
    
        QuantizedConcat(concat_dim: i32, values: N*T, input_mins: N*f32, input_maxes: N*f32; N: int >= 2, T: {qu8, qi32}) -> (output: T, output_min: f32, output_max: f32)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
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
def acos(x: Any, name: str | None = None) -> Tensor:
    """The arc cosine, in radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def acosh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic cosine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def asin(x: Any, name: str | None = None) -> Tensor:
    """The arc sine, in radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def asinh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def atan(x: Any, name: str | None = None) -> Tensor:
    """The arc tangent, in radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y) in radians, of floats.
    
    Takes `(y, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def atanh(x: Any, name: str | None = None) -> Tensor:
    """The inverse hyperbolic tangent, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def ceil(x: Any, name: str | None = None) -> Tensor:
    """The least whole number that is not below each element, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def cos(x: Any, name: str | None = None) -> Tensor:
    """The cosine of radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def cosh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic cosine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of `lgamma`, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x == y, of any dtype.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def erf(x: Any, name: str | None = None) -> Tensor:
    """The Gauss error function, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def erfc(x: Any, name: str | None = None) -> Tensor:
    """1 - erf(x), of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def exp(x: Any, name: str | None = None) -> Tensor:
    """e to the power of each element, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def expm1(x: Any, name: str | None = None) -> Tensor:
    """exp(x) - 1, exact near 0, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def floor(x: Any, name: str | None = None) -> Tensor:
    """The greatest whole number that is not above each element, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards minus infinity, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards minus infinity, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `floordiv`, with the sign of y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x > y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x >= y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function P(a, x), of floats.
    
    Takes `(a, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The upper regularised incomplete gamma function Q(a, x), of floats.
    
    Takes `(a, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part of complex numbers, as floats of half their width; of real ones, zeros. Of any shape. Raises nothing for tensors."""
def inv(x: Any, name: str | None = None) -> Tensor:
    """1 / x, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The vector y with `y[x[i]] = i`, of an int32 or int64 vector that is a permutation: anything else raises `ValueError`, or `InvalidArgumentError` in a run.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Bools: whether each element is neither infinite nor NaN, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Bools: whether each element is infinite, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Bools: whether each element is NaN, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x < y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x <= y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def lgamma(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def log(x: Any, name: str | None = None) -> Tensor:
    """The natural logarithm, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x), exact near 0, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether both hold, of bools.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """The negation, of bools.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether either holds, of bools.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of x and y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of x and y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `floordiv`, with the sign of y, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def mul(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def neg(x: Any, name: str | None = None) -> Tensor:
    """-x, of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def negative(x: Any, name: str | None = None) -> Tensor:
    """-x, of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bools: x != y, of any dtype.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Derivative number a of `digamma` at x, of float32 or float64.
    
    Takes `(a, x, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power of y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def real(input: Any, name: str | None = None) -> Tensor:
    """The real part of complex numbers, as floats of half their width; of real ones, the tensor itself. Of any shape. Raises nothing for tensors."""
def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, of floats or complex numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def rint(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, the even one of two, of floats.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x), of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)), of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 (of complex numbers x / abs(x)), of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sin(x: Any, name: str | None = None) -> Tensor:
    """The sine of radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sinh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic sine, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """The square root, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def square(x: Any, name: str | None = None) -> Tensor:
    """x * x, of numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) * (x - y), of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def sub(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y, of numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def tan(x: Any, name: str | None = None) -> Tensor:
    """The tangent of radians, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def tanh(x: Any, name: str | None = None) -> Tensor:
    """The hyperbolic tangent, of floats or complex numbers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards 0, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `truncatediv`, with the sign of x, of real numbers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """The Hurwitz zeta function, of float32 or float64.
    
    Takes `(x, q, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def argmax(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = ...) -> Tensor:
    """The index of the largest element along `axis` (0, if None), which is gone from the result; the first of equal ones. int64, or `output_type`. Raises `TypeError` for dtypes without order, `ValueError` for an axis out of range."""
def argmin(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = ...) -> Tensor:
    """The index of the smallest element along `axis` (0, if None), which is gone from the result; the first of equal ones. int64, or `output_type`. Raises `TypeError` for dtypes without order, `ValueError` for an axis out of range."""
def cumprod(x: Any, axis: Any = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: str | None = None) -> Tensor:
    """The products (of numbers) of the elements up to each one along `axis`, in the shape and dtype of `x`: without it if `exclusive`, from the end if `reverse`. Raises `TypeError` for other dtypes; a run raises `InvalidArgumentError` for an axis out of range."""
def cumsum(x: Any, axis: Any = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: str | None = None) -> Tensor:
    """The sums (of numbers) of the elements up to each one along `axis`, in the shape and dtype of `x`: without it if `exclusive`, from the end if `reverse`. Raises `TypeError` for other dtypes; a run raises `InvalidArgumentError` for an axis out of range."""
def reduce_all(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """Whether all hold of the elements along `axis`, an int or a list (all axes, if None); bools, True of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_any(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """Whether any holds of the elements along `axis`, an int or a list (all axes, if None); bools, False of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The Euclidean norm of the elements along `axis`, an int or a list (all axes, if None); numbers.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """log(sum(exp(x))) of floats, without overflow. Arguments as `reduce_sum`; raises as it does."""
def reduce_max(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The largest of the elements along `axis`, an int or a list (all axes, if None); real numbers, the least of the dtype of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The mean of the elements along `axis`, an int or a list (all axes, if None); numbers; that of integers is rounded towards 0.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_min(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The smallest of the elements along `axis`, an int or a list (all axes, if None); real numbers, the largest of the dtype of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The product of the elements along `axis`, an int or a list (all axes, if None); numbers, 1 of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: builtins.bool | None = None, name: str | None = None, reduction_indices: Any = None, keep_dims: builtins.bool | None = None) -> Tensor:
    """The sum of the elements along `axis`, an int or a list (all axes, if None); numbers, 0 of none.
    
    The axes are gone from the result, or of size 1 with `keepdims`. Raises `TypeError` for other dtypes, `ValueError` for an axis out of range and one given under two names."""
def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The maximum of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The minimum of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_prod(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The product of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment: as many rows as the last of `segment_ids` plus 1, which is a vector of one integer for each row of `data`, in order. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease."""
def sparse_segment_mean(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
    """TensorFlow's `SparseSegmentMean`: rows of `data` at `indices` [n], combined by `segment_ids` [n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index out of range."""
def sparse_segment_sqrt_n(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
    """TensorFlow's `SparseSegmentSqrtN`: rows of `data` at `indices` [n], combined by `segment_ids` [n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index out of range."""
def sparse_segment_sum(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
    """TensorFlow's `SparseSegmentSum`: rows of `data` at `indices` [n], combined by `segment_ids` [n], in order: `num_segments` rows, or the last id plus 1. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for ids that decrease and an index out of range."""
def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The maximum of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The mean of the rows of each segment. Arguments and errors as `unsorted_segment_sum`."""
def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The minimum of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The product of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the rows of each segment, divided by the square root of their number. Arguments and errors as `unsorted_segment_sum`."""
def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """The sum of the slices of each segment, `num_segments` rows: `segment_ids` has the first dimensions of `data`, in any order; a negative id leaves its slice out. Raises `ValueError` for other shapes; a run raises `InvalidArgumentError` for an id out of range."""
def random_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: int | None = None, name: str | None = None) -> Tensor:
    """Numbers of the normal distribution: floats of `shape`, a list or a vector of integers. `mean` and `stddev` broadcast to it; a `seed` gives the same numbers in every session. Raises `TypeError` for other dtypes, `ValueError` for a `shape` that is no vector."""
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: int | None = None, name: str | None = None) -> Tensor:
    """Numbers of the normal distribution, drawn again until they lie within two `stddev`. Arguments as those of `random_normal`, and raises as it does."""
from flowc.api.variables.initializers import Constant as constant_initializer
from flowc.api.variables.initializers import GlorotNormal as glorot_normal_initializer
from flowc.api.variables.initializers import GlorotUniform as glorot_uniform_initializer
from flowc.api.variables.initializers import Ones as ones_initializer
from flowc.api.variables.initializers import Orthogonal as orthogonal_initializer
from flowc.api.variables.initializers import RandomNormal as random_normal_initializer
from flowc.api.variables.initializers import RandomUniform as random_uniform_initializer
from flowc.api.variables.initializers import TruncatedNormal as truncated_normal_initializer
from flowc.api.variables.initializers import UniformUnitScaling as uniform_unit_scaling_initializer
from flowc.api.variables.initializers import VarianceScaling as variance_scaling_initializer
from flowc.api.variables.initializers import Zeros as zeros_initializer
AUTO_REUSE: _AutoReuse
def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterAdd`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_div(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterDiv`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_max(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterMax`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_min(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterMin`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_mul(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterMul`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterNdAdd`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterNdSub`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = True, name: str | None = None) -> Any:
    """TensorFlow's `ScatterNdUpdate`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = False, name: str | None = None) -> Any:
    """TensorFlow's `ScatterSub`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: builtins.bool = True, name: str | None = None) -> Any:
    """TensorFlow's `ScatterUpdate`: changes the rows of a variable at `indices` (int32 or int64) by `updates` of its dtype, a row for each index. Returns the variable's new value. Raises `TypeError` for what is no variable, `ValueError` for updates of another shape; a run raises `InvalidArgumentError` for an index out of range."""
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
CXX11_ABI_FLAG: int
CXX_VERSION: int
FLOWC_VERSION: str
GIT_VERSION: str
GRAPH_DEF_VERSION: int
GRAPH_DEF_VERSION_MIN_CONSUMER: int
GRAPH_DEF_VERSION_MIN_PRODUCER: int
MONOLITHIC_BUILD: int
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
