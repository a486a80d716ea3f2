"""Lists whose elements differ in rank, and fetched tensors whose rank a run decides.

What is expected was seen in TensorFlow 2.21.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc
from flowc import dtypes
from flowc import raw_ops as r
from flowc.errors import InvalidArgumentError, UnimplementedError

F32 = dtypes.f32
VECTOR, MATRIX = np.float32([1, 2]), np.float32([[3, 4], [5, 6]])


def _empty() -> Any:
    return r.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=F32)


def _push(handle: Any, item: Any) -> Any:
    return r.TensorListPushBack(input_handle=handle, tensor=item)


def _pop(handle: Any) -> Any:
    return r.TensorListPopBack(input_handle=handle, element_shape=-1, element_dtype=F32)


def _get(handle: Any, index: Any, shape: Any = -1) -> Any:
    return r.TensorListGetItem(
        input_handle=handle, index=index, element_shape=np.int32(shape), element_dtype=F32
    )


def _set(handle: Any, index: Any, item: Any) -> Any:
    return r.TensorListSetItem(input_handle=handle, index=index, item=item)


def _two() -> Any:
    return _push(_push(_empty(), VECTOR), MATRIX)


def _reserved(rows: Any) -> Any:
    return r.TensorListReserve(element_shape=-1, num_elements=rows, element_dtype=F32)


def _two_set(rows: Any = 3) -> Any:
    return _set(_set(_reserved(rows), 0, VECTOR), 1, MATRIX)


def _stack(handle: Any) -> Any:
    return r.TensorListStack(input_handle=handle, element_shape=-1, element_dtype=F32)


def _gather(handle: Any, indices: list[int]) -> Any:
    return r.TensorListGather(
        input_handle=handle, indices=indices, element_shape=-1, element_dtype=F32
    )


def _joined() -> Any:
    return r.TensorListConcatLists(input_a=_two(), input_b=_two(), element_dtype=F32)


def _run(make: Callable[[], Any]) -> Any:
    with flowc.Graph().as_default(), flowc.Session() as session:
        return session.run(make())


def _both(handle: Any) -> list[Any]:
    return [_get(handle, 0), _get(handle, 1)]


def _popped() -> list[Any]:
    rest, last = _pop(_two())
    return [_pop(rest)[1], last]


GIVE: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "pushed": (lambda: _both(_two()), [VECTOR, MATRIX]),
    "popped": (_popped, [VECTOR, MATRIX]),
    "set": (lambda: _both(_two_set()), [VECTOR, MATRIX]),
    "set to another rank": (
        lambda: _both(_set(_two(), 0, MATRIX[None])),
        [MATRIX[None], MATRIX],
    ),
    "never set": (lambda: [_get(_two_set(), 2, [3])], [np.zeros(3)]),
    "of one rank again": (
        lambda: [_stack(_push(_pop(_two())[0], VECTOR))],
        [np.stack([VECTOR, VECTOR])],
    ),
    "gathered": (lambda: [_gather(_two(), [1, 1])], [np.stack([MATRIX, MATRIX])]),
    "joined": (lambda: [*_both(_joined()), _get(_joined(), 3)], [VECTOR, MATRIX, MATRIX]),
    "shorter": (
        lambda: [_get(r.TensorListResize(input_handle=_two(), size=1), 0)],
        [VECTOR],
    ),
    "longer": (lambda: [_get(r.TensorListResize(input_handle=_two(), size=3), 1)], [MATRIX]),
    "zeros": (lambda: _both(flowc.zeros_like(_two())), [VECTOR * 0, MATRIX * 0]),
    "sum": (lambda: _both(flowc.add_n([_two(), _two()])), [VECTOR * 2, MATRIX * 2]),
    "three ranks": (lambda: [_get(_push(_two(), np.float32(7)), 2)], [np.float32(7)]),
}


def test_elements_of_several_ranks() -> None:
    results = _run(lambda: {name: make() for name, (make, _) in GIVE.items()})
    for name, (_, wanted) in GIVE.items():
        for found, expected in zip(results[name], wanted, strict=True):
            assert np.shape(found) == np.shape(expected), name
            np.testing.assert_array_equal(found, expected, name)


FAIL: dict[str, tuple[Callable[[], Any], str]] = {
    "stacked": (lambda: _stack(_two()), "Incompatible ranks during merge: 1 vs. 2"),
    "gathered": (lambda: _gather(_two(), [0, 1]), "Incompatible ranks during merge: 1 vs. 2"),
    "never set": (lambda: _get(_two_set(), 2), "Incompatible ranks during merge: 1 vs. 2"),
    "scalars joined": (
        lambda: r.TensorListConcatV2(
            input_handle=_push(_two(), np.float32(1)),
            element_shape=-1,
            leading_dims=np.zeros(0, np.int64),
            element_dtype=F32,
        )[0],
        "Concat saw a scalar shape at index 2 but requires at least vectors",
    ),
    "outside": (lambda: _get(_two(), 9), "access element 9 in a list with 2 elements"),
    "sum": (
        lambda: flowc.add_n([_two(), _push(_push(_empty(), MATRIX), MATRIX)]),
        r"incompatible element shapes. One is \[2\] and the other is \[2,2\]",
    ),
    "array": (lambda: _array().stack(), r"Index 0 has shape: \[2\] but index 1 has shape: \[2,2\]"),
}


def _array() -> Any:
    array = flowc.TensorArray(F32, size=2, infer_shape=False, clear_after_read=False)
    return array.write(0, VECTOR).write(1, MATRIX)


@pytest.mark.parametrize("name", FAIL)
def test_faults(name: str) -> None:
    make, message = FAIL[name]
    with pytest.raises(InvalidArgumentError, match=message):
        _run(lambda: flowc.identity(_get(make(), 0) if name == "sum" else make()))


def test_an_index_that_only_the_run_knows() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        index = flowc.placeholder(dtypes.i32, [])
        item, tripled = _get(_two(), index), _get(_two(), index) * 3
        for k, expected in enumerate((VECTOR, MATRIX, VECTOR)):
            found = session.run([item, tripled], {index: k % 2})
            np.testing.assert_array_equal(found[0], expected)
            np.testing.assert_array_equal(found[1], expected * 3)
        with pytest.raises(InvalidArgumentError, match="access element 5 in a list with 2"):
            session.run(tripled, {index: 5})


def test_a_loop_reads_and_writes_what_keeps_its_rank() -> None:
    def looped() -> list[Any]:
        def body(i: Any, handle: Any) -> tuple[Any, Any]:
            return i + 1, _set(handle, 0, _get(handle, 0) + _get(handle, 1)[0])

        handle = flowc.while_loop(lambda i, _: i < 3, body, [flowc.constant(0), _two()])[1]
        return _both(handle)

    first, second = _run(looped)
    np.testing.assert_array_equal(first, VECTOR + 3 * MATRIX[0])
    np.testing.assert_array_equal(second, MATRIX)


def test_a_fed_branch_decides_ranks() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        chosen, start = flowc.placeholder(dtypes.bool_, []), _push(_empty(), VECTOR)
        items = flowc.cond(chosen, lambda: _push(start, MATRIX), lambda: _push(start, VECTOR))
        item = _get(items, 1)
        np.testing.assert_array_equal(session.run(item, {chosen: True}), MATRIX)
        np.testing.assert_array_equal(session.run(item, {chosen: False}), VECTOR)


def test_a_loop_that_decides_ranks_is_refused() -> None:
    def looped() -> Any:
        def body(i: Any, handle: Any) -> tuple[Any, Any]:
            return i + 1, _push(handle, VECTOR)

        return _get(flowc.while_loop(lambda i, _: i < 2, body, [flowc.constant(0), _two()])[1], 0)

    with pytest.raises(UnimplementedError, match="decided by how often a loop runs"):
        _run(looped)


def test_gradients_go_through_elements_of_each_rank() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        x, y = flowc.constant(VECTOR), flowc.constant(MATRIX)
        handle = _push(_push(_empty(), x), y)
        total = flowc.reduce_sum(_get(handle, 0) * 3) + flowc.reduce_sum(_get(handle, 1) * y)
        first, second = session.run(flowc.gradients(total, [x, y]))
        np.testing.assert_array_equal(first, [3, 3])
        np.testing.assert_array_equal(second, 2 * MATRIX)


def test_arrays_and_stacks() -> None:
    def made() -> list[Any]:
        array = _array()
        stack = r.StackV2(max_size=-1, elem_type=F32)
        first = r.StackPushV2(handle=stack, elem=VECTOR)
        with flowc.control_dependencies([first]):
            second = r.StackPushV2(handle=stack, elem=MATRIX)
        with flowc.control_dependencies([second]):
            return [array.read(1), array.read(0), r.StackPopV2(handle=stack, elem_type=F32)]

    for found, expected in zip(_run(made), (MATRIX, VECTOR, MATRIX), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_fetched_tensor_whose_rank_the_branch_decides() -> None:
    with flowc.Graph().as_default(), flowc.Session() as session:
        x = flowc.placeholder(F32, [None])
        total = flowc.reduce_sum(x)
        chosen = flowc.cond(total > 0, lambda: x, lambda: flowc.reduce_sum(x))
        for feed in ([1.0, 2.0], [-1.0, -2.0], [3.0]):
            found, doubled, plain = session.run([chosen, chosen * 2, total], {x: feed})
            expected = np.float32(feed) if plain > 0 else np.sum(feed, dtype=np.float32)
            assert type(found) is type(expected)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(doubled, expected * 2)


def test_no_library_gives_a_tensor_of_two_ranks() -> None:
    with flowc.Graph().as_default() as graph:
        x = flowc.placeholder(F32, [2], name="x")
        flowc.cond(x[0] > 0, lambda: x, lambda: x[0], name="chosen")
        flowc.identity(graph.get_tensor_by_name("chosen/Merge:0"), "y")
        with pytest.raises(InvalidArgumentError, match=r"is f32\[.*\] or f32\[.*\], as branches"):
            flowc.compile(graph, fetches="y:0")
