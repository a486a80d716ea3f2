"""`dynamic_rnn`, `bidirectional_dynamic_rnn` and `static_rnn`: a cell, step after step.

In: a cell and inputs [batch, time, depth] (or [time, batch, depth] where `time_major`), perhaps the
length of each sequence. Out: the outputs in the same layout, and the state after the last step of
each sequence. Invariant: after its end, a sequence gives zeros and keeps its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.filling import zeros
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import concat, rank, reverse, reverse_sequence, stack, transpose
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.conditionals import cond
from flowc.api.control_flow.loops import while_loop
from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.framework import nest
from flowc.api.framework.basics import cast, constant, identity
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import equal, maximum, minimum
from flowc.api.math.reductions import reduce_all, reduce_max, reduce_min
from flowc.api.nn.rnn_cell import shape_parts
from flowc.api.variables.variable_scope import variable_scope
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """(outputs, final state) of `cell` over the time steps of `inputs`, in one loop.

    `sequence_length`: [batch]. `dtype`: that of the initial state of zeros, where there is no
    `initial_state`. Raises `ValueError` where both are missing, where the depth of the inputs is
    unknown, or where they differ in their steps or batches.
    """
    check_cell("cell", cell)
    with variable_scope(scope or "rnn"):
        flat = [as_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_batch_and_time_swapped(x) for x in flat]
        lengths = _lengths(sequence_length)
        batch_size = _batch_size(flat)
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        state = initial_state
        if state is None:
            state = _zero_state(cell, batch_size, wanted)
        if lengths is not None:
            checks = [_check_batch(lengths, batch_size)]
            with get_default_graph().control_dependencies(checks):
                lengths = identity(lengths, name="CheckSeqLen")
        steps = _Steps(cell, nest.pack_sequence_as(inputs, flat), state, lengths)
        outputs, final = steps.run(parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = nest.map_structure(_batch_and_time_swapped, outputs)
        return outputs, final


@dataclass(eq=False)
class _Steps:
    """The loop of `dynamic_rnn` over inputs [time, batch, depth]."""

    cell: Any
    inputs: Any
    state: Any
    lengths: Tensor | None

    def __post_init__(self) -> None:
        self.state = nest.map_structure(as_tensor, self.state)
        self.flat: list[Tensor] = nest.flatten(self.inputs)
        self.static = self._static_sizes()
        self.dtype = _state_dtype(self.state)

    def _static_sizes(self) -> tuple[int | None, int | None]:
        """(time steps, batch), as far as they are known."""
        shapes = [x.shape.with_rank_at_least(3) for x in self.flat]
        first = shapes[0].as_list()[:2]
        for x, shape in zip(self.flat, shapes):
            if not shape[2:].is_fully_defined():
                raise ValueError(
                    "Input size (depth of inputs) must be accessible via shape inference, but saw "
                    f"value None for input={x}."
                )
            steps, batch = shape.as_list()[:2]
            if steps != first[0]:
                raise ValueError(
                    "Time steps is not the same for all the elements in the input in a batch. "
                    f"Received time steps={steps} for input={x}."
                )
            if batch != first[1]:
                raise ValueError(
                    "Batch_size is not the same for all the elements in the input. Received batch "
                    f"size={batch} for input={x}."
                )
        return first[0], first[1]

    def run(self, parallel_iterations: int, swap_memory: bool) -> tuple[Any, Any]:
        count = shape_of(self.flat[0])[0]
        sizes = nest.flatten(self.cell.output_size)
        batch_size = _batch_size(self.flat)
        zero = [zeros(concat(shape_parts(batch_size, s), 0), self.dtype) for s in sizes]
        last = count
        if self.lengths is not None:
            reduce_min(self.lengths)  # nothing needs it: TensorFlow's node
            last = reduce_max(self.lengths)
        time = constant(0, dtypes.i32, name="time")
        with name_scope("dynamic_rnn") as scope:
            base = scope
        rows = [TensorShape([self.static[1]]).concatenate(s) for s in sizes]
        outputs = [
            TensorArray(
                self.dtype, size=count, element_shape=r, tensor_array_name=f"{base}output_{k}"
            )
            for k, r in enumerate(rows)
        ]
        sources = [
            TensorArray(
                x.dtype, size=count, element_shape=x.shape[1:], tensor_array_name=f"{base}input_{k}"
            )
            for k, x in enumerate(self.flat)
        ]
        sources = [a.unstack(x) for a, x in zip(sources, self.flat)]

        def step(time: Tensor, arrays: tuple[TensorArray, ...], state: Any) -> Any:
            row = nest.pack_sequence_as(self.inputs, [a.read(time) for a in sources])
            output, after = self._computed(time, zero, row, state)
            flat = nest.flatten(output)
            written = tuple(a.write(time, v) for a, v in zip(arrays, flat, strict=True))
            return time + 1, written, after

        bound = minimum(count, maximum(1, last))
        _, arrays, final = while_loop(
            lambda time, *_: time < bound,
            step,
            (time, tuple(outputs), self.state),
            parallel_iterations=parallel_iterations,
            maximum_iterations=count,
            swap_memory=swap_memory,
        )
        stacked = [a.stack() for a in arrays]
        for tensor, row, size in zip(stacked, rows, sizes):
            shape_parts(self.static, size)  # as for the state of zeros
            tensor.set_shape(TensorShape([self.static[0]]).concatenate(row))
        return nest.pack_sequence_as(self.cell.output_size, stacked), final

    def _computed(
        self, time: Tensor, zero: Sequence[Tensor], row: Any, state: Any
    ) -> tuple[Any, Any]:
        """What the cell gives; for sequences that are over, zeros and the state as it was."""
        over = None if self.lengths is None else time >= self.lengths
        output, after = self.cell(row, state)
        nest.assert_same_structure(self.cell.output_size, output)
        nest.assert_same_structure(state, after)
        if over is None:
            return output, after

        def kept(old: Tensor, new: Tensor) -> Tensor:
            if old.shape.ndims == 0:
                return new
            with get_default_graph().colocate_with(new):
                found = where(over, old, new)
            found.set_shape(old.shape)
            return found

        flat = [kept(a, b) for a, b in zip(zero, nest.flatten(output), strict=True)]
        return nest.pack_sequence_as(output, flat), nest.map_structure(kept, state, after)


def check_cell(name: str, cell: Any) -> None:
    missing = [a for a in ("output_size", "state_size") if not hasattr(cell, a)]
    if missing or not callable(cell):
        lacks = [f"'{m}' property is missing" for m in missing] or ["is not callable"]
        raise TypeError(f"The argument {name!r} ({cell}) is not an RNNCell: {', '.join(lacks)}.")


def _zero_state(cell: Any, batch_size: Any, dtype: Any) -> Any:
    if dtype is None:
        raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
    return cell.zero_state(batch_size, dtypes.as_dtype(dtype))


def _batch_and_time_swapped(x: Tensor) -> Tensor:
    if x.shape.ndims is not None and x.shape.ndims < 2:
        return x
    order = concat([[1, 0], range_(2, rank(x))], axis=0)
    swapped = transpose(x, order)
    swapped.set_shape(TensorShape([x.shape[1], x.shape[0]]).concatenate(x.shape[2:]))
    return swapped


def _lengths(sequence_length: Any) -> Tensor | None:
    if sequence_length is None:
        return None
    lengths = cast(sequence_length, dtypes.i32)
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(
            "Argument sequence_length must be a vector of length batch_size. Received "
            f"sequence_length={lengths} of shape: {lengths.shape}"
        )
    return identity(lengths, name="sequence_length")


def _batch_size(flat: Sequence[Tensor]) -> Any:
    for x in flat:
        if x.shape.ndims is None:
            continue
        if x.shape.ndims < 2:
            raise ValueError(
                f"Input tensor should have rank >= 2. Received input={x} of rank {x.shape.ndims}"
            )
        known = x.shape[1].value
        if known is not None:
            return known
    return shape_of(flat[0])[1]


def _check_batch(lengths: Tensor, batch_size: Any) -> Any:
    found, expected = shape_of(lengths), stack([batch_size])
    text = f"Expected shape for Tensor {lengths.name} is "
    return Assert(reduce_all(equal(found, expected)), [text, expected, " but saw shape: ", found])


def _state_dtype(state: Any) -> DType:
    found = {t.dtype for t in nest.flatten(state)}
    if len(found) != 1:
        raise ValueError(
            f"Argument state={state} has tensors of different inferred dtypes. Unable to infer a "
            "single representative dtype."
        )
    return found.pop()


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """((outputs forward, outputs backward), (their final states)): `cell_bw` goes through each
    sequence from its end. Raises as `dynamic_rnn`. `inputs`: [batch, steps, depth], or [steps,
    batch, depth] with `time_major`."""
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def backwards(x: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(x, axis=[time_axis])
        return reverse_sequence(x, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    def one_way(cell: Any, x: Any, state: Any, where_: Any) -> tuple[Any, Any]:
        return dynamic_rnn(
            cell, x, sequence_length, state, dtype, parallel_iterations, swap_memory, time_major,
            where_,
        )  # fmt: skip

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward_scope:
            forward, state_fw = one_way(cell_fw, inputs, initial_state_fw, forward_scope)
        with variable_scope("bw") as backward_scope:
            reversed_inputs = nest.map_structure(lambda x: backwards(as_tensor(x)), inputs)
            backward, state_bw = one_way(cell_bw, reversed_inputs, initial_state_bw, backward_scope)
    backward = nest.map_structure(backwards, backward)
    return (forward, backward), (state_fw, state_bw)


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """(outputs, final state) of `cell` over a list of inputs [batch, depth], one after the other
    without a loop. `sequence_length`: [batch]. Raises `TypeError` and `ValueError` for inputs that
    are no list, or empty."""
    check_cell("cell", cell)
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")
    with variable_scope(scope or "rnn"):
        steps = [nest.map_structure(as_tensor, x) for x in inputs]
        first = nest.flatten(steps[0])[0]
        known = first.shape[0].value
        batch_size = shape_of(first)[0] if known is None else known
        state = initial_state
        if state is None:
            state = _zero_state(cell, batch_size, dtype)
        ends = None
        if sequence_length is not None:
            ends = _Ends.of(cell, sequence_length, batch_size, known, state)
        outputs = []
        for time, x in enumerate(steps):
            if ends is None:
                output, state = cell(x, state)
            else:
                output, state = ends.step(cell, time, x, state)
            outputs.append(output)
        return outputs, state


@dataclass(frozen=True, eq=False)
class _Ends:
    """Where the sequences of a batch end: the length of each, the least and the greatest of them,
    and what comes out after the end."""

    lengths: Tensor
    least: Tensor
    greatest: Tensor
    zero: Any

    @staticmethod
    def of(cell: Any, lengths: Any, batch_size: Any, known: int | None, state: Any) -> _Ends:
        lengths = as_tensor(lengths, name="sequence_length")
        if lengths.shape.ndims not in (None, 1):
            raise ValueError(
                "Argument `sequence_length` must be a vector of length "
                f"{batch_size}. Received sequence_length={lengths}."
            )
        dtype = _state_dtype(nest.map_structure(as_tensor, state))
        zero = []
        for size in nest.flatten(cell.output_size):
            zero.append(zeros(concat(shape_parts(batch_size, size), 0), dtype))
            shape_parts(known, size)  # nothing needs it: TensorFlow's node
            zero[-1].set_shape(TensorShape([known]).concatenate(size))
        lengths = cast(lengths, dtypes.i32)
        least, greatest = reduce_min(lengths), reduce_max(lengths)
        return _Ends(lengths, least, greatest, nest.pack_sequence_as(cell.output_size, zero))

    def step(self, cell: Any, time: int, row: Any, state: Any) -> tuple[Any, Any]:
        """(the output, the state) of a step: zeros and the state before for sequences that are
        over. No step is computed behind the end of all of them."""
        old = [*nest.flatten(self.zero), *nest.flatten(state)]
        over = time >= self.lengths

        def kept(before: Tensor, now: Tensor) -> Tensor:
            if before.shape.ndims == 0:
                return now
            with get_default_graph().colocate_with(now):
                return where(over, before, now)

        def computed() -> list[Tensor]:
            output, after = cell(row, state)
            nest.assert_same_structure(self.zero, output)
            nest.assert_same_structure(state, after)
            new = [*nest.flatten(output), *nest.flatten(after)]
            return cond(
                time < self.least,
                lambda: new,
                lambda: [kept(before, now) for before, now in zip(old, new, strict=True)],
            )

        found = cond(time >= self.greatest, lambda: old, computed)
        for before, now in zip(old, found, strict=True):
            now.set_shape(before.shape)
        count = len(nest.flatten(self.zero))
        return (
            nest.pack_sequence_as(self.zero, found[:count]),
            nest.pack_sequence_as(state, found[count:]),
        )
