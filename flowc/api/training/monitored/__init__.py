"""Sessions that initialise, restore, run hooks round every step, and stop."""
