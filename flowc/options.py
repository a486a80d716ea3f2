"""What the caller chooses about a compilation. Every field that changes the program is part of the
cache's key."""

from __future__ import annotations

from flowc.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`target`: a name of codegen/targets.py. `fuse`: off, every node is a kernel of its own (for
    tests). `skip`: passes left out, by name (for tests and bug hunts). `max_memory`: the bytes that
    a compilation may make of values that the model does not hold itself, if that is less than the
    machine has. `for_library`: there is no Python where the program runs. `traced`: runs note when
    their steps begin and end. `exact`: products and convolutions add up the very products of their
    elements; without it, algorithms of fewer multiplications and formats of fewer bits are used
    where their error is as small as docs/guide/performance.md says. `on_host`: nodes that the CPU
    computes also where there is a GPU, by name. `tune`: of the ways in which a convolution can be
    computed, the one that takes the least time here, measured once and kept in the cache."""

    target: str = "native"
    fuse: bool = True
    skip: tuple[str, ...] = ()
    max_memory: int | None = None
    for_library: bool = False
    traced: bool = False
    exact: bool = False
    on_host: frozenset[str] = frozenset()
    tune: bool = False

    @property
    def has_gpu(self) -> bool:
        """Whether clusters may run on a GPU."""
        return self.target.partition(":")[0] == "cuda"

    @property
    def key(self) -> str:
        chosen = f"target={self.target};fuse={self.fuse};skip={','.join(self.skip)}"
        if self.on_host:
            chosen += f";host={','.join(sorted(self.on_host))}"
        return (
            f"{chosen};library={self.for_library}{';traced' * self.traced}{';exact' * self.exact}"
            f"{';tune' * self.tune}"
        )
