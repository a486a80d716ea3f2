"""Signatures of SavedModels: which tensors callers feed and get.

In: tensors by the names that callers use. Out: SignatureDef and TensorInfo messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowc import dtypes
from flowc.api.saving import saved_model_constants as names
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


def build_tensor_info(tensor: Any) -> Any:
    """The TensorInfo of a tensor or SparseTensor: name, dtype, shape. Raises `AttributeError` for
    what is neither."""
    from flowc.graph.saved_model_export import tensor_info_def

    return tensor_info_def(tensor)


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Any = None, import_scope: str | None = None
) -> Any:
    """The tensor of a graph that a TensorInfo names, under `import_scope`. Raises `KeyError` where
    the graph does not have it."""
    from flowc.api.framework.composites import SparseTensor

    source = graph if graph is not None else get_default_graph()

    def found(name: str) -> Tensor:
        return source.get_tensor_by_name(f"{import_scope}/{name}" if import_scope else name)

    if tensor_info.WhichOneof("encoding") != "coo_sparse":
        return found(tensor_info.name)
    sparse = tensor_info.coo_sparse
    return SparseTensor(
        found(sparse.indices_tensor_name),
        found(sparse.values_tensor_name),
        found(sparse.dense_shape_tensor_name),
    )


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
    defaults: Any = None,
) -> Any:
    """A SignatureDef of TensorInfos by name. Raises `TypeError` for what are no TensorInfos."""
    from flowc.graph.saved_model_export import signature_def

    return signature_def(inputs, outputs, method_name)


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """A signature of any tensors. Raises `ValueError` without inputs or outputs."""
    for role, given in (("inputs", inputs), ("outputs", outputs)):
        if not given:
            raise ValueError(f"Prediction `{role}` cannot be None or empty.")
    return build_signature_def(_infos(inputs), _infos(outputs), names.PREDICT_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """A signature from strings (serialized Examples) to floats. Raises `ValueError` for tensors
    that are missing or of other dtypes."""
    _check_given("Regression", examples=examples, predictions=predictions)
    examples, predictions = as_tensor(examples), as_tensor(predictions)
    _check_type("Regression input", examples, dtypes.string)
    _check_type("Regression output", predictions, dtypes.f32)
    inputs, outputs = {names.REGRESS_INPUTS: examples}, {names.REGRESS_OUTPUTS: predictions}
    return build_signature_def(_infos(inputs), _infos(outputs), names.REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """A signature from strings (serialized Examples) to classes, scores, or both. Raises as
    `regression_signature_def`."""
    _check_given("Classification", examples=examples)
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    examples = as_tensor(examples)
    _check_type("Classification input", examples, dtypes.string)
    outputs: dict[str, Any] = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = as_tensor(classes)
        _check_type("Classification classes", as_tensor(classes), dtypes.string)
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = as_tensor(scores)
        _check_type("Classification scores", as_tensor(scores), dtypes.f32)
    inputs = {names.CLASSIFY_INPUTS: examples}
    return build_signature_def(_infos(inputs), _infos(outputs), names.CLASSIFY_METHOD_NAME)


def _infos(tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build_tensor_info(tensor) for name, tensor in tensors.items()}


def _check_given(what: str, **given: Any) -> None:
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{what} `{name}` cannot be None.")


def _check_type(what: str, tensor: Tensor, wanted: dtypes.DType) -> None:
    if tensor.base_dtype is not wanted:
        from flowc.ops.lists.list_values import dtype_shown

        number = None if tensor.dtype is None else tensor.dtype.enum
        raise ValueError(
            f"{what} tensors must be of type {dtype_shown(wanted)}. Found tensors with type "
            f"{number}."
        )


def is_valid_signature(signature_def: Any) -> bool:
    """Whether a SignatureDef is one of the three kinds, with the inputs and outputs of its kind. A
    bool. Raises nothing."""
    inputs, outputs = signature_def.inputs, signature_def.outputs
    match signature_def.method_name:
        case names.PREDICT_METHOD_NAME:
            return bool(inputs) and bool(outputs)
        case names.REGRESS_METHOD_NAME:
            return _has(inputs, {names.REGRESS_INPUTS: dtypes.string}) and _has(
                outputs, {names.REGRESS_OUTPUTS: dtypes.f32}
            )
        case names.CLASSIFY_METHOD_NAME:
            kinds = {
                names.CLASSIFY_OUTPUT_CLASSES: dtypes.string,
                names.CLASSIFY_OUTPUT_SCORES: dtypes.f32,
            }
            some = {name: kinds[name] for name in kinds if name in outputs}
            wanted = {names.CLASSIFY_INPUTS: dtypes.string}
            return bool(some) and _has(inputs, wanted) and _has(outputs, some)
        case _:
            return False


def _has(infos: Any, wanted: Mapping[str, dtypes.DType]) -> bool:
    """Whether a signature's side is just these tensors."""
    return set(infos) == set(wanted) and all(infos[n].dtype == d.enum for n, d in wanted.items())
