"""What depends on the CPU: register tiles, contractions, packing, the Numba front end."""
