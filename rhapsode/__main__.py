"""The entry of the `rhapsode` command, and of `python -m rhapsode`.

Little is imported before it can answer Ctrl-C, so that one before any command runs ends in silence too.
"""

from __future__ import annotations

import sys
from pathlib import Path

INTERRUPTED = 130


def leave_the_working_directory() -> None:
    """`python -m` puts the folder where it is started before all packages: a `storage` in it would stand for ours.

    It stays where it is what Rhapsode itself was loaded from.
    """
    home = Path(__file__).resolve().parent.parent
    if not sys.flags.safe_path and Path(sys.path[0]).resolve() != home:
        del sys.path[0]


def main() -> None:
    try:
        from rhapsode import system_packages

        system_packages.put_first()
        from rhapsode.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    leave_the_working_directory()
    main()
