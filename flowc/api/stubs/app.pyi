# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "flags",
    "run",
]
from flowc.api.framework.app import flags as flags
from flowc.api.framework.app import run as run

