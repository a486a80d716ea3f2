"""`map_fn`, `scan`, `foldl` and `foldr`: loops over the rows of tensors.

In: a function of one row (of each tensor of a structure), tensors of as many rows. Out: what it
gave for the rows, stacked, or what was accumulated. Rows come from TensorArrays, results go to
them, so the graphs are those of TensorFlow 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.loops import while_loop
from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.framework import nest
from flowc.api.framework.basics import constant
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.graph import Dimension, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` of each row of `elems`, stacked. `dtype` (or `fn_output_signature`): the structure of
    dtypes that `fn` returns, where it differs from that of `elems`.

    Raises `TypeError` where `fn` is not callable, `ValueError` where `elems` are scalars, differ in
    their number of rows, or where `fn` returns another structure.
    """
    _check_callable(fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    leaves = nest.flatten(elems)
    if not leaves:
        raise ValueError(
            f"elems must be a Tensor or (possibly nested) sequence of Tensors. Got {elems}, which "
            "does not contain any Tensors."
        )
    with name_scope(name, "map", nest.flatten(elems, expand=True)):
        rows = _Rows(leaves, ValueError)
        sources = rows.arrays()
        start = constant(0)
        wanted = elems if signature is None else signature
        results = [
            _result(kind, signature is None, rows.count, infer_shape)
            for kind in (rows.tensors if signature is None else nest.flatten(signature))
        ]

        def compute(i: Tensor, arrays: list[list[TensorArray]]) -> Any:
            row = nest.pack_sequence_as(elems, [a.read(i) for a in sources])
            value = fn(row)
            nest.assert_same_structure(wanted, value)
            given = zip(results, arrays, nest.flatten(value), strict=True)
            written = [result.written(before, i, v) for result, before, v in given]
            return i + 1, written

        _, arrays = while_loop(
            lambda i, _: i < rows.count,
            compute,
            (start, [result.arrays for result in results]),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=rows.count,
        )
        found = [result.joined(written) for result, written in zip(results, arrays)]
        return nest.pack_sequence_as(wanted, [rows.of_all(x) for x in found])


def vectorized_map(
    fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True
) -> Any:
    """`fn` of each row of `elems`, stacked: `map_fn` of what `fn` gives of the first row. The loop
    is compiled, so it need not be unrolled into ops of all rows. Raises as `map_fn`."""
    _check_callable(fn)
    rows = [as_tensor(leaf, name="elem") for leaf in nest.flatten(elems)]
    if any(row.shape.ndims == 0 for row in rows):
        raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
    with name_scope(None, "loop_body", rows):
        first = fn(nest.pack_sequence_as(elems, [row[0] for row in rows]))
        types = nest.map_structure(lambda leaf: as_tensor(leaf).base_dtype, first)
    return map_fn(fn, nest.pack_sequence_as(elems, rows), dtype=types)


def _result(kind: Any, is_row: bool, count: Any, infer_shape: bool) -> Any:
    """What results are written to: of a dtype, of rows as a `RaggedTensorSpec` says, or (`is_row`)
    of rows such as a value has."""
    if hasattr(kind, "ragged_rank"):
        from flowc.api.control_flow.ragged_rows import RaggedResult

        return RaggedResult(kind.dtype, kind.ragged_rank - is_row, count)
    return _Stacked(kind.base_dtype if is_row else dtypes.as_dtype(kind), count, infer_shape)


class _Stacked:
    """Results of one dtype and shape that come one by one."""

    def __init__(self, dtype: dtypes.DType, count: Any, infer_shape: bool) -> None:
        self.arrays = [TensorArray(dtype, size=count, dynamic_size=False, infer_shape=infer_shape)]

    def written(self, arrays: list[TensorArray], i: Tensor, value: Any) -> list[TensorArray]:
        return [arrays[0].write(i, value)]

    def joined(self, arrays: list[TensorArray]) -> Tensor:
        return arrays[0].stack()


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All intermediate results of `a = fn(a, row)` over the rows of `elems`, stacked.

    The first `a` is `initializer`, or else the first row; `reverse` begins with the last row.
    Raises as `map_fn`, but `IndexError` for scalars. The rows are those of the first dimension of
    tensors, all of one length.
    """
    _check_callable(fn)
    leaves = nest.flatten(elems)
    wanted = elems if initializer is None else initializer
    with name_scope(name, "scan", leaves):
        rows = _Rows(leaves, count_zero=True)
        count = rows.count
        sources = rows.arrays(with_shape=True)
        if initializer is None:
            state = [a.read(count - 1 if reverse else 0) for a in sources]
        else:
            state = [as_tensor(v) for v in nest.flatten(initializer)]
        done = 1 if initializer is None else 0
        results = [
            TensorArray(
                _known_dtype(t),
                size=count,
                element_shape=t.shape if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for t in state
        ]
        if initializer is None:
            at = count - 1 if reverse else 0
            results = [a.write(at, t) for a, t in zip(results, state)]

        def compute(i: Tensor, values: Any, arrays: list[TensorArray]) -> Any:
            row = nest.pack_sequence_as(elems, [a.read(i) for a in sources])
            value = fn(nest.pack_sequence_as(wanted, values), row)
            nest.assert_same_structure(wanted, value)
            flat = nest.flatten(value)
            written = [a.write(i, v) for a, v in zip(arrays, flat, strict=True)]
            return (i - 1 if reverse else i + 1), flat, written

        *_, arrays = while_loop(
            lambda i, *_: i >= 0 if reverse else i < count,
            compute,
            (count - 1 - done if reverse else done, state, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return nest.pack_sequence_as(wanted, rows.stacked(arrays))


def _fold(function_name: str, backwards: bool, doc: str) -> Callable[..., Any]:
    def function(
        fn: Callable[[Any, Any], Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        _check_callable(fn)
        with name_scope(name, function_name, nest.flatten(elems)):
            rows, sources = _sources(elems)
            done = 1 if initializer is None else 0
            start = rows.count - 1 if backwards and done else rows.count
            state = initializer
            if initializer is None:
                state = nest.map_structure(lambda a: a.read(start if backwards else 0), sources)

            def compute(i: Tensor, a: Any) -> list[Any]:
                if backwards:
                    i = i - 1
                row = nest.map_structure(lambda array: array.read(i), sources)
                a = fn(a, row)
                return [i if backwards else i + 1, a]

            _, result = while_loop(
                lambda i, _: i > 0 if backwards else i < rows.count,
                compute,
                [start if backwards else constant(done), state],
                parallel_iterations=parallel_iterations,
                back_prop=back_prop,
                swap_memory=swap_memory,
                maximum_iterations=rows.count,
            )
            return result

    return named(function, function_name, doc)


foldl = _fold(
    "foldl",
    False,
    """The last `a` of `a = fn(a, row)` over the rows of `elems`, from `initializer`, or from the
    first row. Raises as `map_fn`, but `IndexError` for scalars.""",
)
foldr = _fold(
    "foldr",
    True,
    "`foldl` from the last row to the first. Raises as it does, `TypeError` and `IndexError`.",
)


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"{fn!r} is not callable. Please provide a callable function.")


def _rows_of(leaf: Any) -> Any:
    return leaf if hasattr(leaf, "ragged_rank") else as_tensor(leaf, name="elem")


def _known_dtype(tensor: Tensor) -> dtypes.DType:
    assert tensor.dtype is not None
    return tensor.dtype


class _Rows:
    """Tensors that are gone through row by row. `count`: their rows, an int where it is known."""

    def __init__(
        self,
        leaves: Sequence[Any],
        fault: type[Exception] = IndexError,
        count_zero: bool = False,
    ) -> None:
        """Raises `fault` for scalars."""
        self.tensors = [_rows_of(leaf) for leaf in leaves]
        if self.tensors[0].shape.ndims == 0:
            raise fault("Elements in elems must be 1+ dimensional Tensors, not scalars")
        self._static: Dimension = self.tensors[0].shape.with_rank_at_least(1)[0]
        known = self._static.value
        unknown = known is None if count_zero else not known
        first = self.tensors[0]
        self.count: Any = known
        if unknown:
            is_ragged = hasattr(first, "nrows")
            self.count = first.nrows(dtypes.i32) if is_ragged else shape_of(first)[0]

    def array(self, tensor: Any, element_shape: TensorShape | None = None) -> Any:
        kind = _known_dtype(tensor)
        if not isinstance(tensor, Tensor):
            from flowc.api.control_flow.ragged_rows import RaggedSource

            return RaggedSource(tensor)
        return TensorArray(kind, size=self.count, dynamic_size=False, element_shape=element_shape)

    def arrays(self, with_shape: bool = False) -> list[Any]:
        for tensor in self.tensors[1:]:
            size = tensor.shape.with_rank_at_least(1)[0]
            self._static.assert_is_compatible_with(size)
        made = [self.array(t, t.shape[1:] if with_shape else None) for t in self.tensors]
        return [a.unstack(t) for a, t in zip(made, self.tensors)]

    def stacked(self, arrays: Sequence[TensorArray]) -> list[Tensor]:
        return [self.of_all(a.stack()) for a in arrays]

    def of_all(self, found: Any) -> Any:
        """A result of all rows, with as many as are known."""
        if isinstance(found, Tensor):
            found.set_shape(TensorShape([self._static.value]).concatenate(found.shape[1:]))
        return found


def _sources(elems: Any) -> tuple[_Rows, Any]:
    """The rows of a structure, and its TensorArrays in the same structure. (Each is made and filled
    before the next, as `foldl` and `foldr` do.)"""
    rows = _Rows(nest.flatten(elems))
    filled = [rows.array(t).unstack(t) for t in rows.tensors]
    return rows, nest.pack_sequence_as(elems, filled)
