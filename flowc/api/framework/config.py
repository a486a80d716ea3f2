"""`tf.ConfigProto` and its parts: settings that a TensorFlow 1 program gives its sessions."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class GPUOptions:
    """Settings of graphics devices. They are kept, and have no effect on a CPU. Raises `ValueError`
    for other fields."""

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    allocator_type: str = ""
    visible_device_list: str = ""
    deferred_deletion_bytes: int = 0
    polling_active_delay_usecs: int = 0
    force_gpu_compatible: bool = False


@dataclass
class OptimizerOptions:
    """Kept: flowc always optimises. Raises `ValueError` for other fields."""

    L0 = -1
    L1 = 0
    do_common_subexpression_elimination: bool = False
    do_constant_folding: bool = False
    do_function_inlining: bool = False
    opt_level: int = 0
    global_jit_level: int = 0


@dataclass
class GraphOptions:
    """Settings of the graph's compilation, kept. Raises `ValueError` for other fields."""

    enable_recv_scheduling: bool = False
    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions)
    build_cost_model: int = 0
    infer_shapes: bool = False
    place_pruned_graph: bool = False


@dataclass
class ConfigProto:
    """Settings of a Session. `intra_op_parallelism_threads` is the number of threads of one run (0:
    one a core); `allow_soft_placement` lets operations on absent devices run on the CPU;
    `log_device_placement` prints where each operation runs; `operation_timeout_in_ms`: the longest
    that a run may take (0: as long as it takes). The rest is kept without effect. Raises
    `ValueError` for other fields."""

    device_count: dict[str, int] = field(default_factory=dict)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    use_per_session_threads: bool = False
    placement_period: int = 0
    device_filters: list[str] = field(default_factory=list)
    gpu_options: GPUOptions = field(default_factory=GPUOptions)
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    graph_options: GraphOptions = field(default_factory=GraphOptions)
    operation_timeout_in_ms: int = 0
    isolate_session_state: bool = False


@dataclass
class RunOptions:
    """Settings of one run, kept. Raises `ValueError` for other fields."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    trace_level: int = 0
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    report_tensor_allocations_upon_oom: bool = False
