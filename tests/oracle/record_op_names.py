"""Writes the names of TensorFlow's ops, by which custom ops are told apart, and what their OpDefs
say beyond signatures.

Out: flowc/encoding/tensorflow_ops.txt, without internal ops, which no model holds.
"""

from __future__ import annotations

from pathlib import Path

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework.dtypes import as_dtype

from flowc.encoding.tensorflow_ops import FLAGS

FILE = Path(__file__).parents[2] / "flowc" / "encoding" / "tensorflow_ops.txt"


def line_of(op: op_def_pb2.OpDef, lists: dict[str, str]) -> str:
    """What one op's OpDef says; lists of dtypes that are new get numbers in `lists`."""
    words = [op.name, *(flag for flag in FLAGS if getattr(op, flag))]
    words += [f"{a.name}>=0" for a in op.attr if a.has_minimum and a.minimum == 0]
    for attr in op.attr:
        names = [as_dtype(dtype).name for dtype in attr.allowed_values.list.type]
        if names:
            words.append(f"{attr.name}={lists.setdefault(' '.join(names), str(len(lists)))}")
    if op.deprecation.version:
        words.append(f"deprecated:{op.deprecation.version}:{op.deprecation.explanation}")
    return " ".join(words)


if __name__ == "__main__":
    found = op_def_pb2.OpList()
    found.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    ops = sorted((op for op in found.op if not op.name.startswith("_")), key=lambda op: op.name)
    numbers: dict[str, str] = {}
    lines = [line_of(op, numbers) for op in ops]
    lists = [f"{number} {names}" for names, number in numbers.items()]
    FILE.write_text("\n".join([*lists, *lines]) + "\n")
    print(f"{len(ops)} names")
