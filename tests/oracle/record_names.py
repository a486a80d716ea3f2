#!/usr/bin/env python3
"""Writes down which public names TensorFlow has.

    V/bin/python tests/oracle/record_names.py    # V has tensorflow-cpu and tf-keras, 2.21.0

Out: `flowc/api/tensorflow_names.txt`: one namespace of `tensorflow.compat.v1` to a paragraph, its
path (`tf` for the topmost) before a colon, then its names.
"""

from __future__ import annotations

import os
import textwrap
import types
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf

OUT = Path(__file__).resolve().parents[2] / "flowc" / "api" / "tensorflow_names.txt"
# What programs of TensorFlow 1 use and TensorFlow 2 does not have.
OLDER = """
    VariableV1 audio_summary contrib estimator histogram_summary image_summary merge_all_summaries
    merge_summary scalar_summary
"""
# Of other projects, or other names of the same thing.
NOT_OURS = ("compat", "core", "keras", "lite", "mock", "python", "raw_ops", "tf_decorator", "flags")


def names_of(space: Any, path: str, found: dict[str, list[str]]) -> None:
    found[path] = names = [n for n in dir(space) if not n.startswith("_")]
    for name in names:
        inner = getattr(space, name, None)
        if isinstance(inner, types.ModuleType) and name not in NOT_OURS and path.count(".") < 3:
            names_of(inner, f"{path}.{name}", found)


def main() -> None:
    found: dict[str, list[str]] = {}
    names_of(tf, "tf", found)
    found["tf"] = sorted({*found["tf"], *OLDER.split()})
    paragraphs = [
        textwrap.fill(f"{path}: {' '.join(names)}", 100, subsequent_indent="  ")
        for path, names in found.items()
    ]
    OUT.write_text("\n".join(paragraphs) + "\n")


if __name__ == "__main__":
    main()
