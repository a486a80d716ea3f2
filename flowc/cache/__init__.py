"""Compiled programs and kernels in memory and on disk, and what finds them again."""
