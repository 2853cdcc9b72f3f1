"""What an answer's headers say of the samples in it."""

from __future__ import annotations

from collections.abc import Mapping

from rhapsode.bench.server.wire.errors import NotHeard

_BARE = {"audio/pcm", "audio/l16", "audio/raw", "application/octet-stream"}
_WAV = {"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"}
_RATE = "x-sample-rate"


def is_wav(headers: Mapping[str, str]) -> bool:
    """As some servers answer whatever they were asked for."""
    return _kind(headers) in _WAV


def check_is_bare(headers: Mapping[str, str]) -> None:
    """Raises NotHeard for audio of another kind, whose bytes would be counted as samples."""
    kind = _kind(headers)
    if kind not in _BARE:
        raise NotHeard(f"the answer is {kind or 'of no type'}, not bare samples")


def _kind(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def read_rate(headers: Mapping[str, str]) -> int:
    """In Hz. Raises NotHeard where it is not said."""
    said = headers.get(_RATE, "")
    if not said.isascii() or not said.isdigit() or not 0 < int(said[:9]) < 1_000_000:
        raise NotHeard(f"the answer says no sample rate ({_RATE}: {said[:20]!r})")
    return int(said)
