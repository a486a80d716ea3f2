"""`flowc config`: what a C++ compiler needs for programs that hold Sessions."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from flowc.cli.parameters import debug_option


@click.command("config")
@click.option("--cflags", is_flag=True, help="Print where flowc/session.h is.")
@click.option(
    "--libs", is_flag=True, help="Print how to link, with libflowc_rt.so built if need be."
)
@click.option(
    "--folder", metavar="DIR", help="Where libflowc_rt.so is to be.  [default: in flowc's cache]"
)
@debug_option
def config_command(cflags: bool, libs: bool, folder: str | None) -> None:
    """Print the flags of C++ programs with flowc/session.h; without options all of them.

    The library runs the Python that flowc is installed in: it is built, with the C compiler, when
    --libs asks for it. c++ program.cc $(flowc config --cflags --libs)
    """
    from flowc.cc.build import flags

    every = not (cflags or libs)
    found = flags(cflags or every, libs or every, None if folder is None else Path(folder))
    print(shlex.join(found))
