"""Programs with loops, written once for flowc and for TensorFlow 1's names.

In: `tf`, either of them, and tensors. Out: the results. Weights are constants, as in frozen models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = list[np.ndarray[Any, Any]]
UNITS, STEPS, TRIPS = 256, 128, 100_000
# Floating-point operations of the products in programs that are bound by them.
PRODUCTS = {
    "LSTM batch 32": 2 * STEPS * 32 * (2 * UNITS) * (4 * UNITS),
    "GRU batch 32": 2 * STEPS * 32 * (2 * UNITS) * (3 * UNITS),
}


def _normal(*dims: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(sum(dims))
    return (random.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32)


def scalar_while(tf: Any, n: Any) -> Any:
    start = [tf.constant(0), tf.constant(0.0)]
    return tf.while_loop(
        lambda i, s: i < n,
        lambda i, s: (i + 1, s * 0.99999 + tf.cast(i, tf.float32)),
        start,
    )[1]


def lstm(tf: Any, x: Any, c: Any, h: Any) -> Any:
    """`x`: steps, batch, units."""
    kernel, bias = tf.constant(_normal(2 * UNITS, 4 * UNITS)), tf.constant(_normal(4 * UNITS))

    def cell(step: Any, c: Any, h: Any) -> Any:
        gates = tf.matmul(tf.concat([step, h], 1), kernel) + bias
        i, j, f, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        return c, tf.sigmoid(o) * tf.tanh(c)

    return _recurrent(tf, cell, x, [c, h])


def gru(tf: Any, x: Any, h: Any) -> Any:
    gate_kernel, gate_bias = tf.constant(_normal(2 * UNITS, 2 * UNITS)), tf.constant(_normal(512))
    kernel, bias = tf.constant(_normal(2 * UNITS, UNITS)), tf.constant(_normal(UNITS))

    def cell(step: Any, h: Any) -> Any:
        gates = tf.sigmoid(tf.matmul(tf.concat([step, h], 1), gate_kernel) + gate_bias)
        r, u = tf.split(gates, 2, axis=1)
        candidate = tf.tanh(tf.matmul(tf.concat([step, r * h], 1), kernel) + bias)
        return (u * h + (1.0 - u) * candidate,)

    return _recurrent(tf, cell, x, [h])


def _recurrent(tf: Any, cell: Callable[..., Any], x: Any, state: list[Any]) -> Any:
    """The last state of every step."""
    given = tf.TensorArray(tf.float32, size=STEPS).unstack(x)
    made = tf.TensorArray(tf.float32, size=STEPS)

    def body(i: Any, made: Any, *state: Any) -> Any:
        state = cell(given.read(i), *state)
        return (i + 1, made.write(i, state[-1]), *state)

    found = tf.while_loop(lambda i, *_: i < STEPS, body, [tf.constant(0), made, *state])
    return found[1].stack()


def nested(tf: Any, x: Any, n: Any) -> Any:
    """n loops of n iterations over a vector."""

    def outer(i: Any, total: Any) -> Any:
        inner = tf.while_loop(
            lambda j, _: j < n,
            lambda j, v: (j + 1, v * 0.9 + x * tf.cast(j, tf.float32)),
            [tf.constant(0), x],
        )[1]
        return i + 1, total * 0.5 + inner

    return tf.while_loop(lambda i, _: i < n, outer, [tf.constant(0), tf.zeros_like(x)])[1]


def beam_search(tf: Any, states: Any, steps: Any) -> Any:
    """Eight beams, a vocabulary of 1,000: states and histories follow their beams by gathers."""
    beams, words = 8, 1000
    project, embed = tf.constant(_normal(64, words)), tf.constant(_normal(words, 64))
    mix = tf.constant(_normal(128, 64))

    def body(i: Any, states: Any, scores: Any, history: Any) -> Any:
        likely = tf.nn.log_softmax(tf.matmul(states, project))
        flat = tf.reshape(likely + tf.reshape(scores, [beams, 1]), [1, beams * words])
        best, places = tf.nn.top_k(flat, beams)
        places = tf.reshape(places, [beams])
        parents, tokens = tf.floordiv(places, words), places % words
        history = tf.gather(history, parents)
        history = tf.concat([history[:, 1:], tf.reshape(tokens, [beams, 1])], 1)
        both = tf.concat([tf.gather(states, parents), tf.gather(embed, tokens)], 1)
        return i + 1, tf.tanh(tf.matmul(both, mix)), tf.reshape(best, [beams]), history

    start = np.full(beams, -1e9, np.float32)
    start[0] = 0
    found = tf.while_loop(
        lambda i, *_: i < steps,
        body,
        [tf.constant(0), states, tf.constant(start), tf.constant(np.zeros((beams, 50), np.int32))],
    )
    return found[3], found[2]


def cases() -> dict[str, tuple[Callable[..., Any], Arrays]]:
    """By name: the program, and what it is run with."""

    def sequence(batch: int, states: int) -> Arrays:
        return [_normal(STEPS, batch, UNITS), *(_normal(batch, UNITS) for _ in range(states))]

    return {
        "scalar while": (scalar_while, [np.array(TRIPS, np.int32)]),
        "LSTM batch 1": (lstm, sequence(1, 2)),
        "LSTM batch 32": (lstm, sequence(32, 2)),
        "GRU batch 1": (gru, sequence(1, 1)),
        "GRU batch 32": (gru, sequence(32, 1)),
        "nested while": (nested, [_normal(64), np.array(100, np.int32)]),
        "beam search": (beam_search, [_normal(8, 64), np.array(50, np.int32)]),
    }
