"""The op records, families in folders, each imported when one of its records is looked for. A name
that flowc has no record of is looked for once in installed packages that announce ops: by an entry
point of the group `flowc.ops`, each a module that registers them."""

from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import sys
from functools import cache
from pathlib import Path

from flowc.ir import op as _records
from flowc.ir.op import Op, defined_ops

__all__ = ["all_ops", "load_announced", "op_named", "tf_names", "tf_op"]

GROUP = "flowc.ops"
log = logging.getLogger("flowc.ops")


def all_ops() -> tuple[Op, ...]:
    """Every record by its IR name, those of others too that are registered by now. Imports the
    modules of all."""
    for module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
        importlib.import_module(module)
    return tuple(sorted(defined_ops(), key=lambda op: op.name))


@cache
def load_announced() -> None:
    """Imports the modules of installed packages that register ops; one that fails is warned of."""
    if not any(map(_announces, sys.path)):
        return
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            whose = point.dist.name if point.dist is not None else "a package"
            log.warning("the ops of %s (%s) cannot be loaded: %r", whose, point.value, error)


def _announces(folder: str) -> bool:
    """Whether a folder of packages has one with ops. `importlib.metadata` finds out as well, and
    takes longer to import than a model takes to load."""
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return False
    found = (os.path.join(folder, n, "entry_points.txt") for n in names if n.endswith("-info"))
    return any(f"[{GROUP}]" in Path(p).read_text("utf-8") for p in found if os.path.exists(p))


def op_named(name: str) -> Op:
    """The record with this IR name. Raises `KeyError`."""
    try:
        return _records.op_named(name)
    except KeyError:
        load_announced()
        return _records.op_named(name)


def tf_op(tf_name: str) -> Op | None:
    """The record of a TensorFlow op type, or None where there is none."""
    found = _records.tf_op(tf_name)
    if found is None and not tf_name.startswith("_"):
        load_announced()
        found = _records.tf_op(tf_name)
    return found


def tf_names() -> tuple[str, ...]:
    """Every TensorFlow op type that has a record, aliases too, and what packages announce."""
    load_announced()
    return _records.tf_names()
