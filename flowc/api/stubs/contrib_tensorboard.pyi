# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "plugins",
]

from flowc.api.stubs import contrib_tensorboard_plugins as plugins
