"""How both clients are connected: the server's address, the key, timeouts and retries."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from rhapsode.client.answer_limits import UNCOMPRESSED
from rhapsode.client.retries import RetryPolicy

DEFAULT_SERVER = "http://127.0.0.1:8765"
PROXY_FREE: dict[str, None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
"""Mounts that keep this machine's own addresses away from the proxies of the environment."""

USER_AGENT = "rhapsode-python/0.1"


@dataclass(frozen=True, slots=True)
class Connection:
    """`timeout_s` bounds connecting and each read; what the server holds on purpose comes on top."""

    server_url: str
    api_key: str | None = None
    timeout_s: float = 30.0
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    def __post_init__(self) -> None:
        try:
            url = httpx.URL(self.server_url)
            urlsplit(self.server_url)
        except (httpx.InvalidURL, ValueError) as error:
            raise ValueError(f"the server's URL is http(s)://host[:port], not {self.server_url!r}: {error}") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError(f"the server's URL is http(s)://host[:port], not {self.server_url!r}")
        if url.path.rstrip("/").endswith("/v1"):
            raise ValueError(f"the server's URL ends before /v1: {self.server_url.rstrip('/').removesuffix('/v1')!r}")
        if url.port is not None and not 0 < url.port < 65536:
            raise ValueError(f"the server's URL {self.server_url!r} has a port outside 1 to 65535")

    def headers(self) -> dict[str, str]:
        headers = {"User-Agent": USER_AGENT, "Accept": "application/json, application/problem+json"} | UNCOMPRESSED
        return headers | ({"Authorization": f"Bearer {self.api_key}"} if self.api_key else {})

    def timeout(self, hold_s: float) -> httpx.Timeout:
        return httpx.Timeout(self.timeout_s, connect=min(self.timeout_s, 10.0), read=self.timeout_s + hold_s)
