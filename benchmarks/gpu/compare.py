"""Times ops on the GPU of this machine by a Session, beside PyTorch where it is installed.

    python compare.py [--small] [names]

In: nothing. Out: a line a case: the largest difference from the CPU's result, relative to the
largest element; microseconds of a run, the best of some, by flowc, by PyTorch and by torch.compile.
Inputs and results stay on the GPU: nothing is brought while time is taken, and what the host does
for a run is in it. PyTorch is asked as often, and waits as often.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import flowc as tf
from flowc.run.device_buffers import DeviceArray

torch: Any = None
torch_nn: Any = None
if find_spec("torch") is not None:
    torch, torch_nn = import_module("torch"), import_module("torch.nn.functional")

Array = np.ndarray[Any, Any]
ROUNDS = 30


def _normal(*dims: int) -> Array:
    return np.random.default_rng(sum(dims)).standard_normal(dims, np.float32)


def _places(count: int, size: int) -> Array:
    return np.random.default_rng(count).integers(0, size, count).astype(np.int32)


def _norm(x: Any) -> Any:
    mean = tf.reduce_mean(x, -1, keepdims=True)
    square = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
    return (x - mean) * tf.rsqrt(square + 1e-6)


def _segments(at: Any, x: Any) -> Any:
    return tf.unsorted_segment_sum(x, at, 5000)


def _torch_segments(at: Any, x: Any) -> Any:
    return torch.zeros(5000, x.shape[1], device=x.device).index_add_(0, at.long(), x)


# Name -> inputs by a factor of size, what flowc computes, what PyTorch computes.
Case = tuple[Callable[[int], list[Array]], Callable[..., Any], Callable[..., Any]]
CASES: dict[str, Case] = {
    "tanh": (lambda n: [_normal(512 * n, 4096)], tf.tanh, lambda x: torch.tanh(x)),
    "softmax": (
        lambda n: [_normal(512 * n, 1024)], tf.nn.softmax, lambda x: torch.softmax(x, -1),
    ),
    "layer norm": (
        lambda n: [_normal(512 * n, 1024)], _norm,
        lambda x: torch_nn.layer_norm(x, x.shape[-1:], eps=1e-6),
    ),
    "sum of all": (
        lambda n: [_normal(512 * n, 4096)], tf.reduce_sum, lambda x: x.sum(),
    ),
    "arg_max of rows": (
        lambda n: [_normal(64 * n, 32_000)],
        lambda x: tf.argmax(x, 1, output_type=tf.int32), lambda x: x.argmax(1).int(),
    ),
    "cumsum of rows": (
        lambda n: [_normal(64 * n, 8192)], lambda x: tf.cumsum(x, 1), lambda x: x.cumsum(1),
    ),
    "cumsum of one row": (
        lambda n: [_normal(1 << 17)], lambda x: tf.cumsum(x, 0), lambda x: x.cumsum(0),
    ),
    "sum of segments": (
        lambda n: [_places(1024 * n, 5000), _normal(1024 * n, 256)],
        _segments, _torch_segments,
    ),
    "sum of scalars' segments": (
        lambda n: [_places(1024 * n, 5000), _normal(1024 * n, 1)],
        _segments, _torch_segments,
    ),
    "gather of rows": (
        lambda n: [_places(1024 * n, 5000), _normal(5000, 256)],
        lambda at, x: tf.gather(x, at), lambda at, x: x[at.long()],
    ),
    "top 8 of 1000": (
        lambda n: [_normal(512 * n, 1000)],
        lambda x: tf.nn.top_k(x, 8).values, lambda x: torch.topk(x, 8).values,
    ),
    "max pool 3x3/2": (
        lambda n: [_normal(4 * n, 112, 112, 64)],
        lambda x: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID"),
        lambda x: torch_nn.max_pool2d(x.permute(0, 3, 1, 2), 3, 2).permute(0, 2, 3, 1),
    ),
    "average of 7x7": (
        lambda n: [_normal(8 * n, 7, 7, 2048)],
        lambda x: tf.nn.avg_pool(x, [1, 7, 7, 1], [1, 1, 1, 1], "VALID"),
        lambda x: torch_nn.avg_pool2d(x.permute(0, 3, 1, 2), 7, 1).permute(0, 2, 3, 1),
    ),
    "bilinear 2x": (
        lambda n: [_normal(2 * n, 64, 64, 64)],
        lambda x: tf.image.resize_bilinear(x, [128, 128], half_pixel_centers=True),
        lambda x: torch_nn.interpolate(
            x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear"
        ).permute(0, 2, 3, 1),
    ),
    "product 2048": (
        lambda n: [_normal(256 * n, 2048), _normal(2048, 2048)], tf.matmul, lambda x, y: x @ y,
    ),
    "transpose": (
        lambda n: [_normal(512 * n, 4096)], tf.transpose, lambda x: x.t().contiguous(),
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help=f"of: {', '.join(CASES)}")
    parser.add_argument("--small", action="store_true", help="an eighth of the sizes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'case':<26}{'error':>10}{'flowc':>10}{'torch':>10}{'compiled':>10}   (microseconds)")
    for name in options.names or CASES:
        given, ours, theirs = CASES[name]
        arrays = given(1 if options.small else 8)
        error, best = time_session(arrays, ours)
        times = time_torch(arrays, theirs) if torch is not None else []
        shown = "".join(f"{1e6 * t:>10.1f}" for t in (best, *times))
        print(f"{name:<26}{error:>10.1e}{shown}", flush=True)


def time_session(arrays: list[Array], compute: Callable[..., Any]) -> tuple[float, float]:
    """The error of the result, and the seconds of a run."""
    with tf.Graph().as_default() as graph:
        given = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        result = compute(*given)
    with tf.Session(graph=graph) as session:
        wanted = session.run(result, dict(zip(given, arrays))).astype(np.float64)
    with tf.Session(graph=graph, device="cuda") as session:
        run = session.make_callable(result, given, on_device=True)
        there = [DeviceArray.of(a) for a in arrays]
        found = run(*there).numpy().astype(np.float64)
        best = fastest(partial(run, *there))
    scale = max(1e-30, float(np.abs(wanted).max()))
    return float(np.abs(found - wanted).max()) / scale, best


def time_torch(arrays: list[Array], compute: Callable[..., Any]) -> list[float]:
    """Seconds of a run, as it is and compiled."""
    given = [torch.from_numpy(a).cuda() for a in arrays]

    def timed(function: Callable[..., Any]) -> float:
        def run() -> None:
            function(*given)
            torch.cuda.synchronize()

        run()
        return fastest(run)

    found = [timed(compute)]
    try:
        found.append(timed(torch.compile(compute)))
    except Exception:  # where it finds no compiler
        found.append(float("nan"))
    return found


def fastest(run: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
