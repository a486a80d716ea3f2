"""Passes: Computation -> Computation, one a file; pipeline.py is the ordered list.

`drop_idle_random_states` is not in the pipeline, since it changes the variables that a library
keeps: `compiler.py` calls it.
"""
