"""`tf.layers.Layer`: a function with variables, which it makes when it is first called.

In: tensors. Out: tensors of the same graph. Invariant: the variables are made by `get_variable`
under the layer's variable scope, so their names are TensorFlow 1's and sharing follows `reuse`;
every later call of the same object takes the same variables.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from flowc import dtypes
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework import nest
from flowc.api.framework.basics import cast, placeholder
from flowc.api.framework.raw_ops import named
from flowc.api.layers.input_spec import InputSpec
from flowc.api.layers.named import activation_name, initializer_of
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.scope_state import VariableScope
from flowc.api.variables.variable_scope import get_variable, variable_scope
from flowc.graph import Graph, Operation, Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.default import get_default_session
from flowc.graph.shape_inference import constant_elements

_NAMES = ("flowc", "layer names")  # key of a collection that no file holds


class Layer:
    """A function with variables. Subclasses make these in `build(input_shape)`, by `add_weight`,
    and compute in `call(inputs, ...)`.

    `name`: the scope of its variables; by default that of the class, as `dense`, with a number
    where it is taken. `dtype`: that of the variables, by default that of the first input. Calling
    it raises `ValueError` where its inputs do not fit its `input_spec`.
    """

    unstated: ClassVar[frozenset[str]] = frozenset()  # arguments that `get_config` leaves out

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        activity_regularizer: Callable[[Tensor], Any] | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: Any = None,
    ) -> None:
        self.trainable = trainable
        self.built = False
        self.input_spec: InputSpec | None = None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._activity_regularizer = activity_regularizer
        self._reuse = _reuse
        self._base_name = name or scope_name(type(self).__name__)
        self._name = name or numbered_name(self._base_name)
        self._scope: VariableScope | None = None
        self._trained: list[Any] = []
        self._kept: list[Any] = []
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        if _scope:
            with variable_scope(_scope) as found:
                self._scope = found

    # What subclasses give

    def build(self, input_shape: Any) -> None:
        """Makes the variables; `input_shape`: that of the first input."""
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return inputs

    # The call

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for `inputs`. `scope=`: a variable scope to use instead of the layer's own.
        Raises `ValueError` for inputs of another rank or depth."""
        scope = self._open_scope(kwargs.pop("scope", None))
        reuse = True if self.built else self._reuse
        inputs = nest.map_structure(_tensor, inputs)
        leaves = nest.flatten(inputs)
        with self._inside(scope, reuse) as graph:
            if leaves and self._dtype is None and leaves[0].dtype is not None:
                self._dtype = leaves[0].dtype
            if self.input_spec is not None:
                self.input_spec.check(leaves[0], self.name)
            if not self.built:
                single = isinstance(inputs, Tensor)
                self.build(inputs.shape if single else nest.map_structure(_shape, inputs))
                self.built = True
                if self.input_spec is not None:
                    self.input_spec.check(leaves[0], self.name)
            outputs = self.call(inputs, *args, **kwargs)
            if self._activity_regularizer is not None:
                with graph.name_scope("ActivityRegularizer"):
                    for output in nest.flatten(outputs):
                        loss = as_tensor(self._activity_regularizer(output))
                        batch = cast(shape_of(output)[0], loss.dtype)
                        self.add_loss(loss / batch)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The same as calling the layer."""
        return self(inputs, *args, **kwargs)

    def _open_scope(self, scope: Any) -> VariableScope:
        if self._scope is None:
            shared = scope if scope is not None else self._base_name
            with (
                variable_scope(shared)
                if self._reuse
                else variable_scope(scope, default_name=self._base_name) as found
            ):
                self._scope = found
        return self._scope

    @contextmanager
    def _inside(self, scope: VariableScope, reuse: Any) -> Any:
        """New variables and operations stand in the layer's scopes."""
        graph = get_default_graph()
        with (
            variable_scope(scope, reuse=reuse, auxiliary_name_scope=False) as opened,
            graph.name_scope(opened.original_name_scope),
        ):
            yield graph

    # Variables, losses, updates

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Callable[[Any], Any] | None = None,
        trainable: bool | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        partitioner: Any = None,
        **more: Any,
    ) -> Any:
        """A variable of the layer, made by `get_variable`. The result of the `regularizer` joins
        the losses of the layer where the variable is new."""
        graph = get_default_graph()
        before = set(map(id, graph.get_collection(GraphKeys.GLOBAL_VARIABLES)))
        wanted = True if trainable is None else trainable
        found = get_variable(
            name,
            shape,
            dtype or self._dtype or dtypes.f32,
            initializer_of(initializer),
            trainable=wanted and self.trainable,
            constraint=constraint,
            use_resource=use_resource,
            partitioner=partitioner,
            **more,
        )
        if regularizer is not None and not before & {id(v) for v in _parts(found)}:
            with graph.name_scope(f"{name}/Regularizer"):
                loss = regularizer(found)
            if loss is not None:
                self.add_loss(loss)
        (self._trained if wanted else self._kept).append(found)
        return found

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds tensors to the losses of the layer and to the collection
        `regularization_losses`."""
        for loss in _listed(losses):
            self._losses.append(loss)
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations to the updates of the layer and to the collection `update_ops`: what a
        training step has to run beside the optimizer."""
        for update in _listed(updates):
            op = update.op if isinstance(update, Tensor) else update
            self._updates.append(op)
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, op)

    def given_for(self, variable: str) -> tuple[Any, Any, Any]:
        """The initializer, regularizer and constraint that the layer was given for a variable."""
        kinds = "initializer", "regularizer", "constraint"
        first, second, third = (getattr(self, f"{variable}_{kind}") for kind in kinds)
        return first, second, third

    @property
    def trainable_weights(self) -> list[Any]:
        return list(self._trained) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        return list(self._kept) if self.trainable else [*self._trained, *self._kept]

    @property
    def weights(self) -> list[Any]:
        return [*self.trainable_weights, *self.non_trainable_weights]

    @property
    def variables(self) -> list[Any]:
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:
        return self.non_trainable_weights

    @property
    def losses(self) -> list[Any]:
        return list(self._losses)

    @property
    def updates(self) -> list[Operation]:
        return list(self._updates)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def graph(self) -> Any:
        return get_default_graph()

    @property
    def scope_name(self) -> str:
        """Raises `ValueError` before the layer is used."""
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name  is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    def count_params(self) -> int:
        """How many numbers the variables hold. Raises `ValueError` before the layer is built."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer {self.name}, but the layer isn't "
                f"built. You can build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return sum(int(v.shape.num_elements() or 0) for v in self.weights)

    def get_weights(self) -> list[Any]:
        """The values of the variables in the default session, as arrays. Raises `ValueError`
        without such a session, `FailedPreconditionError` before they are initialized."""
        return self._session("get_weights").run(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Gives the variables values, one array each, in the default session. Raises `ValueError`
        for another number of arrays, another shape, and without such a session."""
        variables = self.weights
        if len(weights) != len(variables):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of '
                f"length {len(weights)}, but the layer was expecting {len(variables)} weights."
            )
        session = self._session("set_weights")
        for variable, value in zip(variables, weights, strict=True):
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(variable.shape.as_list())} is not "
                    f"compatible with provided weight shape {np.shape(value)}."
                )
            variable.load(value, session)

    def _session(self, what: str) -> Any:
        session = get_default_session()
        if session is None:
            raise ValueError(f"{what} needs a session: call it in `with tf.Session():`")
        return session

    # Configurations

    def get_config(self) -> dict[str, Any]:
        """The arguments that make such a layer: its name, `trainable`, `dtype`, and what the class
        takes besides. Activations are names where they have one. Raises `NotImplementedError` for a
        class whose arguments are no attributes of it, which has to define this."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        config["dtype"] = None if self.dtype is None else self.dtype.name
        for name, parameter in inspect.signature(type(self).__init__).parameters.items():
            if name in ("self", *config) or parameter.kind is parameter.VAR_KEYWORD:
                continue
            if name.startswith("_") or name in self.unstated:
                continue
            name_here = "_activity_regularizer" if name == "activity_regularizer" else name
            if not hasattr(self, name_here):
                raise NotImplementedError(
                    f"Layer {type(self).__name__} has the argument `{name}` in `__init__` and must "
                    "override `get_config`."
                )
            value = getattr(self, name_here)
            config[name] = activation_name(value) if name == "activation" else value
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """A layer of what `get_config` said, without its variables. Raises `TypeError` for
        arguments that the class does not take."""
        return cls(**config)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for an input of this shape (nested as the inputs are), found by
        calling a copy of the layer in a graph of its own. Raises `ValueError` as the call does,
        `NotImplementedError` for a layer that holds others."""
        if any(isinstance(v, Layer) for v in nest.flatten(list(vars(self).values()))):
            raise NotImplementedError(
                f"Layer {self.name} holds other layers and must define `compute_output_shape`."
            )
        other = copy.copy(self)
        other.built, other._scope, other._reuse = False, None, None
        other._trained, other._kept, other._losses, other._updates = [], [], [], []
        with Graph().as_default():
            kind = self.dtype or dtypes.f32
            if isinstance(input_shape, TensorShape) or not _is_nest(input_shape):
                return other(placeholder(kind, input_shape)).shape
            outputs = other([placeholder(kind, shape) for shape in input_shape])
            return nest.map_structure(_shape, outputs)


