"""Which module holds which public name.

In: a name that someone asked `flowc` (or `flowc.nn`, ...) for. Out: the object. Invariant: nothing
is imported before it is asked for, and a name that flowc does not have says so with the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from flowc.api import array_exports
from flowc.errors import did_you_mean

_ELEMENTWISE = """
abs accumulate_n acos acosh add add_n angle approximate_equal asin asinh atan atan2 atanh betainc
ceil clip_by_value complex complex_abs conj cos cosh digamma div div_no_nan divide equal erf erfc
exp expm1 floor floor_div floordiv floormod greater greater_equal igamma igammac imag inv
invert_permutation is_finite is_inf is_nan less less_equal lgamma log log1p log_sigmoid
logical_and logical_not logical_or logical_xor maximum minimum mod mul multiply neg negative
not_equal polygamma pow real realdiv reciprocal rint round rsqrt saturate_cast scalar_mul sigmoid
sign sin sinh sqrt square squared_difference sub subtract tan tanh truediv truncatediv truncatemod
zeta
"""
_REDUCTIONS = """
argmax argmin count_nonzero cumprod cumsum einsum matmul reduce_all reduce_any
reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std
reduce_sum reduce_variance segment_max segment_mean segment_min segment_prod segment_sum tensordot
unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum
"""
_ARRAYS = """
broadcast_to concat expand_dims matrix_transpose newaxis pack pad parallel_stack rank reshape
reverse reverse_sequence reverse_v2=reverse roll shape shape_n size slice=slice_ split squeeze
stack strided_slice tile transpose unpack unstack
"""
_SELECTION = """
dynamic_partition dynamic_stitch gather gather_nd scatter_nd searchsorted setdiff1d
unique unique_with_counts where where_v2
"""
_FILLING = """
fill linspace lin_space=linspace meshgrid one_hot ones ones_like range sequence_mask zeros
zeros_like
"""
_BLOCKS = """
batch_to_space batch_to_space_nd depth_to_space diag diag_part matrix_band_part matrix_diag
matrix_diag_part space_to_batch space_to_batch_nd space_to_depth
"""
_BASICS = """
bitcast cast check_numerics constant convert_to_tensor ensure_shape identity identity_n
placeholder placeholder_with_default stop_gradient to_bfloat16 to_complex64 to_complex128
to_double to_float to_int32 to_int64
"""
_SCOPES = """
add_to_collection add_to_collections colocate_with container control_dependencies
control_flow_v2_enabled device disable_control_flow_v2 disable_eager_execution
disable_tensor_equality disable_v2_behavior disable_v2_tensorshape executing_eagerly
get_collection get_collection_ref group init_scope name_scope no_op op_scope set_random_seed
tuple=tuple_
"""
_VARIABLES = """
all_variables=global_variables assign assign_add assign_sub count_up_to global_variables
global_variables_initializer initialize_all_variables=global_variables_initializer
initialize_local_variables=local_variables_initializer initialize_variables=variables_initializer
is_variable_initialized local_variables local_variables_initializer scatter_add scatter_div
scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub
scatter_update trainable_variables variables_initializer
"""
_DTYPES = """
float16=f16 half=f16 bfloat16=bf16 float32=f32 float64=f64 double=f64 int8=i8 int16=i16 int32=i32
int64=i64 uint8=u8 uint16=u16 uint32=u32 uint64=u64 bool=bool_ string complex64=c64
complex128=c128 resource variant qint8=qi8 quint8=qu8 qint16=qi16 quint16=qu16 qint32=qi32 DType
as_dtype
"""
_NN = {
    "flowc.api.nn.activations": """
        crelu elu gelu leaky_relu log_sigmoid log_softmax relu relu6 selu sigmoid silu
        softmax softplus softsign swish tanh
    """,
    "flowc.api.nn.convolutions": """
        avg_pool avg_pool2d avg_pool3d conv1d conv2d conv2d_backprop_input
        conv2d_transpose conv3d depthwise_conv2d depthwise_conv2d_native dilation2d
        max_pool max_pool2d max_pool3d max_pool_with_argmax separable_conv2d
    """,
    "flowc.api.nn.normalization": """
        batch_normalization bias_add fused_batch_norm l2_normalize
        local_response_normalization lrn moments relu_layer xw_plus_b zero_fraction
    """,
    "flowc.api.nn.losses": """
        l2_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits
        softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
        weighted_cross_entropy_with_logits
    """,
    "flowc.api.arrays.selection": """
        embedding_lookup in_top_k top_k
    """,
    "flowc.api.arrays.blocks": """
        depth_to_space space_to_depth
    """,
    "flowc.api.nn.rnn": """
        bidirectional_dynamic_rnn dynamic_rnn rnn_cell static_rnn
    """,
}
_IMAGE = """
ResizeMethod crop_and_resize extract_image_patches flip_left_right flip_up_down
non_max_suppression non_max_suppression_with_scores resize resize_area resize_bicubic
resize_bilinear resize_images resize_nearest_neighbor transpose transpose_image
"""

_ASSERTIONS = """
assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal
assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal
assert_positive assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in
assert_same_float_dtype assert_scalar assert_type is_non_decreasing is_numeric_tensor
is_strictly_increasing
"""
_TOP = {
    "flowc.api.math.elementwise": _ELEMENTWISE,
    "flowc.api.math.reductions": _REDUCTIONS,
    "flowc.api.math.norms": "norm",
    "flowc.api.arrays.shaping": _ARRAYS,
    "flowc.api.arrays.selection": _SELECTION,
    "flowc.api.arrays.filling": _FILLING,
    "flowc.api.arrays.blocks": _BLOCKS,
    "flowc.api.framework.basics": _BASICS,
    "flowc.api.framework.scopes": _SCOPES,
    "flowc.api.framework.checks": "Assert Print print=print_",
    "flowc.api.framework.assertions": _ASSERTIONS
    + "is_tensor verify_tensor_all_finite=assert_all_finite",
    "flowc.api.control_flow.conditionals": "cond",
    "flowc.api.control_flow.cases": "case switch_case",
    "flowc.api.control_flow.loops": "while_loop",
    "flowc.api.control_flow.functional": "foldl foldr map_fn scan",
    "flowc.api.framework.python_functions": "numpy_function py_func",
    "flowc.api.control_flow.tensor_array": "TensorArray",
    "flowc.api.variables.variables": "Variable",
    "flowc.api.variables.variable_ops": _VARIABLES,
    "flowc.graph.indexed_slices": "IndexedSlices IndexedSlicesValue",
    "flowc.api.framework.composites": "SparseTensor SparseTensorValue sparse_placeholder",
    "flowc.api.variables.variable_scope": """AUTO_REUSE VariableScope get_variable
        get_variable_scope variable_scope""",
    "flowc.api.variables.initializers": """constant_initializer glorot_uniform_initializer
        ones_initializer zeros_initializer""",
    "flowc.api.random.random_ops": """get_seed random_normal random_shuffle random_uniform
        truncated_normal""",
    "flowc.api.training.clipping": """clip_by_average_norm clip_by_global_norm clip_by_norm
        global_norm""",
    "flowc.api.training.moving_averages": "moving_average_variables",
    "flowc.dtypes": _DTYPES,
    "flowc.graph.building.subscripts": "boolean_mask",
    "flowc.graph.default": "get_default_session",
    "flowc.graph": """Dimension Graph Operation Tensor TensorShape get_default_graph
        reset_default_graph""",
    "flowc.run.session": "InteractiveSession Session",
    "flowc.api.framework.config": """ConfigProto GPUOptions GraphOptions OptimizerOptions
        RunMetadata RunOptions""",
    "flowc.api.framework.models": "Program compile import_graph_def load load_graph",
    "flowc.api.strings.strings": "as_string string_join=join",
    "flowc.api.training.gradients": "UnconnectedGradients gradients",
    "flowc.graph.gradients.aggregation": "AggregationMethod",
    "flowc.proto.graph_pb2": "GraphDef NodeDef OpDef",
    "flowc.proto.meta_graph_pb2": "MetaGraphDef",
    "flowc.version": "__version__=VERSION",
}
_MATH = {
    "flowc.api.math.elementwise": _ELEMENTWISE
    + "bessel_i0 bessel_i0e bessel_i1 bessel_i1e divide_no_nan=div_no_nan erfinv ndtri "
    "multiply_no_nan xdivy xlog1py xlogy floormod",
    "flowc.api.math.reductions": _REDUCTIONS + "cumulative_logsumexp",
    "flowc.api.nn.activations": "log_softmax softmax softplus softsign",
    "flowc.api.arrays.selection": "in_top_k top_k",
    "flowc.api.nn.normalization": "l2_normalize zero_fraction",
    "flowc.api.arrays.filling": "linspace",
}
_TRAIN = {
    "flowc.api.training.optimizer": "Optimizer",
    "flowc.api.training.gradient_descent": """GradientDescentOptimizer
        ProximalGradientDescentOptimizer""",
    "flowc.api.training.momentum": "MomentumOptimizer",
    "flowc.api.training.adagrad": """AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer
        ProximalAdagradOptimizer""",
    "flowc.api.training.adam": "AdamOptimizer",
    "flowc.api.training.rms_prop": "RMSPropOptimizer",
    "flowc.api.training.ftrl": "FtrlOptimizer",
    "flowc.api.training.global_step": """assert_global_step create_global_step get_global_step
        get_or_create_global_step global_step""",
    "flowc.api.training.learning_rate_decay": """cosine_decay cosine_decay_restarts
        exponential_decay inverse_time_decay linear_cosine_decay natural_exp_decay
        noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay polynomial_decay""",
    "flowc.api.training.moving_averages": "ExponentialMovingAverage",
}
_NAMESPACES: dict[str, Mapping[str, str]] = {
    "nn": _NN,
    "math": _MATH,
    "image": {"flowc.api.image.image": _IMAGE},
    "bitwise": {
        "flowc.api.math.elementwise": """bitwise_and bitwise_or bitwise_xor invert left_shift
            right_shift""",
    },
    "linalg": {
        "flowc.api.math.norms": "norm",
        "flowc.api.math.reductions": "einsum matmul matvec tensordot",
        "flowc.api.arrays.shaping": "matrix_transpose transpose=matrix_transpose",
        "flowc.api.arrays.blocks": """band_part=matrix_band_part diag=matrix_diag
            diag_part=matrix_diag_part tensor_diag=diag tensor_diag_part=diag_part""",
        "flowc.api.nn.normalization": "l2_normalize",
    },
    "random": {
        "flowc.api.random.random_ops": """get_seed normal=random_normal shuffle=random_shuffle
            stateless_normal=stateless_random_normal stateless_truncated_normal
            stateless_uniform=stateless_random_uniform truncated_normal uniform=random_uniform""",
        "flowc.api.framework.scopes": "set_random_seed",
    },
    "strings": {"flowc.api.strings.strings": "as_string format=format_ join"},
    "nest": {
        "flowc.api.framework.nest": """assert_same_structure flatten is_nested map_structure
            pack_sequence_as"""
    },
    "debugging": {
        "flowc.api.framework.checks": "Assert",
        "flowc.api.framework.assertions": _ASSERTIONS + "assert_all_finite",
        "flowc.api.framework.basics": "check_numerics",
        "flowc.api.math.elementwise": "is_finite is_inf is_nan",
    },
    "initializers": {
        "flowc.api.variables.variable_ops": """global_variables=global_variables_initializer
            local_variables=local_variables_initializer variables=variables_initializer""",
        "flowc.api.variables.initializers": """constant=constant_initializer
            glorot_uniform=glorot_uniform_initializer ones=ones_initializer
            zeros=zeros_initializer""",
    },
    "app": {"flowc.api.framework.app": "flags run"},
    "flags": {
        "absl.flags": """FLAGS DEFINE_alias DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_flag
            DEFINE_float DEFINE_integer DEFINE_list DEFINE_multi_float DEFINE_multi_integer
            DEFINE_multi_string DEFINE_spaceseplist DEFINE_string DuplicateFlagError Error Flag
            FlagValues IllegalFlagValueError UnparsedFlagAccessError UnrecognizedFlagError
            ValidationError declare_key_flag mark_flag_as_required mark_flags_as_required
            register_validator set_default validator"""
    },
    "gfile": {
        "flowc.api.framework.gfile": """Copy DeleteRecursively Exists FastGFile=GFile GFile Glob
            IsDirectory ListDirectory MakeDirs MkDir Open=GFile Remove Rename Stat Walk"""
    },
    "train": {"flowc.api.framework.models": "write_graph", **_TRAIN},
    "compat": {
        "flowc.api.framework.compat": """as_bytes as_str as_str_any as_text bytes_or_text_types
            complex_types integral_types path_to_str real_types""",
    },
}
# What programs may look for here and will not find yet.
_LATER = """
FIFOQueue RandomShuffleQueue contrib data estimator keras
layers losses saved_model summary
"""
_NOT_YET = frozenset(_LATER.split())


def _entries(modules: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """name -> (module, name there)"""
    found: dict[str, tuple[str, str]] = {}
    for module, text in modules.items():
        for word in text.split():
            name, _, inner = word.partition("=")
            found[name] = (module, inner or name)
    return found


class Namespace:
    """A named group of public names, such as `flowc.nn`. Names are imported when first used."""

    def __init__(self, name: str, entries: Mapping[str, tuple[str, str]]) -> None:
        self.__name__ = name
        self._entries = entries

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = find(self._entries, name, self.__name__)
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return sorted(self._entries)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__}>"


def find(entries: Mapping[str, tuple[str, str]], name: str, owner: str) -> Any:
    """The object behind a public name. Raises `AttributeError`."""
    if name in entries:
        module, inner = entries[name]
        import_module("flowc.api")  # gives tensors their operators
        return getattr(import_module(module), inner)
    near = did_you_mean(name, entries)
    what = "is not provided yet" if name in _NOT_YET else "does not exist"
    raise AttributeError(f"{owner}.{name} {what}" + (f": {near}" if near else ""))


def _merged(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Two tables of modules as one."""
    return {module: f"{one.get(module, '')} {other.get(module, '')}" for module in {**one, **other}}


def _namespaces(tables: Mapping[str, Mapping[str, str]]) -> dict[str, Namespace]:
    """The namespaces at the top; one of a dotted name stands inside another."""
    found: dict[str, Namespace] = {}
    for path in sorted(tables):
        made = Namespace(f"flowc.{path}", _entries(tables[path]))
        outer, _, name = path.rpartition(".")
        if outer:
            setattr(found[outer], name, made)
        else:
            found[path] = made
    return found


_MORE = array_exports.NAMESPACES
_ALL = {n: _merged(_NAMESPACES.get(n, {}), _MORE.get(n, {})) for n in {**_NAMESPACES, **_MORE}}
TOP: dict[str, tuple[str, str]] = _entries(_merged(_TOP, array_exports.TOP))
NAMESPACES: dict[str, Namespace] = _namespaces(_ALL)
