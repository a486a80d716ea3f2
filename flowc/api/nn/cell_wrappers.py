"""`tf.nn.rnn_cell`: cells made of other cells, and the LSTM with all its options.

In: a cell. Out: a cell of the same sizes. Invariant: a wrapper has no variables and no scope of its
own, so that checkpoints of the wrapped cell fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import concat, split
from flowc.api.framework import nest
from flowc.api.framework.scopes import name_scope
from flowc.api.layers.input_spec import InputSpec
from flowc.api.layers.named import activation_of
from flowc.api.math.elementwise import add, clip_by_value, div, floor, multiply, sigmoid
from flowc.api.math.reductions import matmul
from flowc.api.nn.activations import tanh
from flowc.api.nn.dropout import dropout
from flowc.api.nn.normalization import bias_add
from flowc.api.nn.rnn_cell import LSTMStateTuple, RNNCell
from flowc.api.random.random_ops import random_uniform
from flowc.api.variables.initializers import Zeros
from flowc.api.variables.variable_scope import get_variable
from flowc.graph import Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


class _Wrapper(RNNCell):
    """A cell that another one computes."""

    def __init__(self, cell: RNNCell) -> None:
        super().__init__()
        if not isinstance(cell, RNNCell):
            raise TypeError(f"The argument 'cell' ({cell}) is not an RNNCell.")
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        return self._cell.variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._cell.trainable_variables

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(f"{type(self).__name__}ZeroState", None):
            return self._cell.zero_state(batch_size, dtype)


class ResidualWrapper(_Wrapper):
    """Adds the inputs to the outputs, or what `residual_fn(inputs, outputs)` makes of them. Calling
    it raises `ValueError` where inputs and outputs do not fit."""

    def __init__(self, cell: RNNCell, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Raises `ValueError` where inputs and outputs differ in shape or structure."""
        outputs, after = self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, outputs), after
        nest.assert_same_structure(inputs, outputs)
        for x, y in zip(nest.flatten(inputs), nest.flatten(outputs), strict=True):
            x.shape.assert_is_compatible_with(y.shape)
        return nest.map_structure(add, inputs, outputs), after


class DeviceWrapper(_Wrapper):
    """Computes the cell on a device. Raises `ValueError` for what is no name of a device."""

    def __init__(self, cell: RNNCell, device: str) -> None:
        super().__init__(cell)
        self._device = device

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        with get_default_graph().device(self._device):
            return self._cell(inputs, state, scope=scope)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with get_default_graph().device(self._device):
            return super().zero_state(batch_size, dtype)


