"""`flowc check`: whether a model can be compiled, and what stands in the way, all at once."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import (
    allow_option,
    debug_option,
    feed_option,
    fetch_option,
    json_option,
    model_options,
    options_given,
    set_option,
    signatures_named,
)

if TYPE_CHECKING:
    from flowc.errors import UnsupportedError
    from flowc.extract.interface import Interface
    from flowc.graph import Graph

SCHEMA = 1
IN_THE_WAY = 3  # the exit code where something stands in the way
ROUNDS = 20
NAMES_SHOWN = 3


@click.command("check")
@click.argument("model")
@feed_option
@fetch_option
@set_option
@model_options
@allow_option
@json_option
@debug_option
def check_command(
    model: str,
    feeds: tuple[str, ...],
    fetches: tuple[str, ...],
    values: tuple[str, ...],
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    allow: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say whether MODEL can be compiled to a library: what stands in the way, all at once, and the
    command line that compiles the rest. Exits with 3 where something does. --signature a,b checks
    several signatures.
    """
    from flowc.cli.models import load_model

    signatures = signatures_named(signature) or [None]
    if len(signatures) > 1 and (feeds or fetches):
        raise click.UsageError("--signature a,b: --feed and --fetch are for one signature")
    place = (checkpoint, tags, signatures[0], allow_links)
    graph = load_model(model, place, allow)
    found = {name: checked(graph, feeds, fetches, values, name) for name in signatures}
    rows = list(found.values())
    if as_json:
        json.dump(rows[0] if len(rows) == 1 else {"signatures": found}, sys.stdout, indent=2)
        print()
    else:
        for name, row in found.items():
            print("\n".join([f"signature {name}"] * (len(rows) > 1) + _lines(row)))
    return IN_THE_WAY if any(row["in_the_way"] for row in rows) else 0


def checked(
    graph: Graph,
    feeds: tuple[str, ...] = (),
    fetches: tuple[str, ...] = (),
    values: tuple[str, ...] = (),
    signature: str | None = None,
) -> dict[str, Any]:
    """All that `check` says of a Graph, as plain data. `command`: what compiles, or None."""
    from flowc.cli.arrays import parse_inputs
    from flowc.cli.models import fixed_sizes
    from flowc.extract.feed_specs import parse_feed
    from flowc.extract.set_inputs import choose_interface_with

    allowed: list[str] = []
    rows: dict[str, dict[str, Any]] = {}
    specs = [parse_feed(f) for f in feeds]
    constants = parse_inputs(values, "--set")
    wanted = choose_interface_with(graph, specs or None, fetches or None, signature, constants)
    asked = [f.name for f in wanted.fetches]
    left, note = _cut(graph, wanted, rows, allowed)
    return {
        "schema": SCHEMA,
        "path": graph.source.path,
        "in_the_way": list(rows.values()),
        "command": None if left is None else _command(graph, left, signature, allowed),
        "not_computed": [n for n in asked if left is None or n not in _names(left)],
        "note": note,
        "fixed_sizes": fixed_sizes(specs, wanted),
    }


def hint_of(
    graph: Graph, wanted: Interface, error: UnsupportedError, signature: str | None
) -> str | None:
    """What to try where a compilation ended with `error`: the command line that compiles the rest,
    if there is one."""
    allowed: list[str] = []
    left, _ = _cut(graph, wanted, {}, allowed)
    if left is None:
        return error.hint
    return (
        "run the model in a Session, or compile the part behind these nodes, fed with what they "
        f"compute:\n  {_command(graph, left, signature, allowed)}"
    )


def _command(graph: Graph, left: Interface, signature: str | None, allowed: list[str]) -> str:
    """What compiles a fetch set, with the options that the user gave for the model."""
    from flowc.extract.cuts import command_line

    return command_line(graph, left, options_given(signature), allowed)


def _names(wanted: Interface) -> list[str]:
    return [f.name for f in wanted.fetches]


def _cut(
    graph: Graph, wanted: Interface, rows: dict[str, dict[str, Any]], allowed: list[str]
) -> tuple[Interface | None, str]:
    """What compiles of a fetch set, and a word on why it is nothing. `rows` and `allowed` are told
    what stands in the way of the rest, and what has to be allowed."""
    from flowc.compiler import check_library
    from flowc.errors import FlowcError, PermissionDeniedError, UnsupportedError
    from flowc.extract.cuts import without
    from flowc.options import Options

    unified: list[Any] = []
    for _ in range(ROUNDS):
        try:
            check_library(graph, wanted, Options(), unified.append)
            return unified[-1], ""
        except PermissionDeniedError as error:
            needed = _capabilities(graph, wanted)
            if not needed:
                raise
            _note(rows, f"needs --allow {', '.join(needed)}", [error.node or ""])
            allowed += needed
            graph.allow(*needed)
        except UnsupportedError as error:
            found = error.problems or [(error.message, 1, (error.node or "",))]
            for what, _count, names in found:
                _note(rows, _what_stands(what), names)
            names = [name for _, _, names in found for name in names]
            try:
                rest = without(graph, wanted, names)
            except FlowcError as fault:
                return None, str(fault)
            if rest is None:
                return None, "none of the outputs can be had without these nodes"
            if rest == wanted:
                return None, str(error)
            wanted = rest
    return None, f"{ROUNDS} cuts were tried"


def _what_stands(what: str) -> str:
    """An op type, with a word where TensorFlow has none of that name."""
    from flowc.extract.unsupported_ops import unknown_op

    note = unknown_op(what) if what.isidentifier() else ""
    return f"{what}, {note}" if note else what


def _note(rows: dict[str, dict[str, Any]], what: str, names: Any) -> None:
    row = rows.setdefault(what, {"what": what, "nodes": []})
    row["nodes"] += [n for n in names if n not in row["nodes"]]


def _capabilities(graph: Graph, wanted: Interface) -> list[str]:
    """What the nodes that are needed may not do yet."""
    from flowc.extract.unsupported_ops import needed_nodes
    from flowc.graph.capabilities import capability_of

    feeds = [f.tensor for f in wanted.feeds]
    fetches = [f.tensor for f in wanted.fetches]
    needed = needed_nodes(graph, fetches, wanted.targets, feeds)
    found = {capability_of(node.type) for _, node in needed}
    names = {c.name for c in found if c is not None and not c.is_free}
    return sorted(names - set(graph.allowed))


def _lines(found: dict[str, Any]) -> list[str]:
    rows, command = found["in_the_way"], found["command"]
    fixed = found["fixed_sizes"]
    if not rows:
        return [*fixed, f"{found['path']}: flowc can compile this", f"  {command}"]
    lines = [*fixed, f"{found['path']}: this stands in the way of a library"]
    for row in rows:
        more = len(row["nodes"]) - NAMES_SHOWN
        shown = ", ".join(row["nodes"][:NAMES_SHOWN]) + (f", and {more} more" if more > 0 else "")
        lines.append(f"  {row['what']} ({len(row['nodes'])}): {shown}")
    if command is None:
        return [*lines, f"no command compiles a part of it: {found['note']}"]
    if found["not_computed"]:
        lines.append(f"left out, as they need these nodes: {', '.join(found['not_computed'])}")
    return [*lines, "this compiles the rest, fed with what these nodes compute:", f"  {command}"]
