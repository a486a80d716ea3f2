# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]
from flowc.api.arrays.blocks import batch_to_space_nd as batch_to_space_nd
from flowc.api.arrays.blocks import space_to_batch_nd as space_to_batch_nd
from flowc.api.arrays.selection import gather_nd as gather_nd
from flowc.api.arrays.selection import scatter_nd as scatter_nd
from flowc.api.arrays.shaping import reshape as reshape
from flowc.api.arrays.shaping import reverse as reverse
from flowc.api.arrays.shaping import roll as roll
from flowc.api.arrays.shaping import tile as tile

