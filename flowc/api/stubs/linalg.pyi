# Made by `make stub` from the tables of exports: not to be edited.
from flowc.api.arrays.blocks import diag as tensor_diag
from flowc.api.arrays.blocks import diag_part as tensor_diag_part
from flowc.api.arrays.blocks import matrix_band_part as band_part
from flowc.api.arrays.blocks import matrix_diag as diag
from flowc.api.arrays.blocks import matrix_diag_part as diag_part
from flowc.api.arrays.filling import eye as eye
from flowc.api.arrays.shaping import matrix_transpose as matrix_transpose
from flowc.api.arrays.shaping import matrix_transpose as transpose
from flowc.api.math.linear_algebra import adjoint as adjoint
from flowc.api.math.linear_algebra import cross as cross
from flowc.api.math.linear_algebra import normalize as normalize
from flowc.api.math.linear_algebra import set_diag as set_diag
from flowc.api.math.linear_algebra import trace as trace
from flowc.api.math.linear_algebra import tridiagonal_matmul as tridiagonal_matmul
from flowc.api.math.norms import norm as norm
from flowc.api.math.reductions import einsum as einsum
from flowc.api.math.reductions import matmul as matmul
from flowc.api.math.reductions import matvec as matvec
from flowc.api.math.reductions import tensordot as tensordot
from flowc.api.nn.normalization import l2_normalize as l2_normalize
from flowc.api.training.clipping import global_norm as global_norm

