"""Kernels that a program registers for a GPU, or for the CPU alone, beside those for both.

Whole runs on a device, by the driver without a GPU (`fake_cuda.c`); which kernel has computed a
node is seen in what it gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from devices.fake_cuda import FakeCuda, fake_cuda

import flowc as tf
from flowc.cli.entry import run_command_line
from flowc.compiler import Report, compile_library
from flowc.extending import Decompose, Elementwise, Native, Reduction, View, same_dims
from flowc.extract.set_inputs import choose_interface_with
from flowc.options import Options
from flowc.plan.text import plan_text

X = np.array([1.0, -2.0, 3.0], np.float32)
BY_CPU, BY_GPU = 100.0, 200.0  # what the kernels add


def adding(number: float) -> Elementwise:
    return Elementwise(lambda k, x: k.add(x, number))


def add_by_steps(x: Any, y: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        y[i] = x[i] + 200.0


def add_at_once(x: Any, y: Any, size: int, begin: int, end: int) -> None:
    for i in range(size):
        y[i] = x[i] + 200.0


def keep_positive(x: Any, y: Any, sizes: Any, size: int, begin: int, end: int) -> None:
    count = 0
    for i in range(size):
        if x[i] > 0:
            y[count] = x[i]
            count += 1
    sizes[0] = count


def in_steps(node: Any) -> Native:
    return Native(add_by_steps, parallel=node.output.type.size)


def at_once(node: Any) -> Native:
    return Native(add_at_once, (node.output.type.size,))


def add_op(name: str = "Added", **more: Any) -> Any:
    return tf.register_op(name, "x: T", "y: T", same_dims, attrs="T: {half, float, double}", **more)


@pytest.fixture
def device() -> FakeCuda:
    found = fake_cuda()
    found.reset()
    return found


def run(y: Any, feeds: Any, where: str) -> Any:
    with tf.Session(device=where) as session:
        return session.run(y, feeds)


def plan_of(y: Any, *feeds: Any) -> list[str]:
    """The steps of the plan for a GPU."""
    report = Report()
    interface = choose_interface_with(tf.get_default_graph(), list(feeds), [y], None, {})
    options = Options(target="cuda:sm_80")
    compile_library(tf.get_default_graph(), interface, options, report=report)
    assert report.stages.plan is not None
    return plan_text(report.stages.plan).partition("arena")[0].splitlines()[1:]


LOWERINGS = {
    "elementwise": adding(BY_GPU),
    "view": View(lambda k, index: k.add(k.load(0, index), BY_GPU)),
    "reduction": lambda node: Reduction(
        (1,), "add", finish=lambda k, total, n: k.add(total, BY_GPU)
    ),
    "decompose": Decompose(lambda b, node: b.add(node.inputs[0], BY_GPU)),
    "native": in_steps,
    "native of one thread": at_once,
}


@pytest.mark.parametrize("kind", LOWERINGS)
def test_each_device_has_its_own_kernel(kind: str, device: FakeCuda) -> None:
    shape_fn = (lambda c: c.dims(0)[:1]) if kind == "reduction" else same_dims
    op = tf.register_op("Added", "x: float", "y: float", shape_fn)
    tf.register_kernel("Added", target="CPU")(lambda x: (x if x.ndim < 2 else x[:, 0]) + BY_CPU)
    tf.register_kernel("Added", LOWERINGS[kind], target="cuda")
    x = X[:, None] if kind == "reduction" else X
    fed = tf.placeholder(tf.float32, [None, *x.shape[1:]])
    y = op(fed)
    for where, number in (("cpu", BY_CPU), ("cuda", BY_GPU)):
        device.reset()
        assert run(y, {fed: x}, where).tolist() == (X + number).tolist()
        launches = [line for line in device.log() if line.startswith("launch")]
        # A `Decompose` is other ops, and so few elements stay where they are.
        assert bool(launches) == (where == "cuda" and kind != "decompose")


def test_kernels_of_a_gpu_are_for_dtypes_and_those_for_both_fill_the_gaps(
    device: FakeCuda,
) -> None:
    op = add_op()
    tf.register_kernel("Added", adding(BY_CPU))
    tf.register_kernel("Added", adding(BY_GPU), dtypes={"T": tf.float32}, target="GPU")
    tf.register_kernel("Added", in_steps, dtypes={"T": tf.float16}, target="GPU")
    with pytest.raises(ValueError, match=r"kernel for T in \[float32\] already"):
        tf.register_kernel("Added", adding(1.0), dtypes={"T": tf.float32}, target="GPU")
    with pytest.raises(ValueError, match="kernel for all dtypes already"):
        tf.register_kernel("Added", adding(1.0), target="CPU")
    for dtype, number in ((np.float16, BY_GPU), (np.float32, BY_GPU), (np.float64, BY_CPU)):
        x = tf.placeholder(dtype, [None])
        long = np.arange(1000).astype(dtype)
        assert run(op(x), {x: long}, "cuda").tolist() == (long + dtype(number)).tolist()
        assert run(op(x), {x: long}, "cpu").tolist() == (long + dtype(BY_CPU)).tolist()


def test_it_fuses_with_its_neighbours_and_a_loop_calls_it(device: FakeCuda) -> None:
    op = add_op()
    tf.register_kernel("Added", adding(BY_GPU), target="GPU")
    x = tf.placeholder(tf.float32, [4096])
    fused = op(x * 2.0) * 0.5
    (step,) = [line for line in plan_of(fused, x) if " run " in line]
    assert "on the device: run loop" in step
    long = np.arange(4096, dtype=np.float32)
    assert run(fused, {x: long}, "cuda").tolist() == ((long * 2 + 200) / 2).tolist()
    start = tf.placeholder(tf.float32, [])
    total = tf.while_loop(lambda y: y < 1000.0, op, [start])
    assert run(total, {start: 1.0}, "cuda") == 1001.0


def test_what_only_the_cpu_has_a_kernel_for_stays_there_and_its_neighbours_do_not() -> None:
    op = add_op()
    tf.register_kernel("Added", adding(BY_CPU), target="CPU")
    x = tf.placeholder(tf.float32, [4096], name="x")
    steps = plan_of(tf.exp(op(tf.exp(x, name="before"), name="own"), name="after"), x)
    runs = [" ".join(line.split()[1:]) for line in steps if " run " in line]
    starts = ["on the device: ", "on the CPU: ", "on the device: "]
    ends = ["before", "own", "after"]
    for line, start, end in zip(runs, starts, ends, strict=True):
        assert line.startswith(start) and line.endswith(end)


def test_a_gpu_kernel_alone_is_an_error_elsewhere_that_names_it(device: FakeCuda) -> None:
    op = add_op()
    tf.register_kernel("Added", adding(BY_GPU), dtypes={"T": tf.float32}, target="GPU")
    words = r"'Added' used by node 'mine'.*device CPU; .*: device GPU: T in \[float32\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(op(X, name="mine"), {}, "cpu")
    words = r"T=float64\]; nodes run on the device GPU, or.*: device GPU: T in \[float32\]"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(op(X.astype(np.float64)), {}, "cuda")
    assert run(op(X), {}, "cuda").tolist() == (X + BY_GPU).tolist()


def test_a_kernel_that_cannot_run_there_leaves_the_node_to_the_cpu(device: FakeCuda) -> None:
    op = tf.register_op("Kept", "x: float", "y: float", lambda c: (c.fresh("n", c.dims(0)[0]),))
    kept = lambda node: Native(keep_positive, (node.inputs[0].type.size,))
    tf.register_kernel("Kept", kept, target="GPU")
    words = "does not run there: it finds sizes that the driver waits for"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(op(X), {}, "cuda")
    tf.register_kernel("Kept")(lambda x: x[x > 0] + np.float32(BY_CPU))
    assert run(op(X), {}, "cuda").tolist() == [101.0, 103.0]


def test_what_is_no_kernel_for_a_device_is_refused() -> None:
    add_op()
    with pytest.raises(ValueError, match="'Added': a function of Python runs on the CPU"):
        tf.register_kernel("Added", target="GPU")(lambda x: x)
    with pytest.raises(ValueError, match="no device 'TPU'"):
        tf.register_kernel("Added", adding(BY_GPU), target="TPU")


def test_the_list_of_ops_says_what_stays_on_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    for name, target in (("OnBoth", None), ("OnGpu", "GPU"), ("OnCpu", "CPU")):
        add_op(name)
        tf.register_kernel(name, adding(BY_GPU), target=target)
    tf.register_op("InPython", "x: float", "y: float", same_dims, reference=lambda x: x)
    names = ["OnBoth", "OnGpu", "OnCpu", "InPython"]
    assert run_command_line(["ops", *names, "--target", "cuda"]) == 0
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    host = "host: its kernels are for the CPU"
    assert rows == {"OnBoth": "native", "OnGpu": "native", "OnCpu": host, "InPython": host}
