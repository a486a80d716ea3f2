"""`tf.nn`: the largest elements of rows, and rows of tables."""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays import selection
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = dtypes.i32,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The k largest elements of each row and where they stand."""
    return call("TopKV2", input, k, sorted=sorted, index_type=index_type, name=name)


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether each target's prediction is among the k largest of its row."""
    with name_scope(name, "in_top_k"):
        return output("InTopKV2", predictions, targets, k)


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """Rows of one tensor. Raises `ValueError` for several tensors or a norm, which flowc does not
    take yet."""
    if isinstance(params, list | tuple):
        if len(params) != 1:
            raise ValueError("embedding_lookup takes one tensor of parameters, found "
                             f"{len(params)}")  # fmt: skip
        params = params[0]
    if max_norm is not None:
        raise ValueError("embedding_lookup does not take max_norm")
    with name_scope(name, "embedding_lookup", [params, ids]) as scope:
        return selection.gather(params, as_tensor(ids, name="ids"), name=scope)
