"""What reproduces a fault of flowc, written down where it happened.

In: an `InternalError`, the model, what was asked of it. Out: a folder with `report.txt` (versions,
request, traceback, what was compiled) and the model, named by the error. Invariant: a report that
cannot be written hides no fault.
"""

from __future__ import annotations

import logging
import platform
import shutil
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from flowc.errors import InternalError
from flowc.files.cache_folder import cache_folder, toolchain

log = logging.getLogger("flowc.files.fault_report")

KEPT = 16  # reports in the cache's folder: the oldest go first


def write_report(error: InternalError, request: str, model: Callable[[], bytes]) -> None:
    """Writes the report of an error, once. `model` gives the bytes of a GraphDef."""
    if error.report is not None:
        return
    try:
        folder = _new_folder()
        lines = [f"{toolchain()}, Python {platform.python_version()}, {platform.platform()}"]
        lines += [request, "".join(traceback.format_exception(error)), error.detail]
        (folder / "report.txt").write_text("\n\n".join(lines))
        error.report = str(folder)
        (folder / "model.pb").write_bytes(model())
    except Exception as fault:
        log.warning("cannot write the report of a fault: %s", fault)


def _new_folder() -> Path:
    """A folder of the cache, or of the system's temporary files where there is no cache."""
    cache = cache_folder()
    if cache is None:
        return Path(tempfile.mkdtemp(prefix="flowc-fault-"))
    faults = cache / "faults"
    faults.mkdir(exist_ok=True, mode=0o700)
    found = sorted(faults.iterdir(), key=lambda p: p.stat().st_mtime)
    for old in found[: 1 - KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="fault-", dir=faults))
