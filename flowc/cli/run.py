"""`flowc run`: arrays through a model or a compiled library."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import (
    allow_option,
    debug_option,
    init_option,
    input_option,
    memory_option,
    model_options,
    threads_option,
)
from flowc.dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np

    from flowc.graph import Graph, Operation, Tensor
    from flowc.run.session import Session

ELF = b"\x7fELF"


@click.command("run")
@click.argument("model")
@input_option
@click.option(
    "-o", "--out", metavar="OUT.npz", help="Where results go.  [default: stdout, as text]"
)
@click.option("--fetch", "fetches", multiple=True, metavar="NAME", help="A result: scope/op:0.")
@click.option(
    "--random-seed",
    type=click.IntRange(0),
    metavar="N",
    help="Random values from this seed for the inputs that are not given, and the start of random "
    "nodes without seeds.",
)
@click.option(
    "--profile", "is_profiled", is_flag=True, help="Say on stderr where the time of a run goes."
)
@click.option(
    "--profile-out",
    "profile_files",
    multiple=True,
    metavar="FILE",
    help="Write the profile: .html a page with a timeline and memory, .json a Chrome trace, .pb "
    "RunMetadata.",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="How often to run; results are those of the last.  [default: 1]",
)
@init_option
@allow_option
@model_options
@threads_option
@memory_option
@debug_option
def run_command(
    model: str,
    inputs: tuple[str, ...],
    out: str | None,
    fetches: tuple[str, ...],
    random_seed: int | None,
    is_profiled: bool,
    profile_files: tuple[str, ...],
    repeat: int,
    inits: tuple[str, ...],
    allow: tuple[str, ...],
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    threads: int,
    max_memory: int | None,
) -> None:
    """Run MODEL: a library made by `flowc compile`, or a model, compiled in memory."""
    from flowc.cli.arrays import parse_inputs, print_results, write_npz
    from flowc.errors import UsageError
    from flowc.files.safe_write import check_place

    given = parse_inputs(inputs)
    wanted = Runs(repeat, is_profiled or bool(profile_files), profile_files)
    wanted.check_files()
    if out is not None:
        check_place(Path(out))
    if is_library(model):
        if wanted.is_profiled:
            raise UsageError(
                f"{model}: a library notes no times of its steps; profile the model that it was "
                "made of"
            )
        if any((checkpoint, tags, allow_links, inits, allow)):
            raise UsageError(
                "--checkpoint, --tag, --allow-links, --init and --allow are for models, and this "
                "is a library"
            )
        place, limits = (model, signature), (threads, max_memory)
        results = _run_library(place, given, fetches, random_seed, (*limits, repeat))
    else:
        from flowc.cli.models import load_model

        place = (checkpoint, tags, signature, allow_links)
        graph = load_model(model, place, allow)
        limits = threads or None, max_memory
        results = _run_model(graph, given, (fetches, inits), random_seed, (*limits, wanted))
    if out is None:
        print_results(results, sys.stdout)
    else:
        write_npz(Path(out), results)


@dataclass(frozen=True, slots=True)
class Runs:
    """How often a model runs, and what is told of it: a table if `is_profiled`, and `files`."""

    count: int
    is_profiled: bool
    files: Sequence[str]

    def check_files(self) -> None:
        """Raises `UsageError` for a file with an unknown extension."""
        from flowc.errors import UsageError

        for name in self.files:
            if not name.endswith((".html", ".json", ".json.gz", ".pb")):
                raise UsageError(
                    f"--profile-out {name}: expected a name that ends in .html, .json, .json.gz "
                    "or .pb"
                )

    def of(self, session: Session, fetches: Any, feeds: Any) -> Any:
        """What the last run gives."""
        if not self.is_profiled:
            return [session.run(fetches, feeds) for _ in range(self.count)][-1]
        from flowc.api.profiling.profiles import profile

        # What only a first run takes is not what a run takes: of several the first is not measured.
        # (No run more than was asked for: it would change the model's variables.)
        if self.count > 1:
            with profile(session):
                session.run(fetches, feeds)
        with profile(session) as found:
            measured = max(1, self.count - 1)
            results = [session.run(fetches, feeds) for _ in range(measured)][-1]
        if self.count == 1:
            print(
                "this was a first run: --repeat 2 or more leaves the first out of the times",
                file=sys.stderr,
            )
        print(found.table(), file=sys.stderr)
        for name in self.files:
            found.save(name)
        return results


def is_library(path: str) -> bool:
    """Whether a file begins as libraries do. What is no file is left to those who read models."""
    from flowc.errors import InvalidModelError, NotFoundError
    from flowc.files.plain_file import PlainFile

    try:
        file = PlainFile(path)
        return len(file) >= len(ELF) and file.read(0, len(ELF)) == ELF
    except (NotFoundError, InvalidModelError):
        return False


def _run_library(
    place: tuple[str, str | None],
    given: Mapping[str, Any],
    fetches: Sequence[str],
    seed: int | None,
    limits: tuple[int, int | None, int],
) -> dict[str, np.ndarray]:
    import flowc_runtime
    from flowc.cli.arrays import array_of, check_dims, complete, with_random
    from flowc.errors import UnknownNameError, UsageError, did_you_mean

    path, _ = place
    model = flowc_runtime.load(*place)
    threads, max_memory, repeat = limits
    if threads:
        model.threads = threads
    model.max_memory = max_memory or 0

    def named(known: Mapping[str, Any], name: str, what: str) -> Any:
        if _short(name) not in known:
            hint = did_you_mean(name, known) or f"it has {', '.join(known)}"
            raise UnknownNameError(f"{path}: no {what} is named {name!r}", hint=hint)
        return known[_short(name)]

    outputs = {_short(p.name): p.name for p in model.outputs}
    wanted: dict[str, str] = {}
    for name in fetches or [p.name for p in model.outputs]:
        wanted[name] = named(outputs, name, "output")
    ports = {_short(p.name): p for p in model.inputs}
    values: dict[str, np.ndarray] = {}
    for name, value in given.items():
        port = named(ports, name, "input")
        if _short(name) in values:
            raise UsageError(f"--input {name!r} is given twice")
        values[_short(name)] = array_of(name, value, port.dtype)
        check_dims(name, values[_short(name)], port.dims)
    wishes = {n: (p.name, p.dtype, p.dims) for n, p in ports.items() if n not in values}
    values |= complete(wishes, [(ports[n].dims, v) for n, v in values.items()], seed)
    runner = model.new_instance() if model.variables or model.objects else model
    with with_random([_short(name) for name, _, _ in wishes.values()]):
        results = [runner.run(values) for _ in range(repeat)][-1]
    return {name: results[inner] for name, inner in wanted.items()}


def _short(name: str) -> str:
    return name.removesuffix(":0")


def _run_model(
    graph: Graph,
    given: Mapping[str, Any],
    named: tuple[Sequence[str], Sequence[str]],
    seed: int | None,
    limits: tuple[int | None, int | None, Runs],
) -> dict[str, np.ndarray]:
    from flowc.cli.arrays import array_of, check_dims, complete, with_random
    from flowc.cli.models import what_was_chosen
    from flowc.errors import UsageError
    from flowc.extract.interface import choose_interface, element_named, operations_named
    from flowc.extract.size_unification import with_joined_sizes
    from flowc.run.session import Session

    fetches, inits = named
    _note_ranks(graph, given)
    chosen = with_joined_sizes(graph, choose_interface(graph, None, fetches or None))
    for line in what_was_chosen(chosen):
        print(line, file=sys.stderr)
    fed = {f.name: f.tensor for f in chosen.feeds}
    ports = {f.tensor: (f.type.dtype.numpy, f.type.dims) for f in chosen.feeds}
    values: dict[Tensor, np.ndarray] = {}
    for name, value in given.items():
        tensor = fed[name] if name in fed else element_named(graph, name, "input")
        if tensor in values:
            raise UsageError(f"--input {name!r} is given twice")
        dtype = None if tensor.dtype is None else tensor.dtype.numpy
        values[tensor] = array_of(name, value, dtype)
        dims = ports[tensor][1] if tensor in ports else _dims_of(tensor)
        if dims is not None:
            check_dims(name, values[tensor], dims)
    needed = needed_placeholders([f.tensor for f in chosen.fetches], values, chosen.targets)
    wishes = {t: (t.op.name, *port) for t, port in ports.items() if t in needed}
    known = [(ports[t][1], v) for t, v in values.items() if t in ports]
    values |= complete(wishes, known, seed)
    threads, most, runs = limits
    with Session(graph=graph, threads=threads, max_memory=most, random_seed=seed) as session:
        if inits:
            session.run(operations_named(graph, inits))
        wanted = [*(f.tensor for f in chosen.fetches), *chosen.targets]
        with with_random([name for name, _, _ in wishes.values()]):
            found = runs.of(session, wanted, values)
    return {f.name: value for f, value in zip(chosen.fetches, found)}


def _note_ranks(graph: Graph, given: Mapping[str, Any]) -> None:
    """A placeholder of which the graph tells no rank has that of the value that it is given."""
    import numpy as np

    for name, value in given.items():
        if name.partition(":")[0] in graph:
            tensor = graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
            if tensor.shape.sizes is None:
                tensor.set_shape([None] * np.ndim(value))


def _dims_of(tensor: Tensor) -> list[int | str] | None:
    sizes = tensor.shape.sizes
    return None if sizes is None else ["?" if s is None else s for s in sizes]


def needed_placeholders(
    fetches: Iterable[Tensor], fed: Container[Tensor], targets: Iterable[Operation] = ()
) -> set[Tensor]:
    """The placeholders that the fetches and targets depend on where what is fed cuts the graph."""
    from flowc.extract.interface import is_placeholder
    from flowc.ir.traversal import reachable

    found = reachable(
        [*(t.op for t in fetches if t not in fed), *targets],
        lambda op: [*(t.op for t in op.inputs if t not in fed), *op.control_inputs],
    )
    return {t for op in found if is_placeholder(op) for t in op.outputs if t not in fed}
