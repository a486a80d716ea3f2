"""`flowc edit`: a model with other ops, inputs, attrs or names -> a model."""

from __future__ import annotations

import click

from flowc.cli.parameters import changed_model_options, debug_option


@click.command("edit")
@click.argument("model")
@click.option(
    "--replace", "replaced", multiple=True, metavar="OP=NEWOP", help="Nodes of OP become NEWOP."
)
@click.option(
    "--where",
    multiple=True,
    metavar="FIELD~REGEX",
    help="Only those whose name, device or an input has it: name~^embedding/.",
)
@click.option(
    "--rewire",
    "rewired",
    multiple=True,
    metavar="NODE:INPUT=TENSOR",
    help="Another input, by its number or name; without TENSOR the input goes.",
)
@click.option(
    "--set-attr",
    "attrs",
    multiple=True,
    metavar="NODE:ATTR=VALUE",
    help="An attr of a node, or of all nodes of an op: float32, 3, true, SAME, [2,?].",
)
@click.option("--remove", "removed", multiple=True, metavar="NODE", help="A node that goes.")
@click.option("--rename", "renamed", multiple=True, metavar="NODE=NAME", help="Another name.")
@changed_model_options
@debug_option
def edit_command(
    model: str,
    replaced: tuple[str, ...],
    where: tuple[str, ...],
    rewired: tuple[str, ...],
    attrs: tuple[str, ...],
    removed: tuple[str, ...],
    renamed: tuple[str, ...],
    out: str,
    tags: str | None,
    allow_links: bool,
    force: bool,
) -> None:
    """Edit nodes of MODEL: a GraphDef, a MetaGraphDef (.meta) or a SavedModel folder.

    Names are those that MODEL has. Ops are replaced first, then inputs, attrs, removals and names;
    attrs that follow from a replaced node's inputs and outputs are filled in. Collections,
    signatures and the saver go with their nodes; what goes is said. A checkpoint stays where it is.

    flowc edit m.meta --replace GatherV2=MyLookup --where name~^embedding/ -o new.meta
    """
    from flowc.cli.changed_models import change_model, pairs
    from flowc.errors import UsageError
    from flowc.tools.node_edits import FIELDS, NodeEdits, edit_model

    found = NodeEdits(
        replaced=pairs("--replace", replaced, "="),
        where=pairs("--where", where, "~"),
        rewired=[
            (*split_input(left, text), right)
            for text in rewired
            for left, right in pairs("--rewire", [text], "=", may_be_empty=True)
        ],
        attrs=[
            (*split_input(left, text), right)
            for text in attrs
            for left, right in pairs("--set-attr", [text], "=", may_be_empty=True)
        ],
        removed=removed,
        renamed=pairs("--rename", renamed, "="),
    )
    for field, _ in found.where:
        if field not in FIELDS:
            raise UsageError(f"--where {field}~: no field of that name", hint=" or ".join(FIELDS))
    if not (replaced or rewired or attrs or removed or renamed):
        raise UsageError("nothing is to be edited", hint="--replace OP=NEWOP")
    change_model(model, out, tags, allow_links, force, lambda m: edit_model(m, found))


def split_input(left: str, text: str) -> tuple[str, str]:
    """`node:input` as its two parts. Raises `UsageError`."""
    from flowc.errors import UsageError

    node, colon, part = left.rpartition(":")
    if not colon or not node or not part:
        raise UsageError(f"{text!r}: expected NODE:INPUT or NODE:ATTR before the =")
    return node, part
