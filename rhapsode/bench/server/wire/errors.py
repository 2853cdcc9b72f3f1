"""What can go wrong with one request, as it is counted.

RequestFailed
├── Refused      the server answered with something that is no success
├── NotHeard     it answered, and that is no whole audio
└── Unreachable  no connection, or one that broke
"""

from __future__ import annotations

_MOST_CHARS = 160


class RequestFailed(Exception):
    """The message is one short line: requests that failed alike are counted together by it."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message[: 4 * _MOST_CHARS].split())[:_MOST_CHARS])


class Refused(RequestFailed):
    """status: of HTTP, or what the server's error says it would be."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(f"{status} {what}".strip())
        self.status = status


class NotHeard(RequestFailed):
    pass


class Unreachable(RequestFailed):
    pass
