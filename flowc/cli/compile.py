"""`flowc compile`: a model -> a shared library, its header, and every form in between."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Iterable
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
    json_option,
    model_options,
    set_option,
    signatures_named,
    target_option,
    threads_option,
)
from flowc.dataclass import dataclass

if TYPE_CHECKING:
    from flowc.aot import AotReport
    from flowc.cli.progress import Progress
    from flowc.codegen.compiled import CompiledProgram
    from flowc.compiler import Report
    from flowc.extract.interface import Interface
    from flowc.graph import Graph
    from flowc.ir.computation import Computation

SCHEMA = 1
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
    weights: Literal["embed", "file", "map"]
    threads: int
    force: bool
    max_memory: int | None
    exact: bool
    tune: bool
    prefix: str | None
    shows: Literal["text", "json", "nothing"]

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
@set_option
@init_option
@allow_option
@target_option
@click.option(
    "--emit",
    default=(DEFAULT_KINDS,),
    multiple=True,
    show_default=True,
    metavar="KIND,...",
    help="so, header, a (static), pc (for pkg-config), cmake, py, kernel, ir, plan, llvm, asm, "
    "obj: each beside OUT.so.",
)
@click.option("--print-after", multiple=True, metavar="PASS", help="Print the IR after a pass.")
@threads_option
@click.option(
    "--weights",
    type=click.Choice(["embed", "file", "map"]),
    default="embed",
    show_default=True,
    help="Inside the library, or in OUT.so.weights; `map` shares the memory of that file between "
    "processes, and nobody may cut it while they run.",
)
@click.option(
    "--prefix",
    metavar="NAME",
    help="What the names of the C functions begin with.  [default: the name of OUT]",
)
@click.option("--force", is_flag=True, help="Replace files that flowc did not write.")
@click.option(
    "--max-memory",
    type=Bytes(),
    metavar="BYTES",
    help="What compiling may make beside the model's weights: 512M, 2G.  [default: what the "
    "machine has]",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Products and convolutions add up the very products of their elements.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Convolutions are computed in the way that takes the least time on this machine, which is "
    "measured once and kept in the cache.",
)
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say each stage, pass and kernel on stderr.")
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
    weights: Literal["embed", "file", "map"],
    force: bool,
    max_memory: int | None,
    exact: bool,
    tune: bool,
    prefix: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Compile MODEL to a shared library that needs libc alone.

    MODEL is a GraphDef, a MetaGraphDef (.meta) or a SavedModel folder. Inputs and outputs default
    to the signature, else to the placeholders and sinks; what was chosen is said. --signature a,b
    compiles several signatures to one library.
    """
    from flowc.cli.models import load_model
    from flowc.cli.progress import progress

    _check_passes(print_after)
    if quiet and verbose:
        raise click.UsageError("-q and -v contradict each other")
    kinds = _kinds(emit)
    shows = "json" if as_json else "nothing" if quiet else "text"
    limits = force, max_memory, exact, tune
    wish = _Wish(Path(out), kinds, print_after, target, weights, threads, *limits, prefix, shows)
    _check_out(wish)
    signatures = signatures_named(signature)
    if len(signatures) > 1 and (feeds or fetches or not {"so", "a"} & set(kinds)):
        raise click.UsageError("--signature a,b: --feed, --fetch and -o - are for one signature")
    with progress(verbose and not quiet) as shown:
        place = (checkpoint, tags, signatures[0] if signatures else None, allow_links)
        read = partial(load_model, model, place, allow)
        _compile(read, signatures[1:] and signatures, (feeds, fetches, inits, values), wish, shown)


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
    if not wish.out.name:
        raise UsageError("-o is empty", hint="-o model.so")
    if wish.out.is_dir():
        raise UsageError(f"-o {wish.out}: this is a folder", hint=f"-o {wish.out / 'model.so'}")
    check_place(wish.out)
    if not wish.force:
        _check_foreign(wish)


