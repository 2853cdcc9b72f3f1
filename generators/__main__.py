"""Writes every generated file anew: `python -m generators`. With `--check` it writes none and names those to renew."""

from __future__ import annotations

import sys

from generators.files import ROOT, formatted, stale, write
from generators.sync_client import orphans, sync_client


def main() -> None:
    files = formatted(sync_client())
    old = stale(files) + orphans(files)
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(("`make generated` renews what is not as its source says:", *map(str, old))) if old else 0)
    write(files)
    for path in orphans(files):
        (ROOT / path).unlink()
    print("\n".join(map(str, old)) or "nothing has changed")


if __name__ == "__main__":
    main()
