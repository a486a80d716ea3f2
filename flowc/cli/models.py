"""What commands do with a model before their own work: read it, say what was chosen in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from flowc.extract.interface import Interface
    from flowc.graph import Graph
    from flowc.graph.fetch_set import Feed

SHOWN = 8  # elements of a constant
Place = tuple[str | None, str | None, str | None, bool]


def load_model(path: str, place: Place, allow: Sequence[str] = ()) -> Graph:
    """The Graph of a model. `place`: its checkpoint, tags and signature, and whether links may lead
    out of its folder, as options give them."""
    from flowc.api.framework.models import load_graph

    checkpoint, tags, signature, allow_links = place
    return load_graph(path, checkpoint, tags, signature, allow=allow, allow_links=allow_links)


def what_was_chosen(interface: Interface) -> list[str]:
    """A line each for feeds and fetches that the user did not name."""
    lines = []
    if interface.fetches_from != "given":
        names = ", ".join(f.name for f in interface.fetches)
        lines.append(f"fetches, from the {interface.fetches_from}: {names}")
    if interface.feeds_from != "given":
        names = ", ".join(f"{f.name}={f.type}" for f in interface.feeds if f.value is None)
        lines.append(f"feeds, from the {interface.feeds_from}: {names or 'none'}")
    constants = [_constant(f) for f in interface.feeds if f.value is not None]
    if constants:
        lines.append(f"constants: {', '.join(constants)}")
    return lines


def _constant(feed: Feed) -> str:
    """The name of a feed that has one value, and its default where nobody gave it another."""
    assert feed.value is not None
    return f"{feed.name}={_shown(feed.value)} (its default)" if feed.is_default else feed.name


def _shown(value: np.ndarray[Any, Any]) -> str:
    if value.size <= SHOWN:
        return str(value.tolist())
    shape = ",".join(str(size) for size in value.shape)
    return f"{value.dtype}[{shape}]"
