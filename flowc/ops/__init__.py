"""The op records, families in folders. Importing this package defines them all: whoever looks for
records by name takes `op_named` or `tf_op` from here."""

from __future__ import annotations

import importlib
import pkgutil

from flowc.ir.op import all_ops, op_named, tf_names, tf_op

__all__ = ["all_ops", "op_named", "tf_names", "tf_op"]

for _module in sorted(m.name for m in pkgutil.walk_packages(__path__, f"{__name__}.")):
    importlib.import_module(_module)
