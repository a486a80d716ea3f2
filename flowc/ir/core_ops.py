"""The core ops: what a Computation is made of behind `lower`, beside its structure.

Everything that code generation needs is in the attrs, and inputs are data only: an axis, a
permutation, or a bound that is known, is in the attrs. `result` (`results`) are the dims of the
output, `label` the op that a node was lowered from, for readers. `effects`: the node does more than
compute its outputs. `device`: `on_cpu` or `on_gpu`, where a program registered a kernel for one
device alone, or placed the node on the CPU.

    map(body)          one element from the elements of the inputs there, which broadcast
    view(body)         one element from elements at other indices (`reshape`: the same elements in
                       the same order)
    reduce(axes, combine, prepare, finish...)      a fold over axes of input 0
    dot(transpose_a, transpose_b, pieces)          a product of matrices
    convolution(strides, dilations, pad, layout...)
    filter_gradient(strides, dilations, pad, swapped)   of a convolution, by its weights
    native(kernel, arguments, parallel...)         a loop kernel that is a Python function
    host(op)           Python on the host

Each is a lowering (`flowc.ir.lowering` says what it means) whose fields are the attrs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, assert_never

from flowc.dtypes import DType
from flowc.ir.dims import substitute
from flowc.ir.inference import Inference
from flowc.ir.layout import LAYOUTS
from flowc.ir.lowering import (
    Convolution,
    Decompose,
    Elementwise,
    Extracted,
    FilterGradient,
    Host,
    Lowering,
    MatMul,
    Native,
    Reduction,
    Structural,
    View,
)
from flowc.ir.op import Op, define, op_named
from flowc.ir.scalar import compute_dtype
from flowc.ir.scalar_body import ScalarBody, record_map, record_view
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.ir.computation import Computation, Node

STRUCTURE = frozenset({"parameter", "const", "sizes", "read_sizes", "cluster", "while", "if"})


def is_core(op: Op) -> bool:
    """Whether a Computation may hold an op behind `lower`."""
    return op in _CORE or op.name in STRUCTURE


def devices_of(cluster: Node) -> frozenset[str]:
    """The `device` of each node in a cluster."""
    body: Computation = cluster.attrs["body"]
    return frozenset(node.attrs.get("device", "") for node in body.nodes)


# -- type rules: what the attrs say of the output must fit the inputs


def _fits(c: Inference, body: ScalarBody, inputs: Sequence[DType], gives: DType | None) -> None:
    if body.inputs != tuple(inputs):
        raise c.fail(f"a body over {_shown(body.inputs)} is given {_shown(inputs)}")
    if gives is not None and body.dtype is not gives:
        raise c.fail(f"a body gives {body.dtype}, where {gives} is said")


def _shown(inputs: Sequence[DType]) -> str:
    return "(" + ", ".join(dtype.short for dtype in inputs) + ")"


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
        total = compute_dtype(c.attrs["accumulator"] or dtype)
        _fits(c, finish, (total,) * len(finish.inputs), None)
    return dims


def _infer_dot(c: Inference) -> Dims:
    *pieces, right = range(len(c.inputs))
    if len(pieces) != c.attrs["pieces"] or any(c.rank(i) < 2 for i in (*pieces, right)):
        raise c.fail(f"a product of {c.attrs['pieces']} pieces of matrices and a matrix")
    rows, inner = _matrix_dims(c.dims(0), c.attrs["transpose_a"])
    for i in pieces[1:]:
        inner = inner + c.dims(i)[-1]
    other, columns = _matrix_dims(c.dims(right), c.attrs["transpose_b"])
    if isinstance(inner, int) and isinstance(other, int) and inner != other:
        raise c.fail(f"sums over {inner} and {other} elements")
    dims: Dims = c.attrs["result"]
    if dims[-2:] != (rows, columns):
        raise c.fail(f"gives {[rows, columns]}, not {list(dims[-2:])}")
    for i in (*pieces, right):
        if c.dims(i)[:-2] != dims[:-2] and any(d != 1 for d in c.dims(i)[:-2]):
            raise c.fail(f"leading dims of input {i} are neither 1 nor {list(dims[:-2])}")
    return dims


def _matrix_dims(dims: Dims, transposed: bool) -> Dims:
    return dims[:-3:-1] if transposed else dims[-2:]


def _infer_convolution(c: Inference) -> Dims:
    layout = LAYOUTS[c.attrs["layout"]]
    image, (*window, per_group, outputs) = layout.logical(c.dims(0)), c.dims(1)
    dims = layout.logical(c.attrs["result"])
    wide, narrow = (dims, image) if c.attrs["transposed"] else (image, dims)
    if {len(wide), len(narrow), len(window) + 2} != {len(c.attrs["strides"]) + 2}:
        raise c.fail(
            f"{len(c.attrs['strides'])} strides, a window of {len(window)} axes, and images of "
            f"{len(image) - 2} and {len(dims) - 2} in logical order"
        )
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


def _infer_filter_gradient(c: Inference) -> Dims:
    image, made, (*window, channels, outputs) = c.dims(0), c.dims(1), c.attrs["result"]
    if c.attrs["swapped"]:
        channels, outputs = outputs, channels
    if {len(image), len(made), len(window) + 2} != {len(c.attrs["strides"]) + 2}:
        raise c.fail(f"images of ranks {len(image)} and {len(made)}, {len(window)} axes of taps")
    sizes = [
        (before + size + after - (count - 1) * dilation - 1) // stride + 1
        for size, count, stride, dilation, (before, after) in zip(
            image[1:-1], window, c.attrs["strides"], c.attrs["dilations"], c.attrs["pad"]
        )
    ]
    told = ((image[0], made[0]), (image[-1], channels), (made[-1], outputs))
    for x, y in (*told, *zip(made[1:-1], sizes)):
        if isinstance(x, int) and isinstance(y, int) and x != max(y, 0):
            raise c.fail(f"a size is {x}, where the others make it {y}")
    return c.attrs["result"]


def _infer_called(c: Inference) -> list[Dims]:
    """The dims of the results, with the sizes that the node defines made anew."""
    new = {size: c.fresh(size.name, bound) for size, bound in c.attrs["sizes"]}
    return [tuple(substitute(d, new) for d in dims) for dims in c.attrs["results"]]


# -- what a node's lowering says, as attrs

# By what the fields of lowerings are annotated with.
_KINDS = {
    "int": "int",
    "bool": "bool",
    "str": "string",
    "Dim": "size",
    "Any": "scalar",
    "Scalars": "scalars",
    "KernelFunction": "string",
    "DType | None": "type",
    "Scalars | None": "scalars",
    "int | None": "int",
    "tuple[int, ...]": "list(int)",
    "tuple[str, ...]": "list(string)",
    "tuple[Dim, ...]": "shape",
    "tuple[tuple[Dim, Dim], ...]": "list(shape)",
    "Mapping[str, Any]": "list(pair)",
}
_SHOWN = 'label: string = "", effects: bool = False, device: string = ""'
_ONE = f"result: dims, dtype: type, {_SHOWN}, Tin: list(type)) -> output: dtype"
_SEVERAL = (
    f"sizes: sizes = [], results: list(dims), Tout: list(type), {_SHOWN}, Tin: list(type))"
    " -> outputs: Tout"
)


def _attrs_of(kind: type[Any]) -> str:
    """The attrs of a core op, which have the names, types and defaults of a lowering's fields."""
    texts: list[str] = []
    for f in fields(kind):
        default = () if f.default_factory is not MISSING else f.default
        shown = f'"{default}"' if isinstance(default, str) else str(default).replace("()", "[]")
        texts.append(
            f"{f.name}: {_KINDS[str(f.type)]}" + ("" if default is MISSING else f" = {shown}")
        )
    return ", ".join(texts)


