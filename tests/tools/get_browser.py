"""Gets a Chromium for the tests of the page, unless there is one: Playwright's own, else Debian's.

    python tests/tools/get_browser.py

Ends with 1 and says what to do if neither is to be had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tools.chromium import HOW_TO_GET, find_browser

PATIENCE_S = 600


def main() -> int:
    if _here() is not None:
        return 0
    for command in _ways():
        print("+", " ".join(command), flush=True)  # noqa: T201
        # Where there is no network both say so at length; what to do is one line.
        tried = subprocess.run(command, check=False, timeout=PATIENCE_S, capture_output=True)
        if tried.returncode == 0 and _here() is not None:
            return 0
    print(HOW_TO_GET, file=sys.stderr)  # noqa: T201
    return 1


def _here() -> Path | None:
    with sync_playwright() as playwright:
        return find_browser(playwright)


def _ways() -> list[list[str]]:
    ways = [[sys.executable, "-m", "playwright", "install", "chromium-headless-shell"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        ways.append(
            ["sh", "-c", "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell"]
        )
    return ways


if __name__ == "__main__":
    sys.exit(main())
