"""`tf.summary`: tagged numbers that a run gives as serialized protos.

In: tensors. Out: string tensors, in the collection `summaries`, and merges of them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from flowc.api.framework.scopes import name_scope
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.creation import output


def scalar(
    name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary of one number under the tag `name`, in the current name scope (and `family`).
    `tensor`: a number, a scalar; the result is a string scalar. Raises `TypeError` for other
    dtypes, `ValueError` for an invalid name."""
    with summary_scope(name, family) as (tag, scope):
        found = output("ScalarSummary", tag, tensor, name=scope)
    names = [GraphKeys.SUMMARIES] if collections is None else collections
    get_default_graph().add_to_collections(names, found)
    return found


@contextmanager
def summary_scope(name: str, family: str | None = None) -> Generator[tuple[str, str]]:
    """The tag of a summary, and the name scope of its operation: `name` with the letters that a
    tag may have, behind `family`."""
    inside = f"{_tag(family)}/{_tag(name)}" if family else _tag(name)
    with name_scope(inside) as scope:
        yield f"{_tag(family)}/{scope[:-1]}" if family else scope[:-1], scope


def _tag(name: str) -> str:
    """A name with underscores for what no tag has."""
    return re.sub(r"[^-/\w.]", "_", name).lstrip("/")


def scalar_summary(
    tags: Any, values: Any, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """A summary of one number for each tag, as programs of 2016 make it. `values`: numbers in the
    shape of the tags; the result is a string scalar. Raises `TypeError` for other dtypes."""
    found = output("ScalarSummary", tags, values, name=name)
    get_default_graph().add_to_collections(collections or [GraphKeys.SUMMARIES], found)
    return found


def merge(
    inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """One summary of the values of several. A run raises `InvalidArgumentError` for a tag that is
    there twice. String scalars."""
    with name_scope(name, "Merge", inputs):
        found = output("MergeSummary", list(inputs), name=name)
    get_default_graph().add_to_collections(collections or [], found)
    return found


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """One summary of all in a collection; None where there are none. A string scalar. Raises
    nothing."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None
