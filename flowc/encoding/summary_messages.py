"""Messages of event files, as programs make and read them.

In: tags, numbers, bytes of records. Out: messages of summaries, events and embeddings.
"""

from __future__ import annotations

from flowc.proto.projector_pb2 import EmbeddingInfo, ProjectorConfig, SpriteMetadata
from flowc.proto.summary_pb2 import (
    Event,
    SessionLog,
    Summary,
    SummaryDescription,
    SummaryMetadata,
)

__all__ = [
    "EmbeddingInfo",
    "Event",
    "ProjectorConfig",
    "SessionLog",
    "SpriteMetadata",
    "Summary",
    "SummaryDescription",
    "SummaryMetadata",
    "number_summary",
    "text_metadata",
]


def number_summary(tag: str, number: float) -> Summary:
    """A Summary of one number."""
    return Summary(value=[Summary.Value(tag=tag, simple_value=number)])


def text_metadata() -> SummaryMetadata:
    """What makes TensorBoard show strings as texts."""
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
