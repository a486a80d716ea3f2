"""A process that is interrupted while it compiles: a line with the seconds of the processor's time
until each interrupt came out, and one with what is left when all are over.

In: a seed and how many interrupts.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

import numpy as np

import flowc as tf


def model(number: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Some kernels that no model before had."""
    x = y = tf.placeholder(tf.float32, [None, 8])
    for i in range(6):
        y = tf.nn.softmax(tf.matmul(tf.tanh(y) * float(number + i), tf.ones([8, 8]))) + y
    return x, y


def interrupted(number: int, delay: float) -> float:
    """Seconds of the processor's time from the signal to the exception; 0 where the compilation was
    over before."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    with tf.Graph().as_default(), tf.Session(threads=2) as session:
        x, y = model(10 * number)
        timer = threading.Timer(delay, send)
        timer.start()
        taken = 0.0
        try:
            session.run(y, {x: np.ones((3, 8))})
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            taken = time.process_time() - sent[0]
        found = session.run(y, {x: np.ones((3, 8))})
        assert found.shape == (3, 8)
        return taken


def main(seed: int, count: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs tests may ignore it
    rng = random.Random(seed)
    found = []
    for i in range(count):
        # The first compilation imports the compiler, and takes longest.
        try:
            found.append(interrupted(i, rng.uniform(0, 0.6 if i else 0.4)))
        except KeyboardInterrupt:
            found.append(0.0)  # it came when the compilation was over
    print(json.dumps(found))
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        thread.join(60)  # one that is in the middle of something
    left = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    print(json.dumps([left, sorted(os.listdir(tempfile.gettempdir()))]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
