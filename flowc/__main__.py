"""`python -m flowc` is the command `flowc`."""

from __future__ import annotations

from flowc.cli import main

if __name__ == "__main__":
    main()
