"""Passes: Computation -> Computation, one a file; pipeline.py is the ordered list.

`drop_idle_random_states` is none of them: it changes what a library keeps, and `compiler.py` calls
it.
"""