def _check_foreign(wish: _Wish) -> None:
    """Raises `UsageError` where a file would be replaced that flowc did not write, or where the
    name of the library is that of another kind of file."""
    from flowc.cli.emit import BESIDE, TEXTS, beside, is_ours
    from flowc.codegen.link.weights_file import SUFFIX
    from flowc.errors import UsageError

    is_archive = wish.out.suffix == BESIDE["a"] and "a" in wish.kinds and "so" not in wish.kinds
    if wish.out.suffix.lower() in OTHER_FILES and not is_archive:
        better = wish.out.with_suffix(".so")
        raise UsageError(
            f"-o {wish.out}: the library would have the name of another kind of file",
            hint=f"-o {better}, or --force",
        )
    places = {kind: wish.out.with_suffix(TEXTS[kind]) for kind in wish.kinds if kind in TEXTS}
    if "header" in wish.kinds:
        places["header"] = wish.out.with_suffix(".h")
    places |= {kind: beside(wish.out, kind) for kind in BESIDE if kind in wish.kinds}
    if "so" in wish.kinds:
        places["so"] = wish.out
        if wish.weights != "embed":
            places["weights"] = Path(f"{wish.out}{SUFFIX}")
    for kind, place in places.items():
        if place.is_file() and not place.is_symlink() and not is_ours(kind, place):
            raise UsageError(
                f"{place}: this is there, and flowc did not write it",
                hint="another -o, or --force",
            )


def _compile(
    read: Callable[[], Graph],
    signatures: list[str],
    named: tuple[tuple[str, ...], ...],
    wish: _Wish,
    shown: Progress,
) -> None:
    """`signatures`: those of a library of several; none for one program."""
    from flowc.api.framework.models import initialize
    from flowc.cli.arrays import parse_inputs
    from flowc.cli.compiled_summary import print_summary, summary_of
    from flowc.cli.models import fixed_sizes
    from flowc.codegen.targets import target_named
    from flowc.compiler import Report
    from flowc.extract.feed_specs import parse_feed
    from flowc.extract.interface import operations_named
    from flowc.extract.set_inputs import choose_interface_with

    target_named(wish.target)
    feeds = [parse_feed(text) for text in named[0]]  # before the model is read
    values = parse_inputs(named[3], "--set")
    clock = time.perf_counter()
    shown.stage("reading")
    graph = read()
    if named[2]:
        shown.stage("initialising")
        initialize(graph, operations_named(graph, named[2]))
    made: dict[str, tuple[CompiledProgram, Report]] = {}
    for name in signatures or [None]:
        report = Report()
        chosen = choose_interface_with(graph, feeds or None, named[1] or None, name, values)
        for line in fixed_sizes(feeds, chosen) if wish.shows == "text" else ():
            shown.say(line)
        report.seconds["reading"] = time.perf_counter() - clock
        made[name or ""] = _compiled(graph, chosen, name, wish, shown, report), report
        clock = time.perf_counter()
    programs = {name: program for name, (program, _) in made.items()}
    written = _write(graph, programs, made, wish, shown)
    shown.stage(None)
    files = _files(written, wish)
    rows = {
        name: {"target": wish.target, **summary_of(graph, report, program)}
        for name, (program, report) in made.items()
    }
    if wish.shows == "json":
        json.dump({"schema": SCHEMA, "files": files, "programs": rows}, sys.stdout, indent=2)
        print()
    elif wish.shows == "text":
        print_summary(files, rows)


