"""Does the API of a stack answer?"""

from __future__ import annotations

import httpx

PROBE_S = 1.0


def api_client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=PROBE_S, trust_env=False)


def answers(client: httpx.Client, path: str) -> bool:
    try:
        return client.get(path).is_success
    except httpx.TransportError:
        return False
