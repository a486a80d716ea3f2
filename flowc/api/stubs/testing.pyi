# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "check_op",
]
from flowc.extending.checking import check_op as check_op

