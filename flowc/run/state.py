"""What the runs of a Session share: variables, and what they have learnt.

In: the variables that programs read. Out: their values. Invariant: what one thread gives a random
node to begin with is what all find. A chosen seed gives each node the same numbers in every
process, and no two nodes the same stream.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from flowc.codegen.forks import keepers
from flowc.dataclass import dataclass
from flowc.graph import Graph
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.ir.host_run import CancelToken, HostFunctions, HostRun, HostStates
from flowc.run.variables import HeldVariables
from flowc_runtime.machine import memory_of_machine

if TYPE_CHECKING:
    from flowc.extract.program import OutputName
    from flowc.graph.signature import MainOperation
    from flowc.ir.program_spec import VariableSpec
    from flowc.options import Options
    from flowc.run.devices import Placement


class RunState:
    """`ranks`: the last ones that functions of Python were found to return. `cancel` wakes the host
    steps that wait, and `host` has what they share. `functions`: those that they call. `run_main`
    runs a loaded model's main operation, before the first run that has host steps.
    `max_memory`: bytes that host steps may keep; by default what the machine has."""

    def __init__(
        self, graph: Graph, random_seed: int | None, max_memory: int | None = None
    ) -> None:
        self.graph = graph
        self.max_memory = min(memory_of_machine(), max_memory or sys.maxsize)
        self.functions: HostFunctions | None = None
        self.run_main: Callable[[MainOperation], None] | None = None
        self._random_seed = random_seed
        self._random_states: dict[str, np.ndarray] = {}
        self.ranks: dict[OutputName, int] = {}
        self.cancel = CancelToken()
        self.host = HostStates()
        self._beginning = threading.RLock()  # while the graph's main operation runs
        self._is_beginning = self._has_begun = False
        keepers().add(self)
        self.variables = HeldVariables(
            lambda: cast(
                Mapping[str, np.ndarray],
                ChainMap(self._random_states, cast(Any, graph.variable_values)),
            )
        )

    def begin(self, reads: Iterable[VariableSpec]) -> None:
        """Holds the variables that a new program reads, which begin with the values that the graph
        gives them."""
        names = [v.name for v in reads]
        starts = {v.name: v.first for v in reads if v.is_random}
        for name, start in first_states(starts, self._random_seed).items():
            self._random_states.setdefault(name, start)
        self.variables.adopt(names)

    def _begin_host_steps(self) -> None:
        """Runs the main operation of a loaded model once, and before any other thread goes on."""
        with self._beginning:
            if self._has_begun or self._is_beginning:  # it is the main operation that asks
                return
            # A model with a main operation is looked at before any of its runs.
            unread = isinstance(self.graph, UntouchedGraph)
            main = None if unread else self.graph.main_operation
            self._is_beginning = True
            try:
                if main is not None and self.run_main is not None:
                    self.run_main(main)
                self._has_begun = True
            finally:
                self._is_beginning = False

    def forked(self) -> None:
        """In a child no other thread runs the main operation."""
        self._beginning = threading.RLock()
        self._is_beginning = False

    def host_run(self, timeout: float) -> HostRun:
        """What host steps know of a run that begins now; `timeout` in milliseconds, 0 for none."""
        if not self._has_begun:
            self._begin_host_steps()
        return HostRun(self.cancel, self.host, timeout, self.functions, self.max_memory)

    def with_new_streams(self) -> RunState:
        """A state with variables of its own: for a function that draws random numbers and has no
        variables beside."""
        found = RunState(self.graph, self._random_seed, self.max_memory)
        found.cancel, found.host, found.functions = self.cancel, self.host, self.functions
        found._has_begun = True
        return found

    def close(self) -> None:
        """Ends the runs that wait, and frees what is held."""
        self.cancel.cancel()
        self.host.close()
        self.variables.forget()


def first_states(
    starts: Mapping[str, np.ndarray | None], seed: int | None = None
) -> dict[str, np.ndarray]:
    """A state for every name. `seed`: what nodes without seeds start from, instead of entropy of
    the system."""
    return {name: _chosen(name, seed) if start is None else start for name, start in starts.items()}


def _chosen(name: str, seed: int | None) -> np.ndarray:
    """[counter, its upper half, key]: the counter starts at 0."""
    if seed is None:
        drawn = os.urandom(16)
    else:
        import hashlib  # late: OpenSSL takes 2 ms

        drawn = hashlib.sha256(f"{seed} {name}".encode()).digest()[:16]
    return np.array([0, *np.frombuffer(drawn, "<i8")], np.int64)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a Session runs, and how. `threads`: workers of one run; `max_memory`: bytes that one run
    may take; None: what the machine has."""

    graph: Graph
    options: Options
    threads: int | None
    state: RunState
    max_memory: int | None
    placement: Placement
