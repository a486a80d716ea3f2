"""Ops and kernels that a program registers, as flowc's own are defined: one record an op.

In: a signature as TensorFlow's registry has it, a shape function, kernels, a gradient. Out: the
record, and a function that makes its nodes. Invariant: what is registered is an op like any other:
graphs hold it, files import and export it, gradients and fusion know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, overload

from flowc.api.framework.plain_ops import op_function
from flowc.dtypes import DType, as_dtype
from flowc.errors import NotFoundError, did_you_mean
from flowc.extending.handles import HandleKernels, handle_places
from flowc.extending.kernels import BOTH, CPU, GPU, Choice, Kernels, kernels_of
from flowc.extending.signatures import Texts, check_new, ir_name, joined, signature_text
from flowc.extending.stamps import stamp_of
from flowc.ir.capability import ALL, known_names
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import Op, define, defined_ops
from flowc.ir.signature import OpSignature, parse_signature
from flowc.ops import tf_names, tf_op

ShapeFunction = Callable[[Inference], Any]  # dims, or a list of dims for each output
Decorator = Callable[[Callable[..., Any] | None], Callable[..., Any]]


@overload
def register_op(
    name: str,
    inputs: Texts,
    outputs: Texts,
    shape_fn: ShapeFunction,
    *,
    attrs: Texts = "",
    lowering: Choice | None = None,
    reference: Callable[..., Any] | None = None,
    gradient: Callable[..., Any] | None = None,
    stateful: bool = False,
    examples: Sequence[str] = (),
    capability: str | None = None,
) -> Callable[..., Any]: ...
@overload
def register_op(
    name: str,
    *,
    shape_fn: ShapeFunction,
    lowering: Choice | None = None,
    gradient: Callable[..., Any] | None = None,
    stateful: bool = False,
    examples: Sequence[str] = (),
    capability: str | None = None,
) -> Decorator: ...
def register_op(
    name: str,
    inputs: Texts | None = None,
    outputs: Texts | None = None,
    shape_fn: ShapeFunction | None = None,
    *,
    attrs: Texts = "",
    lowering: Choice | None = None,
    reference: Callable[..., Any] | None = None,
    gradient: Callable[..., Any] | None = None,
    stateful: bool = False,
    examples: Sequence[str] = (),
    capability: str | None = None,
) -> Any:
    """Registers an op, and returns the function that adds nodes of it to the default graph.

    `inputs`, `outputs`, `attrs` are what TensorFlow's `REGISTER_OP` takes: `"to_zero: int32"`,
    `"x: T"`, `"T: {float, double}"`. `shape_fn(c)` returns the sizes of the output, or a list of
    them for each output: `c.dims(0)` are those of input 0. Kernels are registered apart, by
    `register_kernel`, or here: `lowering`. Without either, `reference`, a function of NumPy arrays,
    computes the op. `gradient(b, node, *dys)` returns the gradient of each input (None: none),
    where `b.mul(x, y)` is flowc's op `mul`; `RegisterGradient` does as well. `stateful`: no node is
    merged with an equal one, folded or left out. `capability`: `"files"`, `"network"` or
    `"python"`, for an op that a model from a file may only use where it is allowed to.

    With the whole signature as the name (`"Swish(x: T; T: {float}) -> y: T"`) and nothing behind
    it, a decorator of the reference. Raises `AlreadyExistsError` for an op that is registered
    already, and `ValueError` for an invalid signature.
    """
    if inputs is None or outputs is None:
        if "(" not in name:
            raise ValueError(f"op {name!r}: inputs and outputs are missing")
        text = name
    else:
        text = signature_text(name, joined(inputs), joined(attrs), joined(outputs))
    if shape_fn is None:
        raise TypeError(f"op {name!r}: a shape function is missing")

    register = partial(
        define_registered,
        text,
        shape_fn,
        lowering=lowering,
        gradient=gradient,
        stateful=stateful,
        examples=examples,
        capability=capability,
    )
    return register(reference) if text is not name else register


def define_registered(
    text: str,
    shape_fn: ShapeFunction,
    function: Callable[..., Any] | None,
    *,
    lowering: Choice | None = None,
    gradient: Callable[..., Any] | None = None,
    stateful: bool = False,
    examples: Sequence[str] = (),
    capability: str | None = None,
    memory: Op | None = None,
) -> Callable[..., Any]:
    """The function of an op, of a whole signature and its reference `function`, as `register_op`
    has it. `memory`: the step that gives the handle of what a node keeps, of ops in C."""
    check_new(text)
    known_names([capability] if capability is not None else [])
    signature = parse_signature(text)
    kernels, chosen = _kernels_for(signature, memory)
    if lowering is not None:
        kernels.add_lowering(lowering, {})
    has_state = stateful or isinstance(kernels, HandleKernels)
    record = define(
        ir_name(signature.name),
        text,
        infer=_infer_of(shape_fn),
        lowering=chosen,
        on_gpu=kernels.on_gpu,
        reference=function,
        gradient=gradient,
        traits=frozenset({"stateful"} if has_state else ()),
        examples=tuple(examples),
        capability=None if capability is None else ALL[capability],
        stamp=lambda: stamp_of(shape_fn, function, gradient, kernels.stamp()),
    )
    if lowering is None and function is not None:
        kernels.add_function(record, function, {})
    made = op_function(record.name, record.tf_name)
    made.op = record
    return made


def _kernels_for(signature: OpSignature, memory: Op | None) -> tuple[Kernels, Choice]:
    """What kernels join, and the lowering that chooses among them."""
    if handle_places(signature) or memory is not None:
        taking = HandleKernels(signature, memory=memory)
        return taking, Extracted(taking)
    kernels = Kernels(signature)
    return kernels, kernels


def _infer_of(shape_fn: ShapeFunction) -> Callable[[Inference], Any]:
    def infer(c: Inference) -> Any:
        found = shape_fn(c)
        if isinstance(found, list) and all(isinstance(d, tuple | list) for d in found):
            return [tuple(d) for d in found]
        return tuple(found)

    return infer


def register_kernel(
    op_type: str,
    lowering: Choice | None = None,
    *,
    dtypes: Mapping[str, Any] | None = None,
    target: str | None = None,
) -> Any:
    """Registers a kernel of a registered op: a lowering (`Elementwise`, `Native`...), or, as a
    decorator, a function `kernel(*arrays, **attrs)` over NumPy arrays, which a Session calls.

    `dtypes`: by type attr, the dtype or dtypes that it takes: `{"T": tf.float32}`; kernels are
    asked in the order of their registration. `target`: the device that the lowering is for, "CPU"
    or "GPU" ("cuda"); None: the CPU, and a GPU that has no other for these dtypes. Programs for a
    GPU compile the GPU's lowering for the device; what only the CPU has a kernel for stays on the
    host. A function runs on the CPU, and gets the attrs that it names as keyword-only parameters.

    Raises `NotFoundError` for an op that nobody registered, `ValueError` for one of flowc's own,
    for a device that there is not, a function for the GPU, an attr that is no type, and dtypes that
    the device has a kernel for."""
    record, kernels = registered(op_type)
    taken = type_choices(record, dtypes or {})
    device = BOTH if target is None else device_named(target)
    if lowering is not None:
        kernels.add_lowering(lowering, taken, device, record)
        return None
    if device == GPU:
        raise ValueError(
            f"op {op_type!r}: a function of Python runs on the CPU; a kernel for the GPU is a "
            "lowering: Elementwise, View, Reduction, Decompose or Native"
        )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        kernels.add_function(record, function, taken)
        return function

    return decorate


def device_named(target: str) -> str:
    """The device that a kernel is registered for. Raises `ValueError` for an unknown one."""
    known = {"CPU": CPU, "GPU": GPU, "CUDA": GPU}
    found = known.get(target.upper())
    if found is None:
        raise ValueError(f"no device {target!r} has kernels: 'CPU' or 'GPU'")
    return found


def registered(op_type: str) -> tuple[Op, Kernels]:
    """The record of an op that is not flowc's own, and its kernels."""
    record = tf_op(op_type)
    if record is None:
        hint = did_you_mean(op_type, tf_names())
        raise NotFoundError(f"Op type not registered '{op_type}'", hint=hint)
    kernels = kernels_of(record)
    if kernels is None:
        raise ValueError(f"op {op_type!r} is flowc's own, and takes no other kernels")
    return record, kernels


def registered_ops() -> dict[str, Kernels]:
    """The kernels of all ops that are not flowc's own, by op type."""
    found = ((op.tf_name, kernels_of(op)) for op in defined_ops())
    return {name: kernels for name, kernels in found if kernels is not None}


def type_choices(record: Op, dtypes: Mapping[str, Any]) -> dict[str, frozenset[DType]]:
    """The dtypes that a kernel takes, by type attrs. Raises as `register_kernel` does."""
    return {name: _types(record, name, given) for name, given in dtypes.items()}


def _types(record: Op, name: str, given: Any) -> frozenset[DType]:
    attr = record.signature.attrs.get(name)
    if attr is None or attr.kind != "type":
        raise ValueError(f"op {record.tf_name!r} has no type attr {name!r}")
    several: Iterable[Any] = given if isinstance(given, list | tuple | set | frozenset) else [given]
    found = frozenset(as_dtype(d) for d in several)
    wrong = [d.name for d in found if attr.allowed is not None and d not in attr.allowed]
    if wrong:
        raise ValueError(f"op {record.tf_name!r} takes no {name} of {', '.join(sorted(wrong))}")
    return found
