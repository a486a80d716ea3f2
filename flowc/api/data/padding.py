"""`Dataset.padded_batch`.

In: a dataset, shapes and values in its structure. Out: a dataset of batches, each component padded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.data.dataset import Dataset
from flowc.api.data.dataset_node import number
from flowc.api.data.structure import ComponentSpec
from flowc.api.framework import nest
from flowc.api.framework.raw_ops import call
from flowc.dtypes import DType
from flowc.graph import Dimension, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def padded(
    dataset: Dataset, batch_size: Any, padded_shapes: Any, padding_values: Any, drops: Any
) -> Dataset:
    structure = dataset.element_spec
    specs = nest.flatten(structure)
    for spec in specs:
        if type(spec) is not ComponentSpec:
            raise TypeError(
                f"`padded_batch` is only supported for datasets of tensors: found {spec}"
            )
    if padded_shapes is None:
        for spec in specs:
            if spec.shape.ndims is None:
                raise ValueError(
                    f"You must provide `padded_shapes` argument because component {spec} has "
                    "unknown rank."
                )
        shapes: list[Any] = [spec.shape for spec in specs]
    else:
        shapes = _in_structure(structure, padded_shapes)
    size = number(batch_size, "batch_size")
    wanted = [_shape_tensor(shape, spec) for shape, spec in zip(shapes, specs)]
    values = _values(structure, padding_values)
    drop = as_tensor(drops, dtypes.bool_, "drop_remainder")
    known_drop, known_size = constant_elements(drop), constant_elements(size)
    rows = None
    if known_drop is not None and bool(known_drop) and known_size is not None:
        rows = int(known_size)
    outs = [ComponentSpec(TensorShape([rows]).concatenate(_static(t)), spec.dtype)
            for t, spec in zip(wanted, specs)]  # fmt: skip
    tensor = call(
        "PaddedBatchDatasetV2",
        dataset._variant_tensor,
        size,
        wanted,
        values,
        drop,
        output_shapes=[spec.shape for spec in outs],
    )
    return Dataset(tensor, nest.pack_sequence_as(structure, outs))


def _in_structure(structure: Any, given: Any) -> list[Any]:
    """What is given for each component: a shape may be a list, a tensor, or None."""
    if not nest.is_nested(structure):
        return [given]
    if isinstance(structure, dict):
        if not isinstance(given, dict) or set(given) != set(structure):
            raise ValueError(f"The structure of {given} is not that of {structure}")
        return [x for key in sorted(structure) for x in _in_structure(structure[key], given[key])]
    if not isinstance(given, tuple | list) or len(given) != len(structure):
        raise ValueError(f"The structure of {given} is not that of {structure}")
    return [x for part, inner in zip(structure, given) for x in _in_structure(part, inner)]


def _shape_tensor(shape: Any, spec: ComponentSpec) -> Tensor:
    """Sizes as a vector, -1 for unknown ones. Raises `ValueError` for one that cannot hold the
    component."""
    if isinstance(shape, Tensor):
        return as_tensor(shape, dtypes.i64)
    if isinstance(shape, TensorShape):
        found: Any = shape
    else:
        sizes = shape if isinstance(shape, list | tuple) else np.asarray(shape).reshape(-1).tolist()
        sizes = [s.value if isinstance(s, Dimension) else s for s in sizes]
        found = TensorShape([None if s in (None, -1) else int(s) for s in sizes])
    if spec.shape.ndims not in (None, found.ndims):
        raise ValueError(
            f"The padded shape {found} is not compatible with the corresponding input component "
            f"shape {spec.shape}."
        )
    for size, most in zip(spec.shape.as_list() if spec.shape.ndims else [], found.as_list()):
        if size is not None and most is not None and size > most:
            raise ValueError(
                f"The padded shape {found} is not compatible with the corresponding input "
                f"component shape {spec.shape}."
            )
    return as_tensor(np.array([-1 if s is None else s for s in found.as_list()], np.int64))


def _static(sizes: Tensor) -> TensorShape:
    known = constant_elements(sizes)
    if known is not None:
        return TensorShape([None if s < 0 else int(s) for s in known])
    rank = sizes.shape[0].value if sizes.shape.ndims else None
    return TensorShape(None if rank is None else [None] * rank)


def _values(structure: Any, given: Any) -> list[Tensor]:
    specs = nest.flatten(structure)
    if given is None or not nest.is_nested(given):
        values = [given] * len(specs)
    else:
        values = _in_structure(structure, given)
    return [_value(value, spec.dtype) for value, spec in zip(values, specs)]


def _value(value: Any, dtype: DType) -> Tensor:
    if value is None:
        value = b"" if dtype is dtypes.string else np.zeros((), dtype.numpy)
    found = as_tensor(value, name="padding_value")
    if found.dtype is not dtype:
        raise TypeError(
            f"Invalid `padding_values`. `padding_values` values type {found.dtype!r} does not match"
            f" type {dtype!r} of the corresponding input component."
        )
    if not found.shape.is_compatible_with([]):
        raise ValueError(f"Padding value should be a scalar, but is not: {value}")
    return found
