# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "QueueRunner",
    "add_queue_runner",
    "start_queue_runners",
]
from flowc.api.inputs.queue_runner import QueueRunner as QueueRunner
from flowc.api.inputs.queue_runner import add_queue_runner as add_queue_runner
from flowc.api.inputs.queue_runner import start_queue_runners as start_queue_runners

