# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Timeline",
]
from flowc.api.framework.timeline import Timeline as Timeline

