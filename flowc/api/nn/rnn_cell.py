"""`tf.nn.rnn_cell`: what a recurrent network computes in one time step.

In: the inputs of a step [batch, depth] and a state. Out: the output and the next state. Invariant:
a cell makes its variables at its first call, under the variable scope of that call; every later
call shares them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import zeros
from flowc.api.arrays.shaping import concat, expand_dims, slice_, split
from flowc.api.framework import nest
from flowc.api.framework.basics import constant
from flowc.api.framework.scopes import name_scope
from flowc.api.layers.input_spec import InputSpec
from flowc.api.layers.layer import numbered_name, scope_name
from flowc.api.layers.named import activation_of
from flowc.api.math.elementwise import add, multiply, sigmoid
from flowc.api.math.reductions import matmul
from flowc.api.nn.activations import tanh
from flowc.api.nn.normalization import bias_add
from flowc.api.variables.initializers import Constant, Zeros
from flowc.api.variables.scope_state import VariableScope
from flowc.api.variables.variable_scope import get_variable, variable_scope
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor

LSTMStateTuple = namedtuple("LSTMStateTuple", ("c", "h"))
LSTMStateTuple.__doc__ = (
    "The state of an LSTM: memory `c` and output `h`, each [batch, units]. Raises nothing."
)


class RNNCell:
    """One step of a network. Subclasses give `state_size`, `output_size`, `build`, `call`. Those
    that a subclass does not give raise `NotImplementedError`."""

    default_name = "rnn_cell"
    input_spec = InputSpec()

    def __init_subclass__(cls) -> None:
        """The scope of a cell without a name is called as its class, also of a program's own."""
        cls.default_name = scope_name(cls.__name__)

    def __init__(self, name: str | None = None, reuse: bool | None = None, dtype: Any = None):
        self._name = name
        self._shown_name = name or numbered_name(self.default_name)
        self._reuse = reuse
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._scope: VariableScope | None = None

    @property
    def name(self) -> str:
        """The name that the cell was given, or that of its class and its number in the graph."""
        return self._shown_name

    @property
    def scope_name(self) -> str:
        """The variable scope of the cell. Raises `ValueError` before it is called."""
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self.name}" has not been '
                "used yet. The scope name  is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def built(self) -> bool:
        """Whether the cell was called."""
        return self._scope is not None

    @property
    def state_size(self) -> Any:
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        raise NotImplementedError

    def build(self, depth: int, dtype: Any) -> None:
        """Makes the variables, for inputs of this depth."""

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        raise NotImplementedError

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Any]:
        """(output, next state). Raises `ValueError` for inputs whose depth is not known, before any
        variable is made."""
        inputs = as_tensor(inputs)
        self.input_spec.check(inputs, self._name or self.default_name)
        if self._scope is None:
            chosen = scope if scope is not None else self._name
            if chosen is None and self._reuse:
                chosen = self.default_name  # not one that no scope has: what is there is shared
            with variable_scope(chosen, self.default_name, reuse=self._reuse) as opened:
                depth = inputs.shape[-1].value
                if depth is None:
                    raise ValueError(
                        f"Expected inputs.shape[-1] to be known, saw shape: {inputs.shape}"
                    )
                self._scope = opened
                self.build(depth, self._dtype or inputs.dtype)
                return self.call(inputs, state)
        with (
            variable_scope(self._scope, reuse=True, auxiliary_name_scope=False),
            name_scope(self._scope.name.split("/")[-1]),
        ):
            return self.call(inputs, state)

    @property
    def variables(self) -> list[Any]:
        """The variables of the cell, once it was called."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.trainable_variables()

    @property
    def non_trainable_variables(self) -> list[Any]:
        trained = set(map(id, self.trainable_variables))
        return [v for v in self.variables if id(v) not in trained]

    @property
    def weights(self) -> list[Any]:
        return self.variables

    @property
    def trainable_weights(self) -> list[Any]:
        return self.trainable_variables

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros: [batch, size] for each size of `state_size`."""
        with name_scope(f"{type(self).__name__}ZeroState", None):
            return nest.map_structure(lambda size: _zeros(batch_size, size, dtype), self.state_size)


def _zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Zeros for a batch of elements of `size`, whose number may be known to the run only: in
    TensorFlow's nodes, as seeds of random nodes follow from how many there are before them."""
    found = zeros(concat(shape_parts(batch_size, size), 0), dtype)
    shape_parts(batch_size, size)  # TensorFlow takes the static shape from these
    return found


def shape_parts(batch_size: Any, size: Any) -> list[Tensor]:
    """The parts of a shape whose sizes are known, or tensors, each a vector."""
    parts = []
    for given in (batch_size, size):
        if isinstance(given, Tensor):
            parts.append(expand_dims(given, 0) if given.shape.ndims == 0 else given)
        elif TensorShape(given).is_fully_defined():
            parts.append(constant(TensorShape(given).as_list(), dtypes.i32))
    return parts


