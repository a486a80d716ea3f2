"""Which tensor of a checkpoint is a variable's: what the graph's own restore operations say, and
what the checkpoint's object graph does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from google.protobuf import text_format

from flowc import dtypes
from flowc.checkpoint.bundle_writer import SavedTensor, write_bundle
from flowc.checkpoint.reader import CheckpointReader
from flowc.encoding.wire import FileBytes
from flowc.errors import DataLossError, InvalidModelError
from flowc.graph import Graph
from flowc.importer.metagraph import read_graph_def
from flowc.importer.variables import read_variables
from flowc.proto.graph_pb2 import AttrValue, GraphDef
from flowc.proto.object_graph_pb2 import TrackableObjectGraph

WHOLE = np.arange(6, dtype=np.float32).reshape(3, 2)


def saved(tmp_path: Path, **tensors: np.ndarray) -> CheckpointReader:
    prefix = str(tmp_path / "m")
    found = [
        SavedTensor(
            name, value, dtypes.as_dtype(value.dtype) if value.dtype != object else dtypes.string
        )
        for name, value in tensors.items()
    ]
    write_bundle(prefix, found)
    return CheckpointReader(prefix)


def texts(name: str, *values: str) -> str:
    given = " ".join(f"string_val: '{v}'" for v in values)
    return f"""node {{ name: '{name}' op: 'Const'
      attr {{ key: 'dtype' value {{ type: DT_STRING }} }}
      attr {{ key: 'value' value {{ tensor {{ dtype: DT_STRING
        tensor_shape {{ dim {{ size: {len(values)} }} }} {given} }} }} }} }}"""


def variable(name: str, rows: int) -> str:
    return f"""node {{ name: '{name}' op: 'VariableV2'
      attr {{ key: 'dtype' value {{ type: DT_FLOAT }} }}
      attr {{ key: 'shape' value {{ shape {{ dim {{ size: {rows} }} dim {{ size: 2 }} }} }} }} }}"""


def assigned(variable_name: str, value: str) -> str:
    return f"""node {{ name: 'set_{variable_name}' op: 'Assign'
      input: '{variable_name}' input: '{value}'
      attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }}"""


def restored(name: str, names: str, parts: str, count: int = 1) -> str:
    return f"""node {{ name: '{name}' op: 'RestoreV2'
      input: 'prefix' input: '{names}' input: '{parts}'
      attr {{ key: 'dtypes' value {{ list {{ {"type: DT_FLOAT " * count} }} }} }} }}"""


PREFIX = texts("prefix", "m")


def graph(*nodes: str) -> Graph:
    message = text_format.Parse(PREFIX + "".join(nodes), GraphDef())
    return read_graph_def(FileBytes(memoryview(message.SerializeToString()), "graph"))


def of_part(part: str, rows: int = 1) -> Graph:
    return graph(
        variable("v", rows), texts("names", "w"), texts("parts", part),
        restored("r", "names", "parts"), assigned("v", "r"),
    )  # fmt: skip


def test_parts_of_a_tensor(tmp_path: Path) -> None:
    reader = saved(tmp_path, w=WHOLE)
    assert read_variables(of_part("", 3), reader)["v"].tolist() == WHOLE.tolist()
    assert read_variables(of_part("3 2 1,2:0,2", 2), reader)["v"].tolist() == WHOLE[1:].tolist()
    with pytest.raises(InvalidModelError, match=r"is \[3, 2\], and the graph restores the part"):
        read_variables(of_part("4 2 1,2:0,2"), reader)
    with pytest.raises(InvalidModelError, match="reaches beyond it"):
        read_variables(of_part("3 2 2,2:0,2"), reader)
    values = read_variables(of_part("", 4), reader)
    with pytest.raises(InvalidModelError, match="give the checkpoint that was saved from this"):
        values["v"]


def test_restores_that_say_nothing(tmp_path: Path) -> None:
    """Names that are no constant, too few of them, values that come from elsewhere: the variable's
    own name is looked for."""
    reader = saved(tmp_path, v=WHOLE, u=WHOLE + 1)
    v = variable("v", 3)
    for nodes in (
        (
            v,
            variable("names", 1),
            texts("parts", ""),
            restored("r", "names", "parts"),
            assigned("v", "r"),
        ),
        (
            v,
            texts("names", "u"),
            texts("parts", "", ""),
            restored("r", "names", "parts", 2),
            assigned("v", "r:1"),
        ),
        (v, variable("u", 3), assigned("v", "u")),
    ):
        assert read_variables(graph(*nodes), reader)["v"].tolist() == WHOLE.tolist()


@pytest.mark.parametrize(
    ("name", "value"), [("dtype", "s: 'a'"), ("shape", "list { }"), ("shared_name", "i: 3")]
)
def test_attrs_of_variables(tmp_path: Path, name: str, value: str) -> None:
    reader = saved(tmp_path, v=WHOLE)
    found = text_format.Parse(PREFIX + variable("v", 3), GraphDef())
    found.node[1].attr[name].CopyFrom(text_format.Parse(value, AttrValue()))
    message = FileBytes(memoryview(found.SerializeToString()), "graph")
    with pytest.raises(InvalidModelError, match=f"variable 'v': its attr '{name}' is"):
        dict(read_variables(read_graph_def(message), reader))


def test_a_tensor_is_one_variables(tmp_path: Path) -> None:
    """What is restored into one variable is not another's, whatever its name."""
    reader = saved(tmp_path, v=WHOLE)
    both = graph(
        variable("v", 3), variable("u", 3), texts("names", "v"), texts("parts", ""),
        restored("r", "names", "parts"), assigned("u", "r"),
    )  # fmt: skip
    values = read_variables(both, reader)
    assert list(values) == ["u"] and len(values) == 1 and "v" not in values


def test_names_of_the_object_graph(tmp_path: Path) -> None:
    objects = text_format.Parse(
        """
        nodes { attributes { name: 'VARIABLE_VALUE' full_name: 'v' checkpoint_key: 'model/v' } }
        nodes { attributes { name: 'OTHER' full_name: 'u' checkpoint_key: 'model/u' } }
        nodes { attributes { name: 'VARIABLE_VALUE' full_name: 't' checkpoint_key: 'model/v' } }
        nodes { attributes { name: 'VARIABLE_VALUE' full_name: 't' checkpoint_key: 'model/u' } }
        """,
        TrackableObjectGraph(),
    )
    key = "_CHECKPOINTABLE_OBJECT_GRAPH"

    def values(content: bytes) -> dict[str, list[float]]:
        message = np.array(content, object)
        reader = saved(tmp_path, **{"model/v": WHOLE, "model/u": WHOLE, key: message})
        three = graph(variable("v", 3), variable("u", 3), variable("t", 3))
        return {name: value.tolist() for name, value in read_variables(three, reader).items()}

    assert values(objects.SerializeToString()) == {"v": WHOLE.tolist()}  # `t` is two objects'
    with pytest.raises(DataLossError, match="_CHECKPOINTABLE_OBJECT_GRAPH is damaged"):
        values(b"\xff\xff")