def as_function(kind: type[Layer], *between: str) -> Callable[..., Any]:
    """`tf.layers.dense` of `Dense`: makes a layer and calls it.

    The function takes the inputs, what the class takes, and `reuse`. `between`: arguments of the
    call that stand before `trainable` (or `name`) in it."""
    own = [p for p in inspect.signature(kind).parameters.values() if p.kind is not p.VAR_KEYWORD]
    at = next(i for i, p in enumerate(own) if p.name in ("trainable", "name"))
    called = inspect.signature(kind.call).parameters
    extra = [called[name] for name in between]
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("inputs", plain), *own[:at], *extra, *own[at:]]
    reuse = inspect.Parameter("reuse", plain, default=None)
    name_at = next(i for i, p in enumerate(parameters) if p.name == "name") + 1
    takes_reuse = any(p.name == "trainable" for p in own)
    if takes_reuse:
        parameters.insert(name_at, reuse)
    signature = inspect.Signature(parameters, return_annotation="Tensor")

    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        inputs, shared = given.pop("inputs"), given.pop("reuse", None)
        call = {name: given.pop(name) for name in between if name in given}
        sharing = {"_reuse": shared, "_scope": given.get("name")}
        return kind(**given, **sharing).apply(inputs, **call)

    doc = f"{kind.__doc__}\n\nMakes a `{kind.__name__}` and calls it with `inputs`."
    made = named(function, scope_name(kind.__name__), doc)
    made.__signature__ = signature
    return made


