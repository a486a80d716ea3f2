"""Elementwise functions, reductions, products."""
