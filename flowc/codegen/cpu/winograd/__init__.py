"""Winograd convolutions: transforms, kernel source, and which convolutions they are used for."""
