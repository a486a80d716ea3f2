"""Ops on a state of the Session that a handle names: a queue, a reader, an accumulator.

In: the signature of an op in its two forms (a handle that is a reference to a string, and one that
is a resource), and the function of its host step. Out: records. Invariants: a handle is a text that
says all that the op of the state said (`Handle`), so that whoever uses it first can make the state;
a step gets that text as its input, whether Python runs it alone or a program calls it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.capability import Capability
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.host_run import HostRun, State
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Op, define
from flowc.ir.signature import parse_signature
from flowc.ir.types import Dims
from flowc.ops.host_ops import infer_shapes
from flowc.ops.state.variables import HANDLE, STATE, value_of

Array = np.ndarray[Any, Any]
Shape = tuple[int | None, ...]
# The shapes of a step's outputs, each None where only the run knows its rank.
Shapes = Callable[[Extractor, "Handle", Sequence[Value], Attrs], Sequence[Shape | None]]
Step = Callable[..., Sequence[Array]]


@dataclass(frozen=True, eq=False)
class Handle:
    """What names a state: the op type and the name of the node that made it, and its attrs."""

    op: str
    node: str
    attrs: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What messages call the state."""
        return self.attrs["shared_name"] or f"_0_{self.node}"

    @cached_property
    def id(self) -> str:
        """Equal for nodes that share a state."""
        shared = self.attrs["shared_name"]
        return f"{self.attrs['container']}/{shared}" if shared else f"node {self.node}"

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The types of components, where the state has several."""
        return tuple(map(dtypes.as_dtype, self.attrs["component_types"]))

    @property
    def shapes(self) -> tuple[Shape | None, ...]:
        """The shapes of components; nothing where they may be any."""
        return tuple(None if s is None else tuple(s) for s in self.attrs["shapes"])


def _text_of(op: str, node: str, attrs: Attrs) -> bytes:
    """What a handle holds. Types are named, sizes are numbers or null."""

    def plain(value: Any) -> Any:
        if isinstance(value, DType):
            return value.name
        return str(value)

    given = {n: list(v) if isinstance(v, tuple) else v for n, v in attrs.items()}
    return json.dumps([op, node, given], sort_keys=True, default=plain).encode()


@lru_cache(maxsize=4096)
def handle_of(text: bytes) -> Handle:
    """The handle with a text. Raises `InvalidArgumentError` for what no handle holds."""
    try:
        op, node, attrs = json.loads(text)
        return Handle(op, node, attrs)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{text[:80]!r} names no state of a Session: it was fed, or no op of a state made it"
        ) from None


def find_state(
    run: HostRun,
    text: bytes,
    family: str,
    base: type[State],
    kinds: Mapping[str, Callable[[Handle], State]],
) -> State:
    """The state that a handle names, made by whoever comes first. `family`: what messages call such
    a state; `base`: their class; `kinds`: what makes one, by the op of the handle. Raises
    `InvalidArgumentError` for the handle of another op."""
    handle = handle_of(text)
    make = kinds.get(handle.op)
    if make is None:
        raise InvalidArgumentError(f"'{handle.name}' is a {handle.op}, and no {family}")
    try:
        return run.states.find(f"{family} {handle.id}", base, lambda: make(handle))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        # What it says is of another kind, or was made up.
        raise InvalidArgumentError(f"{handle.op} is no {family}: {error}") from error


NO_HANDLE = Handle("", "", {})

# -- records


def _infer_handle(c: Inference) -> Dims:
    return ()


def define_handle(
    name: str,
    tf: str,
    capability: Capability | None = None,
    newer_attrs: str = "",
    forms: Mapping[str, str] | None = None,
) -> None:
    """The op of a state in its forms. `tf`: op type and attrs, such as `"FIFOQueue(; ...)"`; the
    output is called `handle`, or as behind `->`. `newer_attrs`: those that only a resource has.
    `forms`: as for `define_step`."""
    signature, _, output = tf.partition(" -> ")
    op_type, _, attrs = signature.partition("(")

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        info = {"handle": _text_of(op_type, x.name, attrs), "is_ref": True}
        return [Resource(op_type, x.name, info)]

    def text(inputs: Sequence[Any], _: Sequence[DType], **attrs: Any) -> list[Array]:
        node = attrs.pop("name")
        return [np.array(_text_of(op_type, node, attrs), object)]

    for kind, form in (forms or _versions(op_type)).items():
        more = f", {newer_attrs}" if newer_attrs and kind == RESOURCE else ""
        full = f"{form}({attrs[:-1]}{more})"
        settings = (*parse_signature(full).attrs, "name")
        define(
            _record_name(name, op_type, form),
            f"{full} -> {output or 'handle'}: {kind}",
            infer=_infer_handle,
            lowering=Extracted(emit, Host(text, op_type, settings)),
            traits=HANDLE,
            capability=capability,
        )


REFERENCE, RESOURCE = "ref(string)", "resource"


def _versions(op_type: str) -> dict[str, str]:
    return {REFERENCE: op_type, RESOURCE: f"{op_type}V2"}


def _record_name(name: str, op_type: str, form: str) -> str:
    if form == op_type:
        return name
    return f"{name}_v2" if form.endswith("V2") else f"resource_{name}"


def define_step(
    name: str,
    tf: str,
    step: Step,
    shapes: Shapes,
    settings: Sequence[str] = (),
    infer: Callable[[Inference], list[Dims]] | None = None,
    forms: Mapping[str, str] | None = None,
    capability: Capability | None = None,
) -> None:
    """What uses a state, and may wait.

    `tf`: the signature with `HANDLE` as the type of handles. `step(inputs, dtypes, run=, ...)`:
    the host step; a handle is its text. `settings`: the attrs that it wants, and `name` for that of
    the node. `forms`: the op type of each type of handle, if not `X` of references and `XV2` of
    resources.
    """
    op_type, _, rest = tf.partition("(")
    arguments, _, outputs = rest.rpartition(")") if "->" not in rest else rest.partition(") -> ")
    inputs, _, attrs = arguments.partition(";")
    named = "name: string" if "name" in settings else ""
    more = ", ".join(filter(None, (named, attrs.strip(), "shapes: list(shape)")))
    inner_tf = f"_{op_type}({inputs.replace('HANDLE', 'string')}; {more})"
    inner_tf, outputs = (text.replace("variant", "string") for text in (inner_tf, outputs))
    host = Host(step, op_type, tuple(settings), may_block=True)
    inner = define(
        f"{name}_step",
        f"{inner_tf} -> ({outputs.strip('()')})" if outputs else inner_tf,
        infer=infer_shapes,
        lowering=host,
        traits=STATE,
    )
    emit = partial(_emit_step, op=inner, shapes=shapes, has_handle="HANDLE" in tf)
    for kind, form in (forms or _versions(op_type)).items():
        define(
            _record_name(name, op_type, form),
            tf.replace(op_type, form, 1).replace("HANDLE", kind),
            infer=infer or _unknown,
            lowering=Extracted(emit, host),
            traits=STATE | {"may_block"},
            capability=capability,
        )


def _unknown(c: Inference) -> list[Dims]:
    raise NeedsContent("the shapes of what a state of the Session gives are found by the run")


def _emit_step(
    x: Extractor,
    inputs: Sequence[Bound],
    attrs: Attrs,
    *,
    op: Op,
    shapes: Shapes,
    has_handle: bool,
) -> Sequence[Bound]:
    handle: Handle | None = None
    values: list[Value] = []
    for bound in inputs:
        if isinstance(bound, Resource) and "handle" in bound.info:
            text = bound.info["handle"]
            handle = handle or handle_of(text)
            bound = x.b.const(np.array(text, object), dtypes.string)
        values.append(value_of(x, bound))
    if handle is None and has_handle:
        raise InvalidArgumentError(
            f"node '{x.name}' ({op.tf_name[1:]}) has an input that names no state of the Session"
        )
    found = list(shapes(x, handle or NO_HANDLE, values, attrs))
    if any(shape is None for shape in found):
        found = completed(x, found)
    named = {"name": x.name} if "name" in op.signature.attrs else {}
    node = x.b.emit(op, values, {**attrs, **named, "shapes": tuple(found)})
    x.effect(node)
    return node.outputs


def completed(x: Extractor, found: Sequence[Shape | None]) -> list[Shape | None]:
    """The shapes, with what the graph says of those that the handle leaves open."""
    stated = list(x.output_shapes(0))
    both = [s if s is not None or k >= len(stated) else stated[k] for k, s in enumerate(found)]
    if any(shape is None for shape in both):
        raise UnsupportedError(
            f"nothing says what rank an output of node '{x.name}' has",
            hint="run it in a Session, which finds out, or call set_shape on the tensor when the "
            "graph is built",
        )
    return both


def no_outputs(x: Extractor, handle: Handle, values: Sequence[Value], attrs: Attrs) -> list[Shape]:
    return []


def scalars(count: int) -> Shapes:
    """Shapes of as many scalars."""
    return lambda x, handle, values, attrs: [()] * count


def infer_scalars(count: int) -> Callable[[Inference], list[Dims]]:
    return lambda c: [()] * count


def static_size(x: Extractor, value: Value) -> int | None:
    """The number in a scalar, where it is a constant."""
    content = x.b.content(value)
    found = None if content is None else content.reshape(-1)[0]
    return int(found) if isinstance(found, int | np.integer) and found >= 0 else None
