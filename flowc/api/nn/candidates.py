"""`tf.nn`: classes drawn as negative examples, and which right classes are among them.

In: the right classes of a batch [batch, num_true] of i64, how many others to draw. Out: a named
tuple of classes [num_sampled] of i64, how often the right ones [batch, num_true] and the drawn ones
[num_sampled] were to be expected. Invariant: for equal seeds TensorFlow's classes, run by run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.framework.raw_ops import call
from flowc.api.random.random_ops import seeds_of


def _sampler(
    op_type: str, true_classes: Any, seed: int | None, name: str | None, **attrs: Any
) -> Any:
    return call(op_type, true_classes, name=name, **attrs, **seeds_of(seed))


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Classes below `range_max`, of a share of log((n + 2) / (n + 1)) / log(range_max + 1): those
    of words by their rank. `unique`: each at most once. A run raises `InvalidArgumentError` for
    right classes outside, and where more classes are to differ than there are."""
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    op_type = "LogUniformCandidateSampler"
    return _sampler(op_type, true_classes, seed, name, range_max=range_max, **attrs)


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Classes below `range_max`, all equally likely. `true_classes`: int64[batch, num_true]. The
    arguments, and what it raises, are those of `log_uniform_candidate_sampler`."""
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    op_type = "UniformCandidateSampler"
    return _sampler(op_type, true_classes, seed, name, range_max=range_max, **attrs)


def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Classes below `range_max` by how often they were among the right ones of a Session's runs
    before, and once more. The arguments and errors are those of `log_uniform_candidate_sampler`;
    raises `ValueError` for a `range_max` above 2147483647."""
    if range_max > 2147483647:
        raise ValueError(f"Value of range_max:{range_max} is too large to handle")
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    op_type = "LearnedUnigramCandidateSampler"
    return _sampler(op_type, true_classes, seed, name, range_max=range_max, **attrs)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Classes below `range_max` by weights that are given: `num_reserved_ids` of weight 0, then
    `unigrams` to the power of `distortion`, of which every `num_shards`-th one from `shard` on
    counts. The other arguments and errors are those of `log_uniform_candidate_sampler`; a run also
    raises `InvalidArgumentError` for another number of weights than `range_max`, and
    `UnimplementedError` where a `vocab_file` has them."""
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    return _sampler(
        "FixedUnigramCandidateSampler",
        true_classes,
        seed,
        name,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=list(unigrams),
        **attrs,
    )


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Every class below `num_sampled`, in order. A run raises `InvalidArgumentError` for right
    classes outside. int64, as those of `log_uniform_candidate_sampler`."""
    attrs = {"num_true": num_true, "num_sampled": num_sampled, "unique": unique}
    return _sampler("AllCandidateSampler", true_classes, seed, name, **attrs)


def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """The right classes [batch, num_true] that are among the candidates [n]: a named tuple of
    vectors, their rows (i32), the last place among the candidates (i64), the lowest f32.
    `true_classes`, `sampled_candidates`: int64. Raises `TypeError` for other dtypes, `ValueError`
    for shapes that do not fit."""
    return call(
        "ComputeAccidentalHits",
        true_classes,
        sampled_candidates,
        num_true=num_true,
        name=name,
        **seeds_of(seed),
    )
