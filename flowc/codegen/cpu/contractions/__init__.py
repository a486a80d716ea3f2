"""Products and convolutions as launches: cluster.py is where a cluster comes in."""
