"""The text of Computations: printed for people and reproducers, parsed back."""
