# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "stateless_shuffle",
]
from flowc.api.random.random_ops import stateless_shuffle as stateless_shuffle

