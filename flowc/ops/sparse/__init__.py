"""Sparse tensors and sums of chosen rows."""
