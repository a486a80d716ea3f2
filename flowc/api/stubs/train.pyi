# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "CheckpointState",
    "ChiefSessionCreator",
    "ClusterSpec",
    "Coordinator",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FeedFnHook",
    "FinalOpsHook",
    "FloatList",
    "FtrlOptimizer",
    "GlobalStepWaiterHook",
    "GradientDescentOptimizer",
    "Int64List",
    "LoggingTensorHook",
    "LooperThread",
    "MomentumOptimizer",
    "MonitoredSession",
    "MonitoredTrainingSession",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "NewCheckpointReader",
    "Optimizer",
    "ProfilerHook",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "QueueRunner",
    "RMSPropOptimizer",
    "Saver",
    "SaverDef",
    "Scaffold",
    "SecondOrStepTimer",
    "SequenceExample",
    "SessionCreator",
    "SessionManager",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "SingularMonitoredSession",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "SummaryWriter",
    "Supervisor",
    "SyncReplicasOptimizer",
    "VocabInfo",
    "WorkerSessionCreator",
    "add_queue_runner",
    "assert_global_step",
    "basic_train_loop",
    "batch",
    "batch_join",
    "checkpoint_exists",
    "checkpoints_iterator",
    "cosine_decay",
    "cosine_decay_restarts",
    "create_global_step",
    "exponential_decay",
    "export_meta_graph",
    "generate_checkpoint_state_proto",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
    "import_meta_graph",
    "init_from_checkpoint",
    "input_producer",
    "inverse_time_decay",
    "latest_checkpoint",
    "limit_epochs",
    "linear_cosine_decay",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
    "queue_runner",
    "range_input_producer",
    "remove_checkpoint",
    "replica_device_setter",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "summary_iterator",
    "update_checkpoint_state",
    "warm_start",
    "write_graph",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.framework.models import write_graph as write_graph
