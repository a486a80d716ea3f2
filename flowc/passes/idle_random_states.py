"""Removes the states of random generators that nothing draws from, which a library need not keep.

In: a program behind the passes, which may have found that a dropout keeps everything. Out: one
without the states that it would only advance. Invariant: what callers give and get stays; a Session
keeps all states, because its other programs may draw from them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from flowc.ir.computation import Computation
from flowc.ir.program_spec import ProgramSpec, VariableSpec
from flowc.options import Options
from flowc.passes.prune import prune


def drop_idle_random_states(
    c: Computation, spec: ProgramSpec, options: Options
) -> tuple[Computation, ProgramSpec]:
    """The program without the random states that no node of it draws from."""
    states = [v for v in spec.variables if v.is_random and v.input is not None]
    if not states:
        return c, spec
    bare = _without_results(c, states, options)
    users = bare.users()
    idle = [v for v in states if not users[bare.parameters[v.input or 0].output]]
    if len(idle) < len(states):
        bare = _without_results(c, idle, options) if idle else c
    gone = {id(bare.parameters[v.input or 0]) for v in idle}
    bare = replace(
        bare,
        parameters=tuple(p for p in bare.parameters if id(p) not in gone),
        nodes=tuple(n for n in bare.nodes if id(n) not in gone),
    )
    return bare, spec.without_variables({v.name for v in idle})


def _without_results(
    c: Computation, states: Collection[VariableSpec], options: Options
) -> Computation:
    """The Computation without the results that are the states' contents after a run."""
    gone = {v.output for v in states}
    results = tuple(v for i, v in enumerate(c.results) if i not in gone)
    return prune(replace(c, results=results), options)