def _core_op(name: str, kind: type[Any], infer: Callable[[Inference], Any], results: str) -> Op:
    names = [f.name for f in fields(kind)]
    return define(
        name,
        f"_{name.title()}(inputs: Tin; {_attrs_of(kind)}, {results}",
        infer=infer,
        lowering=lambda node: kind(**{n: node.attrs[n] for n in names}),
    )


def _lower_host(node: Node) -> Host:
    found: Any = op_named(node.attrs["op"]).lowering
    return found


CORE_OPS: dict[type[Any], Op] = {
    Elementwise: _core_op("map", Elementwise, _infer_map, _ONE),
    View: _core_op("view", View, _infer_view, _ONE),
    Reduction: _core_op("reduce", Reduction, _infer_reduce, _ONE),
    MatMul: _core_op("dot", MatMul, _infer_dot, _ONE),
    Convolution: _core_op("convolution", Convolution, _infer_convolution, _ONE),
    FilterGradient: _core_op("filter_gradient", FilterGradient, _infer_filter_gradient, _ONE),
    Native: _core_op("native", Native, _infer_called, _SEVERAL),
    Host: define(
        "host",
        f"_Host(inputs: Tin; op: string, settings: list(pair) = [], {_SEVERAL}",
        infer=_infer_called,
        lowering=_lower_host,
    ),
}
_CORE = frozenset(CORE_OPS.values())


def core_op_named(name: str) -> Op:
    """The core op with this IR name. Raises `KeyError`."""
    return {op.name: op for op in _CORE}[name]


Record = Callable[[Callable[..., Any], tuple[DType, ...]], ScalarBody]


def recorded(node: Node, record: Record = record_map) -> tuple[Lowering, Sequence[int]]:
    """A node's lowering with functions recorded, so that attrs can say it; the inputs that it then
    is about, as what only told a function something (axes, known bounds) is in the bodies."""
    lowering, every = node.lowering, range(len(node.inputs))
    inputs = tuple(v.type.dtype for v in node.inputs)
    match lowering:
        case Elementwise(function):
            body = record(function, inputs)
            return Elementwise(body.with_inputs(body.read)), body.read
        case View(function, reshape):
            body = record_view(function, inputs, node.output.dims)
            kept = (0,) if reshape else body.read  # the bytes of a reshape are those of its input
            return View(body.with_inputs(kept), reshape), kept
        case Reduction(axes, _, prepare, finish, accumulator):
            dtype, kept = inputs[0], (0,)
            if prepare is not None:
                body = record(prepare, inputs)
                kept = tuple(sorted({0, *body.read}))
                prepare, dtype = body.with_inputs(kept), body.dtype
            if finish is not None:
                finish = record(finish, (compute_dtype(accumulator or dtype),) * 2)
            axes = tuple(sorted(axes))
            return replace(lowering, axes=axes, prepare=prepare, finish=finish), kept
        case Native():
            name: Any = lowering.kernel
            if not isinstance(name, str):
                name = f"{lowering.function.__module__}:{lowering.function.__qualname__}"
            constants: Any = tuple(sorted(lowering.constants.items()))
            return replace(lowering, kernel=name, constants=constants), every
        case MatMul() | Convolution() | FilterGradient():
            return lowering, every
        case Host() | Decompose() | Extracted() | Structural():
            return lowering, every
        case _:
            assert_never(lowering)
