"""Python that is made of the contract, and is not in git: each install makes it, and so does `make generated`.

It needs pydantic alone: an install has nothing else yet.
"""

from __future__ import annotations

from generators.command_line_options import command_line_options
from generators.files import Files, put_in_place, stale
from generators.request_options import request_options


def made_at_install() -> Files:
    return {**request_options(), **command_line_options()}


def write_made_files() -> None:
    """Writes what has changed."""
    files = made_at_install()
    for path in stale(files):
        put_in_place(path, files[path])


if __name__ == "__main__":
    write_made_files()
