"""What ops touch beyond tensors: a small closed set of capabilities.

In: the op records, each with its capability or none. Out: what `graph/capabilities.py` asks of
imported nodes. Invariant: whatever a node of a model could do to files, to other machines or to the
process that runs it stands behind one of these names.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowc.dataclass import dataclass
from flowc.errors import UsageError, did_you_mean


@dataclass(frozen=True, slots=True)
class Capability:
    """`name`: what callers allow. `does`: what a node does with it. `paths`: the inputs that say
    which files; where the caller feeds all of them, the node needs no permission. `is_free`: no
    node needs one, it is only listed."""

    name: str
    does: str
    paths: tuple[int, ...] = ()
    is_free: bool = False


FILES = Capability("files", "reads or writes files")
NETWORK = Capability("network", "talks to other machines")
PYTHON = Capability("python", "calls functions of Python")
PRINT = Capability("print", "writes to stdout or stderr", is_free=True)

ALL = {c.name: c for c in (FILES, NETWORK, PYTHON, PRINT)}


def known_names(names: Iterable[str]) -> frozenset[str]:
    """The names of capabilities, as a set. Raises `UsageError` for an unknown one."""
    found = frozenset(names)
    for name in sorted(found - set(ALL)):
        hint = did_you_mean(name, ALL) or f"the capabilities are {', '.join(ALL)}"
        raise UsageError(f"no capability is named {name!r}", hint=hint)
    return found
