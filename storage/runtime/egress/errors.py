"""Why a request to an address that a caller named came to nothing. `reason` is the word for logs and records.

SafeHttpError
├── UrlRefused            not a URL we would ever open: scheme, port, credentials, no host
├── AddressBlocked        the host resolves to an address that is not public
├── HostUnresolved        the host has no address, or its name server did not answer
├── ConnectionFailed      no connection, no TLS, or it broke
├── TimedOut              the attempt's time is over
├── Redirected            the server sent us elsewhere; we do not go
├── ResponseTooLarge      more bytes than were wanted
├── ResponseEncoded       the body is compressed, though we asked for it plain
└── UnexpectedStatus      not 200
"""

from __future__ import annotations

from typing import ClassVar


class SafeHttpError(Exception):
    """The request was refused, or it failed."""

    reason: ClassVar[str] = "failed"


class UrlRefused(SafeHttpError):
    reason = "url_refused"


class AddressBlocked(SafeHttpError):
    reason = "blocked_address"


class HostUnresolved(SafeHttpError):
    reason = "unresolved"


class ConnectionFailed(SafeHttpError):
    reason = "connection_failed"


class TimedOut(SafeHttpError):
    reason = "timed_out"


class Redirected(SafeHttpError):
    reason = "redirect"


class ResponseTooLarge(SafeHttpError):
    reason = "too_large"


class ResponseEncoded(SafeHttpError):
    reason = "encoded"


class UnexpectedStatus(SafeHttpError):
    reason = "status"

    def __init__(self, status: int) -> None:
        super().__init__(f"the server answered with status {status}")
        self.status = status
