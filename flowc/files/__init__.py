"""What every layer asks of the disk: plain files to read, whole files or none to write, identities
of files, the cache folder."""
