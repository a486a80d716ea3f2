"""Types as tests write them: a dtype or its name, and sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsInt

from flowc.dtypes import DType, as_dtype
from flowc.ir.dims import as_dim
from flowc.ir.types import TensorType


def tensor_type(dtype: DType | str, dims: Iterable[SupportsInt] = ()) -> TensorType:
    return TensorType(as_dtype(dtype), tuple(as_dim(d) for d in dims))
