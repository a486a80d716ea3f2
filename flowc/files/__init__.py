"""What every layer asks of the disk: whole files or none, identities of files, the cache folder."""
