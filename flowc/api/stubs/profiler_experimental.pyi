# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Profile",
    "start",
    "stop",
]
from flowc.api.profiling.profiles import ProfileContext as Profile
from flowc.api.profiling.profiles import start as start
from flowc.api.profiling.profiles import stop as stop

