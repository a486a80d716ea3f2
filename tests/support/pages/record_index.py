"""Writes the index of op records, by which flowc finds the module of a record before it imports it.

`python tests/support/pages/record_index.py` writes `flowc/ir/record_index.txt`, `--check` compares,
as `make tag` does: what is installed reads no more than it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from flowc.ir import op as records
from flowc.ir.op import INDEX, PACKAGE, Op, checksums


def index_text() -> str:
    """The index as the records make it. For a process that has imported none of them yet: it sees
    where each is defined."""
    found: dict[str, list[Op]] = {}
    register = records._register

    def noted(op: Op) -> Op:
        module = next(m for m in _modules(sys._getframe()) if m.startswith(PACKAGE))
        found.setdefault(module, []).append(op)
        return register(op)

    records._register = noted
    # Records are in order where none is looked for by the index of before.
    records.modules_by_name = records.modules_by_tf_name = dict[str, str]
    records._import_changed = lambda: None
    from flowc.ops import all_ops

    all_ops()
    lines: list[str] = []
    for module, checksum in checksums().items():
        name = module.removeprefix(PACKAGE).removeprefix(".") or "."
        lines.append("\t".join([f"{name} {checksum}", *map(_names, found.get(module, ()))]))
    return "\n".join(lines) + "\n"


def _names(op: Op) -> str:
    return " ".join((op.name, op.tf_name, *op.aliases))


def _modules(frame: FrameType | None) -> Iterator[str]:
    """The modules that are being executed, the innermost first."""
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            yield frame.f_globals["__name__"]
        frame = frame.f_back


def main() -> int:
    text, index = index_text(), Path(INDEX)
    if "--check" in sys.argv[1:]:
        return int(index.read_text() != text)
    index.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
