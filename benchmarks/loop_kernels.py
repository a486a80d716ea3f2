"""Loop kernels on one thread, beside XLA and TensorFlow's executor in the same rounds; those that
only move data also beside `memcpy` of the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import compiled
from rounds import Row, compare, timer
from tensorflow_peer import TensorFlowPeer

Emit = Callable[..., Any]
Arrays = list[np.ndarray[Any, Any]]


def chain(b: Any, x: Any) -> Any:
    wave = b.tanh(b.add(b.mul(x, 2.0), 1.0))
    return b.add(b.mul(wave, b.sigmoid(x)), b.exp(b.mul(b.neg(x), x)))


def softmax(b: Any, x: Any) -> Any:
    return b.softmax(x)


def layer_norm(b: Any, x: Any, gamma: Any, beta: Any) -> Any:
    axis = np.array([1], np.int32)
    mean = b.mean(x, axis, keep_dims=True)
    variance = b.mean(b.squared_difference(x, mean), axis, keep_dims=True)
    factor = b.mul(b.rsqrt(b.add(variance, 1e-6)), gamma)
    return b.add(b.mul(x, factor), b.sub(beta, b.mul(mean, factor)))


def transpose(b: Any, x: Any) -> Any:
    return b.transpose(x, np.array([1, 0], np.int32))


def concat(b: Any, *parts: Any) -> Any:
    return b.concat(*parts, np.int32(3))


def pad(b: Any, x: Any) -> Any:
    return b.pad(x, np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))


def total(b: Any, x: Any) -> Any:
    return b.sum(x, np.array([0], np.int32))


def _normal(*dims: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).standard_normal(dims).astype(np.float32)


def measure(peer: TensorFlowPeer | None, rounds: int) -> list[Row]:
    square, row, flat = _normal(1024, 1024), _normal(1024), _normal(4 << 20)
    four = [_normal(1, 56, 56, 64) for _ in range(4)]
    cases: list[tuple[str, Emit, Arrays, str]] = [
        ("chain", chain, [flat], "XLA 1x, executor 4x"),
        ("softmax", softmax, [square], "XLA 1x"),
        ("layer norm", layer_norm, [square, row, row], "XLA 1x"),
        ("transpose", transpose, [square], "memcpy 0.5x"),
        ("concat", concat, four, "memcpy 0.5x"),
        ("pad", pad, four[:1], "memcpy 0.5x"),
        ("sum", total, [flat], "XLA 1x"),
    ]
    return [_measure_one(*case, peer, rounds) for case in cases]


def _measure_one(
    name: str, emit: Emit, arrays: Arrays, goal: str, peer: TensorFlowPeer | None, rounds: int
) -> Row:
    program = compiled(emit, arrays)
    contestants = {}
    if peer is not None:
        contestants = {"XLA": peer.timer(name, "xla"), "executor": peer.timer(name, "executor")}
    if "memcpy" in goal:
        flat = np.concatenate([a.reshape(-1) for a in arrays])
        contestants["memcpy"] = timer(flat.copy)
    return compare(name, timer(program.run), contestants, rounds=rounds, goal=goal)
