"""What `prune` takes from loops, branches and their bodies."""
