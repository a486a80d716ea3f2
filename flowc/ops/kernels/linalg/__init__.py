"""Native kernels of matrices: factorizations, eigenvalues, functions of matrices."""
