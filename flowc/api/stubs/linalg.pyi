# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.arrays.blocks import diag as tensor_diag
from flowc.api.arrays.blocks import diag_part as tensor_diag_part
from flowc.api.arrays.blocks import matrix_band_part as band_part
from flowc.api.arrays.blocks import matrix_diag as diag
from flowc.api.arrays.filling import eye as eye
from flowc.api.arrays.shaping import matrix_transpose as matrix_transpose
from flowc.api.arrays.shaping import matrix_transpose as transpose
from flowc.api.linear_operators.block_triangle import LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular
from flowc.api.linear_operators.blocks import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from flowc.api.linear_operators.circulant import LinearOperatorCirculant as LinearOperatorCirculant
from flowc.api.linear_operators.circulant import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from flowc.api.linear_operators.circulant import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from flowc.api.linear_operators.circulant import LinearOperatorToeplitz as LinearOperatorToeplitz
from flowc.api.linear_operators.composition import LinearOperatorComposition as LinearOperatorComposition
from flowc.api.linear_operators.dense import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from flowc.api.linear_operators.dense import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from flowc.api.linear_operators.diagonal import LinearOperatorDiag as LinearOperatorDiag
from flowc.api.linear_operators.functions import adjoint as adjoint
from flowc.api.linear_operators.functions import cholesky as cholesky
from flowc.api.linear_operators.functions import diag_part as diag_part
from flowc.api.linear_operators.functions import logdet as logdet
from flowc.api.linear_operators.functions import matmul as matmul
from flowc.api.linear_operators.functions import matrix_determinant as det
from flowc.api.linear_operators.functions import matrix_inverse as inv
from flowc.api.linear_operators.functions import matrix_solve as solve
from flowc.api.linear_operators.functions import trace as trace
from flowc.api.linear_operators.householder import LinearOperatorHouseholder as LinearOperatorHouseholder
from flowc.api.linear_operators.householder import LinearOperatorPermutation as LinearOperatorPermutation
from flowc.api.linear_operators.identity import LinearOperatorIdentity as LinearOperatorIdentity
from flowc.api.linear_operators.identity import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from flowc.api.linear_operators.identity import LinearOperatorZeros as LinearOperatorZeros
from flowc.api.linear_operators.kronecker import LinearOperatorKronecker as LinearOperatorKronecker
from flowc.api.linear_operators.linear_operator import LinearOperator as LinearOperator
from flowc.api.linear_operators.low_rank import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from flowc.api.linear_operators.nested import LinearOperatorAdjoint as LinearOperatorAdjoint
from flowc.api.linear_operators.nested import LinearOperatorInversion as LinearOperatorInversion
from flowc.api.linear_operators.tridiagonal import LinearOperatorTridiag as LinearOperatorTridiag
from flowc.api.math.linear_algebra import normalize as normalize
from flowc.api.math.linear_algebra import set_diag as set_diag
from flowc.api.math.matrix_equations import cholesky_solve as cholesky_solve
from flowc.api.math.matrix_equations import lu_matrix_inverse as lu_matrix_inverse
from flowc.api.math.matrix_equations import lu_reconstruct as lu_reconstruct
from flowc.api.math.matrix_equations import lu_solve as lu_solve
from flowc.api.math.matrix_equations import matrix_rank as matrix_rank
from flowc.api.math.matrix_equations import matrix_solve_ls as lstsq
from flowc.api.math.matrix_equations import matrix_triangular_solve as triangular_solve
from flowc.api.math.matrix_equations import pinv as pinv
from flowc.api.math.matrix_equations import self_adjoint_eig as eigh
from flowc.api.math.matrix_equations import self_adjoint_eigvals as eigvalsh
from flowc.api.math.matrix_equations import svd as svd
from flowc.api.math.matrix_equations import tridiagonal_matmul as tridiagonal_matmul
from flowc.api.math.matrix_equations import tridiagonal_solve as tridiagonal_solve
from flowc.api.math.matrix_exponential import expm as expm
from flowc.api.math.norms import norm as norm
from flowc.api.math.reductions import einsum as einsum
from flowc.api.math.reductions import matvec as matvec
from flowc.api.math.tensordot import tensordot as tensordot
from flowc.api.nn.normalization import l2_normalize as l2_normalize
from flowc.api.training.clipping import global_norm as global_norm

def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `Cross`:
    
        Cross(a: T, b: T; T: REAL) -> product: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def logm(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `MatrixLogarithm`:
    
        MatrixLogarithm(input: T; T: COMPLEX) -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def lu(input: Any, output_idx_type: Any = ..., name: str | None = None) -> Any:
    """TensorFlow's op `Lu`:
    
        Lu(input: T; T: {f64, f32, f16, c64, c128}, output_idx_type: INDEX = i32) -> (lu: T, p: output_idx_type)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """TensorFlow's op `MatrixSquareRoot`:
    
        MatrixSquareRoot(input: T; T: {f64, f32, f16, c64, c128}) -> output: T
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def qr(input: Any, full_matrices: Any = False, name: str | None = None) -> Any:
    """TensorFlow's op `Qr`:
    
        Qr(input: T; full_matrices: bool = False, T: {f64, f32, f16, c64, c128}) -> (q: T, r: T)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
def slogdet(input: Any, name: str | None = None) -> Any:
    """TensorFlow's op `LogMatrixDeterminant`:
    
        LogMatrixDeterminant(input: T; T: {f16, f32, f64, c64, c128}) -> (sign: T, log_abs_determinant: T)
    
    Raises `TypeError` for other dtypes and arguments, `ValueError` for shapes that do not fit and attrs out of their range; a run raises `InvalidArgumentError` for what only it knows."""
