"""`flowc compile`: a model -> a shared library, its header, and every form in between."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from flowc.cli.parameters import (
    Bytes,
    allow_option,
    debug_option,
    feed_option,
    fetch_option,
    init_option,
    model_options,
    threads_option,
)

if TYPE_CHECKING:
    from flowc.aot import AotReport
    from flowc.cli.progress import Progress
    from flowc.codegen.compiled import CompiledProgram
    from flowc.compiler import Report
    from flowc.extract.interface import Interface
    from flowc.graph import Graph
    from flowc.ir.computation import Computation
    from flowc.ir.dims import Dim

DEFAULT_KINDS = "so,header"
# Endings that no library has.
OTHER_FILES = (
    *(".a", ".c", ".cc", ".cpp", ".h", ".hpp", ".index", ".ir", ".json", ".kernel", ".ll", ".md"),
    *(".meta", ".npy", ".npz", ".o", ".onnx", ".pb", ".pbtxt", ".plan", ".py", ".s", ".txt"),
    ".weights",
)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is to be written where."""

    out: Path
    kinds: tuple[str, ...]
    print_after: tuple[str, ...]
    target: str
    weights: Literal["embed", "file"]
    threads: int
    force: bool
    max_memory: int | None

    @property
    def to_stdout(self) -> bool:
        return str(self.out) == "-"


@click.command("compile")
@click.argument("model")
@click.option(
    "-o", "--out", required=True, metavar="OUT.so", help="The library; - prints texts of --emit."
)
@model_options
@feed_option
@fetch_option
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="An input that is a constant in the library: keep=1.0, x=FILE.npy.",
)
@init_option
@allow_option
@click.option(
    "--target",
    default="native",
    show_default=True,
    metavar="T",
    help="native, x86-64-v2, x86-64-v3 or x86-64-v4.",
)
@click.option(
    "--emit",
    default=(DEFAULT_KINDS,),
    multiple=True,
    show_default=True,
    metavar="KIND,...",
    help="so, header, py, kernel, ir, plan, llvm, asm, obj: each beside OUT.so.",
)
@click.option("--print-after", multiple=True, metavar="PASS", help="Print the IR after a pass.")
@threads_option
@click.option(
    "--weights",
    type=click.Choice(["embed", "file"]),
    default="embed",
    show_default=True,
    help="Inside the library, or in OUT.so.weights.",
)
@click.option("--force", is_flag=True, help="Replace files that flowc did not write.")
@click.option(
    "--max-memory",
    type=Bytes(),
    metavar="BYTES",
    help="What compiling may make beside the model's weights: 512M, 2G.  [default: what the "
    "machine has]",
)
@debug_option
def compile_command(
    model: str,
    out: str,
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    feeds: tuple[str, ...],
    fetches: tuple[str, ...],
    values: tuple[str, ...],
    inits: tuple[str, ...],
    allow: tuple[str, ...],
    target: str,
    emit: tuple[str, ...],
    print_after: tuple[str, ...],
    threads: int,
    weights: Literal["embed", "file"],
    force: bool,
    max_memory: int | None,
) -> None:
    """Compile MODEL to a shared library that needs libc alone.

    MODEL is a GraphDef, a MetaGraphDef (.meta) or a SavedModel folder. Inputs and outputs default
    to the signature, else to the placeholders and sinks; what was chosen is said.
    """
    from flowc.cli.models import load_model
    from flowc.cli.progress import progress

    _check_passes(print_after)
    kinds = _kinds(emit)
    wish = _Wish(Path(out), kinds, print_after, target, weights, threads, force, max_memory)
    _check_out(wish)
    with progress() as shown:
        place = (checkpoint, tags, signature, allow_links)
        read = partial(load_model, model, place, allow)
        _compile(read, (feeds, fetches, inits, values), wish, shown)


def _kinds(emit: tuple[str, ...]) -> tuple[str, ...]:
    from flowc.cli.emit import KINDS

    kinds = dict.fromkeys(k.strip() for text in emit for k in text.split(",") if k.strip())
    _check_known(kinds, KINDS, "--emit: no kind")
    return tuple(kinds)


