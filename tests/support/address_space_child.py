"""Loads a program where only small holes are near: a child of test_address_space.py.

Argument: the pages of a hole far above all other room. Prints the sum of what the program gives.
"""

from __future__ import annotations

import ctypes
import mmap
import sys

import numpy as np

import flowc as tf

FAR = 3 << 30  # more than code reaches
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)

_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def reserve(size: int) -> int:
    return _libc.mmap(None, size, 0, FLAGS, -1, 0)


def leave_one_hole(pages: int) -> None:
    """Takes all room above the lowest 3 GiB below, but for one hole."""
    base = reserve(FAR)
    for size in (1 << 24, 1 << 20, 1 << 16, mmap.PAGESIZE):
        while (address := reserve(size)) > base:
            pass
        _libc.munmap(address, size)
    _libc.munmap(base + FAR - (8 << 20), pages * mmap.PAGESIZE)


def program() -> float:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 64])
        y = tf.nn.softmax(tf.matmul(x, tf.constant(np.ones((64, 64), np.float32))))
        return float(session.run(y, {x: np.ones((3, 64), np.float32)}).sum())


if __name__ == "__main__":
    program()  # what a process maps once is there
    leave_one_hole(int(sys.argv[1]))
    print(program())
