"""`tf.ConfigProto` and its parts: settings that a TensorFlow 1 program gives its sessions.

In: fields by name. Out: objects that keep them. Invariant: what they do is what TensorFlow's do,
where they are protocol messages.
"""

from __future__ import annotations

from typing import TypeVar

from flowc.encoding.settings_message import Counts, NamedNumbers, SettingsMessage, kept, message

_T = TypeVar("_T")


def _part(kind: type[_T]) -> type[_T]:
    """A message that is called as what it is in another: `Experimental`."""
    kind.__name__ = "RunHandlerPoolOptions" if "Pool" in kind.__name__ else "Experimental"
    return kind


@_part
@message
class _DevicesExperimental(SettingsMessage):
    """`GPUOptions.Experimental`."""

    use_unified_memory: bool = kept(2, False)
    num_dev_to_dev_copy_streams: int = kept(3, 0)
    collective_ring_order: str = kept(4, "")
    timestamped_allocator: bool = kept(5, False)
    kernel_tracker_max_interval: int = kept(7, 0)
    kernel_tracker_max_bytes: int = kept(8, 0)
    kernel_tracker_max_pending: int = kept(9, 0)
    internal_fragmentation_fraction: float = kept(10, 0.0)
    use_cuda_malloc_async: bool = kept(11, False)
    disallow_retry_on_allocation_failure: bool = kept(12, False)
    num_virtual_devices_per_gpu: int = kept(15, 0)
    gpu_system_memory_size_in_mb: int = kept(16, 0)


@message
class GPUOptions(SettingsMessage):
    """Settings of graphics devices. They are kept, and have no effect on a CPU. Raises `ValueError`
    for other fields, `TypeError` for values of another type."""

    per_process_gpu_memory_fraction: float = kept(1, 0.0)
    allocator_type: str = kept(2, "")
    deferred_deletion_bytes: int = kept(3, 0)
    allow_growth: bool = kept(4, False)
    visible_device_list: str = kept(5, "")
    polling_active_delay_usecs: int = kept(6, 0)
    polling_inactive_delay_msecs: int = kept(7, 0)
    force_gpu_compatible: bool = kept(8, False)
    Experimental = _DevicesExperimental
    experimental: _DevicesExperimental = kept(9, _DevicesExperimental)


_LEVELS = NamedNumbers("Level", "-1:L0 L1")
_JIT_LEVELS = NamedNumbers("GlobalJitLevel", "-1:OFF DEFAULT ON_1 ON_2")


@message
class OptimizerOptions(SettingsMessage):
    """Kept: flowc always optimises. Raises `ValueError` for other fields and for names that an
    enumeration does not have, `TypeError` for values of another type."""

    L0 = -1
    L1 = 0
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2
    Level = _LEVELS
    GlobalJitLevel = _JIT_LEVELS
    do_common_subexpression_elimination: bool = kept(1, False)
    do_constant_folding: bool = kept(2, False)
    opt_level: int = kept(3, 0, _LEVELS)
    do_function_inlining: bool = kept(4, False)
    global_jit_level: int = kept(5, 0, _JIT_LEVELS)
    max_folded_constant_in_bytes: int = kept(6, 0)
    cpu_global_jit: bool = kept(7, False)


_TOGGLE = NamedNumbers("Toggle", "DEFAULT ON OFF AGGRESSIVE EXPERIMENTAL_MLIR EXPERIMENTAL_BOTH")
_MEMORY = NamedNumbers(
    "MemOptType",
    "DEFAULT_MEM_OPT NO_MEM_OPT MANUAL HEURISTICS SWAPPING_HEURISTICS RECOMPUTATION_HEURISTICS "
    "SCHEDULING_HEURISTICS",
)
_ITERATIONS = NamedNumbers("NumIterationsType", "DEFAULT_NUM_ITERS ONE TWO")


@message
class RewriterConfig(SettingsMessage):
    """Settings of TensorFlow's rewrites, kept. Raises `ValueError` for other fields, `TypeError`
    for values of another type."""

    layout_optimizer: int = kept(1, 0, _TOGGLE)
    disable_model_pruning: bool = kept(2, False)
    constant_folding: int = kept(3, 0, _TOGGLE)
    memory_optimization: int = kept(4, 0, _MEMORY)
    memory_optimizer_target_node_name_scope: str = kept(6, "")
    arithmetic_optimization: int = kept(7, 0, _TOGGLE)
    dependency_optimization: int = kept(8, 0, _TOGGLE)
    loop_optimization: int = kept(9, 0, _TOGGLE)
    function_optimization: int = kept(10, 0, _TOGGLE)
    debug_stripper: int = kept(11, 0, _TOGGLE)
    meta_optimizer_iterations: int = kept(12, 0, _ITERATIONS)
    shape_optimization: int = kept(13, 0, _TOGGLE)
    remapping: int = kept(14, 0, _TOGGLE)
    scoped_allocator_optimization: int = kept(15, 0, _TOGGLE)
    min_graph_nodes: int = kept(17, 0)
    pin_to_host_optimization: int = kept(18, 0, _TOGGLE)
    disable_meta_optimizer: bool = kept(19, False)
    meta_optimizer_timeout_ms: int = kept(20, 0)
    fail_on_optimizer_errors: bool = kept(21, False)
    implementation_selector: int = kept(22, 0, _TOGGLE)
    auto_mixed_precision: int = kept(23, 0, _TOGGLE)
    common_subgraph_elimination: int = kept(24, 0, _TOGGLE)
    auto_mixed_precision_mkl: int = kept(25, 0, _TOGGLE)
    use_plugin_optimizers: int = kept(28, 0, _TOGGLE)
    auto_mixed_precision_cpu: int = kept(29, 0, _TOGGLE)
    auto_mixed_precision_onednn_bfloat16: int = kept(31, 0, _TOGGLE)
    optimizers: list[str] = kept(100, list)


