"""Ops that take sizes, counts, bounds or indices, run with absurd ones.

In: `size_calls`, `size_calls_rest`. Out: `CASES`: `OP KIND` -> a function that calls the op with
each of its numbers, which are constants, fed, fed to a placeholder without a rank, or given to a
library, and tells whether all were `refused`, and by which classes of errors, or what else became
of the first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from calls.size_calls import OPS, Sized
from calls.size_calls_rest import REST

import flowc as tf
import flowc_runtime
from flowc.errors import (
    InvalidArgumentError,
    InvalidModelError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnsupportedError,
)

REFUSED = (
    ResourceExhaustedError,
    InvalidArgumentError,
    InvalidModelError,
    OutOfRangeError,
    UnimplementedError,  # a library, which would have to know what is fed
)


def _built(op: Sized, numbers: Any) -> Any:
    made = op.call(numbers)
    return made[0] if isinstance(made, (list, tuple)) else made


def _array(op: Sized, numbers: Any) -> np.ndarray:
    return np.array(numbers, tf.as_dtype(op.dtype).as_numpy_dtype)


def _constants(op: Sized) -> Generator[Callable[[], Any]]:
    for numbers in op.numbers:

        def run(numbers: Any = numbers) -> Any:
            with tf.Graph().as_default():
                y = _built(op, tf.constant(_array(op, numbers)))
                with tf.Session(threads=1) as session:
                    return session.run(y)

        yield run


def _fed(op: Sized, *, ranked: bool = True) -> Generator[Callable[[], Any]]:
    with tf.Graph().as_default():
        shape = list(np.shape(op.numbers[0])) if ranked else None
        n = tf.placeholder(op.dtype, shape)
        y = _built(op, n)
        with tf.Session(threads=1) as session:
            for numbers in op.numbers:
                yield partial(session.run, y, {n: _array(op, numbers)})


def _library(op: Sized) -> Generator[Callable[[], Any]]:
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        n = tf.placeholder(op.dtype, list(np.shape(op.numbers[0])), name="n")
        y = _built(op, n)
        path = Path(folder) / "sized.so"
        tf.compile(graph, feeds=[n], fetches=[y], out=path)
        model = flowc_runtime.load(str(path))
        for numbers in op.numbers:
            yield partial(model, _array(op, numbers))


KINDS: dict[str, Callable[[Sized], Generator[Callable[[], Any]]]] = {
    "const": _constants,
    "fed": _fed,
    "unranked": partial(_fed, ranked=False),
    "library": _library,
}


def _tried(op: Sized, kind: str) -> str:
    """`refused` where every list of numbers was, and by which classes, or what else happened."""
    classes: set[str] = set()
    with closing(KINDS[kind](op)) as runs:
        for numbers in op.numbers:
            try:
                run = next(runs)
            except REFUSED as error:
                return f"refused: {type(error).__name__}, whatever the numbers are"
            except UnsupportedError as error:
                return f"unsupported: {str(error)[:200]}"
            try:
                found = np.asarray(run())
            except (*REFUSED, flowc_runtime.ModelError) as error:
                classes.add(type(error).__name__)
            else:
                if not op.may_answer:
                    return f"{numbers!r} gave {found.dtype}{list(found.shape)}"
    return f"refused: {', '.join(sorted(classes))}"


CASES = {
    f"{name} {kind}": partial(_tried, op, kind)
    for name, op in (OPS | REST).items()
    for kind in KINDS
    if op.in_library or kind != "library"
}
