"""`flowc inspect`: what a model holds, and what flowc can compile of it."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import debug_option, json_option, model_options
from flowc.ir.text.shape_text import shown_dims

if TYPE_CHECKING:
    from flowc.graph import Graph, Tensor
    from flowc.graph.signature import TensorInfo

# The name that users know, the tensor, its type as text.
Port = tuple[str, "Tensor", str]

SCHEMA = 1
NAMES_SHOWN = 3


@click.command("inspect")
@click.argument("model")
@model_options
@json_option
@debug_option
def inspect_command(
    model: str,
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    as_json: bool,
) -> None:
    """Show the format, inputs, outputs, signatures and ops of MODEL, and what flowc cannot compile.

    MODEL may also be a library made by `flowc compile`.
    """
    from flowc.cli.run import is_library

    if is_library(model):
        found = _library(model)
    else:
        from flowc.cli.models import load_model

        found = described(load_model(model, (checkpoint, tags, signature, allow_links)))
    if as_json:
        json.dump(found, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(found)))


def _library(path: str) -> dict[str, Any]:
    """All that `inspect` says of a library, as plain data."""
    from flowc_runtime.library import described_library

    place = os.path.abspath(path)
    functions, known = described_library(place)
    weights = Path(f"{path}.weights")
    check = getattr(functions, "flowc_check_weights", None)
    fault = functions.flowc_last_error().decode() if check is not None and check() else None
    found = {
        "schema": SCHEMA,
        "path": path,
        "format": "compiled library",
        "flowc": known["flowc"],
        "abi": functions.library.flowc_abi_version(),
        "model": known.get("model"),
        "target": known.get("target"),
        "threads": functions.flowc_get_threads(),
        "prefix": known.get("prefix", "flowc"),
        "needs_instance": known.get("needs_instance", bool(known.get("variables"))),
        "objects": list(known.get("objects", ())),
        "bytes": {"model": os.path.getsize(path), "weights": known["weights_bytes"]},
        "weights_file": str(weights) if weights.is_file() else None,
        "weights_fault": fault,
        **_library_ports(known),
    }
    if "signatures" in known:
        found["signatures"] = {
            name: {"prefix": prefix, **_library_ports(described_library(place, name)[1])}
            for name, prefix in known["signatures"].items()
        }
    return found


def _library_ports(known: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    return {
        side: [{"name": p["name"], "type": _typed(p["dtype"], p["dims"])} for p in known[side]]
        for side in ("inputs", "outputs", "variables")
    }


def described(graph: Graph) -> dict[str, Any]:
    """All that `inspect` says of a Graph, as plain data."""
    from flowc.extract.unsupported_ops import (
        all_nodes,
        faults_of,
        is_supported,
        needed_nodes,
    )
    from flowc.importer.metagraph import INTERNAL_SIGNATURES
    from flowc.importer.read_model import variables_without_value
    from flowc.importer.variables import variable_operations

    source = graph.source
    everything = list(all_nodes(graph))
    nodes = [(name, node.type) for name, node in everything]
    histogram = Counter(op_type for _, op_type in nodes)
    inputs, outputs, defaults, problem = _ports_of(graph)
    feeds, fetches = [t for _, t, _ in inputs], [t for _, t, _ in outputs]
    needed = [(name, node.type) for name, node in needed_nodes(graph, fetches, [], feeds)]
    needed_names = {name for name, _ in needed}
    cannot = grouped(n for n in needed if not is_supported(n[1]))
    return {
        "schema": SCHEMA,
        "path": source.path,
        "format": f"{source.kind}, {source.encoding}",
        "tags": list(source.tags),
        "checkpoint": source.checkpoint,
        "missing_index": source.missing_index,
        "bytes": _sizes(source.path, source.checkpoint),
        "nodes": len(nodes),
        "functions": len(graph.functions),
        "variables": len(variable_operations(graph)),
        "variables_without_value": variables_without_value(graph),
        "signature": source.signature,
        "signatures": {
            name: _signature(graph, name)
            for name in graph.signatures
            if name not in INTERNAL_SIGNATURES
        },
        "inputs": [{"name": n, "tensor": t.name, "type": text} for n, t, text in inputs],
        "outputs": [{"name": n, "tensor": t.name, "type": text} for n, t, text in outputs],
        "defaults": defaults,
        "no_default": problem,
        "ops": dict(histogram.most_common()),
        "needed_nodes": len(needed),
        "cannot_compile": cannot,
        "not_in_a_library": not (problem or cannot) and _needs_python(graph),
        "malformed": [
            {
                "node": fault.node,
                "op": fault.op_type,
                "fault": fault.text,
                "needed": name in needed_names,
            }
            for name, node in everything
            for fault in faults_of(name, node)
        ],
        "elsewhere": grouped(n for n in nodes if not is_supported(n[1])),
    }


def _ports_of(graph: Graph) -> tuple[list[Port], list[Port], list[dict[str, str]], str | None]:
    """The default inputs and outputs, each with its type, and the inputs that have a value where
    nobody feeds them; where a type must be given first, the placeholders as they are, and what the
    problem is."""
    from flowc.cli.models import shown_value
    from flowc.errors import FlowcError
    from flowc.extract.interface import choose_interface, default_fetches, is_placeholder
    from flowc.extract.set_inputs import defaults_of
    from flowc.extract.size_unification import with_joined_sizes

    try:
        chosen = with_joined_sizes(graph, choose_interface(graph))
        inputs = [(f.name, f.tensor, str(f.type)) for f in chosen.feeds]
        outputs = [(f.name, f.tensor, _type_text(f.tensor)) for f in chosen.fetches]
        defaults = [
            {"name": f.name, "type": str(f.type), "value": shown_value(f.value)}
            for f in defaults_of(chosen)
        ]
        return inputs, outputs, defaults, None
    except FlowcError as error:
        problem = str(error)
    starts = [op for op in graph.get_operations() if is_placeholder(op)]
    inputs = [(op.name, op.output(0), _type_text(op.output(0))) for op in starts]
    try:
        fetches = default_fetches(graph)[0]
    except FlowcError:
        fetches = []
    return inputs, [(f.name, f.tensor, _type_text(f.tensor)) for f in fetches], [], problem


def _needs_python(graph: Graph) -> bool:
    """Whether the default outputs can be had in a Session and not from a library."""
    from flowc.errors import FlowcError, UnsupportedError
    from flowc.extract.host_steps import host_steps
    from flowc.extract.set_inputs import choose_interface_with
    from flowc.extract.size_unification import extract_fetches

    try:
        chosen = choose_interface_with(graph, None, None, None, {})
        if host_steps(extract_fetches(graph, chosen)[1].computation):
            from flowc.compiler import check_library
            from flowc.options import Options

            check_library(graph, chosen, Options())  # some of them may be folded
    except UnsupportedError:
        return True
    except FlowcError:
        return False
    return False


def grouped(nodes: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Op type -> how many nodes, and their names."""
    found: dict[str, list[str]] = {}
    for name, op_type in nodes:
        found.setdefault(op_type, []).append(name)
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return {t: {"count": len(names), "nodes": names} for t, names in ordered}


