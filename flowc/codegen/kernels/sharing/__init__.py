"""Kernels that several launches share: for any sizes, divisors and literals, which each gives."""
