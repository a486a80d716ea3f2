"""Clusters as kernels: loop nests, scalar expressions, what they cost."""
