"""GraphDefs made of others: with fewer nodes, with constants in place of variables."""
