"""Which module holds which public name of graphs, math, networks, control flow, variables, tables.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

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
argmax argmin count_nonzero cumprod cumsum einsum reduce_all reduce_any
reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std
reduce_sum reduce_variance segment_max segment_mean segment_min segment_prod segment_sum
sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum unsorted_segment_max
unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n
unsorted_segment_sum
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
eye fill meshgrid one_hot ones ones_like range sequence_mask zeros
zeros_like
"""
_BLOCKS = """
batch_to_space batch_to_space_nd depth_to_space diag diag_part matrix_band_part matrix_diag
space_to_batch space_to_batch_nd space_to_depth
"""
_BASICS = """
bitcast cast check_numerics constant convert_to_tensor convert_to_tensor_or_indexed_slices
ensure_shape identity identity_n
placeholder placeholder_with_default stop_gradient to_bfloat16 to_complex64 to_complex128
to_double to_float to_int32 to_int64
"""
_SCOPES = """
add_to_collection add_to_collections colocate_with container control_dependencies
control_flow_v2_enabled device disable_control_flow_v2 disable_eager_execution
disable_tensor_equality disable_v2_behavior disable_v2_tensorshape executing_eagerly
executing_eagerly_outside_functions get_collection get_collection_ref group init_scope name_scope
no_op op_scope set_random_seed tuple=tuple_
"""
_VARIABLES = """
all_variables=global_variables assign assign_add assign_sub count_up_to global_variables
global_variables_initializer initialize_all_variables=global_variables_initializer
initialize_local_variables=local_variables_initializer initialize_variables=variables_initializer
assert_variables_initialized is_variable_initialized local_variables local_variables_initializer
model_variables moving_average_variables report_uninitialized_variables scatter_add scatter_div
scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub
scatter_update sparse_mask trainable_variables variables_initializer
"""
_PLAIN_OPS = """timestamp
fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
fake_quant_with_min_max_vars_per_channel_gradient fft fft2d fft3d ifft ifft2d ifft3d
quantized_concat
tensor_scatter_add tensor_scatter_nd_add=tensor_scatter_add
tensor_scatter_nd_max=tensor_scatter_max tensor_scatter_nd_min=tensor_scatter_min
tensor_scatter_nd_sub=tensor_scatter_sub tensor_scatter_nd_update=tensor_scatter_update
tensor_scatter_sub tensor_scatter_update
"""
_DTYPES = """
float16=f16 half=f16 bfloat16=bf16 float32=f32 float64=f64 double=f64 int8=i8 int16=i16 int32=i32
int64=i64 uint8=u8 uint16=u16 uint32=u32 uint64=u64 bool=bool_ string complex64=c64
complex128=c128 resource variant qint8=qi8 quint8=qu8 qint16=qi16 quint16=qu16 qint32=qi32 DType
as_dtype
"""
_CANDIDATES = """
all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler
log_uniform_candidate_sampler uniform_candidate_sampler
"""
_NN = {
    "flowc.api.nn.activations": """
        crelu elu gelu leaky_relu log_sigmoid log_softmax relu relu6 selu sigmoid silu
        softmax softplus softsign swish tanh
    """,
    "flowc.api.nn.convolutions": """
        avg_pool avg_pool2d avg_pool3d conv1d conv2d conv2d_backprop_input
        conv2d_transpose conv3d conv3d_transpose depthwise_conv2d
        depthwise_conv2d_native dilation2d
        max_pool max_pool2d max_pool3d max_pool_with_argmax separable_conv2d
    """,
    "flowc.api.nn.dropout": "dropout",
    "flowc.api.nn.normalization": """
        batch_norm_with_global_normalization batch_normalization bias_add fused_batch_norm
        l2_normalize local_response_normalization lrn moments normalize_moments relu_layer
        sufficient_statistics weighted_moments xw_plus_b zero_fraction
    """,
    "flowc.api.nn.losses": """
        l2_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits
        softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits
        weighted_cross_entropy_with_logits
    """,
    "flowc.api.arrays.selection": """
        in_top_k top_k
    """,
    "flowc.api.arrays.blocks": """
        depth_to_space space_to_depth
    """,
    "flowc.api.nn.rnn": """
        bidirectional_dynamic_rnn dynamic_rnn static_rnn
    """,
    "flowc.api.nn.other_rnn": "raw_rnn static_bidirectional_rnn",
    "flowc.api.nn.embedding": """embedding_lookup embedding_lookup_sparse
        safe_embedding_lookup_sparse""",
    "flowc.api.nn.sampling": "nce_loss sampled_softmax_loss",
    "flowc.api.nn.candidates": f"compute_accidental_hits {_CANDIDATES}",
    "flowc.api.nn.ctc": """collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2
        ctc_greedy_decoder ctc_loss ctc_loss_v2 ctc_unique_labels""",
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
TOP = {
    "flowc.errors": "OpError",
    "flowc.api.math.elementwise": _ELEMENTWISE,
    "flowc.api.math.reductions": _REDUCTIONS + "sparse_matmul",
    "flowc.api.linear_operators.functions": "matmul",
    "flowc.api.math.tensordot": "tensordot",
    "flowc.api.math.norms": "norm",
    "flowc.api.lookup.table": "initialize_all_tables=tables_initializer tables_initializer",
    "flowc.api.arrays.shaping": _ARRAYS,
    "flowc.api.arrays.selection": _SELECTION,
    "flowc.api.arrays.filling": _FILLING,
    "flowc.api.arrays.linspace": "linspace lin_space=linspace",
    "flowc.api.arrays.blocks": _BLOCKS,
    "flowc.api.framework.basics": _BASICS,
    "flowc.api.framework.scopes": _SCOPES,
    "flowc.api.framework.checks": "Assert Print add_check_numerics_ops print=print_",
    "flowc.api.framework.assertions": _ASSERTIONS
    + "is_tensor verify_tensor_all_finite=assert_all_finite",
    "flowc.api.framework.plain_ops": _PLAIN_OPS,
    "flowc.api.sparse.sparse_ops": """sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum
        sparse_reduce_sum_sparse sparse_retain sparse_softmax sparse_tensor_dense_matmul
        sparse_tensor_to_dense sparse_to_dense""",
    "flowc.api.metrics.confusion": "confusion_matrix",
    "flowc.api.control_flow.conditionals": "cond",
    "flowc.api.control_flow.cases": "case switch_case",
    "flowc.api.control_flow.loops": "while_loop",
    "flowc.api.control_flow.functional": "foldl foldr map_fn scan vectorized_map",
    "flowc.api.framework.python_functions": "numpy_function py_func py_function",
    "flowc.api.control_flow.tensor_array": "TensorArray",
    "flowc.api.variables.variables": "Variable VariableV1=Variable",
    "flowc.api.variables.graph_keys": "GraphKeys",
    "flowc.api.variables.variable_ops": _VARIABLES,
    "flowc.graph.indexed_slices": "IndexedSlices IndexedSlicesValue",
    "flowc.api.framework.composites": """SparseTensor SparseTensorValue
        convert_to_tensor_or_sparse_tensor sparse_placeholder""",
    "flowc.api.variables.variable_scope": """get_local_variable get_variable no_regularizer
        variable_op_scope variable_scope""",
    "flowc.api.variables.scope_state": """AUTO_REUSE VariableAggregation VariableScope
        VariableSynchronization get_variable_scope variable_creator_scope""",
    "flowc.api.variables.partitioned_variables": """create_partitioned_variables
        fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner""",
    "flowc.api.variables.initializers": """constant_initializer glorot_normal_initializer
        glorot_uniform_initializer ones_initializer orthogonal_initializer
        random_normal_initializer random_uniform_initializer truncated_normal_initializer
        uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer""",
    "flowc.api.random.random_ops": """get_seed multinomial random_crop random_gamma
        random_normal random_poisson random_shuffle random_uniform truncated_normal""",
    "flowc.api.summaries.merging": """merge_all_summaries=merge_all merge_summary=merge
        scalar_summary""",
    "flowc.api.summaries.values": "audio_summary histogram_summary image_summary",
    "flowc.proto.summary_pb2": "Event HistogramProto LogMessage SessionLog Summary SummaryMetadata",
    "flowc.api.training.clipping": """clip_by_average_norm clip_by_global_norm clip_by_norm
        global_norm""",
    "flowc.dtypes": _DTYPES,
    "flowc.graph.building.conversion": "register_tensor_conversion_function",
    "flowc.graph.building.subscripts": "boolean_mask",
    "flowc.graph.default": """disable_resource_variables enable_resource_variables
        get_default_session resource_variables_enabled""",
    "flowc.graph": """Dimension Graph Operation Tensor TensorShape get_default_graph
        reset_default_graph""",
    "flowc.run.session": "InteractiveSession Session",
    "flowc.api.framework.config": """ConfigProto GPUOptions GraphOptions OptimizerOptions
        RunOptions""",
    "flowc.proto.step_stats_pb2": "RunMetadata",
    "flowc.api.framework.models": "Program compile import_graph_def load load_graph",
    "flowc.api.strings.strings": "as_string string_join=join",
    "flowc.api.training.gradients": "UnconnectedGradients gradients hessians",
    "flowc.api.training.registration": """NoGradient=no_gradient NotDifferentiable=no_gradient
        RegisterGradient custom_gradient grad_pass_through no_gradient recompute_grad""",
    "flowc.graph.gradients.aggregation": "AggregationMethod",
    "flowc.proto.graph_pb2": "AttrValue GraphDef NameAttrList NodeDef OpDef",
    "flowc.proto.meta_graph_pb2": "MetaGraphDef",
    "flowc.version": "FLOWC_VERSION __version__=VERSION",
}
_MATH = {
    "flowc.api.math.elementwise": _ELEMENTWISE
    + "bessel_i0 bessel_i0e bessel_i1 bessel_i1e divide_no_nan=div_no_nan erfinv ndtri "
    "multiply_no_nan xdivy xlog1py xlogy floormod",
    "flowc.api.math.reductions": _REDUCTIONS + "cumulative_logsumexp",
    "flowc.api.linear_operators.functions": "matmul",
    "flowc.api.math.tensordot": "tensordot",
    "flowc.api.nn.activations": "log_softmax softmax softplus softsign",
    "flowc.api.arrays.selection": "in_top_k top_k",
    "flowc.api.nn.normalization": "l2_normalize zero_fraction",
    "flowc.api.arrays.linspace": "linspace",
    "flowc.api.metrics.confusion": "confusion_matrix",
}
NAMESPACES: dict[str, Mapping[str, str]] = {
    "nn": _NN,
    "nn.rnn_cell": {
        "flowc.api.nn.rnn_cell": """BasicLSTMCell BasicRNNCell GRUCell LSTMStateTuple MultiRNNCell
            RNNCell""",
        "flowc.api.nn.cell_wrappers": "DeviceWrapper DropoutWrapper LSTMCell ResidualWrapper",
    },
    "math": _MATH,
    "image": {"flowc.api.image.image": _IMAGE},
    "bitwise": {
        "flowc.api.math.elementwise": """bitwise_and bitwise_or bitwise_xor invert left_shift
            right_shift""",
    },
    "linalg": {
        "flowc.api.math.norms": "norm",
        "flowc.api.math.reductions": "einsum matvec",
        "flowc.api.math.tensordot": "tensordot",
        "flowc.api.arrays.filling": "eye",
        "flowc.api.arrays.shaping": "matrix_transpose transpose=matrix_transpose",
        "flowc.api.arrays.blocks": """band_part=matrix_band_part diag=matrix_diag
            tensor_diag=diag tensor_diag_part=diag_part""",
        "flowc.api.nn.normalization": "l2_normalize",
    },
    "random": {
        "flowc.api.random.random_ops": """categorical get_seed multinomial normal=random_normal
            gamma=random_gamma poisson=random_poisson shuffle=random_shuffle
            stateless_gamma=stateless_random_gamma stateless_poisson=stateless_random_poisson
            stateless_normal=stateless_random_normal
            stateless_parameterized_truncated_normal stateless_truncated_normal
            stateless_uniform=stateless_random_uniform truncated_normal uniform=random_uniform""",
        "flowc.api.framework.scopes": "set_random_seed",
        "flowc.api.nn.candidates": _CANDIDATES,
    },
    "random.experimental": {"flowc.api.random.random_ops": "stateless_shuffle"},
    "strings": {"flowc.api.strings.strings": "as_string format=format_ join"},
    "nest": {
        "flowc.api.framework.nest": """assert_same_structure flatten is_nested map_structure
            pack_sequence_as"""
    },
    "debugging": {
        "flowc.api.framework.checks": "Assert",
        "flowc.api.framework.assertions": _ASSERTIONS + "assert_all_finite",
        "flowc.api.framework.shape_assertions": "assert_shapes",
        "flowc.api.framework.basics": "check_numerics",
        "flowc.api.math.elementwise": "is_finite is_inf is_nan",
    },
    "sparse": {
        "flowc.api.sparse.sparse_ops": """from_dense reduce_max=sparse_reduce_max
            reduce_max_sparse=sparse_reduce_max_sparse reduce_sum=sparse_reduce_sum
            reduce_sum_sparse=sparse_reduce_sum_sparse softmax=sparse_softmax
            retain=sparse_retain sparse_dense_matmul=sparse_tensor_dense_matmul
            to_dense=sparse_tensor_to_dense matmul=sparse_tensor_dense_matmul eye=sparse_eye""",
        "flowc.api.math.reductions": """segment_mean=sparse_segment_mean
            segment_sqrt_n=sparse_segment_sqrt_n segment_sum=sparse_segment_sum""",
        "flowc.api.framework.composites": "SparseTensor placeholder=sparse_placeholder",
        "flowc.api.variables.variable_ops": "mask=sparse_mask",
    },
    "initializers": {
        "flowc.api.variables.variable_ops": """global_variables=global_variables_initializer
            local_variables=local_variables_initializer variables=variables_initializer""",
        "flowc.api.lookup.table": "tables=tables_initializer tables_initializer",
        "flowc.api.variables.initializers": """constant=constant_initializer
            glorot_normal=glorot_normal_initializer glorot_uniform=glorot_uniform_initializer
            he_normal he_uniform identity=identity_initializer lecun_normal lecun_uniform
            ones=ones_initializer orthogonal=orthogonal_initializer
            random_normal=random_normal_initializer random_uniform=random_uniform_initializer
            truncated_normal=truncated_normal_initializer
            uniform_unit_scaling=uniform_unit_scaling_initializer
            variance_scaling=variance_scaling_initializer zeros=zeros_initializer""",
    },
    "timeline": {"flowc.api.framework.timeline": "Timeline"},
    "logging": {
        "flowc.api.framework.logging": """DEBUG ERROR FATAL INFO WARN debug error fatal flush
            get_logger get_verbosity info log log_every_n log_first_n log_if set_verbosity vlog
            warn warning"""
    },
    "summary": {
        "flowc.api.summaries.merging": "merge merge_all scalar",
        "flowc.api.summaries.values": "audio histogram image tensor_summary text",
        "flowc.api.summaries.reading": "get_summary_description",
        "flowc.api.summaries.file_writer": "FileWriter FileWriterCache",
        "flowc.proto.summary_pb2": "Event SessionLog Summary SummaryDescription TaggedRunMetadata",
    },
    "test": {
        "flowc.api.testing.cases": "TestCase assert_equal_graph_def get_temp_dir main",
        "absl.testing.absltest": "mock",
        "flowc.api.testing.gradient_checker": "compute_gradient compute_gradient_error",
        "flowc.api.testing.devices": """gpu_device_name is_built_with_cuda
            is_built_with_gpu_support is_built_with_rocm is_built_with_xla is_gpu_available""",
    },
    "graph_util": {
        "flowc.graph.edits.graph_def_edits": """convert_variables_to_constants extract_sub_graph
            must_run_on_cpu remove_training_nodes tensor_shape_from_node_def_name""",
        "flowc.api.framework.models": "import_graph_def",
    },
    "app": {"flowc.api.framework.app": "flags run"},
    "flags": {
        "flowc.api.framework.flag_values": "FLAGS",
        "absl.flags": """ArgumentParser ArgumentSerializer BaseListParser BooleanFlag
            BooleanParser CantOpenFlagFileError CsvListSerializer DEFINE DEFINE_alias DEFINE_bool
            DEFINE_boolean DEFINE_enum DEFINE_enum_class DEFINE_flag DEFINE_float DEFINE_integer
            DEFINE_list DEFINE_multi DEFINE_multi_enum DEFINE_multi_enum_class DEFINE_multi_float
            DEFINE_multi_integer DEFINE_multi_string DEFINE_spaceseplist DEFINE_string
            DuplicateFlagError EnumClassFlag EnumClassListSerializer EnumClassParser
            EnumClassSerializer EnumFlag EnumParser Error Flag FlagHolder
            FlagNameConflictsWithMethodError FlagValues FloatParser IllegalFlagValueError
            IntegerParser ListParser ListSerializer MultiEnumClassFlag MultiFlag
            UnparsedFlagAccessError UnrecognizedFlagError ValidationError
            WhitespaceSeparatedListParser adopt_module_key_flags declare_key_flag
            disclaim_key_flags doc_to_help flag_dict_to_args get_help_width
            mark_bool_flags_as_mutual_exclusive mark_flag_as_required
            mark_flags_as_mutual_exclusive mark_flags_as_required multi_flags_validator
            override_value register_multi_flags_validator register_validator set_default text_wrap
            validator""",
    },
    "gfile": {
        "flowc.api.framework.gfile": """Copy DeleteRecursively Exists FastGFile=GFile GFile Glob
            IsDirectory ListDirectory MakeDirs MkDir Open=GFile Remove Rename Stat Walk"""
    },
    "io.gfile": {
        "flowc.api.framework.gfile": """GFile copy=Copy exists=Exists glob=Glob isdir=IsDirectory
            join listdir=ListDirectory makedirs=MakeDirs mkdir=MkDir remove=Remove rename=Rename
            rmtree=DeleteRecursively stat=Stat walk=Walk"""
    },
    "lookup": {
        "flowc.api.lookup.static_tables": """KeyValueTensorInitializer StaticHashTable TextFileIndex
            TextFileInitializer""",
        "flowc.api.lookup.vocabularies": "StaticVocabularyTable",
    },
    "lookup.experimental": {"flowc.api.lookup.mutable_tables": "DenseHashTable MutableHashTable"},
    "contrib": {},
    "contrib.lookup": {
        "flowc.api.lookup.table": "LookupInterface",
        "flowc.api.lookup.static_tables": """HashTable KeyValueTensorInitializer
            TextFileIdTableInitializer TextFileIndex TextFileInitializer
            TextFileStringTableInitializer""",
        "flowc.api.lookup.mutable_tables": "MutableDenseHashTable=DenseHashTable MutableHashTable",
        "flowc.api.lookup.vocabularies": """FastHashSpec HasherSpec IdTableWithHashBuckets
            StrongHashSpec index_table_from_file index_table_from_tensor
            index_to_string_table_from_file index_to_string_table_from_tensor""",
    },
    "contrib.tensorboard": {},
    "contrib.tensorboard.plugins": {},
    "contrib.tensorboard.plugins.projector": {
        "flowc.api.summaries.projector": "visualize_embeddings",
        "flowc.proto.projector_pb2": "EmbeddingInfo ProjectorConfig SpriteMetadata",
    },
}
