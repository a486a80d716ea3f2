"""Calls of functions, and loops and branches whose bodies are functions.

In: what the functions are given. Out: their results. All are extracted in place, as calls, `while`
and `if` nodes with bodies: no Computation holds a node with a function of the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.control.batches import check_batched

_HERE = re.compile(r"(/job:localhost)?(/replica:0)?(/task:0)?(/?(device:)?cpu:0)?", re.IGNORECASE)
STATEFUL = frozenset({"stateful"})
CALL = STATEFUL | {"call"}


def infer_call(c: Inference) -> list[Dims]:
    raise NeedsContent("the types of a call are those of its functions, once it is extracted")


def as_condition(x: Extractor, bound: Bound) -> Value:
    """A tensor as a condition, as TensorFlow reads it: a scalar that is not zero, or a tensor of
    higher rank that is not empty."""
    if not isinstance(bound, Value):
        raise UnsupportedError(f"the condition of '{x.name}' is no tensor")
    if bound.type.rank:
        return x.b.not_equal(x.b.size(bound, out_type=dtypes.i64), np.int64(0))
    if bound.type.dtype is dtypes.bool_:
        return bound
    dtype = bound.type.dtype
    zero = np.array(b"", object) if dtype is dtypes.string else np.zeros((), dtype.numpy)
    return x.b.not_equal(bound, x.b.const(zero, dtype))


def _call(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    return x.call(attrs["f"], inputs)


def _batched(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    """A call whose inputs are a batch of its own: no run waits for another one's inputs."""
    most = None if attrs["enable_large_batch_splitting"] else attrs["max_batch_size"]
    check_batched(x, inputs[: len(attrs["Tin"])], most)
    return x.call(attrs["f"], inputs)


def _called_here(
    x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]
) -> Sequence[Bound]:
    """A call on a device, which is the one that everything runs on."""
    target, *given = inputs
    known = target.constant if isinstance(target, Value) else None
    if known is None:
        raise UnsupportedError(
            f"the device that '{x.name}' calls a function on is known only to the run",
            hint="give its target as a constant",
        )
    device = known.reshape(-1)[0].decode(errors="replace") if known.size == 1 else ""
    if known.ndim or not _HERE.fullmatch(device):
        raise UnsupportedError(
            f"'{x.name}' calls a function on {device!r}",
            hint="the device of this process is /job:localhost/replica:0/task:0/device:CPU:0",
        )
    return x.call(attrs["f"], given)


