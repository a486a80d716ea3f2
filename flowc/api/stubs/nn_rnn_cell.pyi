# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.nn.cell_wrappers import DeviceWrapper as DeviceWrapper
from flowc.api.nn.cell_wrappers import DropoutWrapper as DropoutWrapper
from flowc.api.nn.cell_wrappers import LSTMCell as LSTMCell
from flowc.api.nn.cell_wrappers import ResidualWrapper as ResidualWrapper
from flowc.api.nn.rnn_cell import BasicLSTMCell as BasicLSTMCell
from flowc.api.nn.rnn_cell import BasicRNNCell as BasicRNNCell
from flowc.api.nn.rnn_cell import GRUCell as GRUCell
from flowc.api.nn.rnn_cell import MultiRNNCell as MultiRNNCell
from flowc.api.nn.rnn_cell import RNNCell as RNNCell

from flowc.api.nn.rnn_cell import LSTMStateTuple as LSTMStateTuple
