"""Writes `docs/flowc.1`, the page that `man flowc` shows, from the commands themselves.

`python tests/support/pages/man_page.py` writes it, `--check` compares.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from flowc.cli.entry import COMMANDS, flowc
from flowc.version import FLOWC_VERSION

PAGE = Path(__file__).parents[3] / "docs" / "flowc.1"
_FILES = """\
.SH ENVIRONMENT
.TP
.B FLOWC_CACHE_DIR
The folder of the cache of programs.
.TP
.B FLOWC_CACHE_SIZE
How large it may grow.
.TP
.B FLOWC_CACHE
0: no cache.
.TP
.B CC
The C compiler that links libraries.
.SH EXIT STATUS
0 done, 1 scan or bench found something, 2 usage, 3 unsupported, 4 bad input, 5 out of memory, disk
or tools, 70 a fault of flowc, 130 interrupted.
.SH SEE ALSO
The guide in docs/guide of the source.
"""


def man_page() -> str:
    """The whole page."""
    parts = [
        f'.TH FLOWC 1 "" "flowc {FLOWC_VERSION}" "User Commands"',
        ".SH NAME\nflowc \\- compile TensorFlow models to native libraries, without TensorFlow",
        ".SH SYNOPSIS\n.B flowc\n.I COMMAND\n[\\fIARGS\\fR]...",
        f".SH DESCRIPTION\n{_escaped(flowc.help or '')}",
        ".SH COMMANDS",
        *(part for name in COMMANDS for part in _command(name)),
    ]
    return "\n".join(parts) + "\n" + _FILES


def _command(name: str) -> Iterator[str]:
    context = click.Context(flowc, info_name="flowc", **flowc.context_settings)
    command = flowc.get_command(context, name)
    assert command is not None
    inner = click.Context(command, info_name=name, parent=context)
    usage = " ".join(command.collect_usage_pieces(inner))
    yield f".SS flowc {name} {_escaped(usage)}"
    for paragraph in re.split(r"\n\s*\n", command.help or ""):
        yield f".PP\n{_escaped(' '.join(paragraph.split()))}"
    for parameter in command.get_params(inner):
        record = parameter.get_help_record(inner)
        if record is not None and record[1]:
            yield f".TP\n.B {_escaped(record[0])}\n{_escaped(record[1])}"
    if command.epilog:
        yield f".PP\n{_escaped(command.epilog)}"


def _escaped(text: str) -> str:
    found = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", found)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text() != man_page())
    PAGE.write_text(man_page())
