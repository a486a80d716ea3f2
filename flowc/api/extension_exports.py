"""Public names of ops that are not flowc's own: `exports.py` says how to read it."""

from __future__ import annotations

TOP = {
    "flowc.extending.registration": "register_kernel register_op",
    "flowc.extending.resources": "register_resource",
}
NAMESPACES: dict[str, dict[str, str]] = {
    "testing": {"flowc.extending.checking": "check_op"},
}
