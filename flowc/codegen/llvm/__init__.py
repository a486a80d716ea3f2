"""LLVM: building IR, and compiling it to objects."""
