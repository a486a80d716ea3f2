"""`flowc extract`: the part of a model between inputs and outputs -> a model."""

from __future__ import annotations

import click

from flowc.cli.parameters import changed_model_options, debug_option


@click.command("extract")
@click.argument("model")
@click.option(
    "--outputs",
    required=True,
    multiple=True,
    metavar="NAME,...",
    help="Tensors or nodes that stay, with all that they need.",
)
@click.option(
    "--inputs",
    multiple=True,
    metavar="NAME,...",
    help="Tensors that become placeholders: what only they need goes.",
)
@changed_model_options
@debug_option
def extract_command(
    model: str,
    outputs: tuple[str, ...],
    inputs: tuple[str, ...],
    out: str,
    tags: str | None,
    allow_links: bool,
    force: bool,
) -> None:
    """Extract a sub-graph of MODEL: a GraphDef, a MetaGraphDef (.meta) or a SavedModel folder.

    Variables keep the nodes that initialize them. Collections, signatures and the saver stay where
    all their nodes do; what goes is said.
    """
    from flowc.cli.changed_models import change_model, names
    from flowc.tools.sub_graph import extract_model

    ends, begins = names(outputs), names(inputs)
    change_model(model, out, tags, allow_links, force, lambda m: extract_model(m, ends, begins))
