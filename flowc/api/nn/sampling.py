"""`tf.nn`: classes drawn as negative examples, and the losses that use them.

In: the right classes of a batch [batch, num_true] of i64, how many others to draw. Out: classes
[num_sampled] of i64, how often the right ones [batch, num_true] and the drawn ones [num_sampled]
were to be expected. Invariant: the distributions are TensorFlow's, drawn from another stream of
random numbers.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros_like
from flowc.api.arrays.selection import top_k
from flowc.api.arrays.shaping import concat, expand_dims, reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, constant, stop_gradient
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import matmul, reduce_sum
from flowc.api.nn.embedding import embedding_lookup
from flowc.api.nn.losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from flowc.api.random.random_ops import random_uniform
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

Sampled = namedtuple("Sampled", ("sampled_candidates", "true_expected_count",
                                 "sampled_expected_count"))  # fmt: skip
Probability = Callable[[Any], Any]  # of classes, as f64 arrays or f32 tensors


def _sampled(
    true_classes: Any,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    probability: Probability,
    drawn: Callable[[Tensor], Tensor],
) -> Sampled:
    """Raises `ValueError` where more classes are to differ than there are."""
    if unique and num_sampled > range_max:
        raise ValueError(f"{num_sampled} different classes of {range_max} cannot be drawn")
    right = as_tensor(true_classes, dtypes.i64)
    if unique:
        weights = constant(np.log(probability(np.arange(range_max))).astype(np.float32))
        noise = random_uniform([range_max], np.finfo(np.float32).tiny, 1.0, seed=seed)
        found = cast(top_k(weights - m.log(-m.log(noise)), num_sampled)[1], dtypes.i64)
        tries = _expected_tries(probability(np.arange(range_max)), num_sampled)
    else:
        found = drawn(random_uniform([num_sampled], seed=seed))
        tries = float(num_sampled)

    def count(classes: Tensor) -> Tensor:
        share = probability(cast(classes, dtypes.f32))
        return -m.expm1(tries * m.log1p(-share)) if unique else share * tries

    return Sampled(stop_gradient(found), stop_gradient(count(right)), stop_gradient(count(found)))


def _expected_tries(shares: np.ndarray, wanted: int) -> float:
    """How often one has to draw until `wanted` different classes are expected."""
    low, high = 0.0, float(wanted)
    while high < 1e15 and -np.expm1(high * np.log1p(-shares)).sum() < wanted * (1 - 1e-9):
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        enough = -np.expm1(middle * np.log1p(-shares)).sum() >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Classes below `range_max`, of a share of log((n + 2) / (n + 1)) / log(range_max + 1): those
    of words by their rank. `unique`: each at most once."""
    whole = np.log(range_max + 1)

    def probability(n: Any) -> Any:
        log = m.log if isinstance(n, Tensor) else np.log
        return log((n + 2.0) / (n + 1.0)) / whole

    def drawn(uniform: Tensor) -> Tensor:
        found = cast(m.exp(cast(uniform, dtypes.f64) * whole), dtypes.i64) - 1
        return m.floormod(found, as_tensor(range_max, dtypes.i64))

    with name_scope(name, "LogUniformCandidateSampler", [true_classes]):
        return _sampled(true_classes, num_sampled, unique, range_max, seed, probability, drawn)


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sampled:
    """Classes below `range_max`, all alike. `unique`: each at most once."""

    def probability(n: Any) -> Any:
        return n * 0.0 + 1.0 / range_max

    def drawn(uniform: Tensor) -> Tensor:
        found = cast(cast(uniform, dtypes.f64) * float(range_max), dtypes.i64)
        return m.minimum(found, as_tensor(range_max - 1, dtypes.i64))

    with name_scope(name, "UniformCandidateSampler", [true_classes]):
        return _sampled(true_classes, num_sampled, unique, range_max, seed, probability, drawn)


def _logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    subtract_log_q: bool,
    remove_accidental_hits: bool,
    partition_strategy: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """(logits, labels), both [batch, num_true + num_sampled]."""
    right = cast(labels, dtypes.i64)
    flat = reshape(right, [-1])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            right, num_true, num_sampled, True, num_classes, seed
        )
    drawn, true_count, drawn_count = (stop_gradient(as_tensor(s)) for s in sampled_values)
    drawn = cast(drawn, dtypes.i64)
    every = concat([flat, drawn], 0)
    rows = embedding_lookup(weights, every, partition_strategy)
    offsets = embedding_lookup(biases, every, partition_strategy)
    count = shape_of(flat)[0]
    x = as_tensor(inputs)
    of_right = reshape(rows[:count], [-1, num_true, shape_of(rows)[1]])
    logits = reduce_sum(of_right * expand_dims(x, 1), 2) + reshape(offsets[:count], [-1, num_true])
    others = matmul(x, rows[count:], transpose_b=True) + offsets[count:]
    if remove_accidental_hits:
        hits = m.equal(expand_dims(right, 2), reshape(drawn, [1, 1, -1]))
        hit = reduce_sum(cast(hits, x.dtype), 1)
        others = others + hit * float(np.finfo(np.float32).min)
    if subtract_log_q:
        logits = logits - m.log(true_count)
        others = others - m.log(drawn_count)
    found = concat([logits, others], 1)
    truth = concat([ones_like(logits) / num_true, zeros_like(others)], 1)
    return found, truth


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
    `log_uniform_candidate_sampler`.
    """
    with name_scope(name, "nce_loss"):
        logits, truth = _logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            True, remove_accidental_hits, partition_strategy, None,
        )  # fmt: skip
        losses = sigmoid_cross_entropy_with_logits(labels=truth, logits=logits)
        return reduce_sum(losses, 1)


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
    2014, arXiv:1412.2007). The arguments are those of `nce_loss`."""
    with name_scope(name, "sampled_softmax_loss"):
        logits, truth = _logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            True, remove_accidental_hits, partition_strategy, seed,
        )  # fmt: skip
        truth = stop_gradient(truth, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels=truth, logits=logits)
