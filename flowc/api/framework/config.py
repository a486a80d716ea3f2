"""`tf.ConfigProto` and its parts: settings that a TensorFlow 1 program gives its sessions.

In: fields by name. Out: objects that keep them, and their texts and bytes. Invariants: as in
TensorFlow, where these are protocol messages, a field that there is not and a value of another type
are errors; fields stand in the order of their numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from dataclasses import field, fields
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

from flowc.dataclass import dataclass
from flowc.encoding.fields import bytes_field, double_field, varint_field

_T = TypeVar("_T")
_INDENT = "  "


def _kept(number: int, default: Any, names: str = "") -> Any:
    """A field of this number. `default`: its value, or the type of a message, list or map. `names`:
    those of its numbers, from 0, or from -1 behind a `-1:`."""
    first = -1 if names.startswith("-1:") else 0
    about = {"number": number, "names": names.removeprefix("-1:").split(), "first": first}
    if isinstance(default, type):
        return field(default_factory=default, metadata=about)
    return field(default=default, metadata=about)


class SettingsMessage:
    """What protocol messages do. Raises nothing."""

    def __str__(self) -> str:
        return "".join(_lines(self, ""))

    __repr__ = __str__

    def SerializeToString(self) -> bytes:
        """The message as bytes, as protobuf writes it."""
        return b"".join(_field_bytes(f.metadata, getattr(self, f.name)) for f in _given(self))

    def CopyFrom(self, other: Any) -> None:
        """Takes the fields of another message. Raises `TypeError` for one of another type."""
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to CopyFrom() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )
        taken: Any = other
        for f in fields(taken):
            setattr(self, f.name, deepcopy(getattr(taken, f.name)))

    def HasField(self, field_name: str) -> bool:
        """Whether the message of a field is another one than that of all defaults. Raises
        `ValueError` for a field that there is not, and for one that is no message."""
        found = getattr(self, field_name, None)
        if not isinstance(found, SettingsMessage):
            raise ValueError(
                f'Protocol message {type(self).__name__} has no non-repeated submessage field "'
                f'{field_name}" nor marker field.'
            )
        return found != type(found)()


def _given(message: Any) -> list[Any]:
    """The fields that are not as they are by default."""
    plain = type(message)()
    return [f for f in fields(message) if getattr(message, f.name) != getattr(plain, f.name)]


def _lines(message: Any, indent: str) -> list[str]:
    found: list[str] = []
    for f in _given(message):
        value = getattr(message, f.name)
        if isinstance(value, dict):
            for key, number in value.items():
                inner = f"{indent}{_INDENT}key: {_text(key)}\n{indent}{_INDENT}value: {number}\n"
                found += [f"{indent}{f.name} {{\n", inner, f"{indent}}}\n"]
        elif isinstance(value, SettingsMessage):
            inside = _lines(value, indent + _INDENT)
            found += [f"{indent}{f.name} {{\n", *inside, f"{indent}}}\n"]
        else:
            items = value if isinstance(value, list) else [value]
            found += [f"{indent}{f.name}: {_shown(item, f.metadata)}\n" for item in items]
    return found


def _text(text: str) -> str:
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'


def _shown(value: Any, about: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return str(value).lower()
    place = -1 if isinstance(value, float) else value - about["first"]
    return about["names"][place] if 0 <= place < len(about["names"]) else str(value)


def _field_bytes(about: Any, value: Any) -> bytes:
    number = about["number"]
    if isinstance(value, dict):
        pairs = [bytes_field(1, k.encode()) + varint_field(2, v) for k, v in value.items()]
        return b"".join(bytes_field(number, pair) for pair in pairs)
    if isinstance(value, list):
        return b"".join(_field_bytes(about, item) for item in value)
    if isinstance(value, SettingsMessage):
        return bytes_field(number, value.SerializeToString())
    if isinstance(value, str):
        return bytes_field(number, value.encode())
    if isinstance(value, float):
        return double_field(number, value)
    return varint_field(number, int(value))


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def _message(kind: type[_T]) -> type[_T]:
    """A dataclass whose fields keep their types."""
    made = dataclass(repr=False)(kind)
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
class GPUOptions(SettingsMessage):
    """Settings of graphics devices. They are kept, and have no effect on a CPU. Raises `ValueError`
    for other fields, `TypeError` for values of another type."""

    per_process_gpu_memory_fraction: float = _kept(1, 0.0)
    allocator_type: str = _kept(2, "")
    deferred_deletion_bytes: int = _kept(3, 0)
    allow_growth: bool = _kept(4, False)
    visible_device_list: str = _kept(5, "")
    polling_active_delay_usecs: int = _kept(6, 0)
    polling_inactive_delay_msecs: int = _kept(7, 0)
    force_gpu_compatible: bool = _kept(8, False)


@_message
class OptimizerOptions(SettingsMessage):
    """Kept: flowc always optimises. Raises `ValueError` for other fields, `TypeError` for values of
    another type."""

    L0 = -1
    L1 = 0
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2
    do_common_subexpression_elimination: bool = _kept(1, False)
    do_constant_folding: bool = _kept(2, False)
    opt_level: int = _kept(3, 0, "-1:L0 L1")
    do_function_inlining: bool = _kept(4, False)
    global_jit_level: int = _kept(5, 0, "-1:OFF DEFAULT ON_1 ON_2")
    max_folded_constant_in_bytes: int = _kept(6, 0)
    cpu_global_jit: bool = _kept(7, False)


_TOGGLE = "DEFAULT ON OFF AGGRESSIVE EXPERIMENTAL_MLIR EXPERIMENTAL_BOTH"
_MEMORY = (
    "DEFAULT_MEM_OPT NO_MEM_OPT MANUAL HEURISTICS SWAPPING_HEURISTICS RECOMPUTATION_HEURISTICS "
    "SCHEDULING_HEURISTICS"
)


@_message
class RewriterConfig(SettingsMessage):
    """Settings of TensorFlow's rewrites, kept. Raises `ValueError` for other fields, `TypeError`
    for values of another type."""

    layout_optimizer: int = _kept(1, 0, _TOGGLE)
    disable_model_pruning: bool = _kept(2, False)
    constant_folding: int = _kept(3, 0, _TOGGLE)
    memory_optimization: int = _kept(4, 0, _MEMORY)
    memory_optimizer_target_node_name_scope: str = _kept(6, "")
    arithmetic_optimization: int = _kept(7, 0, _TOGGLE)
    dependency_optimization: int = _kept(8, 0, _TOGGLE)
    loop_optimization: int = _kept(9, 0, _TOGGLE)
    function_optimization: int = _kept(10, 0, _TOGGLE)
    debug_stripper: int = _kept(11, 0, _TOGGLE)
    meta_optimizer_iterations: int = _kept(12, 0, "DEFAULT_NUM_ITERS ONE TWO")
    shape_optimization: int = _kept(13, 0, _TOGGLE)
    remapping: int = _kept(14, 0, _TOGGLE)
    scoped_allocator_optimization: int = _kept(15, 0, _TOGGLE)
    min_graph_nodes: int = _kept(17, 0)
    pin_to_host_optimization: int = _kept(18, 0, _TOGGLE)
    disable_meta_optimizer: bool = _kept(19, False)
    meta_optimizer_timeout_ms: int = _kept(20, 0)
    fail_on_optimizer_errors: bool = _kept(21, False)
    implementation_selector: int = _kept(22, 0, _TOGGLE)
    auto_mixed_precision: int = _kept(23, 0, _TOGGLE)
    common_subgraph_elimination: int = _kept(24, 0, _TOGGLE)
    auto_mixed_precision_mkl: int = _kept(25, 0, _TOGGLE)
    use_plugin_optimizers: int = _kept(28, 0, _TOGGLE)
    auto_mixed_precision_cpu: int = _kept(29, 0, _TOGGLE)
    auto_mixed_precision_onednn_bfloat16: int = _kept(31, 0, _TOGGLE)
    optimizers: list[str] = _kept(100, list)


@_message
class GraphOptions(SettingsMessage):
    """Settings of the graph's compilation, kept. Raises `ValueError` for other fields, `TypeError`
    for values of another type."""

    enable_recv_scheduling: bool = _kept(2, False)
    optimizer_options: OptimizerOptions = _kept(3, OptimizerOptions)
    build_cost_model: int = _kept(4, 0)
    infer_shapes: bool = _kept(5, False)
    place_pruned_graph: bool = _kept(6, False)
    enable_bfloat16_sendrecv: bool = _kept(7, False)
    timeline_step: int = _kept(8, 0)
    build_cost_model_after: int = _kept(9, 0)
    rewrite_options: RewriterConfig = _kept(10, RewriterConfig)


@_message
class ConfigProto(SettingsMessage):
    """Settings of a Session. `intra_op_parallelism_threads` is the number of threads of one run (0:
    one a core); `allow_soft_placement` lets operations on absent devices run on the CPU;
    `log_device_placement` prints where each operation runs; `operation_timeout_in_ms`: the longest
    that a run may take (0: as long as it takes). With `graph_options.place_pruned_graph`, only what
    a run needs must be on devices that are there. The rest is kept without effect. Raises
    `ValueError` for other fields, `TypeError` for values of another type."""

    device_count: dict[str, int] = _kept(1, dict)
    intra_op_parallelism_threads: int = _kept(2, 0)
    placement_period: int = _kept(3, 0)
    device_filters: list[str] = _kept(4, list)
    inter_op_parallelism_threads: int = _kept(5, 0)
    gpu_options: GPUOptions = _kept(6, GPUOptions)
    allow_soft_placement: bool = _kept(7, False)
    log_device_placement: bool = _kept(8, False)
    use_per_session_threads: bool = _kept(9, False)
    graph_options: GraphOptions = _kept(10, GraphOptions)
    operation_timeout_in_ms: int = _kept(11, 0)
    isolate_session_state: bool = _kept(15, False)
    share_cluster_devices_in_session: bool = _kept(17, False)


@_message
class RunOptions(SettingsMessage):
    """Settings of one run, kept. Raises `ValueError` for other fields, `TypeError` for values of
    another type."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    trace_level: int = _kept(1, 0, "NO_TRACE SOFTWARE_TRACE HARDWARE_TRACE FULL_TRACE")
    timeout_in_ms: int = _kept(2, 0)
    inter_op_thread_pool: int = _kept(3, 0)
    output_partition_graphs: bool = _kept(5, False)
    report_tensor_allocations_upon_oom: bool = _kept(7, False)
