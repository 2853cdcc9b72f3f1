"""When a request is sent again: broken connections, 408, 429, 502, 503, 504 and a twin that is still in flight.

`Attempts` follows one call without doing I/O; the clients sleep as long as it says.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

from rhapsode.client.refusals import PASSING, read_error
from rhapsode.errors import ApiError, BadAnswer, ServerUnreachable

RETRY_AFTER_SPREAD = 0.1
"""Random extra time, so that clients with the same wait do not return together."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`attempts` sendings in all; delays double from `first_delay_s` and are drawn from their upper half.

    A Retry-After of at most `max_retry_after_s` replaces the delay, and a tenth of it is added at random; a longer one
    ends the attempts.
    """

    attempts: int = 6
    first_delay_s: float = 0.25
    max_delay_s: float = 8.0
    max_retry_after_s: float = 60.0

    def delay_s(self, attempt: int) -> float:
        """After `attempt` failures in a row, the first being 1."""
        ceiling = min(self.first_delay_s * 2 ** (attempt - 1), self.max_delay_s)
        return random.uniform(ceiling / 2, ceiling)


class Attempts:
    """The failures of one call so far."""

    def __init__(self, policy: RetryPolicy, server: str) -> None:
        self._policy = policy
        self.server = server
        self._failures = 0

    def reset(self) -> None:
        """Something arrived: what fails from here on fails for the first time."""
        self._failures = 0

    def pause_after_break(self, error: httpx.RequestError) -> float:
        """Seconds to wait before sending again. Raises `ServerUnreachable` or `BadAnswer` when that is no use."""
        if not isinstance(error, httpx.TransportError) or isinstance(error, httpx.UnsupportedProtocol):
            raise BadAnswer(f"{self.server}: {error}") from error
        self._failures += 1
        if self._failures >= self._policy.attempts:
            reason = str(error) or type(error).__name__
            raise ServerUnreachable(f"no answer from {self.server}: {reason}") from error
        return self._policy.delay_s(self._failures)

    def pause_after_answer(self, response: httpx.Response) -> float | None:
        """None if the answer stands, seconds to wait if it asks for a repeat. Raises `ApiError` for the rest.

        The response's body must have been read.
        """
        if response.is_success:
            return None
        error = read_error(response)
        self._failures += 1
        if not _asks_for_repeat(error) or self._failures >= self._policy.attempts:
            raise error
        wished_s = error.retry_after_s
        if wished_s is None:
            return self._policy.delay_s(self._failures)
        if wished_s > self._policy.max_retry_after_s:
            raise error
        return wished_s * random.uniform(1.0, 1.0 + RETRY_AFTER_SPREAD)


def _asks_for_repeat(error: ApiError) -> bool:
    """A problem that says that it will not pass is believed, whatever its status."""
    return (error.status in PASSING and error.problem.retryable) or error.code == "idempotency_in_progress"
