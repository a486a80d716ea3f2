"""Functions of Python in a graph: PyFunc and PyFuncStateless.

In: a function, which `register` gives a token, and a node that holds the token. Out: host steps.
Invariants: the token means the same function as long as somebody holds what `register` returned; a
token of another process means none.

The graph does not say what shapes such a node has, but for what was set on its outputs: extraction
writes these into the node of the Computation. What they leave open is found by the run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from flowc import errors
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError, UnknownError, UnsupportedError
from flowc.ir.capability import PYTHON
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostRun
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Inference, NeedsContent, Op, define
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import STATE, value_of

Array = np.ndarray[Any, Any]


class PythonFunction:
    """A function with its token. Whoever keeps this keeps the token valid."""

    __slots__ = ("__weakref__", "function", "token")

    def __init__(self, function: Callable[..., Any], token: str) -> None:
        self.function = function
        self.token = token


_known: WeakValueDictionary[str, PythonFunction] = WeakValueDictionary()
_numbers = itertools.count()


def register(function: Callable[..., Any]) -> PythonFunction:
    """Gives a function a token that no other has in this process."""
    found = PythonFunction(function, f"pyfunc_{next(_numbers)}")
    _known[found.token] = found
    return found


# -- calling

# What TensorFlow makes of exceptions of Python; of others an UnknownError.
_MEANINGS: tuple[tuple[type[Exception], type[errors.OpError]], ...] = (
    (TypeError, InvalidArgumentError),
    (ValueError, InvalidArgumentError),
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)


def failure_of(error: Exception, where: str = "") -> errors.OpError:
    """What TensorFlow makes of an exception of Python in a run."""
    kinds = (kind for cause, kind in _MEANINGS if isinstance(error, cause))
    return next(kinds, UnknownError)(f"{where}{type(error).__name__}: {error}")


def _called(
    inputs: Sequence[Any], dtypes: Sequence[DType], *, run: HostRun, token: str
) -> list[Array]:
    """What the function of a token returns, as TensorFlow takes it: nothing for None, several
    values for a list or tuple, else one."""
    run.check()
    known = _known.get(token)
    if known is None:
        raise InvalidArgumentError(
            f"ValueError: Could not find callback with key={token} in the registry.",
            hint="the function stands in the process that built the graph: build it here, too, or "
            "feed the tensors that the node computes",
        )
    try:
        returned = known.function(*inputs)
        if not isinstance(returned, list | tuple):
            returned = () if returned is None else (returned,)
        found = [returned_array(value) for value in returned]
    except Exception as error:
        raise failure_of(error) from error
    if len(found) != len(dtypes):
        raise InvalidArgumentError(
            f"{token} returns {len(found)} values, but expects to see {len(dtypes)} values."
        )
    for k, (array, dtype) in enumerate(zip(found, dtypes)):
        if array.dtype != dtype.numpy:
            raise InvalidArgumentError(
                f"{k}-th value returned by {token} is {dtype_shown(as_dtype(array.dtype))}, but "
                f"expects {dtype_shown(dtype)}"
            )
    return found


def returned_array(value: Any) -> Array:
    """A returned value as an array; strings as objects, each of bytes."""
    found = np.asarray(value, order="C")
    if found.dtype.kind not in "SU":
        return found
    items = np.asarray(value, object)  # else the zeros at their ends are lost
    flat = [item.encode() if isinstance(item, str) else item for item in items.reshape(-1)]
    found = np.empty(items.shape, object)
    found.reshape(-1)[:] = flat
    return found


# -- records


def _infer_call(c: Inference) -> list[Dims]:
    def dims(shape: Sequence[int | None]) -> Dims:
        found: list[Dim] = [c.fresh("n", None) if size is None else size for size in shape]
        return tuple(found)

    return [dims(shape) for shape in c.attrs["shapes"]]


def _unknown(c: Inference) -> list[Dims]:
    raise NeedsContent("the shapes of what a function of Python returns are found by the run")


_CALL = "(input: Tin; token: string, Tin: list(type), Tout: list(type), shapes: list(shape))"

python_call = define(
    "python_call",
    f"_PythonCall{_CALL} -> output: Tout",
    infer=_infer_call,
    lowering=Host(_called, "PyFunc", ("token",), may_block=True),
    traits=STATE,
)
pure_python_call = define(
    "pure_python_call",
    f"_PurePythonCall{_CALL} -> output: Tout",
    infer=_infer_call,
    lowering=Host(_called, "PyFuncStateless", ("token",), may_block=True),
)


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, op: Op) -> Sequence[Bound]:
    values = [value_of(x, bound) for bound in inputs]
    shapes = x.output_shapes(values[0].type.rank if values else 0)
    for k, dtype in enumerate(attrs["Tout"]):
        if k >= len(shapes) or shapes[k] is None:
            raise UnsupportedError(
                f"node '{x.name}' calls Python, and nothing in the graph "
                f"says what rank its output {k} ({dtype}) has",
                hint="run it in a Session, which finds out, or call set_shape on the tensor when "
                "the graph is built; a library cannot call Python at all",
            )
    token = attrs["token"]
    given = {"token": token, "Tout": attrs["Tout"], "shapes": tuple(shapes)}
    node = x.b.emit(op, values, given)
    if op is python_call:
        x.effect(node)
    return node.outputs


_ARGUMENTS = "(input: Tin; token: string, Tin: list(type), Tout: list(type)) -> output: Tout"

for _name, _tf_name, _op, _traits in (
    ("py_func", "PyFunc", python_call, STATE),
    ("py_func_stateless", "PyFuncStateless", pure_python_call, frozenset[str]()),
):
    define(
        _name,
        f"{_tf_name}{_ARGUMENTS}",
        infer=_unknown,
        lowering=Extracted(partial(_emit, op=_op)),
        traits=_traits | {"may_block"},
        capability=PYTHON,
    )
