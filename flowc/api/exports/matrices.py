"""Which module holds which public name of linear algebra.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_SOLVERS = """matrix_solve_ls self_adjoint_eig self_adjoint_eigvals svd cholesky_solve
matrix_triangular_solve"""

TOP: Mapping[str, str] = {
    "flowc.api.framework.plain_ops": "cross matrix_square_root qr",
    "flowc.api.linear_operators.functions": """cholesky matrix_determinant
        matrix_diag_part=diag_part matrix_inverse matrix_solve trace""",
    "flowc.api.math.linear_algebra": "matrix_set_diag=set_diag",
    "flowc.api.math.matrix_equations": _SOLVERS,
}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "linalg": {
        "flowc.api.framework.plain_ops": """cross logm lu qr slogdet sqrtm=matrix_square_root""",
        "flowc.api.linear_operators.functions": """adjoint cholesky det=matrix_determinant diag_part
            inv=matrix_inverse logdet matmul solve=matrix_solve trace""",
        "flowc.api.linear_operators.block_triangle": "LinearOperatorBlockLowerTriangular",
        "flowc.api.linear_operators.blocks": "LinearOperatorBlockDiag",
        "flowc.api.linear_operators.circulant": """LinearOperatorCirculant
            LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorToeplitz""",
        "flowc.api.linear_operators.composition": "LinearOperatorComposition",
        "flowc.api.linear_operators.dense": """LinearOperatorFullMatrix
            LinearOperatorLowerTriangular""",
        "flowc.api.linear_operators.diagonal": "LinearOperatorDiag",
        "flowc.api.linear_operators.householder": """LinearOperatorHouseholder
            LinearOperatorPermutation""",
        "flowc.api.linear_operators.identity": """LinearOperatorIdentity
            LinearOperatorScaledIdentity LinearOperatorZeros""",
        "flowc.api.linear_operators.kronecker": "LinearOperatorKronecker",
        "flowc.api.linear_operators.linear_operator": "LinearOperator",
        "flowc.api.linear_operators.low_rank": "LinearOperatorLowRankUpdate",
        "flowc.api.linear_operators.nested": "LinearOperatorAdjoint LinearOperatorInversion",
        "flowc.api.linear_operators.tridiagonal": "LinearOperatorTridiag",
        "flowc.api.math.linear_algebra": "normalize set_diag",
        "flowc.api.math.matrix_equations": """cholesky_solve eigh=self_adjoint_eig
            eigvalsh=self_adjoint_eigvals lstsq=matrix_solve_ls lu_matrix_inverse lu_reconstruct
            lu_solve matrix_rank pinv svd triangular_solve=matrix_triangular_solve
            tridiagonal_matmul tridiagonal_solve""",
        "flowc.api.math.matrix_exponential": "expm",
        "flowc.api.training.clipping": "global_norm",
    },
}
