"""`tf.ConfigProto` and its parts: settings that a TensorFlow 1 program gives its sessions.

In: fields by name. Out: objects that keep them. Invariant: as in TensorFlow, where these are
protocol messages, a field that there is not and a value of another type are errors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def _message(kind: type[_T]) -> type[_T]:
    """A dataclass whose fields keep their types."""
    made = dataclass(kind)
    types = {f.name: type(f.default_factory() if callable(f.default_factory) else f.default)
             for f in fields(made)}  # type: ignore[arg-type]  # fmt: skip

    def missing(name: str) -> str:
        return f'Protocol message {kind.__name__} has no "{name}" field.'

    def set_field(self: Any, name: str, value: Any) -> None:
        if name not in types:
            raise AttributeError(missing(name))
        object.__setattr__(self, name, _converted(value, types[name], f"{kind.__name__}.{name}"))

    filled: Callable[..., None] = made.__init__

    @wraps(filled)
    def init(self: Any, *positional: Any, **given: Any) -> None:
        if positional:
            raise TypeError("No positional arguments allowed")
        for name in given:
            if name not in types:
                raise ValueError(missing(name))
        filled(self, **given)

    made.__setattr__, made.__init__ = set_field, init
    return made


def _converted(value: Any, wanted: type, field_name: str) -> Any:
    """`value` as a field of a type keeps it. Raises `TypeError` for another type."""
    try:
        if wanted in (bool, int):
            return wanted(operator.index(value))
        if wanted is float:
            return float(value)
    except (TypeError, ValueError):
        pass
    if not isinstance(value, wanted):
        raise TypeError(f"{field_name} takes {wanted.__name__}, found {value!r}")
    return value


@_message
class GPUOptions:
    """Settings of graphics devices. They are kept, and have no effect on a CPU. Raises `ValueError`
    for other fields, `TypeError` for values of another type."""

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    allocator_type: str = ""
    visible_device_list: str = ""
    deferred_deletion_bytes: int = 0
    polling_active_delay_usecs: int = 0
    polling_inactive_delay_msecs: int = 0
    force_gpu_compatible: bool = False


@_message
class OptimizerOptions:
    """Kept: flowc always optimises. Raises `ValueError` for other fields, `TypeError` for values of
    another type."""

    L0 = -1
    L1 = 0
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2
    do_common_subexpression_elimination: bool = False
    do_constant_folding: bool = False
    max_folded_constant_in_bytes: int = 0
    do_function_inlining: bool = False
    opt_level: int = 0
    global_jit_level: int = 0
    cpu_global_jit: bool = False


@_message
class GraphOptions:
    """Settings of the graph's compilation, kept. Raises `ValueError` for other fields, `TypeError`
    for values of another type."""

    enable_recv_scheduling: bool = False
    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions)
    build_cost_model: int = 0
    build_cost_model_after: int = 0
    infer_shapes: bool = False
    place_pruned_graph: bool = False
    enable_bfloat16_sendrecv: bool = False
    timeline_step: int = 0


@_message
class ConfigProto:
    """Settings of a Session. `intra_op_parallelism_threads` is the number of threads of one run (0:
    one a core); `allow_soft_placement` lets operations on absent devices run on the CPU;
    `log_device_placement` prints where each operation runs; `operation_timeout_in_ms`: the longest
    that a run may take (0: as long as it takes). The rest is kept without effect. Raises
    `ValueError` for other fields, `TypeError` for values of another type."""

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
    share_cluster_devices_in_session: bool = False


@_message
class RunOptions:
    """Settings of one run, kept. Raises `ValueError` for other fields, `TypeError` for values of
    another type."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    trace_level: int = 0
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    report_tensor_allocations_upon_oom: bool = False
