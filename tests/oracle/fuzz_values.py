"""Every op's examples with other numbers, in flowc's Session beside TensorFlow: prints what
differs.

Run in an environment with TensorFlow, from the repository's root, with the first seed, how often
each example's numbers change, and names of ops, if not all:
`PYTHONPATH=.:runtime:tests/support:tests/oracle python tests/oracle/fuzz_values.py 0 8 Range`

In: `cases_of` each record, and the constants of the graphs of `session_examples`. Out: a line of
JSON for each difference: in shape, dtype or value, where one gives an error and the other none, or
in the class of errors. Each op has a process of its own, as TensorFlow ends some, and 90 seconds.
What it prints is to be read: sums of NaN, ties and operands that no op checks differ rightly.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import record_ops
import tensorflow as tf
from calls.op_examples import cases_of
from calls.session_examples import EXAMPLES
from calls.sparse_op_calls import CALLS
from closeness import Closeness, difference
from op_tolerances import specified_outputs
from tensorflow.python.framework import tensor_util

import flowc
from flowc.ops import all_ops

v1 = tf.compat.v1
Array = np.ndarray[Any, Any]
Random = np.random.Generator
NEAR = Closeness(2000, of_largest=True)
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e-40)
SECONDS = 90


def changed(array: Array, random: Random) -> Array:
    """Another array of the same shape and dtype."""
    if array.size == 0 or array.dtype.names or array.dtype.kind in "OSU":
        return array
    if array.dtype.kind == "b":
        return random.random(array.shape) < random.choice([0.1, 0.5, 0.9])
    flat = np.array(array).reshape(-1)
    found = _integers(flat, random) if array.dtype.kind in "iu" else _reals(flat, random)
    return found.reshape(array.shape)


def _integers(flat: Array, random: Random) -> Array:
    at, low, high = random.integers(flat.size), int(flat.min()), int(flat.max())
    limits = np.iinfo(flat.dtype)
    match random.integers(6):
        case 0 | 1:
            return random.permutation(flat)
        case 2:
            return random.integers(low, high, flat.size, endpoint=True).astype(flat.dtype)
        case 3:
            flat[at] += flat.dtype.type(random.integers(1, 3))
        case 4 if limits.min < 0:
            flat[at] = -random.integers(1, 4)
        case _ if random.random() < 0.3:
            flat[at] = random.choice([limits.max, limits.min])
    return flat


def _reals(flat: Array, random: Random) -> Array:
    wide = flat.astype(np.complex128 if flat.dtype.kind == "c" else np.float64)
    match random.integers(6):
        case 0:
            wide = random.permutation(wide)
        case 1:
            wide[:] = random.normal(size=wide.size) * random.choice([0.01, 1, 30])
        case 2:
            wide[:] = random.integers(-3, 4, wide.size) * 0.5
        case 3:
            wide = -wide
        case 4:
            wide[:] = random.normal(size=wide.size)
            wide[random.integers(wide.size)] = random.choice(SPECIAL)
        case _:
            wide[:] = wide[random.integers(wide.size)]
    return wide.astype(flat.dtype)


Run = Callable[[], Sequence[Any]]


def compared(theirs: Run, ours: Run, count: int | None = None) -> tuple[str, str, str] | None:
    """What differs, what we have, and what TensorFlow has. `count`: of outputs that matter."""
    wanted, refused = _answer(theirs)
    if refused is not None and "No OpKernel" in str(refused):
        return None
    found, fault = _answer(ours)
    if refused is None and fault is None:
        for i, (x, y) in enumerate(list(zip(found, wanted))[:count]):
            told = _apart(x, y)
            if told is not None:
                return f"output {i}: {told}", _shown(x), _shown(y)
        return None
    texts = _told(fault, found), _told(refused, wanted)
    if fault is None or refused is None:
        return "an error", *texts
    ours_too = type(refused).__name__ in [kind.__name__ for kind in type(fault).__mro__]
    return None if ours_too else ("the class of an error", *texts)


def _answer(run: Run) -> tuple[list[Array], Exception | None]:
    try:
        return [record_ops.plain(np.asarray(x)) for x in run()], None
    except Exception as error:
        return [], error


def _apart(found: Array, wanted: Array) -> str | None:
    if found.shape != wanted.shape:
        return f"shapes {found.shape} and {wanted.shape}"
    if wanted.dtype == object or wanted.dtype.kind in "biuSU":
        return None if np.array_equal(found, wanted) else "values"
    return difference(found, wanted, NEAR)


def _shown(array: Array) -> str:
    text = repr(array.tolist())
    return text if len(text) < 300 else f"{text[:300]}..."


def _told(error: Exception | None, answer: Sequence[Array]) -> str:
    if error is None:
        return _shown(answer[0]) if answer else "nothing"
    return f"{type(error).__name__}: {record_ops.message_of(error)}"


def ours_of(graph: bytes, fetches: Sequence[str]) -> Callable[[Mapping[str, Array]], Sequence[Any]]:
    """Runs a serialized graph in a Session of flowc."""
    with flowc.Graph().as_default() as own:
        definition = flowc.GraphDef()
        definition.ParseFromString(graph)
        flowc.import_graph_def(definition, name="")
    session = flowc.Session(graph=own)
    return lambda feeds: session.run(list(fetches), dict(feeds))


def of_record(op: Any, random: Random, count: int) -> Iterator[tuple[str, Any, list[str]]]:
    """The differences in up to three of an op's cases, which are fed."""
    cases = list(cases_of(op))
    for i in sorted({0, *random.integers(0, len(cases), 2).tolist()}) if cases else ():
        case = cases[i]
        with tf.Graph().as_default() as graph:
            feeds, outputs = record_ops.placed(case, graph)
        theirs = v1.Session(graph=graph)
        ours = ours_of(graph.as_graph_def().SerializeToString(), [t.name for t in outputs])
        for k in range(count + 1):
            arrays = [changed(a, random) if k else a for a in case.inputs]
            own = [np.array(a) for a in arrays]  # some of TensorFlow's ops write what is fed
            told = compared(
                partial(theirs.run, outputs, dict(zip(feeds, own))),
                partial(ours, dict(zip([t.name for t in feeds], arrays))),
                specified_outputs(case, len(outputs)),
            )
            if told is not None:
                yield case.name, told, [_shown(a) for a in arrays]


