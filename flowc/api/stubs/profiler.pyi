# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "AdviceProto",
    "GraphNodeProto",
    "MultiGraphNodeProto",
    "OpLogProto",
    "ProfileOptionBuilder",
    "Profiler",
    "advise",
    "experimental",
    "profile",
    "write_op_log",
]
from flowc.api.profiling.model_report import Profiler as Profiler
from flowc.api.profiling.model_report import advise as advise
from flowc.api.profiling.model_report import profile as profile
from flowc.api.profiling.model_report import write_op_log as write_op_log
from flowc.api.profiling.options import ProfileOptionBuilder as ProfileOptionBuilder
from flowc.encoding.profile_messages import AdviceProto as AdviceProto
from flowc.encoding.profile_messages import GraphNodeProto as GraphNodeProto
from flowc.encoding.profile_messages import MultiGraphNodeProto as MultiGraphNodeProto
from flowc.encoding.profile_messages import OpLogProto as OpLogProto

from flowc.api.stubs import profiler_experimental as experimental
