"""llvmlite as the rest of codegen wants it: values with operators, functions for Numba."""
