"""Queues, readers, staging areas, locks and the like: what the runs of a Session share."""