def _check_passes(names: tuple[str, ...]) -> None:
    from flowc.passes.pipeline import NAMES

    _check_known(names, NAMES, "--print-after: no pass")


def _check_known(names: Iterable[str], known: Collection[str], none: str) -> None:
    from flowc.errors import UsageError, did_you_mean

    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"one of {', '.join(known)}"
            raise UsageError(f"{none} is named {name!r}", hint=hint)


def _check_out(wish: _Wish) -> None:
    """Before the long work, not after it."""
    from flowc.cli.emit import TEXTS
    from flowc.errors import UsageError
    from flowc.files.safe_write import check_place

    if wish.to_stdout:
        if not set(wish.kinds) <= set(TEXTS):
            raise UsageError("-o -: only texts can be printed", hint=f"--emit {'|'.join(TEXTS)}")
        return
    if wish.out.is_dir():
        raise UsageError(f"-o {wish.out}: this is a folder", hint=f"-o {wish.out / 'model.so'}")
    check_place(wish.out)
    if not wish.force:
        _check_foreign(wish)


def _check_foreign(wish: _Wish) -> None:
    """Raises `UsageError` where a file would be replaced that flowc did not write, or where the
    name of the library is that of another kind of file."""
    from flowc.cli.emit import TEXTS, is_ours
    from flowc.codegen.link.weights_file import SUFFIX
    from flowc.errors import UsageError

    if wish.out.suffix.lower() in OTHER_FILES:
        better = wish.out.with_suffix(".so")
        raise UsageError(
            f"-o {wish.out}: the library would have the name of another kind of file",
            hint=f"-o {better}, or --force",
        )
    places = {kind: wish.out.with_suffix(TEXTS[kind]) for kind in wish.kinds if kind in TEXTS}
    if "header" in wish.kinds:
        places["header"] = wish.out.with_suffix(".h")
    if "so" in wish.kinds:
        places["so"] = wish.out
        if wish.weights == "file":
            places["weights"] = Path(f"{wish.out}{SUFFIX}")
    for kind, place in places.items():
        if place.is_file() and not place.is_symlink() and not is_ours(kind, place):
            raise UsageError(
                f"{place}: this is there, and flowc did not write it",
                hint="another -o, or --force",
            )


def _compile(
    read: Callable[[], Graph],
    named: tuple[tuple[str, ...], ...],
    wish: _Wish,
    shown: Progress,
) -> None:
    from flowc.api.framework.models import initialize
    from flowc.cli.arrays import parse_inputs
    from flowc.cli.check import hint_of
    from flowc.cli.models import what_was_chosen
    from flowc.codegen.targets import target_named
    from flowc.compiler import Report, compile_library
    from flowc.errors import UnsupportedError
    from flowc.extract.feed_specs import parse_feed
    from flowc.extract.set_inputs import choose_interface_with
    from flowc.options import Options

    target_named(wish.target)
    feeds = [parse_feed(text) for text in named[0]]  # before the model is read
    values = parse_inputs(named[3], "--set")
    report = Report()
    clock = time.perf_counter()
    shown.stage("reading")
    graph = read()
    if named[2]:
        shown.stage("initialising")
        initialize(graph, list(named[2]))
    chosen = choose_interface_with(graph, feeds or None, named[1] or None, None, values)
    unified: list[Interface] = []

    def extracted(found: Interface) -> None:
        unified.append(found)
        report.seconds["reading"] = time.perf_counter() - clock
        for line in what_was_chosen(found):
            shown.say(line)

    try:
        program = compile_library(
            graph,
            chosen,
            Options(target=wish.target, max_memory=wish.max_memory),
            extracted=extracted,
            report=report,
            watch=_watcher(wish, shown),
            kernels=shown.counting_kernels(),
        )
    except UnsupportedError as error:
        error.hint = hint_of(graph, chosen, error)
        raise
    finally:
        if not unified:
            extracted(chosen)
    written = _write(program, report, wish, shown)
    shown.stage(None)
    _summary(graph, report, program, written, wish)


