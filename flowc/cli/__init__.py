"""The command line: argument handling only, one file a command.

`main` is what the console script calls. Importing this costs nothing: click comes with the first
command, NumPy and the compiler with the command that needs them.
"""

from __future__ import annotations


def main() -> None:
    """Runs the command that `sys.argv` names and exits with its code."""
    import sys

    try:
        from flowc.cli.entry import run_command_line

        code = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:  # before there was anything to end
        print("interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)
