"""What loops find out about the lists that they carry."""
