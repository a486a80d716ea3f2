"""Native kernels of what files and messages hold as bytes."""
