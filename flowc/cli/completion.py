"""`flowc completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click

from flowc.cli.parameters import debug_option

WHERE = {
    "bash": 'eval "$(flowc completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(flowc completion zsh)" in ~/.zshrc',
    "fish": "flowc completion fish > ~/.config/fish/completions/flowc.fish",
}


@click.command("completion", epilog="; ".join(WHERE.values()))
@click.argument("shell", type=click.Choice(list(WHERE)))
@debug_option
def completion_command(shell: str) -> None:
    """Print the script with which SHELL completes commands and options of flowc."""
    from click.shell_completion import get_completion_class

    from flowc.cli.entry import flowc

    found = get_completion_class(shell)
    assert found is not None, shell
    print(found(flowc, {}, "flowc", "_FLOWC_COMPLETE").source())
