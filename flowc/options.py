"""What the caller chooses about a compilation. Every field is part of the cache's key."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`target`: a name of codegen/targets.py. `fuse`: off, every node is a kernel of its own (for
    tests). `skip`: passes left out, by name (for tests and bug hunts)."""

    target: str = "native"
    fuse: bool = True
    skip: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"target={self.target};fuse={self.fuse};skip={','.join(self.skip)}"
