"""Networks in plain TensorFlow ops: U-Net, recurrent ones, perceptrons, BERT-base, GPT-2 small.

In: TensorFlow. Out: `Case`s of the kind "networks". Sizes are those of the published models, the
vocabulary of BERT aside, whose rows are only looked up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from case import Case, image, normal, weight

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import loop_programs

WIDTH, HEADS, LAYERS = 768, 12, 12
GPT_WORDS, BERT_WORDS = 50257, 4096


def networks() -> Iterator[Case]:
    yield Case("unet-256", "networks", (image(256),), lambda: unet)
    for batch in (1, 32, 1024):
        yield Case(f"mlp-batch{batch}", "networks", (normal(batch, 784),), lambda: perceptron)
    for name, (build, arrays) in loop_programs.cases().items():
        if name.startswith(("LSTM", "GRU")):
            short = name.lower().replace(" batch ", "-batch")
            yield Case(short, "networks", tuple(arrays), partial(partial, build, tf))
    for length in (32, 128, 512):
        words = _words(length, BERT_WORDS)
        yield Case(f"bert-base-{length}", "networks", (words,), partial(_bert, length))
    yield Case("gpt2-prefill64", "networks", (_words(64, GPT_WORDS),), partial(_gpt, 64, 0))
    past = normal(LAYERS, 2, HEADS, 64, WIDTH // HEADS)
    one = _words(1, GPT_WORDS), past
    yield Case("gpt2-one-token", "networks", one, partial(_gpt, 1, 64))


def _words(length: int, most: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(length).integers(0, most, (1, length), np.int32)


def unet(x: Any, channels: int = 32, levels: int = 4) -> Any:
    def convolved(x: Any, out: int, seed: int, window: int = 3) -> Any:
        kernel = weight(window, window, x.shape[-1], out, seed=seed) * np.float32(np.sqrt(2))
        return tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "SAME"))

    skipped = []
    for level in range(levels):
        x = convolved(convolved(x, channels << level, 1), channels << level, 2)
        skipped.append(x)
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    x = convolved(convolved(x, channels << levels, 1), channels << levels, 2)
    for level in reversed(range(levels)):
        size = skipped[level].shape
        kernel = weight(2, 2, size[-1], x.shape[-1])
        x = tf.nn.conv2d_transpose(x, kernel, size, 2, "SAME")
        x = tf.concat([x, skipped[level]], 3)
        x = convolved(convolved(x, channels << level, 3), channels << level, 4)
    return tf.nn.conv2d(x, weight(1, 1, channels, 2), 1, "SAME")


def perceptron(x: Any) -> Any:
    for inputs, outputs in pairwise((784, 1024, 1024)):
        x = tf.nn.relu(tf.matmul(x, weight(inputs, outputs)) + weight(outputs))
    return tf.nn.softmax(tf.matmul(x, weight(1024, 10)))


class _Transformer:
    """The parts that both transformers have. Every weight has a seed of its own."""

    def __init__(self) -> None:
        self._seeds = count()

    def dense(self, x: Any, outputs: int) -> Any:
        kernel = weight(x.shape[-1], outputs, seed=next(self._seeds))
        return tf.matmul(x, kernel) + weight(outputs, seed=next(self._seeds))

    def norm(self, x: Any) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        scale = 1.0 + 0.1 * weight(WIDTH, seed=next(self._seeds))
        return (x - mean) * tf.math.rsqrt(variance + 1e-5) * scale

    def attend(self, x: Any, past: Any = None, mask: Any = None) -> Any:
        """`x`: length, width; `past`: keys and values of the heads; `mask`: what is added."""
        length = x.shape[0]
        found = tf.reshape(self.dense(x, 3 * WIDTH), [length, 3, HEADS, WIDTH // HEADS])
        q, k, v = tf.unstack(tf.transpose(found, [1, 2, 0, 3]))
        if past is not None:
            k, v = tf.concat([past[0], k], 1), tf.concat([past[1], v], 1)
        scores = tf.matmul(q, k, transpose_b=True) / np.float32(np.sqrt(WIDTH // HEADS))
        scores = scores if mask is None else scores + mask
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [1, 0, 2])
        return self.dense(tf.reshape(mixed, [length, WIDTH]), WIDTH)

    def feed_forward(self, x: Any, activation: Callable[[Any], Any]) -> Any:
        return self.dense(activation(self.dense(x, 4 * WIDTH)), WIDTH)


def _erf_gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + tf.math.erf(x / np.float32(np.sqrt(2))))


def _tanh_gelu(x: Any) -> Any:
    inner = np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + tf.tanh(inner))


def _bert(length: int) -> Callable[..., Any]:
    def bert(words: Any) -> Any:
        parts = _Transformer()
        table = tf.constant(normal(BERT_WORDS, WIDTH))
        x = parts.norm(tf.gather(table, words[0]) + normal(length, WIDTH))
        for _ in range(LAYERS):
            x = parts.norm(x + parts.attend(x))
            x = parts.norm(x + parts.feed_forward(x, _erf_gelu))
        return x

    return bert


def _gpt(length: int, before: int) -> Callable[..., Any]:
    """The logits of the word that follows. `before`: words that were read in earlier runs."""

    def gpt(words: Any, past: Any = None) -> Any:
        parts = _Transformer()
        table = tf.constant(normal(GPT_WORDS, WIDTH))
        x = tf.gather(table, words[0]) + normal(1024, WIDTH)[before : before + length]
        hidden = np.triu(np.full((length, length), -1e9, np.float32), 1)
        for layer in range(LAYERS):
            known = None if past is None else past[layer]
            x = x + parts.attend(parts.norm(x), known, hidden if length > 1 else None)
            x = x + parts.feed_forward(parts.norm(x), _tanh_gelu)
        return tf.matmul(parts.norm(x)[-1:], table, transpose_b=True)

    return gpt
