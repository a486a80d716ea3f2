"""An op in Python and in C: the first element stays, all others become 0.

python zero_out.py
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import flowc as tf


def register() -> Callable[..., tf.Tensor]:
    zero_out = tf.register_op("ZeroOut", "to_zero: int32", "zeroed: int32", lambda c: c.dims(0))

    @tf.register_kernel("ZeroOut")
    def kernel(to_zero: NDArray[np.int32]) -> NDArray[np.int32]:
        zeroed = np.zeros_like(to_zero)
        zeroed.reshape(-1)[:1] = to_zero.reshape(-1)[:1]
        return zeroed

    return zero_out


def main() -> NDArray[np.int32]:
    zero_out = register()
    with tf.Session() as session:
        return session.run(zero_out([1, 2, 3, 4, 5]))


if __name__ == "__main__":
    print(main())