from flowc.api.inputs.batching import batch as batch
from flowc.api.inputs.batching import batch_join as batch_join
from flowc.api.inputs.batching import maybe_batch as maybe_batch
from flowc.api.inputs.batching import maybe_batch_join as maybe_batch_join
from flowc.api.inputs.batching import maybe_shuffle_batch as maybe_shuffle_batch
from flowc.api.inputs.batching import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from flowc.api.inputs.batching import shuffle_batch as shuffle_batch
from flowc.api.inputs.batching import shuffle_batch_join as shuffle_batch_join
from flowc.api.inputs.producers import input_producer as input_producer
from flowc.api.inputs.producers import limit_epochs as limit_epochs
from flowc.api.inputs.producers import match_filenames_once as match_filenames_once
from flowc.api.inputs.producers import range_input_producer as range_input_producer
from flowc.api.inputs.producers import slice_input_producer as slice_input_producer
from flowc.api.inputs.producers import string_input_producer as string_input_producer
from flowc.api.inputs.queue_runner import QueueRunner as QueueRunner
from flowc.api.inputs.queue_runner import add_queue_runner as add_queue_runner
from flowc.api.inputs.queue_runner import start_queue_runners as start_queue_runners
from flowc.api.saving.checkpoint_reader import NewCheckpointReader as NewCheckpointReader
from flowc.api.saving.checkpoint_reader import list_variables as list_variables
from flowc.api.saving.checkpoint_reader import load_checkpoint as load_checkpoint
from flowc.api.saving.checkpoint_reader import load_variable as load_variable
from flowc.api.saving.checkpoint_state import checkpoint_exists as checkpoint_exists
from flowc.api.saving.checkpoint_state import checkpoints_iterator as checkpoints_iterator
from flowc.api.saving.checkpoint_state import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from flowc.api.saving.checkpoint_state import get_checkpoint_mtimes as get_checkpoint_mtimes
from flowc.api.saving.checkpoint_state import get_checkpoint_state as get_checkpoint_state
from flowc.api.saving.checkpoint_state import latest_checkpoint as latest_checkpoint
from flowc.api.saving.checkpoint_state import remove_checkpoint as remove_checkpoint
from flowc.api.saving.checkpoint_state import update_checkpoint_state as update_checkpoint_state
from flowc.api.saving.exported_meta_graph import export_meta_graph as export_meta_graph
from flowc.api.saving.imported_meta_graph import import_meta_graph as import_meta_graph
from flowc.api.saving.initial_checkpoint import init_from_checkpoint as init_from_checkpoint
from flowc.api.saving.saver import Saver as Saver
from flowc.api.saving.vocabulary_rows import VocabInfo as VocabInfo
from flowc.api.saving.warm_start import warm_start as warm_start
from flowc.api.summaries.file_writer import FileWriter as SummaryWriter
from flowc.api.summaries.reading import summary_iterator as summary_iterator
from flowc.api.training.adagrad import AdadeltaOptimizer as AdadeltaOptimizer
from flowc.api.training.adagrad import AdagradDAOptimizer as AdagradDAOptimizer
from flowc.api.training.adagrad import AdagradOptimizer as AdagradOptimizer
from flowc.api.training.adagrad import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from flowc.api.training.adam import AdamOptimizer as AdamOptimizer
from flowc.api.training.clusters import ClusterSpec as ClusterSpec
from flowc.api.training.clusters import basic_train_loop as basic_train_loop
from flowc.api.training.clusters import replica_device_setter as replica_device_setter
from flowc.api.training.coordinator import Coordinator as Coordinator
from flowc.api.training.coordinator import LooperThread as LooperThread
from flowc.api.training.ftrl import FtrlOptimizer as FtrlOptimizer
from flowc.api.training.global_step import assert_global_step as assert_global_step
from flowc.api.training.global_step import create_global_step as create_global_step
from flowc.api.training.global_step import get_global_step as get_global_step
from flowc.api.training.global_step import get_or_create_global_step as get_or_create_global_step
from flowc.api.training.global_step import global_step as global_step
from flowc.api.training.gradient_descent import GradientDescentOptimizer as GradientDescentOptimizer
from flowc.api.training.gradient_descent import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from flowc.api.training.learning_rate_decay import cosine_decay as cosine_decay
from flowc.api.training.learning_rate_decay import cosine_decay_restarts as cosine_decay_restarts
from flowc.api.training.learning_rate_decay import exponential_decay as exponential_decay
from flowc.api.training.learning_rate_decay import inverse_time_decay as inverse_time_decay
from flowc.api.training.learning_rate_decay import linear_cosine_decay as linear_cosine_decay
from flowc.api.training.learning_rate_decay import natural_exp_decay as natural_exp_decay
from flowc.api.training.learning_rate_decay import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from flowc.api.training.learning_rate_decay import piecewise_constant as piecewise_constant
from flowc.api.training.learning_rate_decay import polynomial_decay as polynomial_decay
from flowc.api.training.momentum import MomentumOptimizer as MomentumOptimizer
from flowc.api.training.monitored.hooks import FeedFnHook as FeedFnHook
from flowc.api.training.monitored.hooks import FinalOpsHook as FinalOpsHook
from flowc.api.training.monitored.hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from flowc.api.training.monitored.hooks import LoggingTensorHook as LoggingTensorHook
from flowc.api.training.monitored.hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from flowc.api.training.monitored.hooks import NanTensorHook as NanTensorHook
from flowc.api.training.monitored.hooks import StopAtStepHook as StopAtStepHook
from flowc.api.training.monitored.monitored_session import MonitoredSession as MonitoredSession
from flowc.api.training.monitored.monitored_session import SingularMonitoredSession as SingularMonitoredSession
from flowc.api.training.monitored.monitored_training import MonitoredTrainingSession as MonitoredTrainingSession
from flowc.api.training.monitored.profiler_hook import ProfilerHook as ProfilerHook
from flowc.api.training.monitored.scaffold import Scaffold as Scaffold
from flowc.api.training.monitored.session_creators import ChiefSessionCreator as ChiefSessionCreator
from flowc.api.training.monitored.session_creators import SessionCreator as SessionCreator
from flowc.api.training.monitored.session_creators import WorkerSessionCreator as WorkerSessionCreator
from flowc.api.training.monitored.session_preparation import SessionManager as SessionManager
from flowc.api.training.monitored.session_run_hook import SessionRunArgs as SessionRunArgs
from flowc.api.training.monitored.session_run_hook import SessionRunContext as SessionRunContext
from flowc.api.training.monitored.session_run_hook import SessionRunHook as SessionRunHook
from flowc.api.training.monitored.session_run_hook import SessionRunValues as SessionRunValues
from flowc.api.training.monitored.supervisor import Supervisor as Supervisor
from flowc.api.training.monitored.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from flowc.api.training.monitored.timers import SecondOrStepTimer as SecondOrStepTimer
from flowc.api.training.monitored.writing_hooks import CheckpointSaverHook as CheckpointSaverHook
from flowc.api.training.monitored.writing_hooks import CheckpointSaverListener as CheckpointSaverListener
from flowc.api.training.monitored.writing_hooks import StepCounterHook as StepCounterHook
from flowc.api.training.monitored.writing_hooks import SummarySaverHook as SummarySaverHook
from flowc.api.training.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from flowc.api.training.optimizer import Optimizer as Optimizer
from flowc.api.training.rms_prop import RMSPropOptimizer as RMSPropOptimizer
from flowc.proto.checkpoint_pb2 import CheckpointState as CheckpointState
from flowc.proto.example_pb2 import BytesList as BytesList
from flowc.proto.example_pb2 import Example as Example
from flowc.proto.example_pb2 import Feature as Feature
from flowc.proto.example_pb2 import FeatureList as FeatureList
from flowc.proto.example_pb2 import FeatureLists as FeatureLists
from flowc.proto.example_pb2 import Features as Features
from flowc.proto.example_pb2 import FloatList as FloatList
from flowc.proto.example_pb2 import Int64List as Int64List
from flowc.proto.example_pb2 import SequenceExample as SequenceExample
from flowc.proto.meta_graph_pb2 import SaverDef as SaverDef

def piecewise_constant_decay(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Tensor:
    """`values[k]` while `x <= boundaries[k]`, the last value beyond the last boundary.
    
    Raises `ValueError` for counts that do not fit, and for dtypes that differ."""
from flowc.api.stubs import train_queue_runner as queue_runner
