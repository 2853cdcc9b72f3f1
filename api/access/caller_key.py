"""The API key that the request at hand came with, to whose usage its jobs are counted.

A context variable, as for a log line: it goes with the request through every thread, and is no business of any step on
the way to a job.
"""

from __future__ import annotations

from contextvars import ContextVar

from storage.ids import KeyId

_key: ContextVar[KeyId | None] = ContextVar("rhapsode_caller_key", default=None)


def set_caller_key(key: KeyId | None) -> None:
    _key.set(key)


def caller_key() -> str:
    """Its id; "" for this machine's own user and for keys that stand in the settings."""
    return _key.get() or ""
