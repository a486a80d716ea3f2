# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "FIFOQueue",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RandomShuffleQueue",
]
from flowc.api.inputs.queues import FIFOQueue as FIFOQueue
from flowc.api.inputs.queues import PaddingFIFOQueue as PaddingFIFOQueue
from flowc.api.inputs.queues import PriorityQueue as PriorityQueue
from flowc.api.inputs.queues import QueueBase as QueueBase
from flowc.api.inputs.queues import RandomShuffleQueue as RandomShuffleQueue

