# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]
from flowc.api.sparse.sets import set_difference as difference
from flowc.api.sparse.sets import set_difference as set_difference
from flowc.api.sparse.sets import set_intersection as intersection
from flowc.api.sparse.sets import set_intersection as set_intersection
from flowc.api.sparse.sets import set_size as set_size
from flowc.api.sparse.sets import set_size as size
from flowc.api.sparse.sets import set_union as set_union
from flowc.api.sparse.sets import set_union as union

