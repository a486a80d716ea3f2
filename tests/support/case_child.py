"""Runs cases in child processes, many in one child, so that a signal or a hang ends one case only.

In: the name of a module with a dict `CASES`, and names in it. Out: for each name what its function
returned, or `error CLASS: text` for an error that flowc raises on purpose, `untyped CLASS: text`
for another, `ended by SIGNAL`, or `hang`. A new child runs the cases behind one that ended its
child. Memory is limited, so that no case can ask for that of the machine.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

MOST_MEMORY = 6 << 30
TO_BEGIN = 60  # seconds for what a child imports


def outcomes(
    module: str, names: Sequence[str], *, seconds: float = 40, memory: int = MOST_MEMORY
) -> dict[str, str]:
    """`seconds`: what one case may take before it counts as a hang."""
    found: dict[str, str] = {}
    left = list(names)
    while left:
        found |= _one_child(module, left, seconds, memory)
        left = [n for n in left if n not in found]
    return found


def _one_child(module: str, names: list[str], seconds: float, memory: int) -> dict[str, str]:
    """What a child tells, with what ended it for the case that it was at."""
    command = [sys.executable, __file__, module, str(memory), *names]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found: dict[str, str] = {}
    begun = names[0]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as child,
    ):
        assert child.stdout is not None
        limit = max(seconds, TO_BEGIN)
        while line := _line_within(child.stdout.fileno(), limit):
            row, limit = json.loads(line), seconds
            begun = row["case"]
            if "outcome" in row:
                found[begun] = row["outcome"]
        if line is None:
            child.kill()
        code = child.wait()
        errors.seek(0)
        said = errors.read()[-500:].decode("utf-8", "replace")
    if begun not in found:
        ended = signal.Signals(-code).name if code < 0 else f"exit {code}: {said}"
        found[begun] = "hang" if line is None else f"ended by {ended}"
    return found


def _line_within(descriptor: int, seconds: float) -> bytes | None:
    """The next line; empty at the end, None where there is none in time."""
    line, end = b"", time.monotonic() + seconds
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return None
        byte = os.read(descriptor, 1)
        if not byte:
            return b""
        line += byte
    return line


def _outcome_of(case: object) -> str:
    from flowc.errors import FlowcError, InternalError
    from flowc_runtime import ModelError

    try:
        return str(case())  # type: ignore[operator]
    except InternalError as error:
        return f"untyped {type(error).__name__}: {str(error)[:300]}"
    except (FlowcError, ModelError) as error:
        return f"error {type(error).__name__}: {str(error)[:300]}"
    except Exception as error:
        return f"untyped {type(error).__name__}: {str(error)[:300]}"


def _main(module: str, memory: str, *names: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    cases = importlib.import_module(module).CASES
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    for name in names:
        print(json.dumps({"case": name}), flush=True)
        print(json.dumps({"case": name, "outcome": _outcome_of(cases[name])}), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
