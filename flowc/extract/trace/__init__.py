"""Loops and branches traced until the types of what they carry reach a fixed point."""
