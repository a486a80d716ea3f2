"""Training: optimizers, schedules of learning rates, clipping, averages, sessions with hooks."""
