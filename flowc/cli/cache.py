"""`flowc cache`: what the cache of compiled programs holds, and ways to empty and to fill it."""

from __future__ import annotations

import json
import sys

import click

from flowc.cli.parameters import debug_option, json_option

SCHEMA = 1


@click.command("cache")
@click.option("--clear", is_flag=True, help="Remove all entries; programs that run keep theirs.")
@click.option("--fill", is_flag=True, help="Compile the kernels that many models have in common.")
@json_option
@debug_option
def cache_command(clear: bool, fill: bool, as_json: bool) -> None:
    """Show where compiled programs are kept, how many, and how much they take.

    FLOWC_CACHE_DIR names the folder, FLOWC_CACHE_SIZE limits it, FLOWC_CACHE=0 switches it off.
    """
    from flowc.cache.disk import entries_of, size_limit
    from flowc.files.cache_folder import cache_folder

    folder = cache_folder()
    removed = [] if folder is None or not clear else entries_of(folder)
    for _, _, path in removed:
        path.unlink(missing_ok=True)
    if fill and folder is not None:
        from flowc.cache.library_making import fill_cache

        fill_cache()
    held = removed if clear and not fill else [] if folder is None else entries_of(folder)
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
        verb = "removed" if clear and not fill else "holds"
        limit = f", of {found['limit']:,} at most" if found["limit"] else ""
        print(f"{folder}: {verb} {len(held):,} entries, {found['bytes']:,} bytes{limit}")
