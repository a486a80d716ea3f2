"""`tf.nn`: connectionist temporal classification.

In: logits [time, batch, classes], the last class being the blank; labels as a sparse matrix [batch,
position] of i32. Out: losses [batch], or the labels that are found.
"""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.shaping import transpose
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.math.reductions import one_of
from flowc.graph import Tensor

Decoded = tuple[list[SparseTensor], Tensor]


def ctc_loss(
    labels: SparseTensor,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """The negative logarithm of the probability that the logits spell the labels. Raises
    `TypeError` for labels that are not sparse. `labels`: sparse int32[batch, steps], `inputs`:
    float32[steps, batch, classes], the result: float32[batch]."""
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected argument `labels` to be a SparseTensor. "
                        f"Received labels={labels} of type: {type(labels).__name__}")  # fmt: skip
    given = one_of(inputs, "inputs", logits, "logits")
    return call(
        "CTCLoss",
        given if time_major else transpose(given, [1, 0, 2]),
        labels.indices,
        labels.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )[0]


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None
) -> Decoded:
    """([labels], negative sums of the largest logits [batch, 1]): the best class of each step.
    `inputs`: float32[steps, batch, classes], `sequence_length`: int32[batch]; the labels are sparse
    int64. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    found = call(
        "CTCGreedyDecoder",
        inputs,
        sequence_length,
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(*found[:3])], found[3]


def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> Decoded:
    """(the `top_paths` most likely labels, logarithms of their probabilities [batch, paths]).
    `inputs`: float32[steps, batch, classes], `sequence_length`: int32[batch]; the labels are sparse
    int64. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit."""
    found = call(
        "CTCBeamSearchDecoder",
        inputs,
        sequence_length,
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    paths = [SparseTensor(*parts) for parts in zip(*found[:3], strict=True)]
    return paths, found[3]
