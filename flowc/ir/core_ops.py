"""The core ops: what a Computation is made of behind `lower`, beside its structure.

Everything that code generation needs is in the attrs, and inputs are data only: an axis, a
permutation, or a bound that is known, is in the attrs. `result` (`results`) are the dims of the
output, `label` the op in whose stead a node stands, for readers. `effects`: the node does more than
compute its outputs.

    map(body)          one element from the elements of the inputs there, which broadcast
    view(body)         one element from elements at other indices (`reshape`: the same elements in
                       the same order)
    reduce(axes, combine, prepare, finish...)      a fold over axes of input 0
    dot(transpose_a, transpose_b, pieces)          a product of matrices
    convolution(strides, dilations, pad, layout...)
    native(kernel, arguments, parallel...)         a loop kernel that is a Python function
    host(op)           Python on the host

`flowc.ir.lowering` says what each means: a node's lowering is made of its attrs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from flowc.dtypes import DType
from flowc.ir.dims import substitute
from flowc.ir.layout import CHANNELS_LAST, LAYOUTS
from flowc.ir.lowering import (
    Convolution,
    Elementwise,
    Host,
    MatMul,
    Native,
    Reduction,
    View,
)
from flowc.ir.op import Inference, Op, define, op_named
from flowc.ir.scalar import held_dtype
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ir.computation import Node

STRUCTURE = frozenset({"parameter", "const", "sizes", "read_sizes", "cluster", "while", "if"})
_SHOWN = 'label: string = "", effects: bool = False'
_LAYOUT_NAMES = ", ".join(f'"{name}"' for name in LAYOUTS)


def is_core(op: Op) -> bool:
    """Whether a Computation may hold an op behind `lower`."""
    return op in _CORE or op.name in STRUCTURE


# -- type rules: what the attrs say of the output must fit the inputs


def _fits(c: Inference, body: ScalarBody, inputs: Sequence[DType], gives: DType | None) -> None:
    if body.inputs != tuple(inputs):
        raise c.fail(f"a body over {_shown(body.inputs)} is given {_shown(inputs)}")
    if gives is not None and body.dtype is not gives:
        raise c.fail(f"a body gives {body.dtype}, where {gives} is said")


def _shown(inputs: Sequence[DType]) -> str:
    return "(" + ", ".join(map(str, inputs)) + ")"


def _broadcasts(c: Inference, operand: int, dims: Dims) -> None:
    """Checks that an input can be read at every index of `dims`."""
    own = c.dims(operand)
    if len(own) > len(dims) or any(
        isinstance(x, int) and isinstance(y, int) and x not in (1, y)
        for x, y in zip(reversed(own), reversed(dims))
    ):
        raise c.fail(f"input {operand} does not broadcast to {list(dims)}")


def _infer_map(c: Inference) -> Dims:
    body: ScalarBody = c.attrs["body"]
    if body.rank is not None:
        raise c.fail("the body reads at an index, as views do")
    _fits(c, body, [t.dtype for t in c.inputs], c.attrs["dtype"])
    for operand in range(len(c.inputs)):
        _broadcasts(c, operand, c.attrs["result"])
    return c.attrs["result"]


def _infer_view(c: Inference) -> Dims:
    body: ScalarBody = c.attrs["body"]
    dims: Dims = c.attrs["result"]
    if body.rank != len(dims):
        raise c.fail(f"the body's index has rank {body.rank}, the result {len(dims)}")
    _fits(c, body, [t.dtype for t in c.inputs], c.attrs["dtype"])
    for source, index in body.loads():
        if len(index) != c.rank(source):
            raise c.fail(f"input {source} of rank {c.rank(source)} is read at {list(index)}")
    return dims


def _infer_reduce(c: Inference) -> Dims:
    full, axes, dims = c.dims(0), c.attrs["axes"], c.attrs["result"]
    if sorted(set(axes)) != list(axes) or any(not 0 <= a < len(full) for a in axes):
        raise c.fail(f"axes {list(axes)} of rank {len(full)}")
    kept = tuple(1 if a in axes else d for a, d in enumerate(full))
    dropped = tuple(d for a, d in enumerate(full) if a not in axes)
    if dims not in (kept, dropped):
        raise c.fail(f"a fold over axes {list(axes)} gives {list(dropped)}, not {list(dims)}")
    for operand in range(1, len(c.inputs)):
        _broadcasts(c, operand, full)
    prepare, finish = c.attrs["prepare"], c.attrs["finish"]
    dtype = c.inputs[0].dtype
    if prepare is not None:
        _fits(c, prepare, [t.dtype for t in c.inputs], None)
        dtype = prepare.dtype
    if finish is not None:
        total = held_dtype(c.attrs["accumulator"] or dtype)
        _fits(c, finish, (total,) * len(finish.inputs), None)
    return dims


def _infer_dot(c: Inference) -> Dims:
    *pieces, right = range(len(c.inputs))
    if len(pieces) != c.attrs["pieces"] or any(c.rank(i) < 2 for i in (*pieces, right)):
        raise c.fail(f"a product of {c.attrs['pieces']} pieces of matrices and a matrix")
    rows, inner = _turned(c.dims(0), c.attrs["transpose_a"])
    for i in pieces[1:]:
        inner = inner + c.dims(i)[-1]
    other, columns = _turned(c.dims(right), c.attrs["transpose_b"])
    if isinstance(inner, int) and isinstance(other, int) and inner != other:
        raise c.fail(f"sums over {inner} and {other} elements")
    dims: Dims = c.attrs["result"]
    if dims[-2:] != (rows, columns):
        raise c.fail(f"gives {[rows, columns]}, not {list(dims[-2:])}")
    for i in (*pieces, right):
        if c.dims(i)[:-2] != dims[:-2] and any(d != 1 for d in c.dims(i)[:-2]):
            raise c.fail(f"leading dims of input {i} are neither 1 nor {list(dims[:-2])}")
    return dims


def _turned(dims: Dims, transposed: bool) -> Dims:
    return dims[:-3:-1] if transposed else dims[-2:]


def _infer_convolution(c: Inference) -> Dims:
    layout = LAYOUTS[c.attrs["layout"]]
    image, (*window, per_group, outputs) = layout.logical(c.dims(0)), c.dims(1)
    dims = layout.logical(c.attrs["result"])
    wide, narrow = (dims, image) if c.attrs["transposed"] else (image, dims)
    if {len(wide), len(narrow), len(window) + 2} != {len(c.attrs["strides"]) + 2}:
        raise c.fail(f"{len(c.attrs['strides'])} strides")
    channels = per_group * c.attrs["groups"]
    sizes = [
        (before + size + after - (count - 1) * dilation - 1) // stride + 1
        for size, count, stride, dilation, (before, after) in zip(
            wide[1:-1], window, c.attrs["strides"], c.attrs["dilations"], c.attrs["pad"]
        )
    ]
    told = ((wide[0], narrow[0]), (wide[-1], channels), (narrow[-1], outputs))
    for x, y in (*told, *zip(narrow[1:-1], sizes)):
        if isinstance(x, int) and isinstance(y, int) and x != max(y, 0):
            raise c.fail(f"a size is {x}, where the others make it {y}")
    return c.attrs["result"]


def _infer_called(c: Inference) -> list[Dims]:
    """The dims of the results, with the sizes that the node defines made anew."""
    new = {name: c.fresh(name, bound) for name, bound in c.attrs["sizes"]}
    return [tuple(substitute(d, new) for d in dims) for dims in c.attrs["results"]]


# -- what the attrs mean


@cache
def kernel_named(path: str) -> Callable[..., None]:
    """The function that `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _said(kind: type[Any]) -> Callable[[Node], Any]:
    """The lowering of nodes whose attrs have the names of its fields."""
    names = [f.name for f in fields(kind)]
    return lambda node: kind(**{name: node.attrs[name] for name in names})


def _lower_native(node: Node) -> Native:
    kernel, constants = kernel_named(node.attrs["kernel"]), dict(node.attrs["constants"])
    return replace(_said(Native)(node), kernel=kernel, constants=constants)


def _lower_host(node: Node) -> Host:
    found: Any = op_named(node.attrs["op"]).lowering
    return found


map_ = define(
    "map",
    f"_Map(inputs: Tin; body: scalars, result: dims, dtype: type, {_SHOWN}, Tin: list(type))"
    " -> output: dtype",
    infer=_infer_map,
    lowering=lambda node: Elementwise(node.attrs["body"]),
)

view = define(
    "view",
    f"_View(inputs: Tin; body: scalars, reshape: bool = False, result: dims, dtype: type,"
    f" {_SHOWN}, Tin: list(type)) -> output: dtype",
    infer=_infer_view,
    lowering=lambda node: View(node.attrs["body"], node.attrs["reshape"]),
)

reduce_ = define(
    "reduce",
    "_Reduce(inputs: Tin; axes: list(int), combine: string, prepare: scalars = None,"
    " finish: scalars = None, accumulator: type = None, empty: scalar = None,"
    f" result: dims, dtype: type, {_SHOWN}, Tin: list(type)) -> output: dtype",
    infer=_infer_reduce,
    lowering=_said(Reduction),
)

dot = define(
    "dot",
    "_Dot(inputs: Tin; transpose_a: bool = False, transpose_b: bool = False,"
    f" pieces: int = 1, result: dims, dtype: type, {_SHOWN}, Tin: list(type))"
    " -> output: dtype",
    infer=_infer_dot,
    lowering=_said(MatMul),
)

convolution = define(
    "convolution",
    "_Convolution(image: T, weights: T; T: type, strides: list(int), dilations: list(int),"
    " pad: list(shape), groups: int = 1, transposed: bool = False,"
    f' layout: {{{_LAYOUT_NAMES}}} = "{CHANNELS_LAST}", result: dims, dtype: type, {_SHOWN})'
    " -> output: dtype",
    infer=_infer_convolution,
    lowering=_said(Convolution),
)

native = define(
    "native",
    "_Native(inputs: Tin; kernel: string, arguments: shape = [], parallel: size = 1,"
    ' scratch: size = 0, errors: list(string) = [], fault: string = "InvalidArgumentError",'
    " constants: list(pair) = [], functions: list(string) = [], updates: int = None,"
    " moves: bool = False, sizes: sizes = [], results: list(dims), Tout: list(type),"
    f" {_SHOWN}, Tin: list(type)) -> outputs: Tout",
    infer=_infer_called,
    lowering=_lower_native,
)

host = define(
    "host",
    "_Host(inputs: Tin; op: string, settings: list(pair) = [], sizes: sizes = [],"
    f" results: list(dims), Tout: list(type), {_SHOWN}, Tin: list(type)) -> outputs: Tout",
    infer=_infer_called,
    lowering=_lower_host,
)

_CORE = frozenset({map_, view, reduce_, dot, convolution, native, host})
