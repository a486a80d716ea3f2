"""Signatures of a saved model: named inputs and outputs, each a tensor of the graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph.shape import TensorShape

SPARSE_ROLES = ("values", "indices", "dense_shape")  # of the parts of a sparse tensor


@dataclass(frozen=True)
class MainOperation:
    """What a model is to run once before it serves. `assets`: the tensors that name files which it
    reads, and where these are."""

    name: str
    assets: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor by name (`scope/op:0`). `parts`: for a sparse or composite tensor, the names of its
    component tensors by role; `name` is then empty. `dtype` is None where the file leaves it
    out."""

    name: str
    dtype: DType | None
    shape: TensorShape
    parts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signature:
    """`method` is TensorFlow's method name, such as `tensorflow/serving/predict`. `encoded`: the
    signature as its file has it, for writing back."""

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]
    method: str = ""
    defaults: dict[str, object] = field(default_factory=dict)
    encoded: Any = field(default=None, compare=False, repr=False)