def _sizes(path: str, checkpoint: str | None) -> dict[str, int]:
    model = Path(path)
    if model.is_dir():
        own = sum(p.stat().st_size for p in model.glob("saved_model.*"))
    else:
        own = model.stat().st_size
    found = {"model": own}
    if checkpoint is not None:
        prefix = Path(checkpoint)
        found["checkpoint"] = sum(
            p.stat().st_size for p in prefix.parent.glob(f"{prefix.name}.*") if p.suffix != ".meta"
        )
    return found


def _signature(graph: Graph, name: str) -> dict[str, Any]:
    signature = graph.signatures[name]
    return {
        "method": signature.method,
        "inputs": {k: _info(v) for k, v in signature.inputs.items()},
        "outputs": {k: _info(v) for k, v in signature.outputs.items()},
    }


def _info(info: TensorInfo) -> dict[str, str]:
    return {
        "tensor": info.name or ", ".join(info.parts.values()),
        "type": _type_text(info),
    }


def _type_text(tensor: Tensor | TensorInfo) -> str:
    return _typed("?" if tensor.dtype is None else tensor.dtype.short, tensor.shape.sizes)


def _typed(dtype: str, sizes: Iterable[Any] | None) -> str:
    return dtype + shown_dims(sizes, "[...]")


def _lines(found: dict[str, Any]) -> list[str]:
    """What `inspect` found, as lines of text."""
    sizes = ", ".join(f"{k} {v:,} bytes" for k, v in found["bytes"].items())
    lines = [f"{found['path']}: {found['format']}", f"  size        {sizes}"]
    if "ops" not in found:
        return lines + _library_lines(found)
    if found["tags"]:
        lines.append(f"  tags        {', '.join(found['tags'])}")
    none = f"none: there is no {found['missing_index']}" if found["missing_index"] else "none"
    lines.append(f"  checkpoint  {found['checkpoint'] or none}")
    lines.append(
        f"  holds       {found['nodes']:,} nodes, {found['functions']} functions, "
        f"{found['variables']} variables"
    )
    without = found["variables_without_value"]
    if without:
        lines.append(f"  no value    {len(without)} variables: {_some(without)}")
    for name, signature in found["signatures"].items():
        if name == found["signature"] and _is_below(signature, found):
            lines.append(f"signature {name} (default): the inputs and outputs below")
            continue
        lines.append(f"signature {name}")
        for side in ("inputs", "outputs"):
            rows = [{"name": k, **v} for k, v in signature[side].items()]
            lines += _ports(f"  {side}", rows)
    for row in found["malformed"]:
        lines.append(f"malformed: node '{row['node']}' ({row['op']}): {row['fault']}")
    if found["no_default"]:
        lines.append(f"not compiled as it is: {found['no_default']}")
    lines += _ports("inputs", found["inputs"])
    if found["defaults"]:
        lines.append("inputs with a default (constants, unless --feed names them)")
        lines += [f"  {d['name']}: {d['type']} = {d['value']}" for d in found["defaults"]]
    return lines + _ports("outputs", found["outputs"]) + _op_lines(found)