def _compiled(
    graph: Graph,
    chosen: Interface,
    signature: str | None,
    wish: _Wish,
    shown: Progress,
    report: Report,
) -> CompiledProgram:
    """The program of one fetch set, whose inputs and outputs are said where they were chosen."""
    from flowc.cli.check import hint_of
    from flowc.cli.models import what_was_chosen
    from flowc.compiler import compile_library
    from flowc.errors import UnsupportedError
    from flowc.options import Options

    unified: list[Interface] = []

    def extracted(found: Interface) -> None:
        unified.append(found)
        for line in what_was_chosen(found) if wish.shows == "text" else ():
            shown.say(line)

    try:
        return compile_library(
            graph,
            chosen,
            Options(wish.target, max_memory=wish.max_memory, exact=wish.exact, tune=wish.tune),
            extracted=extracted,
            report=report,
            watch=_watcher(wish, shown),
            kernels=shown.counting_kernels(report.stages),
        )
    except UnsupportedError as error:
        error.hint = hint_of(graph, chosen, error, signature)
        raise
    finally:
        if not unified:
            extracted(chosen)


def _watcher(wish: _Wish, shown: Progress) -> Callable[[str, Computation], None]:
    def watch(name: str, c: Computation) -> None:
        shown.stage(f"pass {name}: {len(c.nodes)} nodes")
        if name in wish.print_after:
            print(f"# after {name}\n{c}\n")

    return watch


def _write(
    graph: Graph,
    programs: dict[str, CompiledProgram],
    made: dict[str, tuple[CompiledProgram, Report]],
    wish: _Wish,
    shown: Progress,
) -> AotReport | None:
    from flowc.aot import write_library
    from flowc.cli.emit import beside, cmake_text, package_text, write_objects
    from flowc.files.safe_write import replacing

    shown.stage("writing")
    texts: dict[Path, bytes] = {}
    for name, (program, report) in made.items():
        texts |= _texts(report, wish, f".{name}" if name else "")
        if "obj" in wish.kinds:
            write_objects(
                program, report, wish.out.with_suffix(f".{name}.objects".replace("..", "."))
            )
    for kind, text in (("pc", package_text), ("cmake", cmake_text)):
        if kind in wish.kinds:
            texts[beside(wish.out, kind)] = text(wish.out, wish.kinds).encode()
    if not {"so", "a", "header"} & set(wish.kinds):
        for path, data in texts.items():
            with replacing(path, len(data)) as file:
                file.write(data)
        return None
    linked: dict[str, tuple[str, Path]] = {}
    for program in programs.values():
        if program.symbols:
            from flowc.extending.linked import linked_symbols

            linked |= linked_symbols(program)
    written = write_library(
        programs if list(programs) != [""] else programs[""],
        wish.out,
        weights=wish.weights,
        header=wish.out.with_suffix(".h") if "header" in wish.kinds else None,
        threads=wish.threads,
        texts=texts,
        linked=linked or None,
        prefix=wish.prefix,
        about={"target": wish.target, "model": Path(graph.source.path).name},
        archive=beside(wish.out, "a") if "a" in wish.kinds else None,
        shared="so" in wish.kinds,
    )
    for _, report in made.values():
        report.seconds["linking"] = written.seconds
    return written


def _texts(report: Report, wish: _Wish, infix: str) -> dict[Path, bytes]:
    """What is shown of one program, each in its file; printed where that is asked for."""
    from flowc.cli.emit import TEXTS, emitted_text
    from flowc.codegen.targets import target_named

    texts: dict[Path, bytes] = {}
    for kind in [k for k in wish.kinds if k in TEXTS]:
        text = emitted_text(kind, report, target_named(wish.target))
        if wish.to_stdout:
            sys.stdout.write(text)
        else:
            texts[wish.out.with_suffix(f"{infix}{TEXTS[kind]}")] = text.encode()
    return texts


def _files(written: AotReport | None, wish: _Wish) -> list[dict[str, Any]]:
    """The files that were written for programs that use the library, with their sizes."""
    from flowc.cli.emit import BESIDE, beside

    if written is None:
        return []
    paths = [wish.out if "so" in wish.kinds else None, written.weights_file, written.header]
    paths += [beside(wish.out, kind) for kind in BESIDE if kind in wish.kinds]
    return [{"path": str(p), "bytes": p.stat().st_size} for p in paths if p is not None]
