"""Variables and the steps of optimizers."""
