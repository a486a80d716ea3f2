"""`tf.nn`: connectionist temporal classification.

In: logits [time, batch, classes], the last class being the blank unless said otherwise; labels as a
sparse matrix [batch, position] of i32, or dense and filled up. Out: losses [batch], or the labels
that are found.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, sequence_mask
from flowc.api.arrays.selection import scatter_nd, where
from flowc.api.arrays.shaping import concat, pad, size, transpose
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.functional import map_fn
from flowc.api.framework.basics import cast, identity_n
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import one_of, reduce_max, reduce_sum
from flowc.api.nn.activations import log_softmax
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

Decoded = tuple[list[SparseTensor], Tensor]

_IMPOSSIBLE = 707.0  # the loss of labels that do not fit: TensorFlow's logarithm of 0


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


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`ctc_loss` of labels that are dense: integers [batch, steps], of which `label_length` [batch]
    count. `logits`: floats [steps, batch, classes] (or [batch, steps, classes]), of which
    `logit_length` [batch] count; the result: [batch], in their dtype.

    `blank_index`: the class that is the blank, from behind if negative; 0 by default. Labels that
    do not fit into the steps have the loss 707, and no gradient. `labels` may be sparse, too, with
    a `label_length` of None; then `blank_index` is required, or `ValueError` is raised, and labels
    that do not fit raise `InvalidArgumentError` in the run. `unique`, which TensorFlow uses on
    other devices, changes nothing.
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError(
                "Argument `blank_index` must be provided when labels is a SparseTensor."
            )
        given, values = _blank_last(as_tensor(logits), labels.values, blank_index)
        moved = SparseTensor(labels.indices, values, labels.dense_shape)
        return ctc_loss(moved, given, logit_length, time_major=logits_time_major)
    inputs = [logits, labels, label_length, logit_length]
    with name_scope(name, "ctc_loss_dense", inputs):
        given = as_tensor(logits, name="logits")
        dense = cast(as_tensor(labels, name="labels"), dtypes.i32)
        lengths = cast(as_tensor(label_length, name="label_length"), dtypes.i32)
        steps = cast(as_tensor(logit_length, name="logit_length"), dtypes.i32)
        kind = given.dtype
        if kind in (dtypes.f16, dtypes.bf16):
            given = cast(given, dtypes.f32)
        if not logits_time_major:
            given = transpose(given, [1, 0, 2])
        given, dense = _blank_last(given, dense, blank_index or 0)
        counts = sequence_mask(m.maximum(lengths, 1), shape_of(dense)[1])
        sparse = SparseTensor(
            where(counts),
            call("GatherNd", dense, where(counts)),
            shape_of(dense, out_type=dtypes.i64),
        )
        loss = ctc_loss(sparse, given, steps, ignore_longer_outputs_than_inputs=True)
        again = m.logical_and(m.equal(dense[:, 1:], dense[:, :-1]), counts[:, 1:])
        least = lengths + reduce_sum(cast(again, dtypes.i32), 1)  # a blank between equal labels
        loss = where(m.greater(least, steps), ones_like(loss) * _IMPOSSIBLE, loss)
        blank = log_softmax(given)[:, :, -1]
        passed = sequence_mask(steps, shape_of(given)[0], blank.dtype)
        silent = -reduce_sum(transpose(blank, [1, 0]) * passed, 1)
        loss = where(m.equal(lengths, 0), silent, loss)  # CTCLoss takes no empty labels
        return cast(identity_n([loss])[0], kind)


def _blank_last(logits: Tensor, labels: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """Logits whose last class is the blank, and the labels for them."""
    classes = logits.shape[2].value
    if blank < 0 and classes is None:
        if blank == -1:
            return logits, labels
        raise ValueError(f"blank_index={blank} needs a known number of classes: {logits.shape}")
    blank += (classes or 0) if blank < 0 else 0
    if blank + 1 == classes:
        return logits, labels
    before, at, behind = (
        logits[:, :, :blank],
        logits[:, :, blank : blank + 1],
        logits[:, :, blank + 1 :],
    )
    moved = where(m.less(labels, blank), labels, labels - 1)
    return concat([before, behind, at], axis=2), moved


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(int64[batch, steps], the distinct labels of each row of `labels` in their order, and zeros;
    int32[batch, steps], which of them each label is). `labels`: integers [batch, steps]. Raises
    `ValueError` for another rank."""
    with name_scope(name, "ctc_unique_labels", [labels]):
        given = as_tensor(labels, name="labels")

        def of_row(row: Tensor) -> list[Tensor]:
            found = call("Unique", row)
            missing = size(row) - size(found[0])
            return [cast(pad(found[0], [[0, missing]]), dtypes.i64), found[1]]

        distinct, places = map_fn(of_row, given, dtype=[dtypes.i64, dtypes.i32])
        return distinct, places


def collapse_repeated(
    labels: Any, seq_length: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(labels with one instead of several that follow one another, zeros behind; how many each row
    has then, in the dtype of `seq_length`). `labels`: [batch, steps], of which `seq_length`
    (integers [batch]) count; the result has as many columns as its longest row. Raises `ValueError`
    for other ranks."""
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        given = as_tensor(labels, name="labels")
        lengths = as_tensor(seq_length, name="seq_length")
        first = concat(
            [
                ones_like(given[:, :1], dtypes.bool_),
                m.not_equal(given[:, 1:], given[:, :-1]),
            ],
            1,
        )
        kept = m.logical_and(first, sequence_mask(lengths, shape_of(given)[1]))
        counts = reduce_sum(cast(kept, dtypes.i32), axis=1)
        longest = reduce_max(counts)
        places = where(sequence_mask(counts, longest))
        sizes = [shape_of(given, out_type=dtypes.i64)[0], cast(longest, dtypes.i64)]
        packed = scatter_nd(places, call("GatherNd", given, where(kept)), sizes)
        packed.set_shape([given.shape[0].value, None])
        return packed, cast(counts, lengths.dtype)


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


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> Decoded:
    """As `ctc_beam_search_decoder`, with labels that repeat kept. Raises as it does."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)
