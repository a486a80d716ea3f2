"""Programs that run in this process: sessions, executables, variables, host steps."""
