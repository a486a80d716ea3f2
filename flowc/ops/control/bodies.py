"""Loops and branches: nodes whose bodies are Computations.

`while`: `inputs` are `carried` values, then those that both bodies only read. `condition` (one bool
result) and `body` (`carried` results) have one parameter an input, in order. `varying` names the
sizes that a later iteration may find changed: symbols in the dims of carried parameters, defined
anew for each iteration by the dims of the body's results. The node defines (`sizes`) one size for
each of them: what it was at the end.

`if`: `inputs` are what the branches read; both have one parameter an input, and results of equal
dtypes. Where the dims of a result differ, or only a branch knows them, the node defines a size.

Bodies may use every size that is defined where the node stands. Results of bodies may be their
parameters, and one value may be several results.
"""

from __future__ import annotations

from flowc.ir.bodies import size_definitions
from flowc.ir.computation import Computation
from flowc.ir.dims import Dim, Symbol, maximum, substitute, symbols_of
from flowc.ir.inference import Inference
from flowc.ir.lowering import Structural
from flowc.ir.op import define
from flowc.ir.types import Dims


def _infer_while(c: Inference) -> list[Dims]:
    body: Computation = c.attrs["body"]
    final = {size: c.fresh(size.name, None) for size in c.attrs["varying"]}
    carried = body.parameters[: c.attrs["carried"]]
    return [tuple(substitute(d, final) for d in p.output.dims) for p in carried]


def _infer_if(c: Inference) -> list[Dims]:
    then, otherwise = c.attrs["then"], c.attrs["otherwise"]
    local = {*size_definitions(then), *size_definitions(otherwise)}
    found: list[Dims] = []
    for a, b in zip(then.results, otherwise.results, strict=True):
        if len(a.dims) != len(b.dims):
            raise c.fail(f"the branches give {a.type} and {b.type}, which differ in rank")
        found.append(tuple(_joined(c, x, y, local) for x, y in zip(a.dims, b.dims)))
    return found


def _joined(c: Inference, x: Dim, y: Dim, local: set[Symbol]) -> Dim:
    inside = not local.isdisjoint(symbols_of(x, y))
    if x == y and not inside:
        return x
    return c.fresh("n", None if inside else maximum(x, y))


while_ = define(
    "while",
    "_While(inputs: Tin; condition: func, body: func, carried: int, varying: list(symbol),"
    " Tin: list(type), Tout: list(type)) -> outputs: Tout",
    infer=_infer_while,
    lowering=Structural(),
    traits=frozenset({"no_fold"}),
)

if_ = define(
    "if",
    "_If(condition: bool, inputs: Tin; then: func, otherwise: func,"
    " Tin: list(type), Tout: list(type)) -> outputs: Tout",
    infer=_infer_if,
    lowering=Structural(),
    traits=frozenset({"no_fold"}),
)
