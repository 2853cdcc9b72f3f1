"""The pool of connections to a server that calls of every kind go over."""

from __future__ import annotations

import httpx

from rhapsode.client.aio.bounding import bound_answer
from rhapsode.client.connection import PROXY_FREE, Connection
from rhapsode.client.encryption import EncryptionWhenNeeded


def open_pool(connection: Connection) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=connection.server_url,
        headers=connection.headers(),
        follow_redirects=True,
        mounts=PROXY_FREE,
        verify=EncryptionWhenNeeded(),
        event_hooks={"response": [bound_answer]},
    )
