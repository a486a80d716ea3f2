"""Bytes -> Graph: every form of every message, values of every dtype, variables, prefixes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import json_format, text_format

from flowc import dtypes
from flowc.encoding.wire import FileBytes, open_region
from flowc.errors import (
    FailedPreconditionError,
    FlowcError,
    InvalidModelError,
    NotFoundError,
    UnknownNameError,
    UsageError,
)
from flowc.extract.interface import choose_interface
from flowc.extract.size_unification import extract_fetches
from flowc.graph import Graph
from flowc.importer import load_graph
from flowc.importer.formats import detect
from flowc.importer.importing import import_graph_def
from flowc.importer.model import saved_model_file
from flowc.importer.read_model import variables_without_value
from flowc.proto.graph_pb2 import GraphDef
from flowc.proto.meta_graph_pb2 import MetaGraphDef, SavedModel

DATA = Path(__file__).parents[1] / "data" / "import"


TF1 = DATA / "tf1"


def recorded_meta() -> MetaGraphDef:
    return MetaGraphDef.FromString((TF1 / "model.meta").read_bytes())


def in_every_form(message) -> dict[str, bytes]:
    return {
        "binary": message.SerializeToString(),
        "text": text_format.MessageToString(message).encode(),
        "one line": text_format.MessageToString(message, as_one_line=True).encode(),
        "json": json_format.MessageToJson(message).encode(),
        "json names": json_format.MessageToJson(message, preserving_proto_field_name=True).encode(),
    }


# Formats


def test_kind_and_encoding_are_told_by_content(tmp_path: Path) -> None:
    meta = recorded_meta()
    saved = SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    bare = MetaGraphDef(graph_def=meta.graph_def)
    for kind, message in (
        ("GraphDef", meta.graph_def), ("MetaGraphDef", meta),
        ("MetaGraphDef", bare), ("SavedModel", saved),
    ):  # fmt: skip
        for form, content in in_every_form(message).items():
            encoding = {"binary": "binary", "text": "text", "one line": "text"}.get(form, "JSON")
            region = FileBytes(memoryview(content), form)
            assert detect(region) == (kind, encoding), (kind, form)
    for name, encoding in (("tf2", "binary"), ("two_graphs", "text")):
        assert detect(open_region(saved_model_file(DATA / name))) == ("SavedModel", encoding)
    commented = b"# made by hand\n" + text_format.MessageToString(meta.graph_def).encode()
    assert detect(FileBytes(memoryview(commented), "")) == ("GraphDef", "text")


@pytest.mark.parametrize("form", ["binary", "text", "one line", "json", "json names"])
def test_every_form_gives_the_same_graph(tmp_path: Path, form: str) -> None:
    meta = recorded_meta()
    (tmp_path / "a.bin").write_bytes(in_every_form(meta.graph_def)[form])
    (tmp_path / "b.bin").write_bytes(in_every_form(meta)[form])
    for name in ("a.bin", "b.bin"):
        assert load_graph(tmp_path / name).as_graph_def() == meta.graph_def
    assert len(load_graph(tmp_path / "b.bin").collections["variables"]) == 8


def test_json_that_tensorflow_wrote() -> None:
    assert load_graph(TF1 / "graph.json").as_graph_def() == recorded_meta().graph_def


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "the file is empty"),
        (b"\x89HDF\r\n\x1a\n....", "HDF5"),
        (b"PK\x03\x04....", "zip"),
        (b"    TFL3....", "TensorFlow Lite"),
        (b"{ not json", "none of a graph|no GraphDef"),
        (b'{"format": "layers-model"}', "none of a graph"),
        (b"node { name: ", "no GraphDef"),
        (b"node { nam: 'x' op: 5 }", "no GraphDef"),
        (b"\x0a\xff\xff\xff\xff\x0f", "truncated"),
        (b"\x0a\x03\x0a\x01", "byte 0: a field of 3 bytes, where 2 are left"),
        (b"\xff" * 30, "byte 0"),
        (b"hello, world\n", "this is text, and not that of a graph"),
        (b"node { attr { value { " + b"list { func { attr { value { " * 5000, "deep"),
        (b'{"node": ' + b"[" * 100_000, "deep"),
    ],
)
def test_what_is_no_model(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(InvalidModelError, match=text):
        load_graph(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        load_graph(tmp_path / "nothing.pb")
    with pytest.raises(NotFoundError, match=r"no saved_model\.pb"):
        load_graph(tmp_path)
    with pytest.raises(InvalidModelError, match="index of a checkpoint"):
        load_graph(TF1 / "model.index")
    with pytest.raises(InvalidModelError, match="not a plain file"):
        load_graph("/dev/null")


# Values


def test_tensors_of_every_dtype_are_those_of_tensorflow() -> None:
    graph = load_graph(DATA / "tensors.pb")
    with np.load(DATA / "tensors.npz") as expected:
        for name in expected.files:
            value = graph.get_operation_by_name(name).attrs["value"]
            if value.dtype == dtypes.bf16.numpy:
                value = value.view(np.uint16)
            assert value.dtype == expected[name].dtype, name
            assert np.array_equal(value, expected[name], equal_nan=value.dtype.kind in "fc"), name
        assert len(expected.files) == 15 * 5 + 1
    strings = graph.get_operation_by_name("strings").attrs["value"]
    assert strings.tolist() == [[b"a", b""], [b"\xff\x00", "é".encode()]]


def test_tensors_encode_back_as_tensorflow_wrote_them() -> None:
    from flowc.graph.encode import tensor_proto

    for op in load_graph(DATA / "tensors.pb").get_operations():
        if op.name.endswith(("_matrix", "_vector", "_scalar", "_empty")) or op.name == "strings":
            written = op.attrs.encoded("value").tensor
            assert tensor_proto(op.attrs["value"], op.get_attr("dtype")) == written, op.name


def test_big_constants_stay_in_their_file(tmp_path: Path) -> None:
    graph_def = GraphDef()
    node = graph_def.node.add(name="c", op="Const")
    node.attr["dtype"].type = 1
    tensor = node.attr["value"].tensor
    tensor.dtype = 1
    tensor.tensor_shape.dim.add(size=1 << 14)
    tensor.tensor_content = np.arange(1 << 14, dtype="f").tobytes()
    path = tmp_path / "big.pb"
    path.write_bytes(graph_def.SerializeToString(deterministic=True))
    graph = load_graph(path)
    op = graph.get_operation_by_name("c")
    assert op.attrs.encoded("value").content.obj.__class__.__name__ == "FileMemory"
    assert np.array_equal(op.attrs["value"], np.arange(1 << 14))
    assert op.attrs["value"].flags.aligned
    assert graph.as_graph_def() == graph_def


# Round trips


@pytest.mark.parametrize("name", ["tf1/model.meta", "tf2/saved_model.pb", "tensors.pb"])
def test_writing_back_gives_the_same_bytes(name: str) -> None:
    content = (DATA / name).read_bytes()
    graph = load_graph(DATA / name)
    if name.endswith("tensors.pb"):
        wanted = GraphDef.FromString(content)
    else:
        whole = SavedModel.FromString(content).meta_graphs if "saved" in name else None
        wanted = whole[0] if whole else MetaGraphDef.FromString(content)
        wanted = wanted.graph_def
    found = graph.as_graph_def()
    serialized = [m.SerializeToString(deterministic=True) for m in (wanted, found)]
    assert serialized[0] == serialized[1]


def test_changed_attrs_and_inputs_are_written() -> None:
    graph = load_graph(TF1 / "model.meta")
    op = graph.get_operation_by_name("head/y")
    op.attrs["T"] = dtypes.f64
    op.attrs["extra"] = [1, 2]
    del op.attrs["T"]
    op.update_input(0, graph.get_tensor_by_name("x:0"))
    node = op.node_def
    assert list(node.input) == ["x"]
    assert dict(node.attr).keys() == {"extra"}


# Models


def test_variables_of_a_meta_graph() -> None:
    graph = load_graph(TF1 / "model.meta")
    with np.load(TF1 / "values.npz") as values:
        expected = {k.replace("|", "/"): values[k] for k in values.files}
    found = graph.variable_values
    assert variables_without_value(graph) == []
    assert len(found) == 8
    for name in ("dense/w", "dense/b", "step", "emb/part_0", "emb/part_1", "emb/part_2"):
        assert np.array_equal(found[name], expected[name]), name
    assert [found[f"emb/part_{i}"].shape for i in range(3)] == [(4, 2), (3, 2), (3, 2)]
    assert found["words"].tolist() == expected["words"].tolist()
    assert graph.source.checkpoint == str(TF1 / "model")
    trainable = graph.get_collection("trainable_variables")
    assert b"dense/w" in trainable[0]


def test_a_checkpoint_named_by_its_caller(tmp_path: Path) -> None:
    shutil.copy(TF1 / "model.meta", tmp_path / "alone.meta")
    graph = load_graph(tmp_path / "alone.meta")
    assert "dense/w" in variables_without_value(graph)
    for named in (TF1 / "model", TF1 / "model.index", TF1 / "old.ckpt"):
        graph = load_graph(tmp_path / "alone.meta", checkpoint=named)
        assert variables_without_value(graph) == []
        assert graph.variable_values["emb/part_2"].shape == (3, 2)
    with pytest.raises(NotFoundError):
        load_graph(tmp_path / "alone.meta", checkpoint=tmp_path / "none")


def test_a_variable_of_another_shape(tmp_path: Path) -> None:
    meta = recorded_meta()
    for node in meta.graph_def.node:
        if node.name == "dense/w":
            node.attr["shape"].shape.dim[0].size = 5
    (tmp_path / "m.meta").write_bytes(meta.SerializeToString())
    graph = load_graph(tmp_path / "m.meta", checkpoint=TF1 / "model")
    with pytest.raises(InvalidModelError, match=r"'dense/w' is f32\[4, 3\], .* f32\[5, 3\]"):
        graph.variable_values["dense/w"]


def test_variables_of_a_saved_model_with_functions() -> None:
    graph = load_graph(DATA / "tf2")
    handles = [op for op in graph.get_operations() if op.type == "VarHandleOp"]
    values = {tuple(op.attrs["shape"]): graph.variable_values[op.name] for op in handles}
    assert values[(3, 2)].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert values[(2,)].tolist() == [5, 6]
    assert graph.source.signature == "serving_default"
    signature = graph.signatures["serving_default"]
    assert signature.inputs["x"].name == "serving_default_x:0"
    assert signature.inputs["x"].shape.as_list() == [None, 3]
    assert signature.outputs["y"].dtype is dtypes.f32
    assert graph.get_tensor_by_name(signature.outputs["y"].name).op.type.endswith("PartitionedCall")


def test_a_checkpoint_that_is_missing_is_named(tmp_path: Path) -> None:
    assert load_graph(DATA / "tf2").source.missing_index is None
    shutil.copy(DATA / "tf2" / "saved_model.pb", tmp_path)
    index = tmp_path / "variables" / "variables.index"
    graph = load_graph(tmp_path)
    assert graph.source.missing_index == str(index)
    with pytest.raises(FailedPreconditionError, match=f"there is no {index}, where its checkpoint"):
        extract_fetches(graph, choose_interface(graph))


def test_function_bodies() -> None:
    graph = load_graph(DATA / "tf2")
    function = next(f for f in graph.functions.values() if "inference_scale" in f.name)
    assert function.args[0].dtype is dtypes.f32
    types = [node.type for node in function.body.nodes]
    assert "ReadVariableOp" in types
    call = next(n for n in function.body.nodes if n.type == "StatefulPartitionedCall")
    assert call.inputs[0] == ("arg", 0)
    assert call.attrs["f"].name in graph.functions
    add = next(n for n in function.body.nodes if n.type.startswith("Add"))
    assert add.inputs[0] == ("node", call.name, "output", 0)
    assert function.body.results[0][0] == "node"


def test_tags_and_signatures() -> None:
    folder = DATA / "two_graphs"

    def factor(graph: Graph) -> float:
        values = [op.attrs["value"] for op in graph.get_operations() if op.name == "mul/y"]
        return values[0].item()

    assert factor(load_graph(folder)) == 2.0
    assert factor(load_graph(folder, tags="serve")) == 2.0
    graph = load_graph(folder, tags=["gpu", "serve"], signature="other")
    assert factor(graph) == 3.0
    assert graph.source.signature == "other"
    assert graph.variable_values["v"].item() == 7.0
    with pytest.raises(UnknownNameError, match="it has: serve; gpu,serve"):
        load_graph(folder, tags="train")
    with pytest.raises(UnknownNameError, match="did you mean 'serving_default'"):
        load_graph(folder, signature="serving_defualt")
    with pytest.raises(UsageError, match="tags select"):
        load_graph(TF1 / "model.meta", tags="serve")


# Importing into a graph


def test_import_under_a_prefix_with_replaced_inputs() -> None:
    graph = Graph()
    with graph.as_default():
        other = graph.add_operation("Placeholder", name="p", output_types=[(dtypes.f32, None)])
        graph_def = recorded_meta().graph_def
        found = import_graph_def(
            graph_def,
            input_map={"x:0": other.output(0)},
            return_elements=["head/y", "head/y:0"],
            name="m",
        )
        import_graph_def(graph_def.SerializeToString(), name="m")
    assert found is not None
    assert found[0].name == "m/head/y"
    assert found[1] is found[0].outputs[0]
    matmul = graph.get_operation_by_name("m/head/MatMul")
    assert matmul.inputs[0] is other.outputs[0]
    assert "m_1/head/y" in graph
    assign = graph.get_operation_by_name("m/dense/w/Assign")
    assert assign.get_attr("_class") == [b"loc:@m/dense/w"]
    with pytest.raises(UsageError, match=r"\[nope:1\]"):
        import_graph_def(graph_def, input_map={"nope:1": other.output(0)}, graph=graph)
    with pytest.raises(UsageError, match="'nope' not found"):
        import_graph_def(graph_def, return_elements=["nope"], graph=graph)


@pytest.mark.parametrize(
    "name", ["tf1/model.meta", "tf2/saved_model.pb", "two_graphs/saved_model.pbtxt"]
)
def test_damaged_files_end_in_an_error_or_a_graph(tmp_path: Path, name: str) -> None:
    content = (DATA / name).read_bytes()
    rng = np.random.default_rng(7)
    path = tmp_path / "model"
    outcomes = set()
    for _ in range(100):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), rng.integers(1, 6)):
            damaged[at] = rng.integers(0, 256)
        if rng.integers(0, 3) == 0:
            del damaged[int(rng.integers(0, len(content))) :]
        path.write_bytes(damaged)
        try:
            graph = load_graph(path)
            for op in graph.get_operations():
                dict(op.attrs)
            for function in graph.functions.values():
                _ = function.body
            outcomes.add("graph")
        except FlowcError:
            outcomes.add("error")
    assert "error" in outcomes
