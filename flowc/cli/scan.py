"""`flowc scan`: what a model could do beyond computing, before anyone runs it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import allow_option, debug_option, json_option, model_options

if TYPE_CHECKING:
    from flowc.graph import Graph

SCHEMA = 1
FOUND = 1  # the exit code where a model has what should be looked at
NAMES_SHOWN = 3


@click.command("scan")
@click.argument("model")
@model_options
@allow_option
@json_option
@debug_option
def scan_command(
    model: str,
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    allow: tuple[str, ...],
    as_json: bool,
) -> int:
    """List the nodes of MODEL that touch files, the network or Python or that print, ops that
    flowc has no record of, and custom ops. Nothing of the model runs.

    Nodes of functions and those that no output needs count; those of a Saver, whose caller names
    the checkpoint, are listed and do not: a run that is not fed the name, and one that saves in
    parts, still needs `allow="files"`. Exits with 1 where there are any that are not allowed.
    """
    from flowc.cli.models import load_model

    found = scanned(load_model(model, (checkpoint, tags, signature, allow_links)))
    found["clean"] = not (found["capabilities"].keys() - set(allow) or found["unknown_ops"])
    if as_json:
        json.dump(found, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(found)))
    return 0 if found["clean"] else FOUND


def scanned(graph: Graph) -> dict[str, Any]:
    """All that `scan` says of a Graph, as plain data."""
    from flowc.cli.inspect import grouped
    from flowc.extract.given_paths import GivenPaths
    from flowc.extract.unsupported_ops import all_nodes, is_supported
    from flowc.graph.capabilities import capability_of, is_path_given
    from flowc.graph.op_info import has_trait

    needing: dict[str, list[tuple[str, str]]] = {}
    at_fed_paths: list[tuple[str, str]] = []
    unknown: list[tuple[str, str]] = []
    nodes = list(all_nodes(graph))
    paths = GivenPaths(graph, nodes, lambda tensor: has_trait(tensor.op.type, "fed"))
    for name, node in nodes:
        capability = capability_of(node.type)
        if capability is not None and is_path_given(node, capability, paths.begins_with_given):
            at_fed_paths.append((name, node.type))
        elif capability is not None:
            needing.setdefault(capability.name, []).append((name, node.type))
        elif not is_supported(node.type) and node.type not in graph.functions:
            unknown.append((name, node.type))
    return {
        "schema": SCHEMA,
        "path": graph.source.path,
        "nodes": len(nodes),
        "functions": len(graph.functions),
        "capabilities": {name: grouped(found) for name, found in sorted(needing.items())},
        "files_that_callers_name": grouped(at_fed_paths),
        "unknown_ops": _with_custom_marked(grouped(unknown)),
    }


def _with_custom_marked(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows of ops without a record, each with `custom`: whether TensorFlow does not have the op."""
    if not rows:
        return rows
    from flowc.encoding.tensorflow_ops import tensorflow_ops

    known = tensorflow_ops()
    return {op_type: {**row, "custom": op_type not in known} for op_type, row in rows.items()}


def _lines(found: dict[str, Any]) -> list[str]:
    """What `scan` found, as lines of text."""
    from flowc.ir.capability import ALL

    lines = [f"{found['path']}: {found['nodes']:,} nodes, {found['functions']} functions"]
    for name, rows in found["capabilities"].items():
        lines += [f"{name}: {ALL[name].does}", *_rows(rows)]
    if found["files_that_callers_name"]:
        lines.append("no finding: reads or writes files whose names are fed, and no others")
        lines += _rows(found["files_that_callers_name"])
    own = {t: row for t, row in found["unknown_ops"].items() if not row["custom"]}
    custom = {t: row for t, row in found["unknown_ops"].items() if row["custom"]}
    if own:
        lines += ["ops of TensorFlow that flowc has no record of", *_rows(own)]
    if custom:
        lines += ["custom ops, which TensorFlow does not have", *_rows(custom)]
    if not (found["capabilities"] or found["unknown_ops"]):
        lines.append("every other node only computes" if lines[1:] else "every node only computes")
    return lines


def _rows(rows: dict[str, dict[str, Any]]) -> list[str]:
    found: list[str] = []
    for op_type, row in rows.items():
        more = ", ..." if row["count"] > NAMES_SHOWN else ""
        found.append(f"  {op_type} ({row['count']}): {', '.join(row['nodes'][:NAMES_SHOWN])}{more}")
    return found
