"""The other side of engine_worker.py: engines as processes that take turns.

In: which engine, how many threads, which cores. Out: answers. Invariant: an engine is stopped while
it is not asked anything, so that its workers, which may spin, do not run in another's turn.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
START, ANSWER = 300.0, 900.0  # seconds


class EngineFailed(Exception):
    """What an engine said when it could not do something."""


class EngineProcess:
    def __init__(
        self,
        engine: str,
        python: Path,
        threads: int,
        cores: Collection[int],
        environment: Mapping[str, str],
    ) -> None:
        self.name = engine
        start = time.perf_counter()
        self._process = subprocess.Popen(
            [str(python), str(HERE / "engine_worker.py"), engine, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        os.sched_setaffinity(self._process.pid, cores)
        self.version: str = self._answer(START)["version"]
        self.ready = time.perf_counter() - start  # seconds until it was imported
        self._process.send_signal(signal.SIGSTOP)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Raises `EngineFailed`."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            found = self._answer(ANSWER)
        except BrokenPipeError:
            raise EngineFailed("the process ended") from None
        finally:
            self._process.send_signal(signal.SIGSTOP)
        if "failed" in found:
            raise EngineFailed(found["failed"])
        return found

    def _answer(self, limit: float) -> dict[str, Any]:
        pipe = self._process.stdout
        assert pipe is not None
        if not select.select([pipe], [], [], limit)[0]:
            raise EngineFailed(f"no answer in {limit:.0f} s")
        line = pipe.readline()
        if not line:
            raise EngineFailed(f"the process ended with {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
