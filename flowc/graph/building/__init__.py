"""How operations are made: from Python values, by op records, inside scopes and contexts."""
