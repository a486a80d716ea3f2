"""Segments of a run that Python computes alone: nothing is compiled for them.

In: a segment of host steps, and of nodes that only pass values or strings to them or put values
side by side, as graphs that save, restore and fill queues are made of. Out: its results.
Invariants: any other segment is refused, and compiled; what a step of Python does is the same
either way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import FlowcError
from flowc.graph import Operation, Tensor
from flowc.graph.op_info import has_trait, node_attrs, with_defaults
from flowc.ir.host_run import HostRun, WouldWaitError, held
from flowc.ir.types import TensorType
from flowc.run.host_steps import fault_of_step, host_run
from flowc.run.segments import CONTROL, HANDLES, Segment, needed

if TYPE_CHECKING:
    from flowc.ir.op import Op

Array = np.ndarray[Any, Any]
_OF_PYTHON = (TypeError, ValueError, IndexError, OverflowError)
_MOST_SHAPES = 64  # of the operands of a step, that are known to fit
_PASSED = {dtypes.string, dtypes.resource}  # handles of queues are strings, too
Step = Callable[[Sequence[Array], HostRun], Sequence[Array]]


class PythonSegment:
    """The steps of a segment, in order, and the values of its constants."""

    def __init__(self, segment: Segment, steps: Mapping[Operation, Step]) -> None:
        self._segment = segment
        self._constants = {
            op.outputs[0]: np.asarray(op.attrs["value"]) for op in steps if _is_constant(op)
        }
        placed = ((op, step) for op, step in steps.items() if not _is_constant(op))
        self._steps = [_Placed(op, step, op.inputs, op.outputs) for op, step in placed]

    def run(self, given: Mapping[Tensor, Array], run: HostRun) -> list[Array]:
        """The values of the segment's tensors."""
        found = {**self._constants, **given}
        with host_run(run):
            for placed in self._steps:
                placed.run(found, run)
        return [found[t] for t in self._segment.tensors]


@dataclass(frozen=True, slots=True)
class _Placed:
    """A step of an operation."""

    op: Operation
    step: Step
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]

    def run(self, found: dict[Tensor, Array], run: HostRun) -> None:
        """Adds the values of the outputs to those that were found."""
        try:
            results = self.step([found[t] for t in self.inputs], run)
        except FlowcError as error:
            error.node = error.node or self.op.name
            raise
        except WouldWaitError:
            raise
        except Exception as error:
            raise fault_of_step(error, self.op.name) from error
        for tensor, array in zip(self.outputs, results):
            found.setdefault(tensor, array)


def _is_constant(op: Operation) -> bool:
    return op.type == "Const"


def python_segment(segment: Segment) -> PythonSegment | None:
    """The segment for Python alone; None where it takes more, or has no step that may block."""
    feeds = set(segment.feeds)
    ends = [*(t.op for t in segment.tensors if t not in feeds), *segment.operations]
    steps: dict[Operation, Step] = {}
    for op in needed(ends, feeds, segment.done):
        step = step_of(op)
        if step is None:
            return None
        steps[op] = step
    is_worth_it = segment.by_python or any(has_trait(op.type, "may_block") for op in steps)
    return PythonSegment(segment, steps) if is_worth_it else None


def leading_segments(tensors: Sequence[Tensor], fed: Collection[Tensor]) -> list[Segment]:
    """Two segments where host steps decode images from feeds: these steps, and all else (one
    segment where there is nothing else, none without such steps). A native program would copy each
    image, and take the interpreter's lock again for each step."""
    order = needed([t.op for t in tensors if t not in fed], fed)
    if any(op.control_inputs or op.type in CONTROL for op in order):
        return []
    varying = set[Operation]()
    for op in order:
        if any(t in fed or t.op in varying for t in op.inputs):
            varying.add(op)
    images = [op for op in order if op in varying and _makes_images(op)]
    leading = needed(images, fed)
    if not images or any(step_of(op) is None for op in leading):
        return []
    first = varying.intersection(leading)
    used = [*(t for op in order if op not in first for t in op.inputs), *tensors]
    crossing = tuple(dict.fromkeys(t for t in used if t.op in first and t not in fed))
    if any(t.is_ref or t.base_dtype in HANDLES for t in crossing):
        return []
    given = {t: None for op in leading for t in op.inputs if t in fed}
    steps = Segment(crossing, (), tuple(given), by_python=True)
    cut = {*crossing, *fed}
    left = needed([t.op for t in tensors if t not in cut], cut)
    if not left:
        return [steps]
    feeds = tuple(dict.fromkeys(t for op in left for t in op.inputs if t in cut))
    rest = tuple(t for t in tensors if t not in cut)
    return [steps, Segment(rest, (), feeds, varying=frozenset(crossing))]


