# Made from rhapsode/client/aio/opening.py by `make generated`; change that file, not this one.
"""The pool of connections to a server that calls of every kind go over."""

from __future__ import annotations

import httpx

from rhapsode.client.connection import PROXY_FREE, Connection
from rhapsode.client.encryption import EncryptionWhenNeeded
from rhapsode.client.sync.bounding import bound_answer


def open_pool(connection: Connection) -> httpx.Client:
    return httpx.Client(
        base_url=connection.server_url,
        headers=connection.headers(),
        follow_redirects=True,
        mounts=PROXY_FREE,
        verify=EncryptionWhenNeeded(),
        event_hooks={"response": [bound_answer]},
    )
