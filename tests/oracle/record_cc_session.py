"""Builds `tests/cc/session_test.cc` as a program of TensorFlow's and records what it prints.

    V/bin/python tests/oracle/record_cc_session.py    # V has tensorflow-cpu 2.21.0; needs g++

Out: `tests/recorded/cc_session.txt`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

TESTS = Path(__file__).parents[1]


def main() -> None:
    spec = find_spec("tensorflow")
    assert spec is not None and spec.origin is not None, "TensorFlow is not installed"
    folder = Path(spec.origin).parent
    libraries = ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    links = ["-Wl,--no-as-needed", f"-L{folder}", *libraries, f"-Wl,-rpath,{folder}"]
    with tempfile.TemporaryDirectory() as scratch:
        program = f"{scratch}/session_test"
        source = [f"-I{folder}/include", str(TESTS / "cc" / "session_test.cc")]
        options = ["-std=c++17", "-w", "-DWITH_TENSORFLOW", "-DNDEBUG"]
        subprocess.run(["g++", *options, *source, *links, "-o", program], check=True)
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(
            [program, str(TESTS / "cc")], env=environment, stdout=subprocess.PIPE, check=True
        )
    (TESTS / "recorded" / "cc_session.txt").write_bytes(done.stdout)


if __name__ == "__main__":
    main()
