"""Elements of several datasets, by chance or by choice.

In: datasets of elements of one structure. Out: a dataset that takes each next element from one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.dataset_node import made
from flowc.api.data.structure import ComponentSpec, relaxed
from flowc.api.framework.raw_ops import call
from flowc.api.random.random_ops import stateless_multinomial
from flowc.graph import TensorShape
from flowc.graph.building.conversion import as_tensor


def _directed(selector: Dataset, datasets: Sequence[Dataset], stops: bool) -> Dataset:
    structure = datasets[0].element_spec
    for other in datasets[1:]:
        structure = relaxed(structure, other.element_spec)
    parts = [dataset._variant_tensor for dataset in datasets]
    return made(
        "DirectedInterleaveDataset",
        structure,
        selector._variant_tensor,
        parts,
        stop_on_empty_dataset=stops,
    )


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """The next element of that of the datasets which the choice dataset (of scalar int64) names.
    Raises `ValueError` without datasets, `TypeError` for a choice dataset of other elements."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    spec = choice_dataset.element_spec
    if not (isinstance(spec, ComponentSpec) and spec.dtype is dtypes.i64 and spec.shape.ndims == 0):
        raise TypeError(
            "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` "
            f"tensors but are {spec}."
        )
    return _directed(choice_dataset, datasets, stop_on_empty_dataset)


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: Any = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """The next element of one of the datasets, which chance names: with equal weights, or with
    those that are given (a list, a tensor, or a dataset of tensors). Equal seeds give TensorFlow's
    choice. Raises `ValueError` for other numbers of weights, `TypeError` for weights that are no
    floats."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    if len(datasets) == 1 and weights is None:
        return datasets[0]
    if isinstance(weights, Dataset):
        chances = weights.map(lambda p: call("Log", _row(p)))
    else:
        given = weights if weights is not None else [1.0 / len(datasets)] * len(datasets)
        held = as_tensor(given, name="weights")
        if held.dtype not in (dtypes.f32, dtypes.f64):
            raise TypeError(
                "Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` but "
                f"is {held.dtype}."
            )
        if not held.shape.is_compatible_with(TensorShape([len(datasets)])):
            raise ValueError(
                f"Invalid `weights`. The shape of `weights` should be compatible with "
                f"`[len(datasets)]` but is {held.shape}."
            )
        chances = Dataset.from_tensors(call("Log", _row(held), name="logits")).repeat()
    draws = Dataset.zip((chances, Dataset.random(seed).batch(2, drop_remainder=True)))

    def chosen(logits: Any, seeds: Any) -> Any:
        found = stateless_multinomial(logits, 1, seed=seeds)
        return call("Squeeze", found, squeeze_dims=[0, 1])

    return _directed(draws.map(chosen), datasets, stop_on_empty_dataset)


def _row(weights: Any) -> Any:
    return call("ExpandDims", weights, np.int32(0))
