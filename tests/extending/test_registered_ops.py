"""Ops that a program registers: signatures, kernels, fusion, gradients, files, libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.codegen.targets import target_named
from flowc.compiler import Report, compile_library
from flowc.errors import UnknownNameError, UnsupportedError
from flowc.extending import Decompose, Elementwise, Native, same_dims
from flowc.extending.stamps import stamp_of
from flowc.extract.set_inputs import choose_interface_with
from flowc.options import Options
from flowc.plan.text import plan_text

check_op = tf.testing.check_op
X = np.array([1.0, -2.0, 3.0], np.float32)


@pytest.fixture(autouse=True)
def new_graph() -> None:
    tf.reset_default_graph()


def keep_first(to_zero: np.ndarray) -> np.ndarray:
    found = np.zeros_like(to_zero)
    found.reshape(-1)[:1] = to_zero.reshape(-1)[:1]
    return found


def zero_out(**more: Any) -> Any:
    found = tf.register_op("ZeroOut", "to_zero: int32", "zeroed: int32", same_dims, **more)
    tf.register_kernel("ZeroOut")(keep_first)
    return found


def leaky(**more: Any) -> Any:
    """x above 0, else slope * x: a registered activation."""

    def gradient(b: Any, node: Any, dy: Any) -> Any:
        x = node.inputs[0]
        slope = b.const(node.attrs["slope"], b.dtype_of(x)) if False else node.attrs["slope"]
        return (b.select_v2(b.greater(x, 0.0), dy, b.mul(dy, slope)),)

    return tf.register_op(
        "Leaky(x: T; T: {float, double}, slope: float = 0.5) -> y: T",
        shape_fn=same_dims,
        lowering=lambda node: Elementwise(
            lambda k, x: k.select(k.gt(x, 0.0), x, k.mul(x, node.attrs["slope"]))
        ),
        gradient=gradient,
        **more,
    )(lambda x, *, slope: np.where(x > 0, x, x * np.asarray(slope, x.dtype)))


def doubled(x: Any, y: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        y[i] = x[i] + x[i]


# -- in a graph


def test_an_op_with_a_kernel_runs_and_is_a_node_like_any_other() -> None:
    op = zero_out()
    found = op([1, 2, 3, 4, 5], name="first")
    assert op.__name__ == "zero_out" and (found.op.type, found.name) == ("ZeroOut", "first:0")
    with tf.Session() as session:
        assert session.run(found).tolist() == [1, 0, 0, 0, 0]
    assert found.shape.as_list() == [5]
    check_op("ZeroOut", np.array([[1, 2], [3, 4]], np.int32), expected=[[1, 0], [0, 0]])


def test_another_dtype_is_a_type_error() -> None:
    op = zero_out()
    with pytest.raises(TypeError, match="int32"):
        op(tf.constant([1.0]))
    with pytest.raises(TypeError, match="int32"):
        op([1.5])


def test_what_is_registered_twice_or_wrong_is_refused_and_registers_nothing() -> None:
    zero_out()
    with pytest.raises(tf.errors.AlreadyExistsError, match="ZeroOut already registered"):
        zero_out()
    with pytest.raises(tf.errors.AlreadyExistsError, match="MatMul"):
        tf.register_op("MatMul", "a: float", "b: float", same_dims)
    for text in ("Bad(x: nothing) -> y: float", "bad(x: float) -> y: float", "Bad(x: T) -> y"):
        with pytest.raises(ValueError, match=r"(?i)bad"):
            tf.register_op(text, shape_fn=same_dims)(keep_first)
    with pytest.raises(ValueError, match="kernel for all dtypes already"):
        tf.register_kernel("ZeroOut")(keep_first)
    with pytest.raises(ValueError, match="flowc's own"):
        tf.register_kernel("MatMul")(keep_first)
    with pytest.raises(tf.errors.NotFoundError, match="ZeroOut"):
        tf.register_kernel("ZeroOuts")(keep_first)
    tf.register_op("Bad", "x: float", "y: float", same_dims)


def test_kernels_for_dtypes() -> None:
    op = tf.register_op(
        "Doubled", "x: T", "y: T", same_dims, attrs="T: {float, int32, int64, double, half}"
    )
    size = lambda node: node.output.type.size
    native = lambda node: Native(doubled, (), parallel=size(node))
    tf.register_kernel("Doubled", native, dtypes={"T": tf.float32})
    tf.register_kernel("Doubled", dtypes={"T": [tf.int32, tf.int64]})(lambda x: x * 2)
    with pytest.raises(ValueError, match="kernel for T in \\[float32\\] already"):
        tf.register_kernel("Doubled", native, dtypes={"T": tf.float32})
    with pytest.raises(ValueError, match="no type attr 'U'"):
        tf.register_kernel("Doubled", native, dtypes={"U": tf.float32})
    with pytest.raises(ValueError, match="no T of bool"):
        tf.register_kernel("Doubled", native, dtypes={"T": tf.bool})
    check_op("Doubled", X, expected=X * 2, library=True)
    check_op("Doubled", np.array([1, 2], np.int32), expected=[2, 4])
    tf.register_kernel("Doubled", native, dtypes={"T": tf.float16})  # computed as float
    check_op("Doubled", X.astype(np.float16), expected=X.astype(np.float16) * 2, library=True)
    other, words = op(np.array([1.0, 2.0])), r"T=float64.*T in .float32"
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(other)


def test_kernels_for_devices() -> None:
    op = tf.register_op("Placed", "x: T", "y: T", same_dims, attrs="T: {float, double}")
    square = Elementwise(lambda k, x: k.mul(x, x))
    tf.register_kernel("Placed", Elementwise(lambda k, x: k.mul(x, 0.0)), target="GPU")
    with pytest.raises(ValueError, match="kernel for all dtypes already"):
        tf.register_kernel("Placed", square, dtypes={"T": tf.float32}, target="GPU")
    words = r"Op 'Placed' used by node 'Placed'.*device CPU; .*kernels: device GPU: all dtypes"
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(op(X))
    tf.register_kernel("Placed", square, dtypes={"T": tf.float32})
    check_op("Placed", X, expected=X * X, library=True)
    words = r"kernels: device CPU and GPU: T in \[float32\]; device GPU: all dtypes"
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(op(X.astype(np.float64)))


def test_a_native_kernel_within_a_function_is_refused() -> None:
    def inner(x: Any, y: Any, begin: int, end: int) -> None: ...

    with pytest.raises(ValueError, match="must be a function of a module"):
        tf.register_op("Inner", "x: float", "y: float", same_dims, lowering=Native(inner))
    assert "Inner" not in dir(tf.raw_ops)


def test_attrs_lists_and_several_outputs() -> None:
    op = tf.register_op(
        "Spread",
        ["values: N * float", "by: string"],
        ["low: float", "names: string"],
        lambda c: [c.dims(0), ()],
        attrs=["N: int >= 1", "shift: float = 1.0", "mode: {'A', 'B'} = 'A'"],
    )

    @tf.register_kernel("Spread")
    def kernel(values: Any, by: bytes, *, shift: float, mode: str) -> Any:
        return sum(values) + np.float32(shift), by + mode.encode()

    with tf.Session() as session:
        low, names = session.run(op([X, X], "by", shift=2.0, mode="B"))
    assert low.tolist() == [4.0, -2.0, 8.0] and names == b"byB"
    with pytest.raises(ValueError, match="C"):
        op([X], "by", mode="C")


@pytest.mark.parametrize(
    ("returned", "kind", "words"),
    [
        (lambda x: x.astype(np.int64), "InvalidArgumentError", "int64 as its output 0, expected i"),
        (lambda x: (x, x), "InvalidArgumentError", "returns 2 values, expected 1"),
        (
            lambda x: x[:1],
            "InvalidArgumentError",
            r"output 0 of ZeroOut has shape \[1\], where",
        ),
        (
            lambda x: x[0],
            "InvalidArgumentError",
            r"output 0 of ZeroOut has shape \[\], where \[3\]",
        ),
        (lambda x: 1 // 0, "UnknownError", "kernel of ZeroOut: ZeroDivisionError"),
        (lambda x: [][1], "UnknownError", "kernel of ZeroOut: IndexError"),
    ],
)
def test_what_a_kernel_does_wrong_is_an_error_with_the_op_and_the_node(
    returned: Any, kind: str, words: str
) -> None:
    op = tf.register_op("ZeroOut", "to_zero: int32", "zeroed: int32", same_dims)
    tf.register_kernel("ZeroOut")(returned)
    found = op([1, 2, 3], name="wrong")
    with tf.Session() as session, pytest.raises(getattr(tf.errors, kind), match=words) as caught:
        session.run(found)
    assert caught.value.node == "wrong" and type(caught.value) is getattr(tf.errors, kind)


def test_steps_with_effects_run_once_for_each_run_and_in_order() -> None:
    seen: list[int] = []
    op = tf.register_op("Note", "x: int32", "", lambda c: [], stateful=True)
    tf.register_kernel("Note")(lambda x: seen.append(int(x)))
    one = op(1)
    with tf.control_dependencies([one]):
        two = op(2)
    with tf.Session() as session:
        session.run(two)
        session.run(one)
    assert seen == [1, 2, 1]


def test_a_registered_op_takes_the_place_of_another_in_a_graph() -> None:
    leaky()
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.nn.relu(tf.nn.relu(x, name="kept") - tf.constant([0.0, 1.0, 2.0]), name="swapped")
    before = tf.get_default_graph().as_graph_def()
    after = tf.graph_util.edit_graph(
        before,
        replace={"Relu": "Leaky"},
        where={"name": "^swapped"},
        rewire={("swapped", 0): "x:0"},
        set_attr={("swapped", "slope"): "0.25"},
    )
    assert [n.op for n in before.node if n.name == "swapped"] == ["Relu"]
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(after, return_elements=["swapped:0"], name="")
        assert session.run(y, {"x:0": X}).tolist() == [1.0, -0.5, 3.0]
    with pytest.raises(UnknownNameError, match="the graph has no Elu node"):
        tf.graph_util.edit_graph(before, replace={"Elu": "Leaky"})


# -- compiled


def compiled(y: Any, *feeds: Any, target: str = "native") -> Report:
    report = Report()
    graph = tf.get_default_graph()
    interface = choose_interface_with(graph, list(feeds), [y], None, {})
    compile_library(graph, interface, Options(target=target), report=report)
    return report


def clusters(y: Any, *feeds: Any) -> int:
    return compiled(y, *feeds).clusters


def test_an_elementwise_op_fuses_with_its_neighbours() -> None:
    op = leaky()
    check_op("Leaky", X, gradient=True, library=True, slope=0.25)
    check_op("Leaky", X.astype(np.float64))
    x = tf.placeholder(tf.float32, [8])
    assert clusters(tf.exp(op(x * 2.0)) + 1.0, x) == clusters(tf.exp(x * 2.0) + 1.0, x) == 1


def test_an_elementwise_op_is_in_the_kernel_of_its_neighbours_on_a_gpu() -> None:
    op = leaky()
    x = tf.placeholder(tf.float32, [1 << 16])
    plans: list[Any] = []
    for y in (tf.exp(op(x * 2.0)) + 1.0, tf.exp(x * 2.0) + 1.0):
        report = compiled(y, x, target="cuda:sm_80")
        assert report.stages.plan is not None and report.clusters == 1
        plans.append([line.split()[:2] for line in plan_text(report.stages.plan).splitlines()])
        (kernel,) = report.stages.kernels.values()
        assert ".visible .entry" in target_named("cuda:sm_80").kernel_text(kernel, "asm")
    assert plans[0] == plans[1]


def test_a_kernel_in_terms_of_other_ops() -> None:
    made = Decompose(lambda b, node: b.mul(b.sin(node.inputs[0]), node.inputs[0]))
    tf.register_op("SinTimes", "x: float", "y: float", same_dims, lowering=made)
    check_op("SinTimes", X, expected=np.sin(X) * X, library=True)


def test_a_library_refuses_a_kernel_of_python() -> None:
    found = zero_out()(tf.placeholder(tf.int32, [3], name="x"))
    with pytest.raises(UnsupportedError, match=r"cannot call Python.*\n.*ZeroOut"):
        tf.compile(tf.get_default_graph(), ["x"], [found], out="never.so")


def test_gradients_that_a_program_registers_apart() -> None:
    op = tf.register_op("Twice", "x: float", "y: float", same_dims)
    tf.register_kernel("Twice")(lambda x: x * np.float32(2))
    x = tf.constant(X)
    with pytest.raises(LookupError, match=r"No gradient defined.*Twice"):
        tf.gradients(op(x), x)
    tf.RegisterGradient("Twice")(lambda op, dy: dy * 2.0)
    with tf.Session() as session:
        assert session.run(tf.gradients(op(x), x)[0]).tolist() == [2.0, 2.0, 2.0]


# -- caches


def test_a_kernel_that_changed_is_not_taken_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flowc.ir import op as records

    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    tables = dict(records._BY_NAME), dict(records._BY_TF_NAME)
    found = []
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setattr(records, "_BY_NAME", dict(tables[0]))
        monkeypatch.setattr(records, "_BY_TF_NAME", dict(tables[1]))
        scaled = Elementwise(lambda k, x, factor=factor: k.mul(x, factor))
        op = tf.register_op("Scaled", "x: float", "y: float", same_dims, lowering=scaled)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [3], name="x")
            found.append(session.run(op(x), {x: X}))
    assert [f.tolist() for f in found] == [(X * k).tolist() for k in (2, 3, 2)]


def test_stamps_see_all_that_a_function_is_made_of() -> None:
    def made(number: int, inner: Any = len) -> Any:
        def function(x: Any, more: int = number) -> Any:
            return inner(x) + number + more

        return function

    assert stamp_of(made(1)) == stamp_of(made(1))
    others = [made(1), made(2), made(1, sum), made(1, lambda x: 1), made(1, lambda x: 2)]
    assert len({stamp_of(f) for f in others}) == len(others)
    ring: list[Any] = []
    ring.append(ring)
    assert stamp_of(ring) == stamp_of(ring)


# -- packages


MODULE = """
import flowc as tf
op = tf.register_op("FromPackage", "x: float", "y: float", lambda c: c.dims(0),
                    lowering=tf.extending.Elementwise(lambda k, x: k.neg(x)))
"""


def test_an_installed_package_announces_its_ops(tmp_path: Path) -> None:
    (tmp_path / "announced_ops.py").write_text(MODULE)
    for name, module in (("good", "announced_ops"), ("broken", "not_there")):
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[flowc.ops]\n{name} = {module}\n")
    node = 'node { name: "n" op: "FromPackage" input: "x" }'
    place = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
    (tmp_path / "model.pbtxt").write_text(place + node)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path}

    def flowc(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flowc", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    model = str(tmp_path / "model.pbtxt")
    made = flowc("compile", model, "--feed", "x=f32[4]", "-o", str(tmp_path / "m.so"))
    assert made.returncode == 0, made.stderr
    assert "the ops of broken (not_there) cannot be loaded" in made.stderr
    assert tf.load(tmp_path / "m.so")(np.ones(4, np.float32)).tolist() == [-1.0] * 4
    told = flowc("inspect", model)
    assert told.returncode == 0 and "FromPackage" in told.stdout
    assert "not supported" not in told.stdout
