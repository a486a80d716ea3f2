"""The C ABI of a compiled model, and its header."""
