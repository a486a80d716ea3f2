"""Which ops run on a GPU: what `flowc ops --target cuda` says is what their examples do.

Of the ops that have kernels of their own some are looked at; `FLOWC_SIMT=1` (`make simt`) compiles
the examples of all.
"""

from __future__ import annotations

import json
import os
import re

import pytest
from devices.device_launches import cuda_target
from pages.gpu_ops import PAGE, host_reason, page

from flowc.cli.entry import run_command_line
from flowc.cli.ops import coverage
from flowc.ops import tf_op

EVERY = bool(os.environ.get("FLOWC_SIMT"))
SOME = (
    "ScatterNd", "TensorScatterAdd", "UnsortedSegmentSum", "SparseSegmentMean", "Cumsum", "ArgMax",
    "MaxPoolGrad", "AvgPool3D", "ResizeBicubic", "DynamicStitch", "StatelessShuffle", "Where",
    "FusedBatchNormV3", "TopKV2",
)  # fmt: skip
# What stays on the host of the families that a GPU is for, and no op beside.
LEFT = {
    "RandomShuffle", "StatelessShuffle", "Where", "DynamicPartition", "Unique", "UniqueV2",
    "UniqueWithCounts", "UniqueWithCountsV2", "SparseSegmentSumGradV2", "SparseSegmentMeanGradV2",
    "SparseSegmentSqrtNGradV2", "StatelessSampleDistortedBoundingBox",
    "ParameterizedTruncatedNormal", "StatelessParameterizedTruncatedNormal",
}  # fmt: skip
FAMILIES = re.compile(
    r".*(Scatter|Gather|Segment|Pool|Norm|Softmax|Conv|MatMul|Einsum|Resize|Cum|Arg(Max|Min)|Bincount"
    r"|Random(?!.*Dataset)|Stateless|TopK|LSTM|GRU|While|^If$|Case|Switch|Merge|TensorList|TensorArray)"
)


def rows(capsys: pytest.CaptureFixture[str]) -> dict[str, str | None]:
    assert run_command_line(["ops", "--target", "cuda", "--json"]) == 0
    return {row["op"]: row["host"] for row in json.loads(capsys.readouterr().out)["ops"]}


def test_what_is_listed_is_what_the_examples_do(capsys: pytest.CaptureFixture[str]) -> None:
    listed, target = rows(capsys), cuda_target(80)
    for name in SOME:
        op = tf_op(name)
        assert op is not None
        assert host_reason(op, target) == listed[name], name


@pytest.mark.skipif(not EVERY, reason="make simt")
def test_the_whole_list() -> None:
    assert page() == PAGE.read_text(), "run python tests/support/pages/gpu_ops.py"


def test_ops_that_become_loops_and_products_run_on_a_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = rows(capsys)
    kinds = {row["op"]: row["lowering"] for row in coverage()}
    plain = ("elementwise", "view", "reduction", "matmul", "convolution")
    assert [n for n, reason in listed.items() if reason and kinds[n] in plain] == []
    kernels = re.compile(r".*(sizes|one thread)")
    left = {n for n, reason in listed.items() if FAMILIES.match(n) and kernels.match(reason or "")}
    assert left <= LEFT


def test_the_list_for_readers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["ops", "Tanh", "Where", "--target", "cuda"]) == 0
    found = capsys.readouterr()
    assert found.out.splitlines() == [
        "Tanh   native",
        "Where  host: it finds sizes that the driver waits for",
    ]
    assert found.err == "1 ops run on a GPU, 1 on the host beside it\n"
