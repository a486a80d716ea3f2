"""Launches on a GPU: the grid of threads that runs a kernel.

In: what a Launch says, and the shape of the grid. Out: what the driver calls the kernel with.
Invariant: results do not depend on the grid.
"""

from __future__ import annotations

from flowc.codegen.kernels.kernel import Launch
from flowc.dataclass import dataclass
from flowc.errors import InternalError
from flowc.ir.dims import Dim, product


@dataclass(frozen=True, eq=False)
class DeviceLaunch(Launch):
    """A launch on a GPU. Its kernel takes by value: the addresses of the operands, the ints, and
    `total`, all 64 bits wide, in this order. `grid`: blocks in x, y, z; `block`: threads in a
    block; `shared`: bytes of dynamic shared memory."""

    grid: tuple[Dim, Dim, Dim] = (1, 1, 1)
    block: int = 256
    shared: int = 0

    @property
    def memory(self) -> tuple[Dim, Dim]:
        """What its threads need stands where a workspace would: a launch has one of the two."""
        if self.scratch == 0:
            return 0, self.workspace
        if self.workspace != 0:
            raise InternalError(f"a launch with scratch and workspace: {self.kernel.key}")
        return 0, product(self.grid) * self.block * self.scratch
