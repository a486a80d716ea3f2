"""Small models with a step of training, written for TensorFlow 1's graphs.

In: nothing; each function adds to the default graph. Out: `Training`: what to feed, the loss, and
the operation that changes the variables. Invariant: variables start from constants, so that the
graph's own initialiser decides where a training starts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


@dataclass
class Training:
    """`feeds`: placeholders with one array a step."""

    loss: Any
    step: Any
    feeds: dict[Any, list[np.ndarray]] = field(default_factory=dict)


class Maker:
    """Numbers for starts and for feeds, the same ones at every call."""

    def __init__(self, seed: int, steps: int) -> None:
        self.random = np.random.RandomState(seed)
        self.steps = steps
        self.feeds: dict[Any, list[np.ndarray]] = {}

    def variable(self, name: str, *shape: int, scale: float = 0.5, trainable: bool = True) -> Any:
        start = (self.random.uniform(-1, 1, shape) * scale).astype(np.float32)
        return v1.get_variable(name, initializer=tf.constant(start), trainable=trainable)

    def filled(self, name: str, value: float, *shape: int, trainable: bool = True) -> Any:
        start = tf.constant(np.full(shape, value, np.float32))
        return v1.get_variable(name, initializer=start, trainable=trainable)

    def reals(self, name: str, given: list[int | None], *sizes: int) -> Any:
        """A placeholder of the static shape `given`, fed with arrays of `sizes`."""
        place = v1.placeholder(tf.float32, given, name)
        self.feeds[place] = [
            self.random.uniform(-1, 1, sizes).astype(np.float32) for _ in range(self.steps)
        ]
        return place

    def ints(self, name: str, given: list[int | None], below: int, *sizes: int) -> Any:
        place = v1.placeholder(tf.int32, given, name)
        self.feeds[place] = [
            self.random.randint(0, below, sizes).astype(np.int32) for _ in range(self.steps)
        ]
        return place


def mlp(make: Maker) -> Training:
    """Two dense layers, softmax cross entropy over labels and over classes, Nesterov momentum."""
    x = make.reals("x", [None, 6], 5, 6)
    labels = make.ints("labels", [None], 4, 5)
    hidden = tf.nn.relu(tf.matmul(x, make.variable("w1", 6, 8)) + make.filled("b1", 0.1, 8))
    hidden = tf.nn.bias_add(tf.matmul(hidden, make.variable("w2", 8, 4)), make.filled("b2", 0, 4))
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden)
    dense = tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot(labels, 4), logits=hidden)
    loss = tf.reduce_mean(sparse) + 0.1 * tf.reduce_mean(dense)
    step = v1.train.MomentumOptimizer(0.2, 0.9, use_nesterov=True).minimize(loss)
    return Training(loss, step, make.feeds)


def cnn(make: Maker) -> Training:
    """Convolutions, batch norm in training with moving averages, pooling, L2 loss, Adam."""
    x = make.reals("x", [None, 8, 8, 2], 3, 8, 8, 2)
    wanted = make.reals("wanted", [None, 3], 3, 3)
    y = tf.nn.conv2d(x, make.variable("filter1", 3, 3, 2, 4), [1, 1, 1, 1], "SAME")
    y, mean, variance = v1.nn.fused_batch_norm(
        y, make.filled("gamma", 1, 4), make.filled("beta", 0, 4), epsilon=1e-3, is_training=True
    )
    averages = [
        v1.assign(old, old * 0.9 + new * 0.1)
        for old, new in (
            (make.filled("moving_mean", 0, 4, trainable=False), mean),
            (make.filled("moving_variance", 1, 4, trainable=False), variance),
        )
    ]
    y = tf.nn.max_pool2d(tf.nn.relu6(y), 2, 2, "VALID")
    y = tf.nn.depthwise_conv2d(y, make.variable("depthwise", 3, 3, 4, 1), [1, 1, 1, 1], "SAME")
    y = tf.nn.conv2d(tf.nn.elu(y), make.variable("filter2", 1, 1, 4, 6), [1, 2, 2, 1], "VALID")
    y = tf.nn.avg_pool2d(tf.nn.leaky_relu(y, 0.2), 2, 1, "SAME")
    y = tf.reduce_mean(y, [1, 2])
    top = make.variable("top", 6, 3)
    loss = tf.nn.l2_loss(tf.matmul(y, top) - wanted) + 0.01 * tf.nn.l2_loss(top)
    with tf.control_dependencies(averages):
        step = v1.train.AdamOptimizer(0.05).minimize(loss)
    return Training(loss, step, make.feeds)


def lstm(make: Maker) -> Training:
    """An embedding and an LSTM as a loop over TensorArrays that stops where sequences end;
    gradients clipped by their global norm, RMSProp."""
    size, words = 4, 7
    tokens = make.ints("tokens", [None, None], words, 3, 5)
    lengths = make.ints("lengths", [None], 6, 3)
    labels = make.ints("labels", [None], words, 3)
    embedded = tf.nn.embedding_lookup(make.variable("table", words, size), tokens)
    kernel, bias = make.variable("kernel", 2 * size, 4 * size), make.filled("bias", 0, 4 * size)
    time, batch = tf.shape(tokens)[1], tf.shape(tokens)[0]
    given = tf.TensorArray(tf.float32, time).unstack(tf.transpose(embedded, [1, 0, 2]))
    zeros = tf.zeros([batch, size])

    def body(t: Any, c: Any, h: Any, made: Any) -> Any:
        gates = tf.matmul(tf.concat([given.read(t), h], 1), kernel) + bias
        i, j, f, o = tf.split(gates, 4, 1)
        new_c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        new_h = tf.tanh(new_c) * tf.sigmoid(o)
        alive = tf.expand_dims(t < lengths, 1)
        c, h = tf.where(alive, new_c, c), tf.where(alive, new_h, h)
        return t + 1, c, h, made.write(t, h)

    start = [tf.constant(0), zeros, zeros, tf.TensorArray(tf.float32, time)]
    _, _, last, made = tf.while_loop(lambda t, *_: t < time, body, start)
    states = tf.reduce_mean(made.stack(), 0)
    logits = tf.matmul(last + states, make.variable("softmax", size, words))
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    optimizer = v1.train.RMSPropOptimizer(0.05, momentum=0.5)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    clipped, _ = tf.clip_by_global_norm(gradients, 0.5)
    step = optimizer.apply_gradients(zip(clipped, variables))
    return Training(loss, step, make.feeds)


def attention(make: Maker) -> Training:
    """A block of self-attention with two heads, layer norms, gelu; Adam."""
    size = 6
    x = make.reals("x", [None, None, size], 2, 4, size)
    wanted = make.reals("wanted", [None, None, size], 2, 4, size)

    def normed(y: Any, name: str) -> Any:
        mean, variance = tf.nn.moments(y, [-1], keepdims=True)
        scale, shift = make.filled(f"{name}_scale", 1, size), make.filled(f"{name}_shift", 0, size)
        return tf.nn.batch_normalization(y, mean, variance, shift, scale, 1e-5)

    def heads(y: Any) -> Any:
        shape = tf.shape(y)
        return tf.transpose(tf.reshape(y, [shape[0], shape[1], 2, size // 2]), [0, 2, 1, 3])

    y = normed(x, "first")
    query, key, value = (
        heads(tf.einsum("btc,cd->btd", y, make.variable(name, size, size)))
        for name in ("query", "key", "value")
    )
    scores = tf.matmul(query, key, transpose_b=True) / np.sqrt(size // 2)
    mask = tf.linalg.band_part(tf.ones_like(scores[0, 0]), -1, 0)
    scores = tf.nn.softmax(scores - 1e9 * (1.0 - mask))
    mixed = tf.reshape(tf.transpose(tf.matmul(scores, value), [0, 2, 1, 3]), tf.shape(x))
    x1 = x + tf.einsum("btc,cd->btd", mixed, make.variable("out", size, size))
    y = tf.nn.gelu(tf.tensordot(normed(x1, "second"), make.variable("up", size, 8), 1))
    y = x1 + tf.tensordot(y, make.variable("down", 8, size), 1)
    loss = tf.reduce_mean(tf.math.squared_difference(y, wanted))
    step = v1.train.AdamOptimizer(0.02).minimize(loss)
    return Training(loss, step, make.feeds)


def pieces(make: Maker) -> Training:
    """Slices with strides, paddings, pieces joined and split, products, cumulated sums; SGD."""
    x = make.reals("x", [None, 6], 4, 6)
    w = make.variable("w", 6, 5)
    v = make.variable("v", 4, 3)
    y = tf.matmul(x, w)
    parts = tf.concat([y[:, ::2], y[:, 3:0:-1], tf.tile(y[:, 4:], [1, 2])], 1)
    left, right = tf.split(parts, 2, 1)
    padded = tf.pad(left, [[0, 0], [1, 0]], mode="REFLECT") + tf.pad(right, [[0, 0], [0, 1]])
    stacked = tf.stack(tf.unstack(v, axis=1)[::-1], axis=0)
    sums = tf.cumsum(padded, axis=1, exclusive=True, reverse=True)
    last = tf.slice(w, [1, 0], [2, -1]) * w[-1, tf.newaxis, :]
    products = tf.reduce_prod(v, axis=0) + tf.reduce_max(v, 0) - tf.reduce_min(tf.abs(v), 0)
    turned = tf.reverse(tf.transpose(stacked), [0]) * tf.math.cumprod(v, axis=1)
    top, _ = tf.math.top_k(sums, 2)
    rows = tf.gather_nd(v, [[0, 1], [3, 2], [0, 1]])
    squeezed = tf.squeeze(tf.expand_dims(rows, 0), [0])
    chosen = tf.where(sums > 0.2, tf.sqrt(tf.abs(sums) + 0.1), tf.exp(-tf.square(sums)) ** 2.0)
    loss = tf.reduce_sum(chosen) * 0.1 + tf.reduce_sum(top) * 0.1 + tf.reduce_sum(tf.tanh(products))
    loss += (
        0.1 * tf.reduce_sum(tf.tanh(turned))
        + tf.reduce_sum(tf.sin(last))
        + tf.reduce_logsumexp(squeezed)
    )
    loss += tf.reduce_sum(tf.math.log1p(tf.maximum(y, 0.1)) / (1.0 + tf.square(tf.minimum(y, 1.0))))
    step = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    return Training(loss, step, make.feeds)


def embedding(make: Maker) -> Training:
    """Gradients that are IndexedSlices, of one table looked up twice and of segments; Adagrad and
    SGD."""
    tokens = make.ints("tokens", [None, 3], 6, 4, 3)
    others = make.ints("others", [None], 6, 4)
    table, second = make.variable("table", 6, 4), make.variable("second", 6, 4)
    bag = tf.reduce_sum(tf.nn.embedding_lookup(table, tokens), 1)
    one = tf.gather(table, others)
    bag += tf.math.unsorted_segment_sum(tf.gather(second, others), tf.constant([0, 1, 1, 3]), 4)
    bag += tf.math.segment_mean(tf.gather(second, tokens[:, 0]), tf.constant([0, 1, 2, 3]))
    bag += tf.gather(second, others % 4, axis=1)[:4, :4] * 0.5
    score = tf.reduce_sum(bag * one, 1)
    loss = tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.cast(others > 2, tf.float32), logits=score
        )
    )
    step = tf.group(
        v1.train.AdagradOptimizer(0.3).minimize(loss, var_list=[table]),
        v1.train.GradientDescentOptimizer(0.3).minimize(loss, var_list=[second]),
    )
    return Training(loss, step, make.feeds)


def averaged(make: Maker) -> Training:
    """Clipped gradients, a rate that decays by the number of the step, moving averages of the
    variables, a branch inside the loss."""
    x = make.reals("x", [None, 3], 4, 3)
    w, b = make.variable("w", 3, 3), make.filled("b", 0.5, 3)
    number = v1.train.get_or_create_global_step()
    y = tf.tanh(tf.matmul(x, w) + b)
    bent = tf.cond(
        tf.reduce_sum(y) > 0,
        lambda: tf.reduce_sum(tf.square(y)),
        lambda: tf.reduce_sum(tf.nn.softplus(tf.matmul(y, w))),
    )
    loss = bent + 0.1 * tf.norm(w)
    rate = v1.train.exponential_decay(0.2, number, 2, 0.7, staircase=True)
    optimizer = v1.train.GradientDescentOptimizer(rate)
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
    applied = optimizer.apply_gradients(zip(gradients, variables), global_step=number)
    average = tf.train.ExponentialMovingAverage(0.8, number)
    with tf.control_dependencies([applied]):
        step = average.apply([w, b])
    return Training(loss, step, make.feeds)


def images(make: Maker) -> Training:
    """Resizing, transposed convolutions, local response normalisation, space and depth; FTRL."""
    x = make.reals("x", [None, 6, 6, 2], 2, 6, 6, 2)
    wanted = make.reals("wanted", [None, 6, 6, 2], 2, 6, 6, 2)
    down = tf.nn.conv2d(x, make.variable("down", 3, 3, 2, 4), [1, 2, 2, 1], "SAME")
    down = tf.nn.local_response_normalization(down, 2, 1.0, 0.3, 0.6)
    small = v1.image.resize_bilinear(down, [2, 2]) + v1.image.resize_bicubic(down, [2, 2])
    wide = v1.image.resize_nearest_neighbor(small, [6, 6])
    shape = tf.stack([tf.shape(x)[0], 6, 6, 4])
    up = tf.nn.conv2d_transpose(down, make.variable("up", 3, 3, 4, 4), shape, [1, 2, 2, 1])
    up = tf.nn.space_to_depth(tf.nn.selu(up + wide), 2)
    up = tf.nn.depth_to_space(tf.nn.softsign(up), 2)
    y = tf.nn.conv2d(up, make.variable("last", 1, 1, 4, 2), [1, 1, 1, 1], "SAME")
    loss = tf.reduce_mean(tf.abs(y - wanted)) + tf.reduce_mean(tf.math.log_sigmoid(y))
    step = v1.train.FtrlOptimizer(0.1).minimize(loss)
    return Training(loss, step, make.feeds)


def loops(make: Maker) -> Training:
    """A loop inside a loop whose length is fed, with a branch inside; the gradient runs backwards
    through both; Adadelta."""
    x = make.reals("x", [2, 3], 2, 3)
    times = make.ints("times", [], 5)
    w = make.variable("w", 3, 3)

    def inner(i: Any, y: Any) -> Any:
        return i + 1, tf.sin(tf.matmul(y, w)) + x

    def outer(i: Any, y: Any) -> Any:
        _, z = tf.while_loop(lambda j, _: j < i, inner, [tf.constant(0), y])
        z = tf.cond(tf.reduce_sum(z) > 0, lambda: z * 0.5, lambda: tf.tanh(z) + y)
        return i + 1, z

    _, y = tf.while_loop(lambda i, _: i < times, outer, [tf.constant(0), x])
    loss = tf.reduce_sum(tf.square(tf.matmul(y, w)))
    step = v1.train.AdadeltaOptimizer(0.5).minimize(loss)
    return Training(loss, step, make.feeds)


MODELS: dict[str, Callable[[Maker], Training]] = {
    f.__name__: f for f in (mlp, cnn, lstm, attention, pieces, embedding, averaged, images, loops)
}
