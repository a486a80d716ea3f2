"""The collections of a graph's losses, and their sums."""

from __future__ import annotations

from typing import Any

from flowc.api.framework.basics import constant
from flowc.api.math.elementwise import add_n
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Tensor, get_default_graph


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Keeps a loss in a collection, unless that is None. `loss`: a scalar. Raises nothing."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of a collection, those of a name scope where one is given. A list of tensors.
    Raises nothing."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """What the regularizers of variables and layers gave, as a list of tensors; those of a name
    scope where one is given. Raises nothing."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """The sum of the regularization losses, a scalar; 0 where there are none. Raises `ValueError`
    where the losses have no one shape and dtype."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True,
    name: str = "total_loss",
    scope: str | None = None,
) -> Tensor:
    """The sum of all losses, scalars, with the regularization losses unless told otherwise. Raises
    `ValueError` where there are none."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return add_n(losses, name=name)