def _gradient(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    found = x.gradients(attrs["f"], inputs)
    if len(found) != len(attrs["Tout"]):
        raise InvalidArgumentError(
            f"SymGrad expects to return {len(attrs['Tout'])} tensor(s), but get {len(found)} "
            f"tensor(s) instead: the gradient of '{attrs['f'].name}' gives one for each argument"
        )
    return found


def emit_if(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    condition, *given = inputs
    branches = attrs["then_branch"], attrs["else_branch"]
    return x.branch(as_condition(x, condition), *branches, given)


def _case(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    """Branches by number; a number that no branch has takes the last one."""
    index, *given = inputs
    branches = attrs["branches"]
    if not isinstance(index, Value) or index.type.rank:
        raise InvalidArgumentError(f"the branch index of '{x.name}' must be a scalar")
    known = index.constant
    if known is not None:
        chosen = int(known)
        last = len(branches) - 1
        return x.call(branches[chosen if 0 <= chosen < last else last], given)
    return _choose(x, [index, *given], 0, branches)


def _choose(
    x: Extractor, inputs: Sequence[Bound], first: int, branches: Sequence[Any]
) -> Sequence[Bound]:
    index, *given = inputs
    if first == len(branches) - 1:
        return x.call(branches[first], given)
    is_first = x.b.equal(index, np.int32(first))

    def chosen(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        return inner.call(branches[first], inputs[1:])

    def rest(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        return _choose(inner, inputs, first + 1, branches)

    return x.branch(is_first, chosen, rest, inputs)


def emit_while(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    def condition(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        found = inner.call(attrs["cond"], inputs)
        if len(found) != 1:
            raise InvalidArgumentError(
                f"Expected a single scalar as the condition of '{x.name}', "
                f"got {len(found)} tensors."
            )
        return [as_condition(inner, found[0])]

    return x.loop(condition, attrs["body"], inputs)


def _for(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    """Counts from `start` to `limit`: the body is given the number and the state."""
    start, limit, delta, *given = inputs
    _check_range(x, start, limit, delta)

    def condition(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        i, limit, delta = inputs[:3]
        b = inner.b
        ascending = b.logical_and(b.greater(delta, np.int32(0)), b.less(i, limit))
        descending = b.logical_and(b.less(delta, np.int32(0)), b.greater(i, limit))
        return [b.logical_or(ascending, descending)]

    def body(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        i, limit, delta, *state = inputs
        found = inner.call(attrs["body"], [i, *state])
        if len(found) != len(state):
            raise InvalidArgumentError(
                f"For loop body returned {len(found)} arguments. Expected: {len(state)}"
            )
        return [inner.b.add(i, delta), limit, delta, *found]

    return x.loop(condition, body, [start, limit, delta, *given])[3:]


def _check_range(x: Extractor, *parts: Bound) -> None:
    b = x.b
    start, limit, delta = parts
    up = b.logical_and(b.greater(delta, np.int32(0)), b.less_equal(start, limit))
    down = b.logical_and(b.less(delta, np.int32(0)), b.greater_equal(start, limit))
    none = b.logical_and(b.equal(delta, np.int32(0)), b.equal(start, limit))
    counts = b.logical_or(b.logical_or(up, down), none)
    b.check(counts, message="Invalid start/limit/delta: " + " ".join(map(_shown, parts)))
    x.effect(b.nodes[-1])


def _shown(bound: Bound) -> str:
    """What a message says of a number: itself where it is known when compiling."""
    known = bound.constant if isinstance(bound, Value) else None
    return "?" if known is None else str(known)


Emit = Callable[[Extractor, Sequence[Bound], Mapping[str, Any]], Sequence[Bound]]


def _define(
    name: str,
    tf: str,
    emit: Emit,
    traits: frozenset[str] = STATEFUL,
    aliases: tuple[str, ...] = (),
) -> None:
    define(name, tf, infer=infer_call, lowering=Extracted(emit), traits=traits, aliases=aliases)


_CALL = 'Tin: list(type), Tout: list(type), f: func, config: string = "",'
_CALL += ' config_proto: string = "", executor_type: string = ""'
_SHAPES = "output_shapes: list(shape) = []"

_define("partitioned_call", f"PartitionedCall(args: Tin; {_CALL}) -> output: Tout", _call, CALL)
_define(
    "stateful_partitioned_call",
    f"StatefulPartitionedCall(args: Tin; {_CALL}) -> output: Tout",
    _call,
    CALL,
)
_define(
    "batch_function",
    "BatchFunction(in_tensors: Tin, captured_tensors: Tcaptured; f: func, num_batch_threads: int,"
    " max_batch_size: int, batch_timeout_micros: int, max_enqueued_batches: int = 10,"
    ' allowed_batch_sizes: list(int) = [], container: string = "", shared_name: string = "",'
    ' batching_queue: string = "", low_priority_max_batch_size: int = 0,'
    " low_priority_batch_timeout_micros: int = 0, low_priority_allowed_batch_sizes: list(int) = [],"
    " low_priority_max_enqueued_batches: int = 0, mixed_priority_policy:"
    ' {"low_priority_padding_with_max_batch_size", "priority_isolation", "priority_merge",'
    ' "low_priority_padding_with_next_allowed_batch_size"} ='
    ' "low_priority_padding_with_max_batch_size", batch_padding_policy:'
    ' {"PAD_UP", "BATCH_DOWN", "MINIMIZE_TPU_COST_PER_REQUEST"} = "PAD_UP",'
    " Tin: list(type) >= 1, Tcaptured: list(type), Tout: list(type) >= 1,"
    " enable_large_batch_splitting: bool = False) -> out_tensors: Tout",
    _batched,
)
_define(
    "remote_call",
    "RemoteCall(target: string, args: Tin; Tin: list(type) >= 1, Tout: list(type) >= 1, f: func)"
    " -> output: Tout",
    _called_here,
)
_define(
    "symbolic_gradient",
    "SymbolicGradient(input: Tin; Tin: list(type) >= 1, Tout: list(type) >= 1, f: func)"
    " -> output: Tout",
    _gradient,
    frozenset(),
)
_define(
    "if_function",
    "If(cond: Tcond, input: Tin; Tcond: type, Tin: list(type), Tout: list(type),"
    f" then_branch: func, else_branch: func, {_SHAPES}) -> output: Tout",
    emit_if,
    aliases=("StatelessIf",),
)
_define(
    "case_function",
    "Case(branch_index: i32, input: Tin; Tin: list(type), Tout: list(type),"
    f" branches: list(func) >= 1, {_SHAPES}) -> output: Tout",
    _case,
    aliases=("StatelessCase",),
)
_define(
    "while_function",
    f"While(input: T; T: list(type), cond: func, body: func, {_SHAPES},"
    " parallel_iterations: int = 10) -> output: T",
    emit_while,
    aliases=("StatelessWhile",),
)
_define(
    "for_function",
    "For(start: i32, limit: i32, delta: i32, input: T; T: list(type), body: func) -> output: T",
    _for,
)
