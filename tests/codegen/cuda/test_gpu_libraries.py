"""Arrays exchanged with other libraries for GPUs, on a GPU (`make gpu-test`).

Each in a process of its own, in which the GPU's driver is as it is. Kernels of the other library
are still at work on the array when it is fed, on a stream of its own too, which is current then;
and what it gets lives as long as it holds it. Without `FLOWC_GPU=1` nothing is asked of a machine.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from devices.fake_cuda import IS_ON_GPU
from devices.processes import run_python

PROGRAM = """
import contextlib
import numpy as np
import flowc as tf
{library}
weights = np.random.default_rng(0).standard_normal((64, 50)).astype(np.float32)
x = tf.placeholder(tf.float32, [None, 64])
n = tf.placeholder(tf.int32, [None])
y = tf.nn.softmax(tf.matmul(x, weights))
total = tf.get_variable("total", initializer=np.zeros(50, np.float32))
fetches = {{"y": y, "total": total.assign_add(tf.reduce_sum(y, 0)), "n": n * 2}}
with tf.Session(device="cuda") as session:
    session.run(tf.global_variables_initializer())
    run = session.make_callable(fetches, [x, n], on_device=True)
    wanted_total, kept = np.zeros(50), []
    for number, rows in enumerate([40, 40, 40, 40, 900, 900, 900, 40, 40]):
        with stream(number):
            given, host = made(rows, number)
            found = run(given, integers(number))
        del given
        e = np.exp(host.astype(np.float64) @ weights)
        wanted = e / e.sum(1, keepdims=True)
        wanted_total += wanted.sum(0)
        kept.append((of(found["y"]), wanted))
        np.testing.assert_allclose(here(of(found["total"])), wanted_total, 2e-4)
        assert here(of(found["n"])).tolist() == [2 * number, 14]
        del found
    for array, wanted in kept:  # long after their runs
        np.testing.assert_allclose(here(array), wanted, 2e-4, 1e-7)
    doubled = run(of(run(kept[0][0] @ wide(), integers(1))["y"]) @ wide(), integers(1))
    assert here(of(doubled["y"])).shape == (40, 50)
    {more}
print("right")
"""

TORCH = """
import torch
side = torch.cuda.Stream()
slow = torch.randn(4096, 4096, device="cuda") / 64
def made(rows, number):
    host = np.random.default_rng(number).standard_normal((rows, 64)).astype(np.float32)
    there, wait = torch.from_numpy(host).cuda(), slow
    for _ in range(20):
        wait = wait @ slow
    return there + 0 * wait[0, 0], host
stream = lambda k: torch.cuda.stream(side if k % 2 else torch.cuda.current_stream())
integers = lambda k: torch.tensor([k, 7], dtype=torch.int32, device="cuda")
of = torch.from_dlpack
here = lambda x: x.cpu().numpy()
wide = lambda: torch.ones(50, 64, device="cuda")
"""
MORE_OF_TORCH = """
    by_interface = torch.as_tensor(run(made(40, 3)[0], integers(1))["y"], device="cuda")
    assert torch.allclose(by_interface.sum(1), torch.ones(40, device="cuda"))
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool):
        z = tf.placeholder(str(dtype).removeprefix("torch."), [None])
        given = torch.arange(600, device="cuda").to(dtype)
        there = session.make_callable(tf.reverse(z, [0]), [z], on_device=True)
        assert torch.equal(of(there(given)), given.flip(0)), dtype
    try:
        run(torch.ones(64, 40, device="cuda").T, integers(1))
        raise SystemExit("fed what is transposed")
    except TypeError as error:
        assert "side by side" in str(error)
    run(torch.ones(64, 40, device="cuda").T.contiguous(), integers(1))
"""

CUPY = """
import cupy
side = cupy.cuda.Stream(non_blocking=True)
slow = cupy.random.standard_normal((2048, 2048), dtype=cupy.float32) / 45
def made(rows, number):
    host = np.random.default_rng(number).standard_normal((rows, 64)).astype(np.float32)
    there, wait = cupy.asarray(host), slow
    for _ in range(20):
        wait = wait @ slow
    array = there + 0 * wait[0, 0]
    class ByInterface:
        __cuda_array_interface__ = array.__cuda_array_interface__
        owner = array
    return ByInterface() if number > 3 else array, host
stream = lambda k: side if k % 2 else cupy.cuda.Stream.null
integers = lambda k: cupy.asarray([k, 7], dtype=cupy.int32)
of = lambda x: cupy.asarray(x) if hasattr(x, "__cuda_array_interface__") else cupy.from_dlpack(x)
here = cupy.asnumpy
wide = lambda: cupy.ones((50, 64), cupy.float32)
"""

JAX = """
import os
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
import jax, jax.numpy as jnp
slow = jax.random.normal(jax.random.key(0), (2048, 2048)) / 45
@jax.jit
def later(x):
    wait = slow
    for _ in range(20):
        wait = wait @ slow
    return x + 0 * wait[0, 0]
def made(rows, number):
    host = np.random.default_rng(number).standard_normal((rows, 64)).astype(np.float32)
    return later(jax.device_put(host)), host
stream = lambda k: contextlib.nullcontext()
integers = lambda k: jnp.asarray([k, 7], dtype=jnp.int32)
of = jax.dlpack.from_dlpack
here = np.asarray
wide = lambda: jnp.ones((50, 64), jnp.float32)
"""

LIBRARIES = {"torch": (TORCH, MORE_OF_TORCH), "cupy": (CUPY, ""), "jax": (JAX, "")}


@pytest.mark.parametrize("name", LIBRARIES if IS_ON_GPU else [])
def test_arrays_of_another_library(name: str, tmp_path: Path) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    library, more = LIBRARIES[name]
    done = run_python(PROGRAM.format(library=library, more=more.strip()), tmp_path)
    assert done.stdout.endswith("right\n"), done.stderr
