"""Public names of profiles: `exports` says how to read it."""

from __future__ import annotations

TOP = {"flowc.api.profiling.profiles": "Profile profile"}
NAMESPACES: dict[str, dict[str, str]] = {
    "profiler": {
        "flowc.api.profiling.options": "ProfileOptionBuilder",
        "flowc.api.profiling.model_report": "Profiler advise profile write_op_log",
        "flowc.encoding.profile_messages": """AdviceProto GraphNodeProto MultiGraphNodeProto
            OpLogProto""",
    },
    "profiler.experimental": {
        "flowc.api.profiling.profiles": "Profile=ProfileContext start stop",
    },
    "train": {"flowc.api.training.monitored.profiler_hook": "ProfilerHook"},
}
