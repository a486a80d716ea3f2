"""Keys of programs in the cache, for tests that wait for no other."""

from __future__ import annotations

from flowc.cache.store import pending_program_key
from flowc.ir.computation import Computation
from flowc.ir.program_spec import ProgramSpec
from flowc.options import Options


def program_key(c: Computation, options: Options, spec: ProgramSpec) -> str:
    return pending_program_key(c, options, spec)[0]()
