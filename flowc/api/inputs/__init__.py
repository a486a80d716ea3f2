"""Data in: queues, readers, the threads that run them, batches."""
