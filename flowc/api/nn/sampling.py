"""`tf.nn`: losses of many classes, by the right ones and some that are drawn.

In: weights and biases of all classes, the right classes of a batch, what describes its examples.
Out: the loss of each example. Invariant: the nodes are TensorFlow's.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones, ones_like, zeros_like
from flowc.api.arrays.shaping import concat, expand_dims, reshape, slice_, stack
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, stop_gradient
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import matmul
from flowc.api.nn.candidates import compute_accidental_hits, log_uniform_candidate_sampler
from flowc.api.nn.embedding import embedding_lookup
from flowc.api.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from flowc.api.sparse.sparse_ops import sparse_to_dense
from flowc.api.variables.partitioned_variables import PartitionedVariable
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def _logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(logits, labels), both [batch, num_true + num_sampled]."""
    weights = list(weights) if isinstance(weights, PartitionedVariable | list) else [weights]
    with name_scope(name, "compute_sampled_logits", [*weights, biases, inputs, labels]):
        x, right = as_tensor(inputs), cast(labels, dtypes.i64)
        flat = reshape(right, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                right, num_true, num_sampled, True, num_classes, seed
            )
        drawn, true_count, drawn_count = (stop_gradient(s) for s in sampled_values)
        every = concat([flat, cast(drawn, dtypes.i64)], 0)
        rows = cast(embedding_lookup(weights, every, partition_strategy), x.dtype)
        of_right = slice_(rows, [0, 0], stack([shape_of(flat)[0], -1]))
        of_drawn = slice_(rows, stack([shape_of(flat)[0], 0]), [-1, -1])
        others = matmul(x, of_drawn, transpose_b=True)
        offsets = cast(embedding_lookup(biases, every, partition_strategy), x.dtype)
        right_offsets = slice_(offsets, [0], shape_of(flat))
        drawn_offsets = slice_(offsets, shape_of(flat), [-1])
        width = shape_of(of_right)[1:2]
        dims = concat([[-1, num_true], width], 0)
        products = m.multiply(expand_dims(x, 1), reshape(of_right, dims))
        flat_products = reshape(products, concat([[-1], width], 0))
        logits = reshape(_sums_of_rows(flat_products), [-1, num_true])
        logits += reshape(right_offsets, [-1, num_true])
        others += drawn_offsets
        if remove_accidental_hits:
            others += _hits(right, drawn, num_true, num_sampled, others.dtype)
        logits -= m.log(true_count)
        others -= m.log(drawn_count)
        found = concat([logits, others], 1)
        truth = concat([ones_like(logits) / num_true, zeros_like(others)], 1)
        return found, truth


def _hits(right: Tensor, drawn: Tensor, num_true: int, num_sampled: int, dtype: Any) -> Tensor:
    """The lowest number where a drawn class is a right one, else 0: [batch, num_sampled]."""
    indices, places, weights = compute_accidental_hits(right, drawn, num_true)
    rows = reshape(indices, [-1, 1])
    columns = reshape(cast(places, dtypes.i32), [-1, 1])
    where = concat([rows, columns], 1, "sparse_indices")
    dims = concat([shape_of(right)[:1], expand_dims(num_sampled, 0)], 0)
    return sparse_to_dense(where, dims, cast(weights, dtype), 0.0, validate_indices=False)


def _sums_of_rows(x: Tensor) -> Tensor:
    """By a product with ones, whose gradient costs less."""
    return reshape(matmul(x, ones(stack([shape_of(x)[1], 1]), x.dtype)), [-1])


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """The noise-contrastive loss [batch] of Gutmann and Hyvärinen, 2010.

    `weights` [num_classes, depth] (perhaps in parts), `biases` [num_classes], `labels` [batch,
    num_true], `inputs` [batch, depth]. `sampled_values`: what a sampler gave; by default that of
    `log_uniform_candidate_sampler`. Raises `ValueError` for shapes that do not fit, `TypeError` for
    labels that are no int64.
    """
    logits, truth = _logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name,
    )  # fmt: skip
    losses = sigmoid_cross_entropy_with_logits(labels=truth, logits=logits, name="sampled_losses")
    return _sums_of_rows(losses)


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """The cross entropy [batch] of a softmax over the right classes and drawn ones (Jean et al.,
    2014, arXiv:1412.2007). The arguments are those of `nce_loss`. Raises as it does."""
    logits, truth = _logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name, seed,
    )  # fmt: skip
    truth = stop_gradient(truth, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=truth, logits=logits)