def _is_below(signature: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether the inputs and outputs that are listed for the whole model are a signature's."""
    return not found["no_default"] and all(
        list(signature[side]) == [row["name"] for row in found[side]]
        for side in ("inputs", "outputs")
    )


def _library_lines(found: dict[str, Any]) -> list[str]:
    prefixes = dict.fromkeys((found["prefix"], "flowc"))  # the same in a library of an older flowc
    where = "an instance (model.new_instance())" if found["needs_instance"] else "itself"
    lines = [
        f"  made by     flowc {found['flowc']}, ABI {found['abi']}"
        + (f", of {found['model']}" if found["model"] else ""),
        f"  target      {found['target'] or 'not said'}",
        f"  threads     {found['threads']}",
        f"  weights     {found['weights_fault'] or found['weights_file'] or 'inside'}",
        f"  functions   {'; '.join(f'{p}_run, ...' for p in prefixes)}",
        f"  runs in     {where}",
    ]
    if found["objects"]:
        lines.append(f"  objects     {', '.join(found['objects'])}")
    for name, row in found.get("signatures", {}).items():
        if row["prefix"] == found["prefix"]:
            lines.append(
                f"signature {name} (default): {row['prefix']}_run, ...; the inputs and outputs "
                "below"
            )
            continue
        lines.append(f"signature {name}: {row['prefix']}_run, ...")
        lines += _ports("  inputs", row["inputs"]) + _ports("  outputs", row["outputs"])
    sides = [
        side for side in ("inputs", "outputs", "variables") if found[side] or side != "variables"
    ]
    return lines + [line for side in sides for line in _ports(side, found[side])]


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")


def _ports(title: str, rows: list[dict[str, str]]) -> list[str]:
    indent = " " * (len(title) - len(title.lstrip()) + 2)
    lines = [title]
    for row in rows:
        tensor = row.get("tensor", row["name"])
        shown = "" if tensor.removesuffix(":0") == row["name"] else f"  ({tensor})"
        lines.append(f"{indent}{row['name']}: {row['type']}{shown}")
    return lines


def _op_lines(found: dict[str, Any]) -> list[str]:
    lines = [f"ops ({len(found['ops'])} types)"]
    cannot, elsewhere = found["cannot_compile"], found["elsewhere"]
    for op_type, count in found["ops"].items():
        mark = "  cannot compile" if op_type in elsewhere else ""
        if mark and found["needed_nodes"] and op_type not in cannot:
            mark += " (not in these outputs)"
        lines.append(f"  {count:6}  {op_type}{mark}")
    if not found["needed_nodes"]:
        return lines
    faulty = {row["node"] for row in found["malformed"] if row["needed"]}
    if faulty:
        are = "nodes are" if len(faulty) > 1 else "node is"
        lines.append(
            f"flowc cannot compile these outputs: {len(faulty)} {are} malformed (see above)"
        )
    elif not cannot:
        nodes = f"{found['needed_nodes']:,} nodes"
        if found["not_in_a_library"]:
            lines.append(
                f"flowc can run these outputs in a Session: {nodes}; not in a library: flowc check "
                + shlex.quote(found["path"])
            )
        else:
            lines.append(f"flowc can compile these outputs: {nodes}")
    else:
        total = sum(row["count"] for row in cannot.values())
        lines.append(f"flowc cannot compile these outputs: {total} nodes stand in the way")
        for op_type, row in cannot.items():
            lines.append(f"  {op_type} ({row['count']}): {_some(row['nodes'])}")
    return lines