class _Units(RNNCell):
    """A cell with a state of `num_units` numbers, which is its output too."""

    input_spec = InputSpec(ndim=2)

    def __init__(
        self,
        num_units: int,
        activation: str | Callable[[Tensor], Tensor] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name, reuse, dtype)
        self._units = num_units
        self._activation = activation_of(activation) or tanh

    @property
    def state_size(self) -> Any:
        return self._units

    @property
    def output_size(self) -> int:
        return self._units

    def _layer(
        self, prefix: str, depth: int, width: int, dtype: Any, kernel: Any, bias: Any
    ) -> tuple[Any, Any]:
        shape = [depth + self._units, width]
        return (
            get_variable(f"{prefix}kernel", shape, dtype, initializer=kernel),
            get_variable(f"{prefix}bias", [width], dtype, initializer=bias),
        )


def _applied(layer: tuple[Any, Any], values: Sequence[Tensor]) -> Tensor:
    kernel, bias = layer
    return bias_add(matmul(concat(list(values), 1), kernel), bias)


class BasicRNNCell(_Units):
    """output = state = activation(W [input, state] + b), of [batch, num_units]. Calling it raises
    `ValueError` for inputs that are not [batch, depth]."""

    def build(self, depth: int, dtype: Any) -> None:
        self._weights = self._layer("", depth, self._units, dtype, None, Zeros())

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        output = self._activation(_applied(self._weights, [inputs, state]))
        return output, output


class GRUCell(_Units):
    """The gated recurrent unit of Cho et al., 2014 (arXiv:1406.1078); output and state are [batch,
    num_units]. Calling it raises `ValueError` for inputs that are not [batch, depth]."""

    def __init__(
        self,
        num_units: int,
        activation: str | Callable[[Tensor], Tensor] | None = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, depth: int, dtype: Any) -> None:
        kernel, bias = self._kernel_initializer, self._bias_initializer
        open_gates = Constant(1.0, dtype) if bias is None else bias
        closed = Zeros() if bias is None else bias
        self._gates = self._layer("gates/", depth, 2 * self._units, dtype, kernel, open_gates)
        self._candidate = self._layer("candidate/", depth, self._units, dtype, kernel, closed)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        gates = sigmoid(_applied(self._gates, [inputs, state]))
        reset, update = split(value=gates, num_or_size_splits=2, axis=1)
        found = self._activation(_applied(self._candidate, [inputs, reset * state]))
        output = update * state + (1 - update) * found
        return output, output


class BasicLSTMCell(_Units):
    """The long short-term memory of Zaremba et al., 2014 (arXiv:1409.2329).

    `forget_bias` is added to the forget gate. The state is an `LSTMStateTuple`, or [batch, 2 units]
    where `state_is_tuple` is False. Calling it raises `ValueError` for inputs that are not [batch,
    depth] and a state of another form.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: str | Callable[[Tensor], Tensor] | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._units, self._units)
        return 2 * self._units

    def build(self, depth: int, dtype: Any) -> None:
        self._weights = self._layer("", depth, 4 * self._units, dtype, None, Zeros())

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        axis = constant(1, dtypes.i32)
        c, h = (
            state if self._state_is_tuple else split(value=state, num_or_size_splits=2, axis=axis)
        )
        gates = _applied(self._weights, [inputs, h])
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=axis)
        forget = sigmoid(add(f, constant(self._forget_bias, f.dtype)))
        new_c = add(multiply(c, forget), multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, concat([new_c, new_h], 1)


class MultiRNNCell(RNNCell):
    """Cells one above the other: each takes the output of the one below.

    The state is a tuple of the cells' states, or, where `state_is_tuple` is False, [batch, all
    their sizes]. Raises `TypeError` where `cells` is no list, `ValueError` where it is empty and
    for cells whose states do not fit `state_is_tuple`."""

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        sizes = [cell.state_size for cell in cells]
        if not state_is_tuple and any(nest.is_nested(size) for size in sizes):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. State "
                f"sizes are: {sizes}"
            )
        self._cells = cells
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(f"{type(self).__name__}ZeroState", None):
            if not self._state_is_tuple:
                return super().zero_state(batch_size, dtype)
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        if self._state_is_tuple and not nest.is_nested(state):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        states: list[Any] = []
        at = 0
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    before = state[number]
                else:
                    before = slice_(state, [0, at], [-1, cell.state_size])
                    at += cell.state_size
                inputs, after = cell(inputs, before)
                states.append(after)
        return inputs, tuple(states) if self._state_is_tuple else concat(states, 1)
