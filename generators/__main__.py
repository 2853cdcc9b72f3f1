"""Writes every generated file anew: `python -m generators`. With `--check` it writes none and names those to renew."""

from __future__ import annotations

import sys

from generators.everything import everything
from generators.files import put_in_place, stale
from generators.record_tables import record_tables
from generators.result_page import result_page
from generators.speed_table import speed_table


def main() -> None:
    speeds = speed_table()
    files = {**everything(), **speeds, **record_tables(speeds), **result_page()}
    old = [str(path) for path in stale(files)]
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(("`make generated` renews what is not as its source says:", *old)) if old else 0)
    for path in stale(files):
        put_in_place(path, files[path])
    print("\n".join(old) or "nothing has changed")


if __name__ == "__main__":
    main()
