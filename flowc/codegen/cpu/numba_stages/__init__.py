"""The stages of Numba that a kernel goes through: source, types, LLVM instructions."""
