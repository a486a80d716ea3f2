"""Writes the names of TensorFlow's ops, by which custom ops are told apart.

Out: flowc/importer/tensorflow_ops.txt, without internal ops, which no model holds.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

FILE = Path(__file__).parents[2] / "flowc" / "importer" / "tensorflow_ops.txt"

if __name__ == "__main__":
    found = op_def_pb2.OpList()
    found.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    names = sorted(op.name for op in found.op if not op.name.startswith("_"))
    FILE.write_text(textwrap.fill(" ".join(names), 99, break_on_hyphens=False) + "\n")
    print(f"{len(names)} names")
