# Made by `make stub` from the tables of exports: not to be edited.
from flowc.api.ragged.ragged_tensor import RaggedTensorValue as RaggedTensorValue

