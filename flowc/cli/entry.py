"""From arguments to a command, and from an error to a message and an exit code.

In: the arguments. Out: an exit code. Invariants: results go to stdout and all else to stderr; a
user sees a traceback only with --debug; `--help` and `--version` import no command.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from flowc.dataclass import dataclass
from flowc.errors import (
    FlowcError,
    InternalError,
    InvalidArgumentError,
    InvalidModelError,
    ResourceExhaustedError,
    UnavailableError,
    did_you_mean,
)
from flowc.version import FLOWC_VERSION

# Name of a command -> what it does; its module and its function have the same name.
COMMANDS = {
    "compile": "Compile a model to a shared library.",
    "run": "Run a model or a compiled library.",
    "check": "Say what stands in the way of compiling a model, and what compiles.",
    "bench": "Measure how fast a model or a library runs.",
    "inspect": "Show what a model holds, and what flowc can compile of it.",
    "scan": "List what a model could do beyond computing.",
    "freeze": "Write a model with constants in place of variables.",
    "extract": "Write the part of a model between inputs and outputs.",
    "edit": "Replace, rewire, rename or remove nodes of a model.",
    "ops": "List the TensorFlow ops that flowc knows.",
    "config": "Print compiler flags for C++ programs with Sessions.",
    "cache": "Show or empty the cache of compiled programs.",
    "doctor": "Say whether this machine has what flowc needs.",
    "completion": "Print what a shell needs to complete commands.",
}

# Options of one meaning, of which a command has one or two.
_MEANINGS = (
    ("--fetch", "--fetches", "--output", "--outputs"),
    ("--input", "--inputs", "--feed", "--feeds"),
)
USAGE, BUG, INTERRUPTED = 2, 70, 130
BAD_INPUT, RESOURCES = 4, 5
_FULL = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
)


@dataclass(slots=True)
class Invocation:
    """What holds for one call of the program. `debug`: show tracebacks."""

    debug: bool = False


class _Commands(click.Group):
    """Commands whose modules are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"flowc.cli.{cmd_name}"), f"{cmd_name}_command")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = (
                did_you_mean(name, COMMANDS, least=0.75)
                or f"the commands are {', '.join(COMMANDS)}"
            )
            raise click.UsageError(f"no command is named {name!r}\n  try: {near}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 scan or bench found something, 2 usage, 3 unsupported, 4 bad "
    "input, 5 out of memory, disk or tools, 70 a fault of flowc.",
)
@click.version_option(FLOWC_VERSION, prog_name="flowc", message="%(prog)s %(version)s")
@click.pass_context
def flowc(context: click.Context) -> None:
    """Compile TensorFlow models to native libraries, without TensorFlow."""
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        context.exit(USAGE)


def run_command_line(args: Sequence[str]) -> int:
    """Runs one command. Returns its exit code; every error ends as a message on stderr."""
    invocation = Invocation()
    try:
        # In this mode click hands back the code of an early exit, such as after --help.
        result = flowc.main(list(args), "flowc", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        _leave_pipe()
        return 0
    except (Exception, KeyboardInterrupt) as error:
        # What is imported may turn an interrupt into an error of its own.
        if any(isinstance(e, KeyboardInterrupt | click.Abort) for e in _chain(error)):
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        assert isinstance(error, Exception)
        if invocation.debug:
            import traceback

            traceback.print_exc()
        text, code = described(error)
        print(text, file=sys.stderr)
        return code


def _leave_pipe() -> None:
    """The reader has gone: what is still in the buffer must not be written at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def described(error: Exception) -> tuple[str, int]:
    """The message and the exit code of an error."""
    if isinstance(error, click.ClickException):
        if isinstance(error, click.NoSuchOption) and (meant := _same_meaning(error)):
            text = f"No such option {error.option_name!r}. Did you mean {' or '.join(meant)}?"
            error = click.UsageError(text, error.ctx)
        return _usage(error), USAGE
    if isinstance(error, FlowcError) and not (
        isinstance(error, InternalError) and _is_short(error)
    ):
        text = f"error[{error.code}]: {error}"
        if isinstance(error, InternalError):
            text += f"\n  {_BUG if error.report is None else _REPORTED}"
        return text, error.exit_code
    if _is_short(error):
        text = str(error) if isinstance(error, MemoryError) else ""
        text = text or "there is not enough memory to run flowc"
        return f"error[{ResourceExhaustedError.code}]: {text}", RESOURCES
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        code = RESOURCES if error.errno in _FULL else BAD_INPUT
        return f"error[FL0601]: {where}{error.strerror}", code
    from flowc_runtime import errors as runtime

    if isinstance(error, runtime.ModelError):
        kinds = {runtime.LoadError: InvalidModelError, runtime.UnavailableError: UnavailableError}
        kind = kinds.get(type(error), InvalidArgumentError)
        return f"error[{kind.code}]: {error}", kind.exit_code
    return (
        f"error[{InternalError.code}]: {type(error).__name__}: {error}\n  {_BUG}",
        BUG,
    )


def _same_meaning(error: click.NoSuchOption) -> list[str]:
    """The options of the command that mean what the one that it does not have means elsewhere."""
    known = [o for p in error.ctx.command.params for o in p.opts] if error.ctx else []
    same = [names for names in _MEANINGS if error.option_name in names]
    return [repr(option) for names in same for option in names if option in known]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what it came from, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_short(error: BaseException) -> bool:
    """Whether an error came from a lack of memory: the runtime's own error is a MemoryError, what
    loads libraries only says it in words, and an interpreter that finds none raises anything."""
    return any(
        isinstance(e, MemoryError) or any(words in str(e).lower() for words in _NO_ROOM)
        for e in _chain(error)
    ) or (isinstance(error, SystemError | TypeError | InternalError) and _has_met_its_limit())


def _has_met_its_limit() -> bool:
    """Whether the process was given a limit of memory and has come near it, or finds no memory to
    look."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return False
    try:
        status = Path("/proc/self/status").read_text()
    except MemoryError:
        return True
    peak = next((line.split()[1] for line in status.splitlines() if "VmPeak" in line), "0")
    return int(peak) * 1024 > 0.9 * limit


_NO_ROOM = ("failed to map segment", "cannot allocate memory", "can't start new thread")
_BUG = "this is a fault of flowc: please report it with what --debug prints"
_REPORTED = "this is a fault of flowc: please report it with the files of that folder"


def _usage(error: click.ClickException) -> str:
    context: Any = getattr(error, "ctx", None)
    text = f"error[FL0100]: {error.format_message()}"
    if context is not None and "\n  try: " not in text:
        text += f"\n  try: {context.command_path} --help"
    return text


def set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> bool:
    """The callback of every command's --debug."""
    invocation = context.find_object(Invocation)
    if value and invocation is not None:
        invocation.debug = True
    return value
