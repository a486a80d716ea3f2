"""Shapes, slices, fills, gathers."""
