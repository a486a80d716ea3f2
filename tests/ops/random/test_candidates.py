"""Candidate samplers: TensorFlow's classes for its seeds, run by run, and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidate_programs import draws

import flowc as tf

RECORDED = Path(__file__).parents[2] / "recorded" / "candidates.json"


def test_classes_are_those_of_tensorflow() -> None:
    wanted: list[Any] = json.loads(RECORDED.read_text())
    for ours, theirs in zip(draws(tf), wanted, strict=True):
        for (classes, *counts), (right, *expected) in zip(ours, theirs, strict=True):
            assert classes == right
            for found, given in zip(counts, expected, strict=True):
                np.testing.assert_allclose(found, given, 1e-6)


@pytest.mark.parametrize(
    ("sampler", "attrs", "message"),
    [
        (tf.nn.uniform_candidate_sampler, {"range_max": 3}, "Sampler's range is too small."),
        (tf.nn.uniform_candidate_sampler, {"range_max": 5}, "out of range .0, 5., received 9"),
        (tf.nn.all_candidate_sampler, {}, "out of range .0, 4."),
        (tf.nn.fixed_unigram_candidate_sampler, {"range_max": 9}, "vocab_file or unigrams"),
        (
            tf.nn.fixed_unigram_candidate_sampler,
            {"range_max": 9, "unigrams": [1.0]},
            "range is 9 must be equal to weights size  1",
        ),
        (
            tf.nn.fixed_unigram_candidate_sampler,
            {"range_max": 9, "unigrams": [1.0], "vocab_file": "words"},
            "only provide one",
        ),
    ],
)
def test_errors_of_runs(sampler: Any, attrs: dict[str, Any], message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = sampler([[0], [9]], 1, 4, True, **attrs)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(found)
