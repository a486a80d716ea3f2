"""What loops and branches carry for a value: the flow of a TensorArray, a tensor for all else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.framework import nest
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def flow_or_tensor(value: Any) -> Tensor:
    return value.flow if isinstance(value, TensorArray) else as_tensor(value)


def like(leaf: Any, tensor: Tensor) -> Any:
    return leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor


def with_flows(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """`structure` of other tensors; where it has TensorArrays, the tensors are their flows."""
    leaves = nest.flatten(structure, expand=True)
    values = [like(leaf, t) for leaf, t in zip(leaves, tensors, strict=True)]
    return nest.pack_sequence_as(structure, values, expand=True)
