"""An activation of one's own, with its gradient: trained in a network, compiled to a library.

    python activation.py FOLDER

It is an `Elementwise` lowering, so that the compiler fuses it with what stands around it.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import flowc as tf
from flowc.extending import Elementwise, same_dims


def register() -> Callable[..., tf.Tensor]:
    def gradient(b: Any, node: Any, dy: Any) -> tuple[Any]:
        (x,) = node.inputs
        gate = b.sigmoid(x)
        slope = b.mul(gate, b.add(b.mul(x, b.sub(1.0, gate)), 1.0))
        return (b.mul(dy, slope),)

    def body(k: Any, x: Any) -> Any:
        return k.div(x, k.add(k.exp(k.neg(x)), 1))

    @tf.register_op(
        "Gated(x: T; T: {float, double}) -> y: T",
        shape_fn=same_dims,
        lowering=Elementwise(body),
        gradient=gradient,
    )
    def gated(x: NDArray[Any]) -> NDArray[Any]:
        return x / (1 + np.exp(-x))

    return gated


def main(folder: str) -> tuple[float, float]:
    gated = register()
    tf.testing.check_op("Gated", np.linspace(-3, 3, 7).astype(np.float32), gradient=True)

    tf.reset_default_graph()
    tf.set_random_seed(1)
    points = np.linspace(-1, 1, 32, dtype=np.float32).reshape(-1, 1)
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    hidden = gated(tf.layers.dense(x, 16))
    y = tf.identity(tf.layers.dense(hidden, 1), name="y")
    loss = tf.losses.mean_squared_error(points**2, y)
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, {x: points})
        for _ in range(60):
            session.run(step, {x: points})
        last, found = session.run([loss, y], {x: points})
        tf.train.Saver().save(session, f"{folder}/gated")
    model = tf.compile(f"{folder}/gated.meta", ["x=f32[n,1]"], ["y"], out=f"{folder}/gated.so")
    assert np.allclose(model(points), found, atol=1e-5)
    return float(first), float(last)


if __name__ == "__main__":
    first, last = main(sys.argv[1])
    print(f"loss {first:.4f} -> {last:.4f}")
