"""Ops of the Computation itself, which no TensorFlow graph holds by these names."""

from __future__ import annotations

from flowc.ir.dims import Dim, symbols_of
from flowc.ir.inference import Inference
from flowc.ir.lowering import Structural
from flowc.ir.op import define
from flowc.ir.types import Dims

REST = "rest"  # begins the names of sizes that may stand for "the rest"


def may_be_rest(dim: Dim) -> bool:
    """Whether a size that the run reads may turn out to be -1, which stands for the rest."""
    return any(size.name.startswith(REST) for size in symbols_of(dim))


def _infer_read_sizes(c: Inference) -> list[Dims]:
    count = int(c.inputs[0].size)
    for _ in range(count):
        c.fresh(REST if c.attrs["below"] else "n")
    return []


def _infer_cluster(c: Inference) -> list[Dims]:
    return [v.type.dims for v in c.attrs["body"].results]


parameter = define(
    "parameter",
    "_Parameter(; name: string, dtype: type, dims: shape) -> output: dtype",
    infer=lambda c: c.attrs["dims"],
    lowering=Structural(),
    traits=frozenset({"no_fold"}),
)

const = define(
    "const",
    "Const(; value: tensor, dtype: type) -> output: dtype",
    infer=lambda c: c.attrs["value"].shape,
    reference=lambda *, value: value,
    lowering=Structural(),
)

sizes = define(
    "sizes",
    "_Sizes(; dims: shape, dtype: {i32, i64} = i32) -> output: dtype",
    infer=lambda c: (len(c.attrs["dims"]),),
    lowering=Structural(),
    traits=frozenset({"no_fold"}),
)

# Defines sizes (node.sizes), one for each element of a small integer tensor that the run computes.
# Sizes are not negative: where elements may be (-1 as "the rest"), each is element plus `below`.
read_sizes = define(
    "read_sizes",
    "_ReadSizes(input: T; T: INT, below: int = 0)",
    infer=_infer_read_sizes,
    lowering=Structural(),
    traits=frozenset({"no_fold"}),
)

# One fused group of nodes: `body` is a Computation whose parameters are the inputs, `kind` what
# becomes of it: loop, matmul, convolution or native; scalar, whose body holds a loop, or stream,
# whose body holds the clusters of a chain.
cluster = define(
    "cluster",
    "_Cluster(inputs: Tin; body: func, kind: string, Tin: list(type), Tout: list(type))"
    " -> outputs: Tout",
    infer=_infer_cluster,
    lowering=Structural(),
    traits=frozenset({"no_fold"}),
)