def _graphs(name: str) -> Iterator[tuple[Any, list[str]]]:
    for call in CALLS.get(name, ()):
        with tf.Graph().as_default() as graph:
            found = tf.nest.flatten(call(tf.raw_ops))
        plain = [t.name for t in found if t.dtype not in (tf.variant, tf.resource)]
        yield graph.as_graph_def(), plain
    if name in EXAMPLES and name not in CALLS:
        with flowc.Graph().as_default() as own:
            pairs = EXAMPLES[name]()
        definition = v1.GraphDef.FromString(own.as_graph_def().SerializeToString())
        yield definition, [t.name for t, _ in pairs if t.dtype.name not in ("variant", "resource")]


def _run_theirs(definition: Any, fetches: Sequence[str]) -> Sequence[Any]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        with v1.Session(graph=graph) as session:
            return session.run(list(fetches))


def _run_ours(definition: Any, fetches: Sequence[str]) -> Sequence[Any]:
    return ours_of(definition.SerializeToString(), fetches)({})


def of_example(name: str, random: Random, count: int) -> Iterator[tuple[str, Any, list[str]]]:
    """The differences in graphs whose constants change, one of them at a time."""
    for graph, fetches in _graphs(name):
        numbers = [i for i, n in enumerate(graph.node) if n.op == "Const"]
        for k in range(count + 1 if numbers and fetches else 0):
            definition, told = v1.GraphDef.FromString(graph.SerializeToString()), []
            if k:
                node = definition.node[int(random.choice(numbers))]
                array = tensor_util.MakeNdarray(node.attr["value"].tensor)
                new = changed(np.atleast_1d(array), random).reshape(array.shape)
                kind = node.attr["dtype"].type
                made = tensor_util.make_tensor_proto(new, dtype=kind, shape=array.shape)
                node.attr["value"].tensor.CopyFrom(made)
                told = [f"{node.name}={_shown(new)}"]

            found = compared(
                partial(_run_theirs, definition, fetches), partial(_run_ours, definition, fetches)
            )
            if found is not None:
                yield name, found, told


def _in_a_child(name: str, differences: Callable[[], Iterator[Any]]) -> None:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            for found in differences():
                print(json.dumps(found), flush=True)
        except Exception as error:
            print(json.dumps([name, "not tried", f"{type(error).__name__}: {error}"]), flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        print(json.dumps([name, "ended by", signal.Signals(status & 127).name]), flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    seed, count, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for op in all_ops():
        random = np.random.default_rng([seed, *op.name.encode()])
        apart = "random" in op.traits or op.tf_name.startswith(("Xla", "Stateless"))
        if record_ops.is_recorded(op) and not apart and (not names or op.tf_name in names):
            _in_a_child(op.tf_name, partial(of_record, op, random, count))
    for name in dict.fromkeys([*CALLS, *EXAMPLES]):
        random = np.random.default_rng([seed, *name.encode()])
        if not names or name in names:
            _in_a_child(name, partial(of_example, name, random, count))


if __name__ == "__main__":
    main()
