"""The native function that runs a whole Plan."""
