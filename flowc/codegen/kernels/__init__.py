"""Kernels as data: loop nests over scalar expressions, without a word of any target."""
