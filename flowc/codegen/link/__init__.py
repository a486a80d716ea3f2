"""Object code into libraries or into this process."""
