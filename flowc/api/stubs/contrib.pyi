# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "lookup",
    "tensorboard",
]

from flowc.api.stubs import contrib_lookup as lookup
from flowc.api.stubs import contrib_tensorboard as tensorboard
