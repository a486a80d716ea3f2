"""Products of matrices: rows gathered, rows that vectors hold, pixels where they stand."""
