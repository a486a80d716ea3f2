"""The Plan: when each step runs and where each value lives."""
