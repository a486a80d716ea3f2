"""Queues, readers, barriers, staging areas and accumulators: what the runs of a Session share."""
