"""Iterators: what asks a dataset for its elements, one run of a Session after the other.

In: handles, datasets. Out: elements. A handle is the id of an `IteratorState` of the Session: it is
a tensor of a string, so that it passes through programs, feeds and functions as those do.
Invariant: one run at a time asks an iterator; others wait, and hold no variable meanwhile.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import (
    FailedPreconditionError,
    FlowcError,
    InvalidArgumentError,
    OutOfRangeError,
)
from flowc.ir.capability import Capability
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostRun, text_of
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Op, define
from flowc.ir.types import Dims
from flowc.ops.datasets.dataset import (
    Array,
    Captured,
    Element,
    HostDataset,
    Inner,
    Items,
    IterationContext,
    dataset_of,
    held,
    moved,
    one,
    position_within,
    the_value,
)
from flowc.ops.datasets.mapping import reduced
from flowc.ops.datasets.records import METADATA, STATED, scalar
from flowc.ops.datasets.selection import the_only
from flowc.ops.host_ops import infer_shapes
from flowc.ops.state.variables import STATE, value_of

BLOCKING = frozenset({"may_block"})
NOT_BEGUN = (
    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
    "initializer operation for this iterator before getting the next element."
)
NOT_BEGUN_TO = (
    "{}() failed because the iterator has not been initialized. Ensure that you have run the "
    "initializer operation for this iterator before {} it."
)
POLL = 0.05  # seconds between looks at whether a run that waits for another one is to end


class IteratorState:
    """Where an iterator is in the elements of a dataset."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: Items | None = None
        self._context: IterationContext | None = None
        self._dataset: HostDataset | None = None

    @property
    def is_begun(self) -> bool:
        return self._items is not None

    def begin(self, dataset: HostDataset, run: HostRun) -> None:
        """From now on the elements are those of a dataset."""
        context = IterationContext(run)
        with self._held(run):
            before, self._context, self._dataset = self._context, context, dataset
            self._items = dataset.elements(context)
        if before is not None:
            before.close()

    def begin_once(self, dataset: HostDataset, run: HostRun) -> None:
        """`begin`, unless another thread did meanwhile."""
        with self._held(run):
            if self._items is None:
                self._context, self._dataset = IterationContext(run), dataset
                self._items = dataset.elements(self._context)

    def position(self, run: HostRun, check: Callable[[HostDataset], None]) -> Inner:
        """Where it is. `check` may refuse what it goes through."""
        with self._held(run):
            if self._items is None or self._dataset is None:
                raise FailedPreconditionError(NOT_BEGUN_TO.format("Save", "saving"))
            check(self._dataset)
            return position_within(self._items, run)

    def move(self, position: Any, run: HostRun) -> None:
        """Goes on from a position in the dataset that it was begun with."""
        with self._held(run):
            if self._dataset is None:
                raise FailedPreconditionError(NOT_BEGUN_TO.format("Restore", "restoring"))
            context = IterationContext(run)
            try:
                items = moved(self._dataset.elements(context), position, run)
            except BaseException as error:
                context.close()
                if isinstance(error, FlowcError) or not isinstance(error, Exception):
                    raise
                raise InvalidArgumentError(
                    f"the state of an iterator that was saved does not go together: {error!r}",
                    hint="initialize the iterator, and restore what was saved of the same dataset",
                ) from error
            before, self._context, self._items = self._context, context, items
        if before is not None:
            before.close()

    def next(self, run: HostRun) -> Element:
        with self._held(run):
            if self._items is None:
                raise FailedPreconditionError(NOT_BEGUN)
            found = one(self._items, run)
        if found is None:
            raise OutOfRangeError("End of sequence")
        return found

    def _held(self, run: HostRun) -> threading.Lock:
        """The lock, for a `with` block to take once it is free."""
        while self._lock.locked():
            run.check()
            if self._lock.acquire(timeout=POLL):
                self._lock.release()
        return self._lock

    def close(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.close()


def iterator_state(handle: Any, run: HostRun) -> IteratorState:
    """Raises `InvalidArgumentError` for a handle that none of this form is."""
    text = text_of(handle, "the handle")
    if "/" not in text:  # `_id` has one
        raise InvalidArgumentError(
            f"Could not parse string_handle as a valid ResourceHandle: {text!r}",
            hint="feed what a run of Iterator.string_handle() gives",
        )
    return run.states.find(f"iterator:{text}", IteratorState, IteratorState)


def _owned(array: Array) -> Array:
    """An array that the caller may change."""
    array = held(array)
    if array.flags.writeable and array.flags.owndata and array.flags.c_contiguous:
        return array
    return np.array(array, order="C")


def results_of(found: Sequence[Array], types: Sequence[DType]) -> list[Array]:
    if len(found) != len(types):
        raise InvalidArgumentError(
            f"Number of components does not match: expected {len(types)} types but got "
            f"{len(found)}."
        )
    for k, (array, dtype) in enumerate(zip(found, types)):
        if array.dtype != dtype.numpy:
            raise InvalidArgumentError(
                f"Data type mismatch at component {k}: expected {dtype.name} but got "
                f"{dtypes.as_dtype(array.dtype).name}."
            )
    return [_owned(array) for array in found]


# -- handles


def _id(node: str, container: str, shared_name: str) -> bytes:
    return f"{container}/{shared_name or node}".encode("utf-8", "surrogateescape")


def _handle_alone(inputs: Sequence[Any], types: Sequence[DType], **says: Any) -> list[Array]:
    return [held(_id(**says))]


def _emit_handle(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    name = _id(x.name, attrs["container"], attrs["shared_name"])
    return [x.b.const(held(name), dtypes.string)]


for _op_type in ("Iterator", "IteratorV2"):
    define(
        f"handle:{_op_type}",
        f"{_op_type}(; shared_name: string, container: string, {STATED}) -> handle: resource",
        infer=scalar,
        lowering=Extracted(
            _emit_handle, Host(_handle_alone, _op_type, ("node", "container", "shared_name"))
        ),
        traits=BLOCKING,
    )


def _same_alone(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    return [held(inputs[0])]


def _emit_same(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [value_of(x, inputs[0])]


_MAYBE_STATED = "output_types: list(type) >= 0 = [], output_shapes: list(shape) >= 0 = []"
for _op_type, _arguments in (
    ("IteratorToStringHandle", "(resource_handle: resource) -> string_handle: string"),
    (
        "IteratorFromStringHandle",
        f"(string_handle: string; {_MAYBE_STATED}) -> resource_handle: resource",
    ),
    (
        "IteratorFromStringHandleV2",
        f"(string_handle: string; {_MAYBE_STATED}) -> resource_handle: resource",
    ),
):
    define(
        f"handle:{_op_type}",
        f"{_op_type}{_arguments}",
        infer=scalar,
        lowering=Extracted(_emit_same, Host(_same_alone, _op_type)),
        traits=BLOCKING,
    )


def _emit_constant(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [x.b.const(held(b"none"), dtypes.string)]


# What datasets of TensorFlow 2 share between runs of eager code, which graphs only name.
for _op_type in ("DummySeedGenerator", "DummyMemoryCache"):
    define(
        f"handle:{_op_type}",
        f"{_op_type}() -> handle: resource",
        infer=scalar,
        lowering=Extracted(_emit_constant, Host(lambda inputs, types: [held(b"none")], _op_type)),
        traits=BLOCKING,
    )
for _op_type in ("WrapDatasetVariant", "UnwrapDatasetVariant"):
    define(
        f"handle:{_op_type}",
        f"{_op_type}(input_handle: variant) -> output_handle: variant",
        infer=scalar,
        lowering=Extracted(_emit_same, Host(_same_alone, _op_type)),
        traits=BLOCKING,
    )


# -- steps

Results = Sequence[tuple[DType, tuple[int, ...]]]


def define_iterator_step(
    name: str,
    arguments: str,
    host: Host,
    op_types: Sequence[str],
    results: Results | None = None,
    capability: Capability | None = None,
) -> None:
    """A step that may block, and the ops that it computes. `arguments`: of the ops; `results`: the
    types of their outputs, where attrs do not state them."""
    says = "".join(f", {attr}: string" for attr in host.settings)
    step = define(
        f"iterator_{name.lower()}",
        f"_{name}(inputs: T; T: list(type), Tout: list(type), shapes: list(shape){says})"
        " -> outputs: Tout",
        infer=infer_shapes,
        lowering=host,
        traits=STATE,
    )
    for op_type in op_types:
        define(
            f"iterator:{op_type}",
            f"{op_type}{arguments}",
            infer=partial(_infer_stated, results=results),
            lowering=Extracted(partial(emit_step, step=step, results=results), host),
            traits=STATE | BLOCKING,
            capability=capability,
        )


def _infer_stated(c: Inference, results: Results | None) -> list[Dims]:
    if results is not None:
        return [dims for _, dims in results]
    shapes = c.attrs["output_shapes"]
    if any(shape is None for shape in shapes):
        raise NeedsContent("the rank of an element is found by the run")
    return [c.stated(shape) for shape in shapes]


def emit_step(
    x: Extractor,
    inputs: Sequence[Bound],
    attrs: Attrs,
    step: Op,
    results: Results | None = None,
) -> Sequence[Value]:
    """The values of a step, which is an effect where its record has state."""
    values = [value_of(x, bound) for bound in inputs]
    if results is None:
        types, shapes = list(attrs["output_types"]), list(attrs["output_shapes"])
        if any(shape is None for shape in shapes):
            known = x.output_shapes(0)
            shapes = [known[k] if shape is None else shape for k, shape in enumerate(shapes)]
    else:
        types, shapes = [t for t, _ in results], [dims for _, dims in results]
    lowering = step.lowering
    assert isinstance(lowering, Host)
    says = {name: x.name if name == "node" else attrs[name] for name in lowering.settings}
    given = {
        "T": tuple(v.type.dtype for v in values),
        "Tout": tuple(t if t.held_size else dtypes.string for t in types),
        "shapes": tuple(tuple(shape or ()) for shape in shapes),
    }
    node = x.b.emit(step, values, {**given, **{n: _setting(v) for n, v in says.items()}})
    if step.traits >= STATE:
        x.effect(node)
    return node.outputs


def _setting(value: Any) -> str:
    """An attr as a step's setting: a function's name, the length of a list, a number."""
    if isinstance(value, list | tuple):
        return str(len(value))
    if isinstance(value, int):
        return str(value)
    return getattr(value, "name", value)


def _make(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    iterator_state(inputs[1], run).begin(dataset_of(inputs[0]), run)
    return []


def _get_next(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    return results_of(iterator_state(inputs[0], run).next(run), types)


def _one_shot(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    run: HostRun,
    dataset_factory: Any,
    **name: Any,
) -> list[Array]:
    run.check()
    handle = _id(**name)
    state = iterator_state(handle, run)
    if not state.is_begun:
        function = Captured(_setting(dataset_factory), ())
        made = IterationContext(run).function(function, 0)([])
        found = the_value(made, "what dataset_factory returns")
        state.begin_once(dataset_of(found), run)
    return [held(handle)]


def _single(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    run.check()
    return results_of(the_only(dataset_of(inputs[0]), run), types)


def _reduce(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, f: Any, Tstate: Any
) -> list[Array]:
    run.check()
    count = int(_setting(Tstate))
    function = Captured(_setting(f), inputs[1 + count :])
    return results_of(reduced(dataset_of(inputs[0]), function, inputs[1 : 1 + count], run), types)


def _cardinality(inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun) -> list[Array]:
    return [np.array(min(dataset_of(inputs[0]).cardinality, sys.maxsize), np.int64)]


def blocking_host(function: Any, shown: str, *settings: str) -> Host:
    return Host(function, shown, settings, may_block=True, only_reads=True)


define_iterator_step(
    "MakeIterator",
    "(dataset: variant, iterator: resource)",
    blocking_host(_make, "MakeIterator"),
    ("MakeIterator",),
    (),
)
define_iterator_step(
    "IteratorGetNext",
    f"(iterator: resource; {STATED}) -> components: output_types",
    blocking_host(_get_next, "IteratorGetNext"),
    ("IteratorGetNext", "IteratorGetNextSync"),
)
define_iterator_step(
    "OneShotIterator",
    f'(; dataset_factory: func, {STATED}, container: string = "", shared_name: string = "")'
    " -> handle: resource",
    blocking_host(
        _one_shot, "OneShotIterator", "dataset_factory", "node", "container", "shared_name"
    ),
    ("OneShotIterator",),
    ((dtypes.string, ()),),
)
define_iterator_step(
    "DatasetToSingleElement",
    f"(dataset: variant; {STATED}, {METADATA}) -> components: output_types",
    blocking_host(_single, "DatasetToSingleElement"),
    ("DatasetToSingleElement",),
)
define_iterator_step(
    "ReduceDataset",
    "(input_dataset: variant, initial_state: Tstate, other_arguments: Targuments; f: func,"
    f" Tstate: list(type) >= 1, Targuments: list(type) >= 0, {STATED},"
    f" use_inter_op_parallelism: bool = True, {METADATA}) -> components: output_types",
    blocking_host(_reduce, "ReduceDataset", "f", "Tstate"),
    ("ReduceDataset",),
)
define_iterator_step(
    "DatasetCardinality",
    '(input_dataset: variant; cardinality_options: string = "") -> cardinality: i64',
    blocking_host(_cardinality, "DatasetCardinality"),
    ("DatasetCardinality",),
    ((dtypes.i64, ()),),
)
