"""What passes ask about Computations: analyses, which change nothing."""
