"""Functions of Python in a graph: PyFunc, PyFuncStateless and EagerPyFunc.

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
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostRun, held
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, Op, define
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op, infer_shapes
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


class EagerValue(np.ndarray[Any, Any]):
    """An array as the function of an EagerPyFunc gets it: of any rank, with `numpy()`."""

    def numpy(self) -> Any:
        """The array; where its rank is 0, its only element."""
        return np.asarray(self) if self.ndim else self[()]


def _function(run: HostRun, token: str) -> Callable[..., Any]:
    run.check()
    known = _known.get(token)
    if known is None:
        raise InvalidArgumentError(
            f"ValueError: Could not find callback with key={token} in the registry.",
            hint="the function is in the process that built the graph: build the graph here, too, "
            "or feed the tensors that the node computes",
        )
    return known.function


def _several(returned: Any) -> tuple[Any, ...]:
    """Nothing for None, several values for a list or tuple, else one."""
    if isinstance(returned, list | tuple):
        return tuple(returned)
    return () if returned is None else (returned,)


def _check_count(found: Sequence[Any], dtypes: Sequence[DType], token: str) -> None:
    if len(found) != len(dtypes):
        raise InvalidArgumentError(
            f"{token} returns {len(found)} values, but expects to see {len(dtypes)} values."
        )


def _called(
    inputs: Sequence[Any], dtypes: Sequence[DType], *, run: HostRun, token: str
) -> list[Array]:
    """What the function of a token returns for arrays: arrays of the dtypes."""
    function = _function(run, token)
    try:
        found = [returned_array(value) for value in _several(function(*inputs))]
    except Exception as error:
        raise failure_of(error) from error
    _check_count(found, dtypes, token)
    for k, (array, dtype) in enumerate(zip(found, dtypes)):
        if array.dtype != dtype.numpy:
            raise InvalidArgumentError(
                f"{k}-th value returned by {token} is {_shown(array)}, but "
                f"expects {dtype_shown(dtype)}"
            )
    return found


def _called_with_values(
    inputs: Sequence[Any], dtypes: Sequence[DType], *, run: HostRun, token: str
) -> list[Array]:
    """What the function of a token returns for EagerValues, as arrays of the dtypes."""
    function = _function(run, token)
    try:
        found = _several(function(*(held(x).view(EagerValue) for x in inputs)))
        # What it returns beyond the dtypes counts for nothing.
        arrays = [_converted(value, dtype) for value, dtype in zip(found, dtypes)]
    except Exception as error:
        raise failure_of(error) from error
    _check_count(arrays, dtypes, token)
    return arrays


_KINDS = "uifc"  # of NumPy: whole numbers, fractions, complex numbers; each becomes a later one


def _converted(value: Any, dtype: DType) -> Array:
    """A returned value as an array of a dtype that holds what it is."""
    found = np.asarray(returned_array(value))
    if found.dtype == dtype.numpy:
        return found
    given, wanted = (_KINDS.find(kind) for kind in (found.dtype.kind, dtype.numpy.kind))
    if not 0 <= given <= wanted:
        raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype_shown(dtype)}")
    return found.astype(dtype.numpy)


def _shown(array: Array) -> str:
    if array.dtype == object:
        others = (type(x).__name__ for x in array.reshape(-1) if not isinstance(x, bytes | str))
        return next((f"Unsupported object type {name}" for name in others), "string")
    if array.dtype.fields is not None:
        return f"Unsupported numpy data type {array.dtype}"
    return dtype_shown(as_dtype(array.dtype))


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


def _unknown(c: Inference) -> list[Dims]:
    raise NeedsContent("the shapes of what a function of Python returns are found by the run")


_CALL = "(input: Tin; token: string, Tin: list(type), Tout: list(type), shapes: list(shape))"

python_call = host_op(
    "python_call",
    f"_PythonCall{_CALL} -> output: Tout",
    _called,
    infer=infer_shapes,
    shown="PyFunc",
    only_reads=False,
    traits=STATE,
)
pure_python_call = host_op(
    "pure_python_call",
    f"_PurePythonCall{_CALL} -> output: Tout",
    _called,
    infer=infer_shapes,
    shown="PyFuncStateless",
    only_reads=False,
)
eager_python_call = host_op(
    "eager_python_call",
    f"_EagerPythonCall{_CALL} -> output: Tout",
    _called_with_values,
    infer=infer_shapes,
    shown="EagerPyFunc",
    only_reads=False,
    traits=STATE,
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
    if op is not pure_python_call:
        x.effect(node)
    return node.outputs


for _name, _tf_name, _attrs, _op, _traits in (
    ("py_func", "PyFunc", "", python_call, STATE),
    ("py_func_stateless", "PyFuncStateless", "", pure_python_call, frozenset[str]()),
    ("eager_py_func", "EagerPyFunc", " is_async: bool = False,", eager_python_call, STATE),
):
    define(
        _name,
        f"{_tf_name}(input: Tin; token: string,{_attrs} Tin: list(type), Tout: list(type))"
        " -> output: Tout",
        infer=_unknown,
        lowering=Extracted(partial(_emit, op=_op)),
        traits=_traits | {"may_block"},
        capability=PYTHON,
    )
