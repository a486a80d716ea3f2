"""Ops that are not flowc's own: registered by a program, a package, or a library of C or C++.

`docs/custom-ops.md` shows them at work. Lowerings (`flowc.ir.lowering`) say how an op becomes code.
"""

from __future__ import annotations

from flowc.extending.registration import register_kernel, register_op
from flowc.extending.resources import register_resource
from flowc.ir.lowering import Decompose, Elementwise, Native, Reduction, View
from flowc.ops.math.elementwise import broadcast_dims, same_dims

__all__ = [
    "Decompose",
    "Elementwise",
    "Native",
    "Reduction",
    "View",
    "broadcast_dims",
    "register_kernel",
    "register_op",
    "register_resource",
    "same_dims",
]
