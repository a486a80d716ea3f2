"""`flowc run`: arrays through a model or a compiled library."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import debug_option, model_options, threads_option

if TYPE_CHECKING:
    import numpy as np

ELF = b"\x7fELF"


@click.command("run")
@click.argument("model")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An input: x=FILE.npy, x=FILE.npz, or a literal such as x=[[1,2],[3,4]].",
)
@click.option(
    "-o", "--out", metavar="OUT.npz", help="Where results go.  [default: stdout, as text]"
)
@click.option("--fetch", "fetches", multiple=True, metavar="NAME", help="A result: scope/op:0.")
@click.option(
    "--random-seed",
    type=click.IntRange(0),
    metavar="N",
    help="Random values from this seed for the inputs that are not given.",
)
@model_options
@threads_option
@debug_option
def run_command(
    model: str,
    inputs: tuple[str, ...],
    out: str | None,
    fetches: tuple[str, ...],
    random_seed: int | None,
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    threads: int,
) -> None:
    """Run MODEL: a library made by `flowc compile`, or a model, compiled in memory."""
    from flowc.cli.arrays import parse_inputs, print_results, write_npz
    from flowc.errors import UsageError
    from flowc.safe_write import check_folder

    given = parse_inputs(inputs)
    if out is not None:
        check_folder(Path(out))
    if is_library(model):
        if (checkpoint, tags, signature) != (None, None, None):
            raise UsageError(
                "--checkpoint, --tag and --signature choose within a model, and this is a library"
            )
        results = _run_library(model, given, fetches, random_seed, threads)
    else:
        place = (checkpoint, tags, signature)
        results = _run_model(model, place, given, fetches, random_seed, threads)
    if out is None:
        print_results(results, sys.stdout)
    else:
        write_npz(Path(out), results)


def is_library(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == ELF
    except (IsADirectoryError, FileNotFoundError):
        return False


def _run_library(
    path: str, given: Mapping[str, Any], fetches: Sequence[str], seed: int | None, threads: int
) -> dict[str, np.ndarray]:
    import flowc_runtime
    from flowc.cli.arrays import array_of, check_all_given, complete
    from flowc.errors import UnknownNameError, did_you_mean

    model = flowc_runtime.load(path)
    if threads:
        model.threads = threads
    outputs = {_short(p.name): p.name for p in model.outputs}
    wanted: dict[str, str] = {}
    for name in fetches or [p.name for p in model.outputs]:
        if _short(name) not in outputs:
            hint = did_you_mean(name, outputs) or f"it has {', '.join(outputs)}"
            raise UnknownNameError(f"{path}: no output is named {name!r}", hint=hint)
        wanted[name] = outputs[_short(name)]
    ports = {_short(p.name): p for p in model.inputs}
    values: dict[str, np.ndarray] = {}
    for name, value in given.items():
        if _short(name) not in ports:
            hint = did_you_mean(name, ports) or f"it has {', '.join(ports)}"
            raise UnknownNameError(f"{path}: no input is named {name!r}", hint=hint)
        values[_short(name)] = array_of(name, value, ports[_short(name)].dtype)
    wishes = {n: (p.dtype, p.dims) for n, p in ports.items() if n not in values}
    check_all_given(wishes, seed)
    values |= complete(wishes, {n: (ports[n].dims, v) for n, v in values.items()}, seed)
    results = model.run(values)
    return {name: results[inner] for name, inner in wanted.items()}


def _short(name: str) -> str:
    return name.removesuffix(":0")


def _run_model(
    path: str,
    place: tuple[str | None, str | None, str | None],
    given: Mapping[str, Any],
    fetches: Sequence[str],
    seed: int | None,
    threads: int,
) -> dict[str, np.ndarray]:
    from flowc.cli.arrays import array_of, check_all_given, complete
    from flowc.cli.choosing import choose, tensor_named
    from flowc.importer import load_graph
    from flowc.session import Session

    graph = load_graph(path, *place)
    tensors = {name: tensor_named(graph, name, "feed") for name in given}
    choice = choose(graph, fetches=fetches, also_fed=tensors.values())
    for line in choice.said:
        print(line, file=sys.stderr)
    values = {
        name: array_of(name, given[name], None if t.dtype is None else t.dtype.numpy)
        for name, t in tensors.items()
    }
    wishes = {n: (ty.dtype.numpy, ty.dims) for n, (_, ty) in choice.feeds.items()}
    check_all_given(wishes, seed)
    known = {n: (_dims(tensors[n]), v) for n, v in values.items()}
    values |= complete(wishes, known, seed)
    tensors |= {name: tensor for name, (tensor, _) in choice.feeds.items()}
    with Session(graph=graph, threads=threads or None) as session:
        feeds = {tensors[name]: value for name, value in values.items()}
        found = session.run(list(choice.fetches.values()), feeds)
    return dict(zip(choice.fetches, found))


def _dims(tensor: Any) -> tuple[Any, ...]:
    """The tensor's sizes, an unknown first one under the name that feeds give it."""
    from flowc.cli.choosing import BATCH

    if tensor.shape.ndims is None:
        return ()
    return tuple(BATCH if d is None and not i else d for i, d in enumerate(tensor.shape.as_list()))
