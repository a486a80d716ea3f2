"""Ops that move elements: shapes, slices, gathers, scatters, joins, padding."""
