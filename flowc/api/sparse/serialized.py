"""`tf.serialize_sparse` and its like: sparse tensors as rows of three strings or variants.

In: `SparseTensor`s, or such rows. Out: the other. A function raises `TypeError` for what is no
`SparseTensor` where it takes one.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.sparse.sparse_changes import checked
from flowc.graph import Tensor


def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """The places, values and sizes of a sparse tensor: string[3], or variant[3]. Of any dtype and
    rank. Raises `TypeError` for what is not sparse."""
    parts = checked(sp_input).components()
    return call("SerializeSparse", *parts, out_type=out_type, name=name)


def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Each row of a sparse tensor as `serialize_sparse` writes it: string[rows, 3], or variant. Of
    any dtype, of rank 2 or more, its elements in order. Raises `TypeError` for what is not sparse;
    a run raises `InvalidArgumentError` for another rank or order, and for places outside."""
    parts = checked(sp_input).components()
    return call("SerializeManySparse", *parts, out_type=out_type, name=name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """One sparse tensor of what the rows of string[rows, 3] hold, one rank and dtype: with a
    dimension more, and as large as the largest. `rank`: of what comes out, where the graph is to
    know it. Raises `ValueError` for strings of another rank or width; a run raises
    `InvalidArgumentError` for what holds no sparse tensor, and for another dtype or rank."""
    indices, values, sizes = call(
        "DeserializeManySparse", serialized_sparse, dtype=dtype, name=name
    )
    indices.set_shape([None, rank])
    sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)
