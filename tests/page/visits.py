"""What a page did while a test looked at it."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request


class Visit:
    """Notes what must not happen: an exception, an error on the console, a request to another host."""

    def __init__(self, page: Page, host: str) -> None:
        self._host = host
        self._faults: list[str] = []
        self._open: dict[str, str] = {}
        page.on("pageerror", self._thrown)
        page.on("console", self._said)
        page.on("request", self._asked)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._failed)

    def check(self) -> None:
        assert not self._faults, "\n".join(self._faults)

    def lacks(self) -> str:
        """What was asked for and has not come, and why; what was thrown."""
        lines = [*(f"{url}: {state}" for url, state in self._open.items()), *self._faults]
        return "; ".join(lines) or "everything that it asked for has come"

    def _ended(self, request: Request) -> None:
        self._open.pop(request.url, None)

    def _failed(self, request: Request) -> None:
        self._open[request.url] = request.failure or "failed"

    def _thrown(self, error: Error) -> None:
        self._faults.append(f"thrown: {error.message}")

    def _said(self, message: ConsoleMessage) -> None:
        # The browser's own note of every answer of 400 and above; what the page makes of one is tested where it is.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self._faults.append(f"console: {message.text}")

    def _asked(self, request: Request) -> None:
        self._open[request.url] = "no answer yet"
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https", "ws", "wss"} and parts.netloc != self._host:
            self._faults.append(f"another host: {request.url}")