def _watcher(wish: _Wish, shown: Progress) -> Callable[[str, Computation], None]:
    def watch(name: str, c: Computation) -> None:
        shown.stage(f"pass {name}")
        if name in wish.print_after:
            print(f"# after {name}\n{c}\n")

    return watch


def _write(
    program: CompiledProgram, report: Report, wish: _Wish, shown: Progress
) -> AotReport | None:
    from flowc.cli.emit import TEXTS, emitted_text, write_objects
    from flowc.codegen.targets import target_named
    from flowc.files.safe_write import replacing

    shown.stage("writing")
    target = target_named(wish.target)
    texts: dict[Path, bytes] = {}
    for kind in [k for k in wish.kinds if k in TEXTS]:
        text = emitted_text(kind, report, target)
        if wish.to_stdout:
            sys.stdout.write(text)
        else:
            texts[wish.out.with_suffix(TEXTS[kind])] = text.encode()
    if "obj" in wish.kinds:
        write_objects(program, report, wish.out.with_suffix(".objects"))
    header = wish.out.with_suffix(".h") if "header" in wish.kinds else None
    if "so" not in wish.kinds:
        if header is not None:
            texts[header] = _header(program, wish.out)
        for path, data in texts.items():
            with replacing(path, len(data)) as file:
                file.write(data)
        return None
    from flowc.aot import write_library

    written = write_library(
        program,
        wish.out,
        weights=wish.weights,
        header=header,
        threads=wish.threads,
        texts=texts,
    )
    report.seconds["linking"] = written.seconds
    return written


def _header(program: CompiledProgram, out: Path) -> bytes:
    from flowc.codegen.abi.c_header import header_text, stem_of

    metadata = replace(program.metadata, name=stem_of(out))
    return header_text(metadata, stem_of(out)).encode()


def _summary(
    graph: Graph,
    report: Report,
    program: CompiledProgram,
    written: AotReport | None,
    wish: _Wish,
) -> None:
    """The short report at the end, on stderr."""
    rows: list[tuple[str, Any]] = []
    if written is not None:
        rows.append(("wrote", f"{written.library} ({written.library_bytes:,} bytes)"))
        rows += [("", p) for p in (written.weights_file, written.header) if p is not None]
    plan = report.stages.plan
    spec = program.metadata.spec
    variables = ", ".join(str(v.tensor) for v in spec.variables)
    if variables:
        rows.append(("variables", variables))
    rows += [
        ("inputs", ", ".join(map(str, spec.fed)) or "none"),
        ("outputs", ", ".join(map(str, spec.fetched)) or "none"),
        ("nodes in", f"{report.nodes_in:,} of {_nodes_held(graph):,}"),
        ("kernels out", f"{len(report.stages.kernels)}, launched from {report.clusters} places"),
        ("arena", _bytes(plan.arena_bytes) if plan is not None else "none"),
        ("weights", f"{program.metadata.weights_bytes:,} bytes"),
        ("target", wish.target),
        ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in report.seconds.items())),
    ]
    for name, value in rows:
        print(f"{name:>12}  {value}", file=sys.stderr)


def _bytes(size: Dim) -> str:
    """A size in bytes; one that grows with the inputs is told where every named size is 1."""
    from flowc.ir.dims import evaluate, symbols_of

    if isinstance(size, int):
        return f"{size:,} bytes"
    named = symbols_of(size)
    least = evaluate(size, dict.fromkeys(named, 1))
    names = ", ".join(map(str, named))
    return f"{least:,} bytes where {names} {'is' if len(named) == 1 else 'are'} 1"


def _nodes_held(graph: Graph) -> int:
    """As `flowc inspect` counts them: those of a function once, however often it is called."""
    inner = sum(len(f.body.nodes) for f in graph.functions.values())
    return len(graph.get_operations()) + inner
