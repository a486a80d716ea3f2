"""Loops, branches, calls, checks, and the ops of the Computation itself."""
