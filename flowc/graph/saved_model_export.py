"""Messages of SavedModels: tensor infos, signatures, assets, the model itself.

In: tensors, names, MetaGraphDefs. Out: messages that either program reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.any_pb2 import Any as AnyMessage

from flowc.encoding.tensor_proto import data_type
from flowc.graph.encode import fill_shape
from flowc.graph.tensor import Tensor
from flowc.proto.meta_graph_pb2 import AssetFileDef, MetaGraphDef, SavedModel, SignatureDef
from flowc.proto.meta_graph_pb2 import TensorInfo as TensorInfoDef

SCHEMA_VERSION = 1
ASSET_TYPE = "type.googleapis.com/tensorflow.AssetFileDef"


def tensor_info_def(tensor: Any) -> TensorInfoDef:
    """The TensorInfo of a tensor, or of a sparse one."""
    info = TensorInfoDef()
    if not hasattr(tensor, "components"):
        info.dtype = data_type(tensor.dtype)
        info.name = tensor.name
        fill_shape(info.tensor_shape, tensor.shape.sizes)
        return info
    info.dtype = data_type(tensor.values.dtype)
    info.coo_sparse.values_tensor_name = tensor.values.name
    info.coo_sparse.indices_tensor_name = tensor.indices.name
    info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    fill_shape(info.tensor_shape, tensor.get_shape().sizes)
    return info


def signature_def(
    inputs: Mapping[str, Any] | None, outputs: Mapping[str, Any] | None, method: str | None
) -> SignatureDef:
    """A SignatureDef of TensorInfos. Raises `TypeError` for what is none."""
    found = SignatureDef()
    for target, infos in ((found.inputs, inputs), (found.outputs, outputs)):
        for name, info in (infos or {}).items():
            if not hasattr(info, "SerializeToString"):
                raise TypeError(
                    f"'{name}' must be a TensorInfo, as `build_tensor_info` makes them: found "
                    f"{info!r}"
                )
            target[name].MergeFromString(info.SerializeToString())
    found.method_name = method or ""
    return found


def fill_model_parts(
    meta: MetaGraphDef, tags: Iterable[str], signatures: Mapping[str, Any]
) -> None:
    """Writes tags and signatures."""
    meta.meta_info_def.tags.extend(tags)
    for name, signature in signatures.items():
        meta.signature_def[name].MergeFromString(signature.SerializeToString())


def asset_message(tensor: Tensor, file: str) -> AnyMessage:
    """What a collection says of a tensor that names a file of the model."""
    asset = AssetFileDef(filename=file)
    asset.tensor_info.name = tensor.name
    return AnyMessage(type_url=ASSET_TYPE, value=asset.SerializeToString())


def assets_of(meta: Any, key: str) -> list[tuple[str, str]]:
    """(tensor, file) of each asset that a MetaGraphDef speaks of, in the collection `key` or in its
    own field."""
    found = list(meta.asset_file_def)
    if key in meta.collection_def:
        values = meta.collection_def[key].any_list.value
        found += [AssetFileDef.FromString(value.value) for value in values]
    return [(asset.tensor_info.name, asset.filename) for asset in found]


def saved_model_def(graphs: Iterable[MetaGraphDef]) -> SavedModel:
    return SavedModel(saved_model_schema_version=SCHEMA_VERSION, meta_graphs=graphs)
