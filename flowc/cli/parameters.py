"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from flowc.cli.entry import set_debug

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

debug_option = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=set_debug,
    help="Show the traceback of an error.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
threads_option = click.option(
    "--threads",
    type=click.IntRange(0, 1024),
    default=0,
    metavar="N",
    help="Threads of a run; 0, the default, is one a core.",
)


class Bytes(click.ParamType):
    """A number of bytes: 4096, 512M, 2G."""

    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().upper()
        power = "KMGT".find(text[-1:]) + 1 if text else 0
        digits = text[:-1] if power else text
        if not digits.isdecimal() or not int(digits):
            self.fail(f"{value!r} is no number of bytes, such as 4096, 512M or 2G", param, ctx)
        return int(digits) << 10 * power


memory_option = click.option(
    "--max-memory",
    type=Bytes(),
    metavar="BYTES",
    help="What a run of a model may take beside weights and inputs: 512M, 2G.  [default: what the "
    "machine has]",
)


input_option = click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An input: x=FILE.npy, x=FILE.npz, or a literal such as x=[[1,2],[3,4]].",
)


feed_option = click.option(
    "--feed",
    "feeds",
    multiple=True,
    metavar="NAME[=DTYPE[DIMS]]",
    help="An input: x=f32[batch,784]. Named sizes stay dynamic.",
)


fetch_option = click.option(
    "--fetch",
    "fetches",
    multiple=True,
    metavar="NAME",
    help="An output: scope/op:0; or an operation that every run does.",
)


init_option = click.option(
    "--init",
    "inits",
    multiple=True,
    metavar="OP",
    help="An operation to run first; what it assigns are the variables' first values.",
)


allow_option = click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["files", "network", "python", "print"]),
    help="What the model's nodes may do beyond computing.",
)


set_option = click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="An input that is a constant in the library: keep=1.0, x=FILE.npy.",
)


target_option = click.option(
    "--target",
    default="native",
    show_default=True,
    metavar="T",
    help="native, x86-64-v2, x86-64-v3, x86-64-v4; cuda:sm_80,sm_90[,CPU] for GPUs.",
)

# What a command line must say again that is to mean the same model.
_OF_THE_MODEL = ("--checkpoint", "--tag", "--signature", "--allow-links", "--op-library")
_OF_THE_PROGRAM = ("--set", "--init", "--allow", "--target", "--exact", "--tune")
_OP_LIBRARIES = "flowc.op_libraries"


def options_given(signature: str | None) -> list[str]:
    """The words of the running command that say which model and which program of it are meant, for
    the command lines that it prints. `signature`: the one that is looked at, of several."""
    ctx = click.get_current_context(silent=True)
    words: list[str] = []
    if ctx is None:
        return words
    for option in ctx.command.params:
        name = option.name or ""
        values = ctx.meta.get(_OP_LIBRARIES, ()) if name == "op_library" else ctx.params.get(name)
        if option.opts[0] not in _OF_THE_MODEL + _OF_THE_PROGRAM or values == option.default:
            continue
        if isinstance(values, bool):
            words += [option.opts[0]] if values else []
            continue
        if name == "signature" and signature is not None:
            values = signature
        for value in (values,) if isinstance(values, str) else values or ():
            words += [option.opts[0], value]
    return words


def _load_op_libraries(ctx: click.Context, _: click.Parameter, paths: tuple[str, ...]) -> None:
    if paths:
        ctx.meta[_OP_LIBRARIES] = paths
        from flowc.extending.op_library import load_op_library

        for path in paths:
            load_op_library(path)


op_library_option = click.option(
    "--op-library",
    multiple=True,
    metavar="FILE",
    expose_value=False,
    callback=_load_op_libraries,
    help="Ops and kernels in C to load and run: a .so, or a .a or .o, which libraries link.",
)


def signatures_named(text: str | None) -> list[str]:
    """The signatures of `a,b`; none for the default one."""
    return [s.strip() for s in (text or "").split(",") if s.strip()]


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What says which graph of a model is meant, and with which weights."""
    options: tuple[Decorator, ...] = (
        click.option(
            "--checkpoint",
            metavar="P",
            help="Prefix, file or folder of the checkpoint with the variables.  [default: the one "
            "beside the model]",
        ),
        click.option("--tag", "tags", metavar="T", help="Tags of a SavedModel's graph: a,b."),
        click.option("--signature", metavar="S", help="A signature of the model."),
        click.option(
            "--allow-links", is_flag=True, help="Follow links that lead out of the model's folder."
        ),
        op_library_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


force_option = click.option("--force", is_flag=True, help="Replace a file that is there.")


def changed_model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What says which graph of a model is changed, and where the new model goes."""
    options: tuple[Decorator, ...] = (
        click.option(
            "-o",
            "--out",
            required=True,
            metavar="OUT",
            help="The new model, of MODEL's kind; a file in the form of its ending: .pb, .meta, "
            ".pbtxt, .json.",
        ),
        click.option("--tag", "tags", metavar="T", help="Tags of a SavedModel's graph: a,b."),
        click.option(
            "--allow-links", is_flag=True, help="Follow links that lead out of the model's folder."
        ),
        force_option,
        op_library_option,
    )
    for option in reversed(options):
        function = option(function)
    return function
