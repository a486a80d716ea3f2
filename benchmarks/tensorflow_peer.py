"""TensorFlow as a peer: a process of another environment that runs what it is told, over a pipe.

`FLOWC_ORACLE_PYTHON` names its Python (default: `.venv-oracle/bin/python`, which `make oracle`
makes). The process waits between runs, so that rounds can alternate on one core.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def oracle_python() -> Path | None:
    """The Python that has TensorFlow, if there is one."""
    named = os.environ.get("FLOWC_ORACLE_PYTHON")
    path = Path(named) if named else ROOT / ".venv-oracle" / "bin" / "python"
    return path if path.exists() else None


class TensorFlowPeer:
    """A worker process with one thread, on the core of its parent."""

    def __init__(self, python: Path) -> None:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
        environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        environment.pop("PYTHONPATH", None)
        self._process = subprocess.Popen(
            [str(python), str(ROOT / "benchmarks" / "tensorflow_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.version: str = self._ask({"do": "hello"})["version"]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the TensorFlow process ended at {request}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"TensorFlow: {answer['error']}")
        return answer

    def timer(self, case: str, mode: str) -> Callable[[], float]:
        """Times one run of a case of tensorflow_worker.py: `mode` is `xla` or `executor`."""
        self._ask({"do": "prepare", "case": case, "mode": mode})
        return lambda: self._ask({"do": "run", "case": case, "mode": mode})["seconds"]

    def model_timer(self, folder: Path) -> Callable[[], float]:
        """Times one run of a model folder by TensorFlow's executor."""
        self._ask({"do": "prepare", "case": str(folder), "mode": "model"})
        return lambda: self._ask({"do": "run", "case": str(folder), "mode": "model"})["seconds"]

    def step_timer(self, program: str) -> Callable[[], float]:
        """Times a step of a training program by TensorFlow's executor."""
        return lambda: self._ask({"do": "train", "case": program})["seconds"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def tensorflow_peer() -> TensorFlowPeer | None:
    """The peer, or None with a line that says how to get one."""
    python = oracle_python()
    if python is None:
        print("no TensorFlow to compare with: run `make oracle`, or set FLOWC_ORACLE_PYTHON")
        return None
    return TensorFlowPeer(python)
