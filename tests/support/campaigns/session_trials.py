"""Mutants of what Sessions run (session_mutants.py) on their way through one.

In: seeds. Out: for `mutant_trials.py`, `CALLS` and `ROWS`, and what is fed odd values
(fed_mutants.py): these calls, examples of ops, and these rows. A Session runs what the program
runs, in an empty folder, with a deadline for each run and a bound for its memory.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from campaigns.fed_mutants import fed_mutant, op_programs
from campaigns.mutant_trials import Trials
from campaigns.session_mutants import Mutant, Program, mutant, row_programs, sound_programs
from loaded_graphs import loaded

import flowc
from flowc.errors import FlowcError, InternalError
from flowc.run.fetches import feed_array

RUN_MS = 1000  # that a run may take
MAX_MEMORY = 1 << 30


def _run(
    seed: int,
    sound: Callable[[], Sequence[Program]],
    make: Callable[[int, Sequence[Program], str], Mutant] = mutant,
) -> str:
    """What the first run that fails says; `ran` if none does. All runs are tried."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = make(seed, sound(), folder)
        for name, content in found.files.items():
            Path(folder, name).write_bytes(content)
        graph = loaded(found.program.graph)
        graph.allow("files")
        first: FlowcError | None = None
        options = flowc.RunOptions(timeout_in_ms=RUN_MS)
        with flowc.Session(graph=graph, threads=1, max_memory=MAX_MEMORY) as session:
            for names, feeds in found.program.runs:
                try:
                    there = [graph.as_graph_element(n) for n in names]
                    fed = {graph.as_graph_element(n): v for n, v in feeds.items()}
                    for tensor, value in fed.items():
                        feed_array(tensor, value)
                except (KeyError, TypeError, ValueError):
                    continue  # the mutant has no such node, or cannot be fed so
                try:
                    session.run(there, fed, options=options)
                except InternalError:
                    raise
                except FlowcError as error:
                    first = first or error
        return "ran" if first is None else type(first).__name__


CALLS = Trials(sound_programs, partial(_run, sound=sound_programs))
ROWS = Trials(row_programs, partial(_run, sound=row_programs))
FEEDS, FED_OPS, FED_ROWS = (
    Trials(sound, partial(_run, sound=sound, make=fed_mutant))
    for sound in (sound_programs, op_programs, row_programs)
)
