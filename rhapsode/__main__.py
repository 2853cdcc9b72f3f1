"""The entry of the `rhapsode` command, and of `python -m rhapsode`.

Little is imported before it can answer Ctrl-C, so that an early one ends in silence like a late one.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    try:
        from rhapsode.cli.main import main as command_line
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    command_line()


if __name__ == "__main__":
    main()
