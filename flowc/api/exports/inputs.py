"""Which module holds which public name, where names are of queues, readers, threads and batches.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_RUNNERS = "QueueRunner add_queue_runner start_queue_runners"

TOP: Mapping[str, str] = {
    "flowc.api.inputs.queues": """FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase
        RandomShuffleQueue""",
    "flowc.api.inputs.readers": """FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader
        TextLineReader WholeFileReader""",
    "flowc.api.inputs.accumulators": """ConditionalAccumulator ConditionalAccumulatorBase
        SparseConditionalAccumulator""",
}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "io": {
        "flowc.api.inputs.queues": "PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
        "flowc.api.inputs.producers": "match_filenames_once",
    },
    "queue": {
        "flowc.api.inputs.queues": """FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase
            RandomShuffleQueue""",
    },
    "sparse": {"flowc.api.inputs.accumulators": "SparseConditionalAccumulator"},
    "train": {
        "flowc.api.inputs.queue_runner": _RUNNERS,
        "flowc.api.inputs.batching": """batch batch_join maybe_batch maybe_batch_join
            maybe_shuffle_batch maybe_shuffle_batch_join shuffle_batch shuffle_batch_join""",
        "flowc.api.inputs.producers": """input_producer limit_epochs match_filenames_once
            range_input_producer slice_input_producer string_input_producer""",
    },
    "train.queue_runner": {"flowc.api.inputs.queue_runner": _RUNNERS},
}
