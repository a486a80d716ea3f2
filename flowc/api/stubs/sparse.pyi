# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "SparseConditionalAccumulator",
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
from flowc.api.framework.composites import SparseTensor as SparseTensor
from flowc.api.framework.composites import sparse_placeholder as placeholder
from flowc.api.inputs.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from flowc.api.stubs.math import sparse_segment_mean as segment_mean
from flowc.api.stubs.math import sparse_segment_sqrt_n as segment_sqrt_n
from flowc.api.stubs.math import sparse_segment_sum as segment_sum
from flowc.api.sparse.crosses import cross as cross
from flowc.api.sparse.crosses import cross_hashed as cross_hashed
from flowc.api.sparse.crosses import sparse_bincount as bincount
from flowc.api.sparse.sparse_changes import sparse_add as add
from flowc.api.sparse.sparse_changes import sparse_concat as concat
from flowc.api.sparse.sparse_changes import sparse_expand_dims as expand_dims
from flowc.api.sparse.sparse_changes import sparse_fill_empty_rows as fill_empty_rows
from flowc.api.sparse.sparse_changes import sparse_maximum as maximum
from flowc.api.sparse.sparse_changes import sparse_merge as merge
from flowc.api.sparse.sparse_changes import sparse_minimum as minimum
from flowc.api.sparse.sparse_changes import sparse_reorder as reorder
from flowc.api.sparse.sparse_changes import sparse_reset_shape as reset_shape
from flowc.api.sparse.sparse_changes import sparse_reshape as reshape
from flowc.api.sparse.sparse_changes import sparse_slice as slice
from flowc.api.sparse.sparse_changes import sparse_split as split
from flowc.api.sparse.sparse_changes import sparse_to_indicator as to_indicator
from flowc.api.sparse.sparse_changes import sparse_transpose as transpose
from flowc.api.sparse.sparse_ops import from_dense as from_dense
from flowc.api.sparse.sparse_ops import sparse_eye as eye
from flowc.api.sparse.sparse_ops import sparse_reduce_max as reduce_max
from flowc.api.sparse.sparse_ops import sparse_reduce_max_sparse as reduce_max_sparse
from flowc.api.sparse.sparse_ops import sparse_reduce_sum as reduce_sum
from flowc.api.sparse.sparse_ops import sparse_reduce_sum_sparse as reduce_sum_sparse
from flowc.api.sparse.sparse_ops import sparse_retain as retain
from flowc.api.sparse.sparse_ops import sparse_softmax as softmax
from flowc.api.sparse.sparse_ops import sparse_tensor_dense_matmul as matmul
from flowc.api.sparse.sparse_ops import sparse_tensor_dense_matmul as sparse_dense_matmul
from flowc.api.sparse.sparse_ops import sparse_tensor_to_dense as to_dense
from flowc.api.variables.variable_ops import sparse_mask as mask

