"""Loops, conditionals, TensorArrays."""
