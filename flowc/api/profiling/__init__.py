"""What programs ask of their runs: profiles, tables, pictures, and `tf.profiler`."""
