"""Datasets whose classes come as often as is wanted: `rejection_resample`.

In: a dataset, the class of an element, how often each class is wanted, and how often it comes where
that is known. Out: a dataset of classes and elements.

With p how often a class comes and t how often it is wanted, r = t/p. An element is taken as it
comes with probability min r. Else it comes from those of which a class is kept with probability
(r - min r) / (max r - min r): as few as possible are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.mixing import sample_from_datasets
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import call
from flowc.api.math.reductions import reduce_max, reduce_min, reduce_sum
from flowc.api.random.random_ops import random_uniform
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements

SEEN = 32  # elements after which it is estimated anew how often classes come
BEGINNING = 10  # elements of each class that seem to have come before
AHEAD = 3


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
) -> Callable[[Dataset], Dataset]:
    """Elements, dropped at random so that their classes come as often as `target_dist` says. A
    function for `Dataset.apply`; elements become (class, element).

    `class_func` gives the class of an element, an int32 scalar; `target_dist` and `initial_dist`
    are probabilities of classes, [classes]. Without `initial_dist` they are estimated as elements
    come. Raises what the function does, when it is applied.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = cast(as_tensor(target_dist, name="target_dist"), dtypes.f32)
        if initial_dist is None:
            initial = _estimated(dataset.map(class_func), target)
            known = None
        else:
            given = cast(as_tensor(initial_dist, name="initial_dist"), dtypes.f32)
            initial = Dataset.from_tensors(given).repeat()
            known = _least_known(given, target)
        chances = initial.map(lambda p: _chances(p, target))
        kept = _kept(dataset, chances.map(lambda keeps, _: keeps), class_func, seed)
        if known == 0:
            return kept
        whole = dataset.map(lambda *x: (class_func(*x), x[0] if len(x) == 1 else x))
        if known == 1:
            return whole
        weights = chances.map(lambda _, least: call("Pack", [least, 1.0 - least], axis=0))
        return sample_from_datasets([whole, kept], weights, seed, stop_on_empty_dataset=True)

    return apply


def _ratios(initial: Tensor, target: Tensor) -> Tensor:
    return target / (initial + np.finfo(np.float32).tiny)


def _chances(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """With which probability each class is kept, and an element is taken as it comes."""
    ratios = _ratios(initial, target)
    least = reduce_min(ratios)
    return (ratios - least) / (reduce_max(ratios) - least), least


def _least_known(initial: Tensor, target: Tensor) -> float | None:
    """With which probability an element is taken as it comes, where the graph knows."""
    held = constant_elements(initial), constant_elements(target)
    if any(h is None for h in held):
        return None
    with np.errstate(all="ignore"):
        return float(np.min(np.asarray(held[1], np.float32) / np.asarray(held[0], np.float32)))


def _estimated(classes: Dataset, target: Tensor) -> Dataset:
    """How often classes come, for each element: as far as those with it and before it say."""
    count = call("Shape", target, out_type=dtypes.i32)[0]

    def seen(counts: Tensor, some: Tensor) -> tuple[Tensor, Tensor]:
        one_hot = call("OneHot", some, count, np.int64(1), np.int64(0), axis=-1)
        counts = counts + reduce_sum(one_hot, 0)
        part = cast(counts, dtypes.f64) / cast(reduce_sum(counts), dtypes.f64)
        return counts, call("Tile", cast(part, dtypes.f32)[None], [SEEN, 1])

    begin = call("Fill", count[None], np.int64(BEGINNING))
    begin.set_shape(target.shape)
    return classes.batch(SEEN).scan(begin, seen).unbatch()


def _kept(
    dataset: Dataset, keeps: Dataset, class_func: Callable[..., Any], seed: int | None
) -> Dataset:
    """(class, element) of what is left of the elements."""

    def known(keeps: Tensor, data: Any) -> tuple[Tensor, Tensor, Any]:
        found = class_func(*data) if isinstance(data, tuple) else class_func(data)
        return found, call("GatherV2", keeps, found, 0), data

    def is_kept(_: Tensor, chance: Tensor, data: Any) -> Tensor:
        return random_uniform([], seed=seed, dtype=chance.dtype) < chance

    found = Dataset.zip((keeps, dataset)).map(known).filter(is_kept)
    return found.map(lambda kind, _, data: (kind, data)).prefetch(AHEAD)
