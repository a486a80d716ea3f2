"""Damages files of records and records what TensorFlow reads of them.

    V/bin/python tests/oracle/record_record_files.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/record_files.json`.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

OUT = Path(__file__).parents[1] / "recorded" / "record_files.json"
RECORDS = (b"hello", b"", b"x" * 100)


def damaged(data: bytes) -> list[tuple[str, bytes]]:
    cuts = [0, 1, 5, 11, 12, 14, 20, 21, 25, 33, 36, 37, 49, 60, len(data) - 9, len(data) - 1]
    flips = [0, 8, 12, 15, 17, 21, 29, 33, 37, 49, len(data) - 6]
    found = [(f"cut {n}", data[:n]) for n in cuts if n <= len(data)]
    for n in flips:
        if n < len(data):
            changed = bytearray(data)
            changed[n] ^= 255
            found.append((f"flip {n}", bytes(changed)))
    return [("whole", data), ("twice", data + data), *found]


def main() -> None:
    cases: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/file"
        for written in ("", "GZIP", "ZLIB"):
            with tf.io.TFRecordWriter(path, written) as writer:
                for record in RECORDS:
                    writer.write(record)
            for change, data in damaged(Path(path).read_bytes()):
                for asked in {written, "ZLIB"} if change == "whole" else {written}:
                    Path(folder, "changed").write_bytes(data)
                    lengths, error = [], None
                    try:
                        for record in tf.python_io.tf_record_iterator(folder + "/changed", asked):
                            lengths.append(len(record))
                    except tf.errors.OpError as raised:
                        error = [type(raised).__name__, raised.message]
                    cases.append(
                        {
                            "name": f"{written or 'plain'} {change} as {asked or 'plain'}",
                            "data": base64.b64encode(data).decode(),
                            "compression": asked,
                            "lengths": lengths,
                            "error": error,
                        }
                    )
    OUT.write_text(json.dumps(cases, indent=0) + "\n")


if __name__ == "__main__":
    main()
