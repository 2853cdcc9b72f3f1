"""The formats of a job's live stream."""

from __future__ import annotations

from typing import Literal

StreamType = Literal["wav", "mp3", "opus"]

STREAM_MEDIA_TYPES: dict[StreamType, str] = {"wav": "audio/wav", "mp3": "audio/mpeg", "opus": "audio/ogg"}
