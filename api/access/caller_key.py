"""The API key of the current request, for the usage of its jobs.

A context variable follows the request through every thread.
"""

from __future__ import annotations

from contextvars import ContextVar

from storage.ids import KeyId

_key: ContextVar[KeyId | None] = ContextVar("rhapsode_caller_key", default=None)


def set_caller_key(key: KeyId | None) -> None:
    _key.set(key)


def caller_key() -> str:
    """Its id; "" for this machine's user and for keys in the settings."""
    return _key.get() or ""
