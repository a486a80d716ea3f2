"""Mutants of graphs on their way through flowc, in child processes.

In: seeds of mutants (graph_mutants.py). Out: the seeds whose mutant ended its child, took longer
than `SECONDS`, or raised what is no error of flowc's users, each with what happened. Every mutant
is loaded, looked over, extracted and lowered; some are compiled and run, too.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import traceback
from collections.abc import Iterable

import numpy as np
from graph_mutants import mutant, sound_graphs

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
BYTES = 6 << 30  # of the child's address space
ELEMENTS = 1 << 16  # of what is computed
EVERY = 32  # so many mutants are compiled and run as one


def pass_through(content: bytes, runs: bool) -> None:
    """Takes a model as far as it goes. Raises `FlowcError` where that is not to the end."""
    with flowc.Graph().as_default() as graph:
        flowc.import_graph_def(content, name="")
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
            executable.run(arrays)


def faults(seeds: Iterable[int]) -> list[str]:
    """What went wrong, one text a mutant."""
    sound_graphs()  # once, for all children
    left, found = list(seeds), []
    while left:
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reader)
            _try_all(left, writer)
        os.close(writer)
        with os.fdopen(reader) as lines:
            told = [json.loads(line) for line in lines]
        _, status = os.waitpid(pid, 0)
        found += [f"seed {seed}: {text}" for seed, text in told if text]
        left = left[len(told) :]
        if left:
            number = os.waitstatus_to_exitcode(status)
            how = signal.Signals(-number).name if number < 0 else f"exit code {number}"
            found.append(f"seed {left[0]}: the process ended: {how}")
            del left[0]
    return found


def _try_all(seeds: Iterable[int], writer: int) -> None:
    """The child's work: a line for each mutant, when it is done."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        with os.fdopen(writer, "w", buffering=1) as lines, np.errstate(all="ignore"):
            for seed in seeds:
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                lines.write(json.dumps((seed, _fault(seed))) + "\n")
    finally:
        os._exit(0)


def _fault(seed: int) -> str | None:
    try:
        pass_through(mutant(seed), seed % EVERY == 0)
    except InternalError as error:
        return "".join(traceback.format_exception(error)[-8:])
    except FlowcError:
        return None
    except MemoryError:
        return None  # the child's address space is small
    except BaseException as error:
        return "".join(traceback.format_exception(error)[-8:])
    return None
