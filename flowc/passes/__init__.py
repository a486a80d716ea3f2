"""Passes: Computation -> Computation, one a file; pipeline.py is the ordered list."""
