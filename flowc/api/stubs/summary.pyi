# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]
from flowc.api.summaries.file_writer import FileWriter as FileWriter
from flowc.api.summaries.file_writer import FileWriterCache as FileWriterCache
from flowc.api.summaries.merging import merge as merge
from flowc.api.summaries.merging import merge_all as merge_all
from flowc.api.summaries.merging import scalar as scalar
from flowc.api.summaries.reading import get_summary_description as get_summary_description
from flowc.api.summaries.values import audio as audio
from flowc.api.summaries.values import histogram as histogram
from flowc.api.summaries.values import image as image
from flowc.api.summaries.values import tensor_summary as tensor_summary
from flowc.api.summaries.values import text as text
from flowc.proto.summary_pb2 import Event as Event
from flowc.proto.summary_pb2 import SessionLog as SessionLog
from flowc.proto.summary_pb2 import Summary as Summary
from flowc.proto.summary_pb2 import SummaryDescription as SummaryDescription
from flowc.proto.summary_pb2 import TaggedRunMetadata as TaggedRunMetadata