@message
class GraphOptions(SettingsMessage):
    """Settings of the graph's compilation, kept. Raises `ValueError` for other fields, `TypeError`
    for values of another type."""

    enable_recv_scheduling: bool = kept(2, False)
    optimizer_options: OptimizerOptions = kept(3, OptimizerOptions)
    build_cost_model: int = kept(4, 0)
    infer_shapes: bool = kept(5, False)
    place_pruned_graph: bool = kept(6, False)
    enable_bfloat16_sendrecv: bool = kept(7, False)
    timeline_step: int = kept(8, 0)
    build_cost_model_after: int = kept(9, 0)
    rewrite_options: RewriterConfig = kept(10, RewriterConfig)


@message
class SessionMetadata(SettingsMessage):
    """The name and version of what a Session serves, kept. Raises `ValueError` for other fields,
    `TypeError` for values of another type."""

    name: str = kept(1, "")
    version: int = kept(2, 0)


_ROLLOUTS = NamedNumbers(
    "MlirBridgeRollout",
    "MLIR_BRIDGE_ROLLOUT_UNSPECIFIED MLIR_BRIDGE_ROLLOUT_ENABLED MLIR_BRIDGE_ROLLOUT_DISABLED",
)


@_part
@message
class _SessionsExperimental(SettingsMessage):
    """`ConfigProto.Experimental`."""

    MlirBridgeRollout = _ROLLOUTS
    MLIR_BRIDGE_ROLLOUT_UNSPECIFIED = 0
    MLIR_BRIDGE_ROLLOUT_ENABLED = 1
    MLIR_BRIDGE_ROLLOUT_DISABLED = 2
    collective_group_leader: str = kept(1, "")
    executor_type: str = kept(3, "")
    recv_buf_max_chunk: int = kept(4, 0)
    use_numa_affinity: bool = kept(5, False)
    collective_deterministic_sequential_execution: bool = kept(6, False)
    collective_nccl: bool = kept(7, False)
    share_session_state_in_clusterspec_propagation: bool = kept(8, False)
    disable_thread_spinning: bool = kept(9, False)
    share_cluster_devices_in_session: bool = kept(10, False)
    session_metadata: SessionMetadata = kept(11, SessionMetadata)
    optimize_for_static_graph: bool = kept(12, False)
    enable_mlir_bridge: bool = kept(13, False)
    disable_output_partition_graphs: bool = kept(14, False)
    xla_fusion_autotuner_thresh: int = kept(15, 0)
    enable_mlir_graph_optimization: bool = kept(16, False)
    mlir_bridge_rollout: int = kept(17, 0, _ROLLOUTS)
    use_tfrt: bool = kept(18, False)
    disable_functional_ops_lowering: bool = kept(21, False)
    xla_prefer_single_graph_cluster: bool = kept(22, False)
    disable_optimize_for_static_graph: bool = kept(24, False)


@message
class ConfigProto(SettingsMessage):
    """Settings of a Session. `intra_op_parallelism_threads` is the number of threads of one run (0:
    one a core); `allow_soft_placement` lets operations on absent devices run on the CPU;
    `log_device_placement` prints where each operation runs; `operation_timeout_in_ms`: the longest
    that a run may take (0: as long as it takes). With `graph_options.place_pruned_graph`, only what
    a run needs must be on devices that are there. The rest is kept without effect. Raises
    `ValueError` for other fields, `TypeError` for values of another type."""

    device_count: Counts = kept(1, Counts)
    intra_op_parallelism_threads: int = kept(2, 0)
    placement_period: int = kept(3, 0)
    device_filters: list[str] = kept(4, list)
    inter_op_parallelism_threads: int = kept(5, 0)
    gpu_options: GPUOptions = kept(6, GPUOptions)
    allow_soft_placement: bool = kept(7, False)
    log_device_placement: bool = kept(8, False)
    use_per_session_threads: bool = kept(9, False)
    graph_options: GraphOptions = kept(10, GraphOptions)
    operation_timeout_in_ms: int = kept(11, 0)
    isolate_session_state: bool = kept(15, False)
    Experimental = _SessionsExperimental
    experimental: _SessionsExperimental = kept(16, _SessionsExperimental)
    share_cluster_devices_in_session: bool = kept(17, False)


_TRACES = NamedNumbers("TraceLevel", "NO_TRACE SOFTWARE_TRACE HARDWARE_TRACE FULL_TRACE")


@_part
@message
class _RunHandlerPoolOptions(SettingsMessage):
    """`RunOptions.Experimental.RunHandlerPoolOptions`."""

    priority: int = kept(1, 0)


@_part
@message
class _RunsExperimental(SettingsMessage):
    """`RunOptions.Experimental`."""

    RunHandlerPoolOptions = _RunHandlerPoolOptions
    collective_graph_key: int = kept(1, 0)
    use_run_handler_pool: bool = kept(2, False)
    run_handler_pool_options: _RunHandlerPoolOptions = kept(3, _RunHandlerPoolOptions)


@message
class RunOptions(SettingsMessage):
    """Settings of one run, kept. Raises `ValueError` for other fields and for names that an
    enumeration does not have, `TypeError` for values of another type."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    TraceLevel = _TRACES
    trace_level: int = kept(1, 0, _TRACES)
    timeout_in_ms: int = kept(2, 0)
    inter_op_thread_pool: int = kept(3, 0)
    output_partition_graphs: bool = kept(5, False)
    report_tensor_allocations_upon_oom: bool = kept(7, False)
    Experimental = _RunsExperimental
    experimental: _RunsExperimental = kept(8, _RunsExperimental)
