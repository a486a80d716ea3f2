"""Graphs, scopes and the operations that only order others, as TensorFlow's functions.

In: names, devices, operations. Out: context managers over the default graph, and NoOps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.default import name_scope
from flowc.graph.indexed_slices import IndexedSlices


def op_scope(
    values: Iterable[Any], name: str | None, default_name: str | None = None
) -> AbstractContextManager[str]:
    """`name_scope` in the argument order of 2016. Raises as it does."""
    return name_scope(name, default_name, values)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[Any]:
    """Operations made inside wait for `control_inputs` (None: for nothing outside). Raises
    `TypeError` for what is neither an operation nor a tensor."""
    return get_default_graph().control_dependencies(control_inputs)


def init_scope() -> AbstractContextManager[Any]:
    """Operations made inside stand in no loop and no branch, and wait for nothing outside. Raises
    nothing."""
    return get_default_graph().control_dependencies(None)


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Operations made inside have this device, such as `/cpu:0`; a function gives one for each
    operation, None lifts those around it. Raises `ValueError` for what is no device."""
    return get_default_graph().device(device_name_or_function)


def colocate_with(
    op: Operation | Tensor | None, ignore_existing: bool = False
) -> AbstractContextManager[None]:
    """Operations made inside stand where `op` does; None with `ignore_existing` lifts what was said
    around it. Raises `TypeError` for what is neither an operation nor a tensor."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Variables made inside have this container, a name under which their values are kept. Raises
    nothing."""
    return get_default_graph().container(container_name)


def add_to_collection(name: Any, value: Any) -> None:
    """Adds `value` to the default graph's collection `name`. Raises `RuntimeError` for a finalized
    graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Adds `value` to each of the collections, one name or several. Raises as
    `add_to_collection`."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of the default graph's collection, empty where there is none; with `scope`, a regular
    expression, the items whose name it matches from the start. Raises nothing."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """The default graph's collection itself, so that changes count. Raises nothing."""
    return get_default_graph().get_collection_ref(key)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing, to hang control inputs on. An `Operation`. Raises
    `ValueError` for an invalid `name`."""
    from flowc.graph.building.creation import create

    return create("NoOp", (), None, name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that is done when all `inputs` (operations, tensors, nested lists, values of
    dicts) are done.

    Raises `TypeError` for anything else."""
    if not inputs:
        return no_op(name or "group_deps")
    ops = [_operation(item) for item in _flat(inputs)]
    by_device: dict[str, list[Operation]] = {}
    for op in ops:
        by_device.setdefault(op.device, []).append(op)
    with name_scope(name, "group_deps", ops) as scope:
        if len(by_device) == 1:
            ((where, deps),) = by_device.items()
            return _group_on(where, deps, scope)
        parts = [_group_on(where, by_device[where], None) for where in sorted(by_device)]
        return _group_on("", parts, scope)


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, list | tuple):
            yield from _flat(item)
        elif isinstance(item, Mapping):
            yield from _flat(item[key] for key in sorted(item))
        elif hasattr(item, "components"):
            yield from item.components()
        else:
            yield item


def _operation(item: Any) -> Operation:
    item = getattr(item, "_control_input", item)
    if hasattr(item, "_as_graph_element") and not isinstance(item, Operation | Tensor):
        item = item._as_graph_element()
    if isinstance(item, Tensor):
        return item.op
    if isinstance(item, Operation):
        return item
    raise TypeError(
        f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type "
        f"'{type(item)}'."
    )


def _group_on(where: str, deps: Sequence[Operation], name: str | None) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(deps):
        if not where:
            return no_op(name)
        with graph.device(where):
            return no_op(name)


def with_dependencies(
    dependencies: Sequence[Any], output_tensor: Any, name: str | None = None
) -> Any:
    """The tensor again, available only when the dependencies are done; of `IndexedSlices`, the
    values."""
    if isinstance(output_tensor, IndexedSlices):
        values = with_dependencies(dependencies, output_tensor.values, name)
        return IndexedSlices(values, output_tensor.indices, output_tensor.dense_shape)
    graph = output_tensor.graph
    is_ref = isinstance(output_tensor, Tensor) and output_tensor.is_ref
    with (
        name_scope(name, "control_dependency", [output_tensor]) as scope,
        graph.colocate_with(output_tensor),
        graph.control_dependencies(dependencies),
    ):
        return output("RefIdentity" if is_ref else "Identity", output_tensor, name=scope)


def tuple_(
    tensors: Sequence[Any],
    name: str | None = None,
    control_inputs: Sequence[Any] | None = None,
) -> list[Any]:
    """The tensors again, each available only when all of them (and `control_inputs`) are; an
    operation that runs then for each operation. Raises `ValueError` when no tensor is given."""
    with name_scope(name, "tuple", [t for t in tensors if t is not None]):
        tensors = [t if _is_element(t) else as_tensor(t) for t in tensors]
        gating = [_operation(t) for t in tensors if t is not None]
        gating += [_operation(c) for c in control_inputs or ()]
        if not gating:
            raise ValueError(f"'tensors' must have at least one Tensor. Received: {tensors}.")
        gate = group(*gating)

        def gated(item: Any) -> Any:
            if isinstance(item, Operation):
                with get_default_graph().control_dependencies([gate]):
                    return group(item)
            return with_dependencies([gate], item)

        return [None if item is None else gated(item) for item in tensors]


def _is_element(item: Any) -> bool:
    """Whether an item of `tf.tuple` is of a graph, or nothing."""
    made = item is None or isinstance(item, Operation | Tensor)
    return made or hasattr(item, "_as_graph_element") or hasattr(item, "components")


def set_random_seed(seed: int) -> None:
    """The graph's seed, which random operations without their own start from. `seed`: an int.
    Raises nothing."""
    get_default_graph().seed = seed


def executing_eagerly() -> bool:
    """Always False: flowc builds graphs first and runs them in sessions. Raises nothing."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """Always False, as `executing_eagerly`. Raises nothing."""
    return False


def disable_control_flow_v2() -> None:
    """Nothing to do: `cond` and `while_loop` write the nodes of TensorFlow 1. Raises nothing."""


def control_flow_v2_enabled() -> bool:
    """Always False: `cond` and `while_loop` write the nodes of TensorFlow 1. Raises nothing."""
    return False


def disable_eager_execution() -> None:
    """Nothing to do: flowc never executes eagerly. Raises nothing."""


disable_v2_behavior = disable_eager_execution
disable_tensor_equality = disable_v2_tensorshape = disable_eager_execution
