"""Steps on variants that only Python knows: what a record of such an op is made of.

In: a signature with `variant` in it, and the function of a host step. Out: two records,
TensorFlow's and an internal one whose variants are strings, as native code passes such values on
(`ir/host_run.py`). Invariant: what a variant holds is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, ListValue
from flowc.ir.host_run import HostValue, held
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Gradient
from flowc.ops.host_ops import host_op, infer_shapes
from flowc.ops.queues.handles import completed
from flowc.ops.state.variables import value_of

Array = np.ndarray[Any, Any]
Shape = tuple[int | None, ...]
Step = Callable[..., list[Array]]


class Addend(Protocol):
    """What gradients flow through: a value that has zeros, and sums."""

    kind: str

    def zeros(self) -> Any: ...

    def plus(self, other: Any) -> Any: ...


A = TypeVar("A")


def variant_of(value: Any) -> Array:
    """A scalar that holds a value."""
    return held(HostValue.of(value))


def held_in(item: Any, kind: type[A]) -> A | None:
    """What a variant holds, where that is of a kind."""
    found = getattr(item, "value", None)
    return found if isinstance(found, kind) else None


def kind_of(item: Any) -> str:
    """The type of what a variant holds, as messages show it."""
    kind = getattr(getattr(item, "value", None), "kind", None)
    return f"Variant<type: {kind} value: {kind.rpartition(':')[-1]}>" if kind else "Variant<type: >"


LIST = "Variant<type: tensorflow::TensorList value: TensorList>"

# -- records


def define_variant_step(
    name: str,
    tf: str,
    step: Step,
    infer: Callable[[Inference], Dims | list[Dims]],
    settings: Sequence[str] = (),
    *,
    open_shapes: Callable[[Attrs], Sequence[Shape | None]] | None = None,
    gradient: Gradient | None = None,
    not_a: str = "",
    may_block: bool = False,
) -> None:
    """What reads or makes variants.

    `open_shapes`: those of outputs, None for one of a rank that only the run knows; then `infer`
    only checks the inputs. `not_a`: what a list is not, which stands where such a variant should.
    """
    op_type, _, rest = tf.partition("(")
    host = Host(step, op_type, tuple(settings), only_reads=True)
    own = rest.replace("variant", "string")
    if open_shapes is not None:
        arguments, _, outputs = own.partition(") -> ")
        more = f"{arguments}{', ' if ';' in arguments else '; '}shapes: list(shape)"
        own = f"{more}) -> {outputs}"
    inner = define(
        f"{name}_step",
        f"_{op_type}({own}",
        infer=infer if open_shapes is None else infer_shapes,
        lowering=host,
    )
    emit = partial(_emit, step=inner, open_shapes=open_shapes, not_a=not_a)
    define(
        name,
        tf,
        infer=infer if open_shapes is None else partial(_not_yet, check=infer, shapes=open_shapes),
        lowering=Extracted(emit, host),
        gradient=gradient,
        traits=frozenset({"may_block"}) if may_block else frozenset(),
    )


def _not_yet(c: Inference, check: Any, shapes: Any) -> list[Dims]:
    check(c)
    raise NeedsContent(
        f"only a run knows the shapes of what {c.op.tf_name} takes from a variant",
        node=c.node_name,
        shapes=shapes(c.attrs),
    )


def _emit(
    x: Extractor,
    inputs: Sequence[Bound],
    attrs: Attrs,
    *,
    step: Op,
    open_shapes: Any,
    not_a: str,
) -> Sequence[Bound]:
    if inputs and not_a and isinstance(inputs[0], ListValue):
        raise InvalidArgumentError(f"Input handle is not a {not_a}. Saw: '{LIST}'", node=x.name)
    values = [value_of(x, bound) for bound in inputs]
    found = step.signature.inferred_attrs
    given = {
        n: dtypes.string if v is dtypes.variant else v for n, v in attrs.items() if n not in found
    }
    if open_shapes is not None:
        given["shapes"] = tuple(completed(x, list(open_shapes(attrs))))
    return x.b.emit(step, values, given).outputs


# -- what plain ops make of them


def _summed(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    """Element by element. Where nothing was set in a list of variants, the others are the sum."""
    items = [held(x) for x in inputs]
    found = np.empty(items[0].size, object)
    for k, column in enumerate(zip(*(item.reshape(-1) for item in items))):
        values = [item.value for item in column if isinstance(item, HostValue)]
        kinds = {type(value) for value in values}
        if len(kinds) > 1 or not all(hasattr(kind, "plus") for kind in kinds):
            shown = ", ".join(map(kind_of, column))
            raise InvalidArgumentError(f"there is no sum of variants that hold {shown}")
        summands = cast(list[Addend], values)
        found[k] = HostValue.of(reduce(lambda a, b: a.plus(b), summands)) if values else b""
    return [found.reshape(items[0].shape)]


def _zeros(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    item = held(inputs[0])[()]
    value = getattr(item, "value", None)
    if not hasattr(value, "zeros"):
        raise InvalidArgumentError(f"there are no zeros like what {kind_of(item)} holds")
    return [variant_of(cast(Addend, value).zeros())]


_sum_step = host_op(
    "variant_sum",
    "_SumOfVariants(inputs: N*string; N: int >= 1) -> sum: string",
    _summed,
    infer=lambda c: c.dims(0),
    shown="AddN",
)
_zeros_step = host_op(
    "variant_zeros",
    "_ZerosOfVariant(x: string) -> y: string",
    _zeros,
    infer=lambda c: c.dims(0),
    shown="ZerosLike",
)


def elements_summed(b: Builder, values: Sequence[Value]) -> Value:
    return b.emit(_sum_step, values, {}).output


def sum_of_variants(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    values = [value_of(x, bound) for bound in inputs]
    if values[0].dims:
        raise InvalidArgumentError(
            "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported; inputs[0] has "
            f"shape: {shown_dims(values[0].dims)}."
        )
    return [elements_summed(x.b, values)]


def zeros_of_variant(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    value = value_of(x, inputs[0])
    if value.dims:
        raise InvalidArgumentError(
            "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported."
        )
    return x.b.emit(_zeros_step, [value], {}).outputs
