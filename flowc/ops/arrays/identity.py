"""Ops that pass tensors on: placeholders, identities, checks, and nodes that only order others.

In: tensors. Out: the same tensors. Invariant: no op here changes an element.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import UNFED, InvalidArgumentError
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Decompose, Elementwise, Extracted
from flowc.ir.op import Attrs, Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, no_gradient, same_gradient
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.math.elementwise import same_dims

if TYPE_CHECKING:
    from flowc.ir.computation import Node, Value

IDENTITY = frozenset({"identity", "idempotent", "moves"})
STATIC = frozenset({"no_fold"})
PLACEHOLDER = STATIC | {"fed", "placeholder"}


def shape_attr_dims(c: Inference, name: str = "shape") -> Dims:
    """The dims that a shape attr gives. Raises `NeedsContent` for sizes that it leaves open."""
    shape = c.attrs[name]
    if shape is None or any(d is None for d in shape):
        raise NeedsContent(
            f"{c.op.tf_name} has no complete shape (found {_show(shape)})",
            node=c.node_name,
            hint="give its shape, for example --feed x=f32[batch,784]",
        )
    return tuple(shape)


def _show(shape: tuple[Dim | None, ...] | None) -> str:
    return "none" if shape is None else f"[{','.join('?' if d is None else str(d) for d in shape)}]"


def _copy(x: np.ndarray) -> np.ndarray:
    return x


def _infer_ensure_shape(c: Inference) -> Dims:
    shape = c.attrs["shape"]
    if shape is None:
        return c.dims(0)
    dims = c.dims(0)
    fault = (
        f"Shape of tensor {shown_dims(dims)} is not compatible with expected shape {_show(shape)}."
    )
    if len(shape) != len(dims):
        raise c.fail(fault)
    result: list[Dim] = []
    for dim, wanted in zip(dims, shape):
        if isinstance(dim, int) and wanted is not None and dim != wanted:
            raise c.fail(fault)
        result.append(dim if wanted is None else c.equal(dim, wanted))
    return tuple(result)


def _infer_with_default(c: Inference) -> Dims:
    shape = c.attrs["shape"]
    dims = c.dims(0)
    if shape is None:
        return dims
    if len(shape) != len(dims):
        raise c.fail(f"Shapes must be equal rank, but are {len(dims)} and {len(shape)}")
    for axis, (have, stated) in enumerate(zip(dims, shape)):
        if stated is not None and isinstance(have, int) and have != stated:
            raise c.fail(
                f"Dimension {axis} in both shapes must be equal, but are {have} and {stated}. "
                f"Shapes are {shown_dims(dims)} and {_show(shape)}."
            )
    return dims


def _faults_among(names: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """The faults that a tensor may have at once, most of them first, and what is said of them."""
    several = [c for n in range(len(names), 0, -1) for c in itertools.combinations(names, n)]
    return [(c, " and ".join([", ".join(c[:-1]), c[-1]] if len(c) > 1 else c)) for c in several]


def _checked(*tests: tuple[str, Callable[..., Any]]) -> Callable[..., np.ndarray]:
    """A reference that lets no element pass of which a named test holds."""

    def reference(tensor: np.ndarray, *, message: str) -> np.ndarray:
        wide = tensor.astype(np.float64)
        found = tuple(name for name, test in tests if test(wide).any())
        for names, listed in _faults_among([name for name, _ in tests]):
            if names == found:
                raise InvalidArgumentError(f"{message} : Tensor had {listed} values")
        return tensor

    return reference


def _build_check(b: Any, node: Node) -> Value:
    """Checks of the whole tensor, which stay where only a control input names the node."""
    x = node.inputs[0]
    infinite, nan = b.is_inf(x), b.is_nan(x)
    tests = {"Inf": infinite, "NaN": nan}
    if node.op.tf_name == "CheckNumericsV2":
        below = b.less(x, b.const(0, x.type.dtype))
        minus = b.logical_and(infinite, below)
        plus = b.logical_and(infinite, b.logical_not(below))
        tests = {"-Inf": minus, "+Inf": plus, "NaN": nan}
    axes = np.arange(x.type.rank, dtype=np.int32)
    held = {name: b.any(test, axes) for name, test in tests.items()}
    for names, listed in _faults_among(list(tests)):
        every = functools.reduce(b.logical_and, [held[name] for name in names])
        b.check(
            b.logical_not(every), message=f"{node.attrs['message']} : Tensor had {listed} values"
        )
    return x


def _pass_through(b: Any, node: Node) -> Any:
    return node.inputs


def _unfed(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """A placeholder in a branch must be fed only where the branch is taken: a run fails there. What
    stands for it is of the shape that is stated, with 1 for a size that is not."""
    shape, dtype = attrs.get("shape"), attrs["dtype"]
    where = f" and shape {shown_dims(shape)}" if shape else ""
    message = f"{UNFED} '{x.name}' with dtype {dtype_shown(dtype)}{where}"
    if x.is_unconditional or dtype.numpy is None:
        raise InvalidArgumentError(message)
    x.b.check(x.b.const(np.bool_(False)), message=message)
    sizes = [1 if size is None else size for size in shape or ()]
    filling = b"" if dtype is dtypes.string else 0
    return [x.b.const(np.full(sizes, filling, dtype.numpy), dtype)]


def _identity(
    name: str,
    tf: str,
    examples: tuple[str, ...],
    infer: Callable[[Inference], Dims] = same_dims,
    gradient: Callable[..., Any] | None = same_gradient,
    traits: frozenset[str] = IDENTITY,
    content: bool = True,
    aliases: tuple[str, ...] = (),
) -> Op:
    """An op whose output is its input; the gradient is the output's, if nothing else is said."""
    return define(
        name,
        tf,
        infer=infer,
        reference=_copy,
        lowering=Elementwise(lambda k, x: x),
        gradient=gradient,
        traits=traits,
        examples=examples,
        content=content,
        aliases=aliases,
    )


