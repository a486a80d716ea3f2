"""Clusters become kernels: Python source, LLVM IR, machine code, and the driver that calls them."""
