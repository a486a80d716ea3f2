"""`flowc cache`: what the cache of compiled programs holds, and a way to empty it."""

from __future__ import annotations

import json
import sys

import click

from flowc.cli.parameters import debug_option, json_option

SCHEMA = 1


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove all entries; programs that run keep theirs.")
@json_option
@debug_option
def cache_command(clear: bool, as_json: bool) -> None:
    """Show where compiled programs are kept, how many, and how much they take.

    FLOWC_CACHE_DIR names the folder, FLOWC_CACHE_SIZE limits it, FLOWC_CACHE=0 switches it off.
    """
    from flowc.cache.disk import entries_of, size_limit
    from flowc.files.cache_folder import cache_folder

    folder = cache_folder()
    held = [] if folder is None else entries_of(folder)
    if clear:
        for _, _, path in held:
            path.unlink(missing_ok=True)
    found = {
        "schema": SCHEMA,
        "folder": None if folder is None else str(folder),
        "entries": len(held),
        "bytes": sum(size for _, size, _ in held),
        "limit": size_limit(),
        "cleared": clear,
    }
    if as_json:
        json.dump(found, sys.stdout, indent=2)
        print()
    elif folder is None:
        print("the cache is off")
    else:
        verb = "removed" if clear else "holds"
        limit = f", of {found['limit']:,} at most" if found["limit"] else ""
        print(f"{folder}: {verb} {len(held):,} entries, {found['bytes']:,} bytes{limit}")
