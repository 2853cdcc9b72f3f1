"""Which browser the tests of the page drive, and how it is started."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

HOW_TO_GET = (
    "no Chromium is here: `make browser` gets one, or `apt-get install chromium-headless-shell`, "
    "or name yours in RHAPSODE_TEST_BROWSER"
)
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--no-sandbox",  # CI is root in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=document-user-activation-required",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


def find_browser(playwright: Playwright) -> Path | None:
    """The one that was named, else Playwright's own, else the system's; None if there is none."""
    named = os.environ.get("RHAPSODE_TEST_BROWSER")
    if named:
        return Path(named)
    own = Path(playwright.chromium.executable_path)
    if own.exists():
        return own
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return None if found is None else Path(found)


def start_browser(playwright: Playwright, path: Path) -> Browser:
    return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
