"""Candidate samplers by name, each with what a run of them is given.

In: nothing. Out: `SAMPLERS`: op type -> attrs; `RIGHT`: the right classes. What TensorFlow draws is
in `tests/recorded/candidates.json`, as `tests/oracle/record_candidates.py` writes it.
"""

from __future__ import annotations

from typing import Any

RUNS = 3
RIGHT = [[0, 5], [7, 2], [19, 3]]
_WEIGHTS = [float(i % 7 + 1) for i in range(20)]
_SAMPLERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("LogUniform", {}),
    ("LogUniform", {"range_max": 100_000}),
    ("Uniform", {}),
    ("Uniform", {"range_max": 64}),
    ("LearnedUnigram", {}),
    ("ThreadUnsafeUnigram", {}),
    ("FixedUnigram", {"unigrams": _WEIGHTS, "distortion": 0.75}),
    ("FixedUnigram", {"unigrams": _WEIGHTS[:18], "num_reserved_ids": 2}),
    ("FixedUnigram", {"unigrams": _WEIGHTS * 2, "num_shards": 2, "shard": 1}),
)
SAMPLERS: tuple[tuple[str, dict[str, Any]], ...] = tuple(
    (f"{name}CandidateSampler", {"range_max": 20, "unique": unique, **attrs})
    for unique in (False, True)
    for name, attrs in _SAMPLERS
)


def draws(tf: Any) -> list[Any]:
    """What each sampler gives, run by run, as lists."""
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        right = tf.constant(RIGHT, tf.int64)
        every = [
            getattr(tf.raw_ops, name)(
                true_classes=right, num_true=2, num_sampled=6, seed=11 + i, seed2=22, **attrs
            )
            for i, (name, attrs) in enumerate(SAMPLERS)
        ]
        every.append(
            tf.raw_ops.AllCandidateSampler(
                true_classes=right, num_true=2, num_sampled=20, unique=True
            )
        )
        for _ in range(RUNS):
            found.append([[array.tolist() for array in drawn] for drawn in session.run(every)])
    return found
