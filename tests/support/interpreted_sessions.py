"""Sessions whose programs the references of ops compute: nothing is compiled.

In: graphs without variables. Out: what a Session gives. Invariant: feeds, extraction and the sizes
of a run are those of any other Session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from ir_reference import reference_results

from flowc import compiler
from flowc.ir.computation import Computation
from flowc.ir.program_spec import ProgramSpec
from flowc.options import Options


class InterpretedProgram:
    """What a Session asks of an executable."""

    calls = None  # no host step
    metadata = SimpleNamespace(on_device=())

    def __init__(self, c: Computation, options: Options, spec: ProgramSpec, *_: object) -> None:
        self.spec, self.outputs = spec, spec.outputs
        self._c = c

    def limit_memory(self, limit: int | None) -> None:
        """References take what NumPy takes."""

    def layout_of(self, arrays: Sequence[np.ndarray]) -> Any:
        return SimpleNamespace(scalars=True)

    def run_laid_out(
        self, layout: Any, arrays: Sequence[np.ndarray], *_: object
    ) -> list[np.ndarray]:
        return reference_results(self._c, list(arrays))


@contextmanager
def sessions_by_references() -> Iterator[None]:
    """The Sessions that run in the block compile nothing."""
    with mock.patch.object(compiler, "load_executable", InterpretedProgram):
        yield
