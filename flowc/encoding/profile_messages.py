"""Messages of `tf.profiler`, as programs make and read them."""

from __future__ import annotations

from flowc.proto.profile_pb2 import (
    AdviceProto,
    GraphNodeProto,
    MultiGraphNodeProto,
    OpLogEntry,
    OpLogProto,
)

__all__ = ["AdviceProto", "GraphNodeProto", "MultiGraphNodeProto", "OpLogEntry", "OpLogProto"]
