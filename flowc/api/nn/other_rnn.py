"""`raw_rnn` and `static_bidirectional_rnn`.

In: a cell; a function of each step, or a list of inputs. Out: outputs and states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import zeros
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import concat, reverse_sequence, stack, unstack
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.loops import while_loop
from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.framework import nest
from flowc.api.framework.basics import constant
from flowc.api.math.elementwise import logical_not, logical_or
from flowc.api.math.reductions import reduce_all
from flowc.api.nn.rnn import check_cell, static_rnn
from flowc.api.variables.variable_scope import variable_scope
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

LoopFunction = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]]


def raw_rnn(
    cell: Any,
    loop_fn: LoopFunction,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """(TensorArrays of what each step emits, final state, final loop state) of a loop in which
    `loop_fn` decides everything.

    `loop_fn(time, cell_output, cell_state, loop_state)` returns (finished [batch], next input, next
    state, what to emit, next loop state). Its first call has None for output, states and loop state
    and returns the initial ones; what it says to emit gives the structure (None: the output of the
    cell). Raises `TypeError` for what is no cell or function.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("Argument `loop_fn` must be a callable.")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtypes.i32)
        finished, given, state, emitted, loop_state = loop_fn(time, None, None, None)
        inputs = nest.map_structure(as_tensor, given)
        state = nest.map_structure(as_tensor, state)
        has_loop_state = loop_state is not None
        kept = loop_state if has_loop_state else constant(0, dtypes.i32)
        first = nest.flatten(inputs)[0]
        static = first.shape[0].value
        batch = shape_of(first)[0] if static is None else static
        zero = _zero_emits(cell, emitted, nest.flatten(state)[0].dtype, batch)
        arrays = nest.map_structure(
            lambda z: TensorArray(
                z.dtype, size=0, dynamic_size=True, element_shape=_of_batch(z, static)
            ),
            zero,
        )

        def step(time: Any, done: Tensor, inputs: Any, arrays: Any, state: Any, kept: Any) -> Any:
            output, after = cell(inputs, state)
            following = loop_fn(time + 1, output, after, kept if has_loop_state else None)
            next_done, next_inputs, next_state, emit, next_kept = following
            emit = output if emit is None else emit

            def chosen(old: Any, new: Any) -> Any:
                new = as_tensor(new)
                return new if new.shape.ndims == 0 else where(done, old, new)

            emit = nest.map_structure(chosen, zero, emit)
            next_state = nest.map_structure(chosen, state, next_state)
            written = nest.map_structure(lambda a, v: a.write(time, v), arrays, emit)
            return (
                time + 1,
                logical_or(as_tensor(next_done), done),
                next_inputs,
                written,
                next_state,
                kept if next_kept is None else next_kept,
            )

        _, _, _, arrays, state, kept = while_loop(
            lambda time, done, *_: logical_not(reduce_all(done)),
            step,
            (time, as_tensor(finished), inputs, arrays, state, kept),
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return arrays, state, kept if has_loop_state else None


def _zero_emits(cell: Any, emitted: Any, dtype: Any, batch: Any) -> Any:
    """What a finished sequence emits: zeros of the structure that the first call gave."""
    if emitted is None:
        return nest.map_structure(
            lambda size: zeros([batch, *TensorShape(size).as_list()], dtype), cell.output_size
        )
    return nest.map_structure(
        lambda e: zeros([batch, *as_tensor(e).shape.as_list()], as_tensor(e).dtype), emitted
    )


def _of_batch(zero: Tensor, batch: int | None) -> TensorShape:
    return TensorShape([batch]).concatenate(zero.shape[1:])


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """(outputs of both cells joined, final state forward, final state backward) over a list of
    inputs [batch, depth]. Raises as `static_rnn`."""
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    if not isinstance(inputs, list | tuple):
        raise TypeError("Argument `inputs` must be a sequence.")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            there, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, forward
            )
        with variable_scope("bw") as backward:
            reversed_inputs = _reversed_steps(inputs, sequence_length)
            back, state_bw = static_rnn(
                cell_bw, reversed_inputs, initial_state_bw, dtype, sequence_length, backward
            )
    back = _reversed_steps(back, sequence_length)
    joined = [concat([x, y], 1) for x, y in zip(there, back, strict=True)]
    return joined, state_fw, state_bw


def _reversed_steps(inputs: Sequence[Any], lengths: Any) -> list[Any]:
    """A list of steps, backwards; of sequences that end early, backwards up to their ends."""
    if lengths is None:
        return list(reversed(inputs))
    whole = stack([as_tensor(x) for x in inputs])
    return unstack(reverse_sequence(whole, lengths, seq_axis=0, batch_axis=1), len(inputs))
