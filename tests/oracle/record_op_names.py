"""Records the names of the ops that TensorFlow registers, which an import may hold.

    V/bin/python tests/oracle/record_op_names.py        # V has tensorflow-cpu==2.21.0

Out: flowc/importer/tensorflow_ops.txt: those of which no name begins with `_`.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow import raw_ops

ROOT = Path(__file__).parents[2]


def main() -> None:
    names = sorted(name for name in dir(raw_ops) if not name.startswith("_"))
    text = textwrap.fill(" ".join(names), 100, break_long_words=False)
    (ROOT / "flowc/importer/tensorflow_ops.txt").write_text(text + "\n")
    print(f"{len(names)} ops")


if __name__ == "__main__":
    main()
