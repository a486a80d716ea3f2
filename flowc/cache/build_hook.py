"""What an installation from source builds: the library of the kernels that most models have, for
the processor of this machine. hatchling runs it for `pip install` and `pip wheel`.

Without it every process compiles these kernels when it first needs them, so an installation where
they cannot be made, as on another kind of processor, is whole. `HATCH_BUILD_NO_HOOKS=true` leaves
it out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NEEDED = ("numba", "llvmlite", "numpy", "ml-dtypes", "google-crc32c")  # to compile kernels
_FOLDER = "flowc/cache/libraries"
_MAKE = """
import sys
from pathlib import Path
from flowc.cache.library_making import make_common
print(make_common(Path(sys.argv[1])) or "")
"""


class LibraryHook(BuildHookInterface[Any]):
    """Adds the library to the wheel, and makes it in a checkout that is installed in place."""

    def dependencies(self) -> list[str]:
        return [d for d in self.metadata.core.dependencies if d.startswith(_NEEDED)]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        in_place = version == "editable"
        self._made = None if in_place else tempfile.TemporaryDirectory()
        folder = Path(self.root, _FOLDER) if self._made is None else Path(self._made.name)
        folders = [self.root, f"{self.root}/runtime", os.environ.get("PYTHONPATH")]
        done = subprocess.run(
            [sys.executable, "-B", "-c", _MAKE, str(folder)],
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(filter(None, folders)), "FLOWC_CACHE": "0"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
            self.app.display_warning(f"no library of kernels was made: {reason}")
        elif done.stdout.strip() and not in_place:
            path = Path(done.stdout.strip())
            for made in path.parent.iterdir():
                build_data["force_include"][str(made)] = f"{_FOLDER}/{made.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._made is not None:
            self._made.cleanup()
