"""Writes the index of op records, by which flowc finds the module of a record before it imports it.

`python tests/support/pages/record_index.py` writes `flowc/ir/record_index.txt`, `--check` compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from flowc.ir import op as records
from flowc.ir.op import Op


def index_text() -> str:
    """The index as the records make it. For a process that has imported none of them yet: it sees
    where each is defined."""
    found: dict[str, list[Op]] = {}
    register = records._register

    def noted(op: Op) -> Op:
        module = next(m for m in _modules(sys._getframe()) if m.startswith(records.PACKAGE))
        found.setdefault(module, []).append(op)
        return register(op)

    records._register = noted
    # The index of before may name modules that are no more: records are in order without it.
    records.modules_by_name = records.modules_by_tf_name = dict[str, str]
    from flowc.ops import all_ops

    all_ops()
    prefix = len(records.PACKAGE) + 1
    return "".join(
        "\t".join([module[prefix:], *map(_names, ops)]) + "\n"
        for module, ops in sorted(found.items())
    )


def _names(op: Op) -> str:
    return " ".join((op.name, op.tf_name, *op.aliases))


def _modules(frame: FrameType | None) -> Iterator[str]:
    """The modules that are being executed, the innermost first."""
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            yield frame.f_globals["__name__"]
        frame = frame.f_back


def main() -> int:
    text = index_text()
    if "--check" in sys.argv[1:]:
        return int(records.INDEX.read_text() != text)
    records.INDEX.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
