"""A graph and fetches become a Computation: types, control flow read back, state as values."""
