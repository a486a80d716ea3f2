"""`flowc.raw_ops`: every record makes a node that TensorFlow has loaded, typed and shaped alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api_program import digest
from raw_op_graphs import first_cases, graph_of

import flowc
from flowc.graph import TensorShape

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "recorded" / "api.json").read_text()
)["raw_ops"]
# test_ops.py asks for the recording of a new op; here it joins when there is one.
CASES = {name: case for name, case in first_cases().items() if name in RECORDED}


def test_recorded_ops_are_all_there() -> None:
    assert len(RECORDED) > 250
    assert set(RECORDED) == set(CASES)


@pytest.mark.parametrize("name", list(CASES))
def test_raw_op_makes_the_node_that_tensorflow_loaded(name: str) -> None:
    graph, _ = graph_of(name, CASES[name])
    recorded = RECORDED[name]
    assert digest(graph.as_graph_def()) == recorded["digest"]
    outputs = graph.get_operation_by_name("it").outputs
    assert [t.dtype.name for t in outputs if t.dtype] == recorded["dtypes"]
    for tensor, shape in zip(outputs, recorded["shapes"], strict=True):
        assert tensor.shape.is_compatible_with(TensorShape(shape)), (tensor.shape, shape)


def test_the_shapes_of_raw_ops_say_as_much_as_tensorflows() -> None:
    vague = []
    for name, case in CASES.items():
        graph, _ = graph_of(name, case)
        for tensor, shape in zip(
            graph.get_operation_by_name("it").outputs, RECORDED[name]["shapes"]
        ):
            theirs = TensorShape(shape)
            if theirs.is_fully_defined() and not tensor.shape.is_fully_defined():
                vague.append(f"{tensor.op.type}: {tensor.shape}, TensorFlow {theirs}")
    assert vague == []


def test_raw_ops_take_keywords_and_name_what_is_wrong() -> None:
    with flowc.Graph().as_default():
        found = flowc.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2)
        assert found._fields == ("values", "indices")
        assert flowc.raw_ops.NoOp().type == "NoOp"
        parts = flowc.raw_ops.Split(axis=0, value=[1, 2], num_split=2)
        assert [p.shape.as_list() for p in parts] == [[1], [1]]
        with pytest.raises(TypeError, match="missing required keyword-only argument: 'y'"):
            flowc.raw_ops.AddV2(x=1.0)
        with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
            flowc.raw_ops.AddV2(x=1.0, y=1.0, z=2)
        with pytest.raises(TypeError, match="No argument found for attr padding"):
            flowc.raw_ops.MaxPool(input=np.ones((1, 2, 2, 1), np.float32), ksize=[1, 1, 1, 1],
                                  strides=[1, 1, 1, 1])  # fmt: skip
    with pytest.raises(AttributeError, match="did you mean 'Relu"):
        _ = flowc.raw_ops.Reluu
    assert "Conv2D" in dir(flowc.raw_ops)
