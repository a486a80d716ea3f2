"""Where the time of our runs goes: `flowc bench --per-kernel`, summed by kinds of kernels.

In: the folder of a case, the number of threads, the cores, the environment of our engine. Out: the
shares of kinds, which add up to a run, and the share that the run would take if every kernel had
what this machine can do at best (its multiply-adds and its reads, both measured).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 0.5
LIMIT = 300.0
# Kinds, by the words that names of kernels hold; the first that fits. Every other kernel is a loop.
KINDS = {
    "depthwise": ("depthwise",),
    "convolutions": ("conv", "winograd"),
    "products": ("gemm", "gemv", "dot", "product", "attention"),
    "pools": ("pool",),
    "copies": ("copy", "gather", "concat", "pack", "transpose"),
}
OTHER = "loops"
BETWEEN = "between kernels"

Shares = dict[str, Any]


def measured_shares(
    folder: Path, threads: int, cores: Collection[int], environment: Mapping[str, str]
) -> Shares:
    """`reached`: the share of the machine's best; `kinds`: for each its share of a run and of the
    best; or `failed`: why there is none."""
    case = json.loads((folder / "case.json").read_text())
    with tempfile.TemporaryDirectory(prefix="flowc-peers-") as place:
        command = [sys.executable, "-m", "flowc", "bench", str(folder / "graph.pb"), "--json"]
        command += ["--per-kernel", "--threads", str(threads), "--seconds", str(SECONDS)]
        with np.load(folder / "case.npz", allow_pickle=True) as data:
            for i, name in enumerate(case["feeds"]):
                array = data[f"in_{i}"]
                np.save(Path(place) / f"{i}.npy", array)
                command += ["--feed", f"{name}={array.dtype}{list(array.shape)}"]
                command += ["--input", f"{name}={place}/{i}.npy"]
        command += [word for name in case["fetches"] for word in ("--fetch", name)]
        try:
            found = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                env={**os.environ, **environment},
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"no answer in {LIMIT:.0f} s"}
    if found.returncode:
        return {"failed": found.stderr.strip().splitlines()[-1][:200]}
    return summed(json.loads(found.stdout)["runs"][0]["per_kernel"])


def summed(run: Mapping[str, Any]) -> Shares:
    """The kernels of a run by kind. What has no figure of operations and bytes counts as reaching
    nothing, so that `reached` is never too high."""
    kinds: dict[str, dict[str, float]] = {}
    for kernel in run["kernels"]:
        kind = kinds.setdefault(_kind(kernel["kernel"]), {"share": 0.0, "best": 0.0})
        kind["share"] += kernel["share"]
        kind["best"] += kernel["share"] * min(kernel.get("roofline", 0.0), 1.0)
    outside = (run["before_ms"] + run["between_ms"] + run["after_ms"]) / run["run_ms"]
    kinds[BETWEEN] = {"share": outside, "best": 0.0}
    return {
        "run_ms": run["run_ms"],
        "peak_gflops": run["peak_gflops"],
        "peak_gb_per_s": run["peak_gb_per_s"],
        "reached": sum(k["best"] for k in kinds.values()),
        "kinds": kinds,
    }


def _kind(name: str) -> str:
    return next((k for k, words in KINDS.items() if any(w in name for w in words)), OTHER)
