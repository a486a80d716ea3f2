"""The attrs of nodes as hashable keys.

In: nodes. Out: keys that are equal for equal attrs: large constants are compared by identity, small
ones by value, sizes by their symbols. A key is valid while the attrs live.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Expr
from flowc.ir.scalar_body import ScalarBody

SMALL = 4096  # bytes: constants up to this size are compared by value
_PLAIN = (str, int, bool, DType)  # each equal to those of its own type alone that are the same


def attrs_key(node: Node, leaving_out: Sequence[str] = ()) -> Any:
    """A key of a node's attrs, but for those that are left out."""
    return tuple(sorted((n, _key(v)) for n, v in node.attrs.items() if n not in leaving_out))


def _key(value: Any) -> Any:
    kind = cast("type[object]", type(value))
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, np.ndarray):
        array = cast(np.ndarray, value)
        if array.nbytes > SMALL or (array.dtype.hasobject and not _is_short_text(array)):
            return f"array at {id(array)}"
        content = array.tolist() if array.dtype.hasobject else array.tobytes()
        return f"{array.dtype} {array.shape} {content!r}"
    if isinstance(value, Computation):
        return f"body at {id(value)}"
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, cast(Sequence[Any], value)))
    if isinstance(value, Expr):
        return value  # which is told from others of equal text
    if isinstance(value, ScalarBody):
        return value.key
    return repr(value)


def _is_short_text(array: np.ndarray[Any, Any]) -> bool:
    """Whether objects are bytes and no more (`HostValue` is), and not many of them."""
    items = array.reshape(-1).tolist()
    return all(type(x) is bytes for x in items) and sum(map(len, items)) <= SMALL