for _name, _tf_name, _default in (
    ("placeholder", "Placeholder", " = None"),
    ("placeholder_v2", "PlaceholderV2", ""),
):
    define(
        _name,
        f"{_tf_name}(; dtype: type, shape: shape{_default}) -> output: dtype",
        infer=shape_attr_dims,
        lowering=Extracted(_unfed),
        traits=PLACEHOLDER,
    )

# Where it is not fed, it is its default.
placeholder_with_default = _identity(
    "placeholder_with_default",
    "PlaceholderWithDefault(input: dtype; dtype: type, shape: shape) -> output: dtype",
    ("f32[2,3]; shape=(2, 3)", "i32[]; shape=()"),
    infer=_infer_with_default,
    traits=IDENTITY | {"fed"},
)

identity = _identity(
    "identity",
    "Identity(input: T; T: type) -> output: T",
    ("T[2,3]", "T[]", "T[0]"),
    aliases=("DebugGradientIdentity",),
)

guarantee_const = _identity(
    "guarantee_const", "GuaranteeConst(input: T; T: type) -> output: T", ("f32[2,3]", "i32[]")
)

ref_identity = _identity(
    "ref_identity",
    "RefIdentity(input: ref(T); T: type) -> output: ref(T)",
    ("f32[2,3]",),
)

identity_n = define(
    "identity_n",
    "IdentityN(input: T; T: list(type) >= 1) -> output: T",
    infer=lambda c: [t.dims for t in c.inputs],
    reference=lambda inputs: inputs,
    lowering=Decompose(_pass_through),
    gradient=lambda b, node, *dys: dys,
    examples=("f32[2,3] i32[4]", "bool[]"),
    content=True,
)

stop_gradient = _identity(
    "stop_gradient",
    "StopGradient(input: T; T: type) -> output: T",
    ("T[2,3]", "T[0]"),
    gradient=no_gradient,
)

# Its gradient is an error: None as a record's gradient means that there is none.
prevent_gradient = _identity(
    "prevent_gradient",
    'PreventGradient(input: T; T: type, message: string = "") -> output: T',
    ("T[2,3]",),
    gradient=None,
)

snapshot = _identity(
    "snapshot",
    "Snapshot(input: T; T: type) -> output: T",
    ("T[2,3]",),
)

deep_copy = _identity(
    "deep_copy", "DeepCopy(x: T; T: type) -> y: T", ("f32[2,3]",), gradient=None, content=False
)

ensure_shape = _identity(
    "ensure_shape",
    "EnsureShape(input: T; shape: shape, T: type) -> output: T",
    ("T[2,3]; shape=(2, None)", "f32[4]; shape=None", "T[0]; shape=(0,)"),
    infer=_infer_ensure_shape,
)


def _check_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    message = (
        "Not a number (NaN) or infinity (Inf) values detected in gradient. "
        f"{node.attrs['message'].encode()!r}"
    )
    return b.apply(node.op, [dy], {"message": message})


check_numerics = define(
    "check_numerics",
    "CheckNumerics(tensor: T; T: {bf16, f16, f32, f64}, message: string) -> output: T",
    infer=same_dims,
    reference=_checked(("Inf", np.isinf), ("NaN", np.isnan)),
    lowering=Decompose(_build_check),
    gradient=_check_gradient,
    traits=frozenset({"stateful"}),  # what a control input names is checked, too
    examples=('T[2,3]~finite; message="m"', 'T[0]; message=""'),
)

check_numerics_v2 = define(
    "check_numerics_v2",
    "CheckNumericsV2(tensor: T; T: {bf16, f16, f32, f64}, message: string) -> output: T",
    infer=same_dims,
    reference=_checked(("-Inf", np.isneginf), ("+Inf", np.isposinf), ("NaN", np.isnan)),
    lowering=Decompose(_build_check),
    gradient=_check_gradient,
    traits=frozenset({"stateful"}),  # what a control input names is checked, too
    examples=('T[2,3]~finite; message="m"', 'T[0]; message=""'),
)

no_op = define(
    "no_op",
    "NoOp()",
    infer=lambda c: [],
    lowering=Extracted(lambda x, inputs, attrs: ()),
    traits=STATIC,
)

control_trigger = define(
    "control_trigger",
    "ControlTrigger()",
    infer=lambda c: [],
    lowering=Extracted(lambda x, inputs, attrs: ()),
    traits=STATIC | {"runs_if_dead"},
)