class DropoutWrapper(_Wrapper):
    """Dropout of the inputs, the state and the outputs of a cell.

    `variational_recurrent`: the same elements are dropped at every step (Gal and Ghahramani, 2015,
    arXiv:1512.05287), which needs `dtype`, and `input_size` where inputs are dropped. The `c` of an
    LSTM's state is kept whole. Raises `TypeError` for what is no cell, `ValueError` for
    probabilities outside [0, 1].
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(cell)
        self._keep = {"input": input_keep_prob, "state": state_keep_prob}
        self._keep["output"] = output_keep_prob
        with name_scope("DropoutWrapperInit", None):
            for name, given in self._keep.items():
                tensor = as_tensor(given)
                known = constant_elements(tensor)
                self._keep[name] = tensor if known is None else float(known)
                if known is not None and not 0.0 <= known <= 1.0:
                    raise ValueError(f"Parameter {name}_keep_prob must be between 0 and 1: {given}")
        self._seed = seed
        self._chosen = dropout_state_filter_visitor or _without_memory
        self._noise: dict[str, list[Tensor]] = {}
        if variational_recurrent:
            if dtype is None:
                raise ValueError(
                    "When variational_recurrent=True, dtype must be provided: the noise is drawn "
                    "once"
                )
            sizes = {"input": input_size, "state": cell.state_size, "output": cell.output_size}
            self._draw_noise(sizes, dtypes.as_dtype(dtype))

    def _draw_noise(self, sizes: dict[str, Any], dtype: Any) -> None:
        if self._drops("input") and sizes["input"] is None:
            raise ValueError(
                "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                "input_size must be provided"
            )
        for name, structure in sizes.items():
            if name != "input" or self._drops("input"):
                self._noise[name] = [
                    random_uniform(
                        concat([[1], TensorShape(s).as_list()], 0), seed=seed, dtype=dtype
                    )
                    for s, seed in zip(nest.flatten(structure), self._seeds(name))
                ]

    def _drops(self, name: str) -> bool:
        keep = self._keep[name]
        return isinstance(keep, Tensor) or keep < 1.0

    def _seeds(self, name: str) -> Any:
        """A seed for each tensor, from the wrapper's."""
        number = 0
        while True:
            if self._seed is None:
                yield None
            else:
                text = f"{self._seed}{name}_{number}".encode()
                yield int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF
            number += 1

    def _dropped(self, name: str, values: Any, chosen: Any = True) -> Any:
        """`values` with elements dropped; `chosen`: of which tensors."""
        keep, noise, seeds = self._keep[name], self._noise.get(name), self._seeds(name)
        flat = [as_tensor(v) for v in nest.flatten(values)]
        wanted = [chosen] * len(flat) if isinstance(chosen, bool) else nest.flatten(chosen)
        made = []
        for number, (value, taken, seed) in enumerate(zip(flat, wanted, seeds)):
            if not taken:
                made.append(value)
            elif noise is None:
                made.append(dropout(value, keep_prob=keep, seed=seed))
            else:
                made.append(multiply(div(value, keep), floor(keep + noise[number])))
        return nest.pack_sequence_as(values, made)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        if self._drops("input"):
            inputs = self._dropped("input", inputs)
        outputs, after = self._cell(inputs, state, scope=scope)
        if self._drops("state"):
            after = self._dropped("state", after, self._chosen(after))
        if self._drops("output"):
            outputs = self._dropped("output", outputs)
        return outputs, after


def _without_memory(state: Any) -> Any:
    """Which tensors of a state dropout may touch."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    if isinstance(state, list | tuple):
        return [_without_memory(part) for part in state]
    return True


class LSTMCell(RNNCell):
    """The long short-term memory with peepholes, clipping and a projection (Sak et al., 2014).

    The state is an `LSTMStateTuple` (c, h), or both joined where `state_is_tuple` is False.
    `num_proj`: the depth of the output, where it is projected. Calling it raises `ValueError` for
    inputs that are not [batch, depth] and a state of another form.
    """

    input_spec = InputSpec(ndim=2)

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: str | Callable[[Tensor], Tensor] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name, reuse, dtype)
        self._units, self._projected = num_units, num_proj
        self._peepholes = use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation) or tanh

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._projected or self._units

    def build(self, depth: int, dtype: Any) -> None:
        def made(name: str, shape: list[int], initializer: Any = self._initializer) -> Any:
            return get_variable(name, shape, dtype, initializer=initializer)

        self._kernel = made("kernel", [depth + self.output_size, 4 * self._units])
        self._bias = made("bias", [4 * self._units], Zeros())
        if self._peepholes:
            self._diagonals = [made(f"w_{g}_diag", [self._units]) for g in ("f", "i", "o")]
        if self._projected is not None:
            self._projection = made("projection/kernel", [self._units, self._projected])

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        sizes = [self._units, self.output_size]
        c, h = state if self._state_is_tuple else split(state, sizes, 1)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
        if self._peepholes:
            of_f, of_i, of_o = self._diagonals
            kept = sigmoid(f + self._forget_bias + of_f * c) * c
            new_c = kept + sigmoid(i + of_i * c) * self._activation(j)
        else:
            new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._peepholes:
            o = o + of_o * new_c
        new_h = sigmoid(o) * self._activation(new_c)
        if self._projected is not None:
            new_h = matmul(new_h, self._projection)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)
