"""Whose matter a failure is, by its code. Pure."""

from __future__ import annotations

CALLERS_FAULTS = frozenset(
    {
        *("document_without_text", "input_too_complex", "invalid_request", "name_taken", "not_found", "quota_exceeded"),
        *("text_too_long", "unsupported_language", "unsupported_media"),
        *("voice_cache_not_ready", "voice_cache_stale", "voice_not_found"),
    }
)
"""Of a job that fails for what its caller gave or asked for: the job says so, and no operator is called."""
