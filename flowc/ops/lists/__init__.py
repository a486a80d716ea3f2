"""TensorLists, TensorArrays and stacks."""
