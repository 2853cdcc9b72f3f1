"""The entry of the `rhapsode` command, and of `python -m rhapsode`.

Little is imported before it can answer Ctrl-C, so that one before any command runs ends in silence too.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    try:
        from rhapsode.cli.main import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
