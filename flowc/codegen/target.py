"""What kernels are compiled for. One folder of `codegen` implements it.

In: clusters, loop nests, kernels. Out: launches, source, machine code, and calls in the driver.
Invariant: what differs from one kind of machine to another is behind these methods; `targets.py`
is the one table that names the folders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from flowc.codegen.driver.frame import RunFrame
    from flowc.codegen.kernels.kernel import Kernel, Launch
    from flowc.codegen.kernels.loop_choices import LoopChoices
    from flowc.codegen.kernels.nest import LoopNest
    from flowc.codegen.llvm.processor import Processor
    from flowc.ir.computation import Computation, Node


# The objects of a part that kernels share, its own and those of the parts that it shares with
# others, by the part's name, made where nobody has made them.
Kept = Callable[[str, Callable[[], tuple[bytes, ...]]], tuple[bytes, ...]]


def made_anew(name: str, make: Callable[[], tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """For a kernel by itself: nothing is kept."""
    return make()


class Target(Protocol):
    """A kind of machine. Equal keys stand for equal code."""

    @property
    def key(self) -> str:
        """What a cache entry for this target depends on."""
        ...

    @property
    def processor(self) -> Processor:
        """The CPU that runs the driver, the pool and the arena."""
        ...

    @property
    def libraries(self) -> tuple[str, ...]:
        """The targets whose objects, in libraries that come with the package, serve for it."""
        ...

    @property
    def choices(self) -> LoopChoices:
        """What loop nests are made for it."""
        ...

    @property
    def host(self) -> Target:
        """The target of the clusters that no device runs: itself where there is no device."""
        ...

    def on_device(self, c: Computation) -> frozenset[Node]:
        """The clusters of a Computation, also those in bodies, that a device runs."""
        ...

    def algorithms_of(self, node: Node) -> Sequence[str]:
        """The names of the algorithms by which a cluster can be computed, that which the cost model
        chooses first; none where there is nothing to choose."""
        ...

    @property
    def algorithms(self) -> Mapping[Node, str]:
        """The algorithms of clusters for which the cost model's choice is overridden."""
        ...

    def with_algorithms(self, chosen: Mapping[Node, str]) -> Target:
        """The same target, which computes clusters by these algorithms."""
        ...

    def check_runs_here(self) -> None:
        """Raises `UsageError` where this machine cannot run what is compiled, to measure it."""
        ...

    def launches(self, node: Node) -> tuple[Launch, ...]:
        """The kernels of a cluster, in the order in which they run."""
        ...

    def kernel(self, nest: LoopNest) -> Kernel:
        """A loop nest in the language of the target."""
        ...

    def objects_of(self, kernel: Kernel, kept: Kept) -> tuple[bytes, ...]:
        """A kernel as relocatable objects, which what calls it is linked with: its own, and those
        of the parts that it shares with others."""
        ...

    def kernel_text(self, kernel: Kernel, form: Literal["llvm", "asm"]) -> str:
        """The optimised LLVM IR or assembly of a kernel, for people to read."""
        ...

    def emit_call(self, frame: RunFrame, launch: Launch, buffers: Any, ints: Any) -> None:
        """Emits what the driver does to launch a kernel, whose pointers and ints are in two
        tables of the frame."""
        ...
