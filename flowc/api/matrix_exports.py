"""Which module holds which public name of linear algebra.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports.py` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_SOLVERS = """matrix_solve_ls self_adjoint_eig self_adjoint_eigvals svd cholesky_solve
matrix_triangular_solve"""

TOP: Mapping[str, str] = {
    "flowc.api.framework.plain_ops": """cholesky cross matrix_determinant matrix_inverse
        matrix_solve matrix_square_root qr""",
    "flowc.api.math.linear_algebra": "matrix_set_diag=set_diag trace",
    "flowc.api.math.matrix_equations": _SOLVERS,
}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "linalg": {
        "flowc.api.framework.plain_ops": """cholesky cross det=matrix_determinant
            inv=matrix_inverse logm lu qr slogdet solve=matrix_solve sqrtm=matrix_square_root""",
        "flowc.api.math.linear_algebra": "adjoint normalize set_diag trace",
        "flowc.api.math.matrix_equations": """cholesky_solve eigh=self_adjoint_eig
            eigvalsh=self_adjoint_eigvals logdet lstsq=matrix_solve_ls lu_matrix_inverse
            lu_reconstruct lu_solve matrix_rank pinv svd triangular_solve=matrix_triangular_solve
            tridiagonal_matmul tridiagonal_solve""",
        "flowc.api.math.matrix_exponential": "expm",
        "flowc.api.training.clipping": "global_norm",
    },
}
