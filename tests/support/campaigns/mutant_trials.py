"""Mutants of graphs on their way through flowc, in child processes.

In: seeds of mutants. Out: how each ended: the class of flowc's error, `lowered`, `ran`, or a fault:
it ended its child, took longer than `SECONDS` of the processor's time or `WALL_SECONDS` of
anybody's, or raised what is no error of flowc's users, in any thread.

`GRAPHS` (graph_mutants.py): every mutant is loaded, looked over, extracted and lowered; some are
compiled and run, too. `session_trials.py` has those that a Session runs.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from campaigns.graph_mutants import mutant, sound_graphs
from loaded_graphs import loaded

import flowc
from flowc.compiler import compile_fetches
from flowc.errors import FlowcError, InternalError
from flowc.extract.interface import choose_interface
from flowc.extract.size_unification import extract_fetches
from flowc.extract.unsupported_ops import faults_of
from flowc.importer.variables import variable_operations
from flowc.options import Options
from flowc.passes.pipeline import run_passes

SECONDS = 10  # of the processor's time
WALL_SECONDS = 120  # of what may only wait
BYTES = 6 << 30  # of the child's address space
ELEMENTS = 1 << 16  # of what is computed
RUN_MS = 2000  # that a run may take
EVERY = 32  # so many mutants are compiled and run as one


@dataclass(frozen=True, slots=True)
class Trials:
    """`prepare` is called once, for all children. `attempt`: takes the mutant of a seed as far as
    it goes, and says how far; raises `FlowcError` where it is not to the end."""

    prepare: Callable[[], object]
    attempt: Callable[[int], str]
    lack_of_memory_is_fine: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """How the mutant of a seed ended. `fault`: what went wrong, with where."""

    seed: int
    name: str
    fault: str | None = None


def _pass_through(seed: int) -> str:
    """Takes a model as far as it goes: `lowered` or `ran`."""
    content, runs = mutant(seed), seed % EVERY == 0
    graph = loaded(content)
    with flowc.Graph().as_default(), suppress(FlowcError):
        flowc.import_graph_def(content, name="")  # which takes less
    variable_operations(graph)
    for op in graph.get_operations():
        faults_of(op.name, op)
    chosen = choose_interface(graph)
    _, found = extract_fetches(graph, chosen)
    lowered = run_passes(found.computation, Options())
    values = [v for n in lowered.nodes for v in n.outputs]
    if runs and all(v.type.is_static and int(v.type.size) <= ELEMENTS for v in values):
        executable = compile_fetches(graph, chosen, Options(), threads=1).executable
        if executable is not None and not found.spec.variables:
            arrays = [np.ones(f.type.static_dims, f.type.dtype.numpy) for f in chosen.feeds]
            # A loop may have become one without end, which a deadline ends, too.
            executable.run_laid_out(executable.layout_of(arrays), arrays, None, RUN_MS)
            return "ran"
    return "lowered"


GRAPHS = Trials(sound_graphs, _pass_through, lack_of_memory_is_fine=True)


def faults(seeds: Iterable[int], trials: Trials = GRAPHS) -> list[str]:
    """What went wrong, one text a mutant."""
    return [f"seed {e.seed}: {e.fault}" for e in endings(seeds, trials) if e.fault]


def endings(seeds: Iterable[int], trials: Trials = GRAPHS) -> Iterator[Ending]:
    """How the mutants end, one after another."""
    trials.prepare()
    left = list(seeds)
    while left:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            _try_all(left, trials, writer)
        os.close(writer)
        told = 0
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            for line in _lines(pipe.fileno()):
                told += 1
                yield Ending(*json.loads(line))
        os.kill(pid, signal.SIGKILL)  # which has ended, or waits for something
        _, status = os.waitpid(pid, 0)
        left = left[told:]
        if left:
            number = os.waitstatus_to_exitcode(status)
            how = signal.Signals(-number).name if number < 0 else f"exit code {number}"
            yield Ending(left[0], "ended", f"the process ended: {how}")
            del left[0]


def _lines(descriptor: int) -> Iterator[bytes]:
    """Lines until there are no more, or none comes in time."""
    held = b""
    while select.select([descriptor], [], [], WALL_SECONDS)[0]:
        found = os.read(descriptor, 1 << 16)
        if not found:
            return
        *lines, held = (held + found).split(b"\n")
        yield from lines


def _try_all(seeds: Iterable[int], trials: Trials, writer: int) -> None:
    """The child's work: a line for each mutant, when it is done."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        with os.fdopen(writer, "w", buffering=1) as lines, np.errstate(all="ignore"):
            for seed in seeds:
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                lines.write(json.dumps((seed, *_ending(seed, trials))) + "\n")
    finally:
        os._exit(0)


def _ending(seed: int, trials: Trials) -> tuple[str, str | None]:
    in_threads: list[BaseException] = []
    threading.excepthook = lambda given: in_threads.append(given.exc_value or SystemExit())
    try:
        name = trials.attempt(seed)
        if not in_threads:
            return name, None
        fault = in_threads[0]
    except InternalError as error:
        fault = error
    except FlowcError as error:
        return type(error).__name__, None
    except MemoryError as error:
        if trials.lack_of_memory_is_fine:
            return "MemoryError", None  # the child's address space is small
        fault = error
    except BaseException as error:
        fault = error
    return type(fault).__name__, "".join(traceback.format_exception(fault)[-8:])
