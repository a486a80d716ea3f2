"""The Computation: typed SSA with symbolic sizes, its op records, builder, verifier and text."""
