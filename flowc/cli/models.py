"""What commands do with a model before their own work: read it, say what was chosen in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowc.extract.feed_specs import FeedSpec
    from flowc.extract.interface import Interface
    from flowc.graph import Graph

Place = tuple[str | None, str | None, str | None, bool]
VALUE_SHOWN = 40  # characters


def load_model(path: str, place: Place, allow: Sequence[str] = ()) -> Graph:
    """The Graph of a model. `place`: its checkpoint, tags and signature, and whether links may lead
    out of its folder, as options give them."""
    from flowc.api.framework.models import load_graph

    checkpoint, tags, signature, allow_links = place
    return load_graph(path, checkpoint, tags, signature, allow=allow, allow_links=allow_links)


def shown_value(value: Any) -> str:
    """A constant as `--set` takes it, shortened where it is long."""
    text = json.dumps(value.tolist(), default=str)
    return text if len(text) <= VALUE_SHOWN else f"{text[:VALUE_SHOWN]}..."


def fixed_sizes(specs: Sequence[FeedSpec], interface: Interface) -> list[str]:
    """A line each for sizes that a `--feed` gives a name, and that are a number in the model."""
    lines = []
    feeds = {f.name: f for f in interface.feeds}
    for spec in specs:
        feed = feeds.get(spec.name)
        for axis, (asked, found) in enumerate(zip(spec.dims or (), feed.type.dims if feed else ())):
            if isinstance(found, int) and asked is not None and not isinstance(asked, int):
                lines.append(f"the model fixes dim {axis} of {spec.name} at {found}: no '{asked}'")
    return lines


def what_was_chosen(interface: Interface) -> list[str]:
    """A line each for feeds and fetches that the user did not name."""
    lines = []
    if interface.fetches_from != "given":
        names = ", ".join(f.name for f in interface.fetches)
        lines.append(f"fetches, from the {interface.fetches_from}: {names}")
    if interface.feeds_from != "given":
        names = ", ".join(f"{f.name}={f.type}" for f in interface.feeds if f.value is None)
        lines.append(f"feeds, from the {interface.feeds_from}: {names or 'none'}")
    fixed = {f.name: f.value for f in interface.feeds if f.value is not None}
    constants = [name for name in fixed if name not in interface.defaults]
    if constants:
        lines.append(f"constants: {', '.join(constants)}")
    if interface.defaults:
        texts = [f"{name}={shown_value(fixed[name])}" for name in interface.defaults]
        lines.append(f"constants, by their defaults: {', '.join(texts)}")
    return lines
