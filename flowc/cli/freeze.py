"""`flowc freeze`: a model with its variables as constants -> a GraphDef."""

from __future__ import annotations

from pathlib import Path

import click

from flowc.cli.parameters import (
    allow_option,
    debug_option,
    force_option,
    init_option,
    model_options,
)


@click.command("freeze")
@click.argument("model")
@click.option("-o", "--out", required=True, metavar="OUT.pb", help="The GraphDef; .pbtxt, .json.")
@click.option(
    "--outputs",
    multiple=True,
    metavar="NAME,...",
    help="Tensors or nodes that stay, with all that they need.  [default: as of flowc compile]",
)
@click.option("--keep", multiple=True, metavar="NAME,...", help="Variables that stay variables.")
@click.option("--clear-devices", is_flag=True, help="No node says where it runs.")
@model_options
@init_option
@allow_option
@force_option
@debug_option
def freeze_command(
    model: str,
    out: str,
    outputs: tuple[str, ...],
    keep: tuple[str, ...],
    clear_devices: bool,
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    inits: tuple[str, ...],
    allow: tuple[str, ...],
    force: bool,
) -> None:
    """Freeze MODEL: a GraphDef with the checkpoint's values in place of variables.

    Only what the outputs need stays: collections, signatures and savers are not in a GraphDef.
    """
    from flowc.cli.changed_models import check_free, names, say
    from flowc.cli.models import load_model
    from flowc.errors import UnknownNameError, did_you_mean
    from flowc.extract.interface import choose_ends
    from flowc.tools.freeze_graph import frozen_graph_def
    from flowc.tools.model_file import read_model_file, write_message

    check_free(Path(model), Path(out), force)
    graph = load_model(model, (checkpoint, tags, signature, allow_links), allow)
    fetches, targets, source = choose_ends(graph, names(outputs) or None)
    ends = list(dict.fromkeys(f.tensor.op.name for f in fetches))
    ends += [op.name for op in targets]
    graph_def = read_model_file(Path(model), tags, allow_links).graph_def
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    kept = names(keep)
    known = {node.name for node in graph_def.node}
    for name in kept:
        if name not in known:
            raise UnknownNameError(
                f"--keep {name}: no node of that name", hint=did_you_mean(name, known)
            )
    frozen = frozen_graph_def(graph, graph_def, ends, inits, None, kept)
    before = {node.name: node.op for node in graph_def.node}
    constants = [n.name for n in frozen.node if n.op == "Const"]
    variables = [name for name in constants if before.get(name, "Const") != "Const"]
    notes = [
        f"outputs, {'given' if outputs else f'from the {source}'}: {', '.join(ends)}",
        f"froze {len(variables)} variables"
        + (": " + ", ".join(variables[:5]) + ", ..." * (len(variables) > 5)) * bool(variables),
        f"kept {len(frozen.node)} of {len(before)} nodes",
    ]
    write_message(frozen, Path(out))
    say(notes, Path(out))