def smart_cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """`cond` where only a run knows `pred`; else what the function of its value makes."""
    known = pred
    if isinstance(pred, Tensor):
        constant = constant_elements(pred)
        known = None if constant is None else bool(constant)
    elif hasattr(pred, "_as_tensor"):
        known = None
    if known is None:
        return cond(pred, true_fn, false_fn)
    return true_fn() if known else false_fn()


def _is_nest(shape: Any) -> bool:
    """Whether these are shapes of several inputs."""
    parts = shape if isinstance(shape, list | tuple) else ()
    return any(isinstance(part, list | tuple | TensorShape) for part in parts)


def _tensor(value: Any) -> Any:
    reads = hasattr(value, "_as_tensor") and not hasattr(value, "components")
    return as_tensor(value) if reads or isinstance(value, np.ndarray | float | int) else value


def _shape(tensor: Any) -> TensorShape:
    return tensor.shape


def _parts(variable: Any) -> Iterable[Any]:
    return variable if hasattr(variable, "_get_variable_list") else [variable]


def _listed(values: Any) -> list[Any]:
    found = values if isinstance(values, list | tuple) else [values]
    return [value for value in found if value is not None]


def scope_name(name: str) -> str:
    """The scope of a layer or cell without a name, from its class: `conv2d_transpose` of
    `Conv2DTranspose`, as TensorFlow spells it."""
    split = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    found = re.sub(r"([a-z])([A-Z])", r"\1_\2", split).lower()
    return f"private{found}" if found.startswith("_") else found


def numbered_name(name: str) -> str:
    """The name of a layer or cell that was given none: its class's, and its number."""
    held: list[dict[str, int]] = get_default_graph().get_collection_ref(_NAMES)
    if not held:
        held.append({})
    held[0][name] = held[0].get(name, 0) + 1
    return f"{name}_{held[0][name]}"
