"""TLS for connections that may need none: certificates take 30 ms to load, and most servers are on this machine."""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Any

import httpx


class EncryptionWhenNeeded(ssl.SSLContext):
    """What httpx verifies servers with: its own certificates or those of SSL_CERT_FILE. The first encrypted connection
    creates it. A redirect to `https` is verified too.
    """

    # The base class makes its instances in `__new__`, which wants the protocol.
    def __new__(cls) -> EncryptionWhenNeeded:
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    @cached_property
    def _whole(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()

    def set_alpn_protocols(self, alpn_protocols: Any) -> None:  # noqa: ANN401 - as the base class has it
        self._whole.set_alpn_protocols(alpn_protocols)

    def wrap_socket(self, *args: Any, **more: Any) -> ssl.SSLSocket:  # noqa: ANN401 - as the base class has it
        return self._whole.wrap_socket(*args, **more)

    def wrap_bio(self, *args: Any, **more: Any) -> ssl.SSLObject:  # noqa: ANN401 - as the base class has it
        return self._whole.wrap_bio(*args, **more)
