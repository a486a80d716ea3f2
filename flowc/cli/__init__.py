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
    if code == 130:
        _leave_now(code)
    sys.exit(code)


def _leave_now(code: int) -> None:
    """Ends the process though threads of it compile: Python would wait for the step that each is
    at. What the command had begun to write is gone already."""
    import os
    import sys
    from contextlib import suppress

    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