def _makes_images(op: Operation) -> bool:
    """Whether a host step makes something of three dimensions or more, whose sizes it finds."""
    from flowc.ir.lowering import Extracted, Host
    from flowc.ops import tf_op

    record = tf_op(op.type)
    lowering = None if record is None else record.lowering
    host = lowering.host if isinstance(lowering, Extracted) else lowering
    shapes = [t.shape.sizes for t in op.outputs]
    return isinstance(host, Host) and any(s and len(s) > 2 and None in s for s in shapes)


def step_of(op: Operation) -> Step | None:
    """What computes one operation; None where Python alone should not."""
    from flowc.ir.lowering import Extracted, Host
    from flowc.ir.op import call_reference
    from flowc.ops import tf_op

    record = tf_op(op.type)
    if record is None:
        return None
    if record.name == "const":
        value = np.asarray(op.attrs["value"])
        return lambda inputs, run: [value]
    if "identity" in record.traits:
        return lambda inputs, run: [inputs[0]]
    if record.name == "no_op":
        return lambda inputs, run: ()
    attrs = with_defaults(record, node_attrs(record, op.attrs, {}))
    types = [t.base_dtype for t in op.outputs if t.base_dtype is not None]
    lowering = record.lowering
    host = lowering.host if isinstance(lowering, Extracted) else lowering
    given = [t.base_dtype for t in op.inputs if t.base_dtype is not None]
    checks = _Checks(record, attrs, given)
    if isinstance(host, Host):
        step = _host_step(host, types, {**attrs, "name": op.name, "node": op.name}, checks)
        if op.inputs or host.may_block or "stateful" in record.traits:
            return step
        found = step((), HostRun())  # a handle, which is the same in every run
        return lambda inputs, run: found
    reference = record.reference
    if reference is None or not types:
        return None
    if record.name != "pack" and not {*types} <= _PASSED:
        return None

    def compute(inputs: Sequence[Array], run: HostRun) -> Sequence[Array]:
        try:
            return [held(a) for a in call_reference(record, reference, inputs, attrs, given)]
        except _OF_PYTHON:
            checks.see_elements(inputs)
            raise

    return compute


class _Checks:
    """What a record says of operands of these dtypes, which only the run knows."""

    def __init__(self, record: Op, attrs: Mapping[str, Any], kinds: Sequence[DType]) -> None:
        self._record = record
        inferred = record.signature.inferred_attrs  # what the operands say themselves
        self._attrs = {name: value for name, value in attrs.items() if name not in inferred}
        self._kinds = kinds
        self._seen = set[tuple[tuple[int, ...], ...]]()

    def see_shapes(self, arrays: Sequence[Array]) -> None:
        """Raises `ShapeError` for shapes that the op does not take."""
        shapes = tuple([a.shape for a in arrays])
        if shapes not in self._seen:
            self._infer(arrays, has_elements=False)
            if len(self._seen) < _MOST_SHAPES:
                self._seen.add(shapes)

    def see_elements(self, arrays: Sequence[Array]) -> None:
        """Infers again, with the elements of the arrays, after a step has failed."""
        self._infer(arrays, has_elements=True)

    def _infer(self, arrays: Sequence[Array], *, has_elements: bool) -> None:
        from flowc.ir.builder import Builder
        from flowc.ir.inference import NeedsContent

        b = Builder()
        operands = [
            b.const(array, kind)
            if has_elements and kind not in HANDLES
            else b.parameter(str(i), TensorType(kind, array.shape))
            for i, (array, kind) in enumerate(zip(arrays, self._kinds))
        ]
        with suppress(NeedsContent):  # which only the step itself finds
            b.emit(self._record, operands, self._attrs)


def _host_step(
    host: Any, types: Sequence[DType], attrs: Mapping[str, Any], checks: _Checks
) -> Step:
    """`attrs`: those of the operation, and its name as that of `node`."""
    settings = {name: attrs[name] for name in host.settings}
    function, only_reads, may_block = host.function, host.only_reads, host.may_block

    def step(inputs: Sequence[Array], run: HostRun) -> Sequence[Array]:
        checks.see_shapes(inputs)
        arrays = inputs if only_reads else [np.array(a) for a in inputs]
        given = [a if a.ndim else a[()] for a in arrays]
        try:
            if may_block:
                return function(given, types, run=run, **settings)
            return function(given, types, **settings)
        except _OF_PYTHON:
            checks.see_elements(inputs)
            raise

    return step
