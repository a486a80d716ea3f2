"""What depends on the CPU as a target: how loop nests become source for Numba, and loop choices."""
