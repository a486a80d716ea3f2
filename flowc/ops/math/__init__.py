"""Elementwise arithmetic, comparisons, logic, casts, special functions, transforms."""
