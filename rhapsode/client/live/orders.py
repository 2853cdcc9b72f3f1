"""What a client asks for when it wants speech as it is made: the request's body. No I/O."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from typing import TypeAlias

from pydantic import JsonValue

from rhapsode.client.plain_json import json_object
from rhapsode.client.request_options import StreamOptions

SPEECH = "/v1/audio/speech"

Texts: TypeAlias = str | Iterable[str]
"""A text, or one that is still being written: its pieces, whatever their size."""

AsyncTexts: TypeAlias = str | Iterable[str] | AsyncIterable[str]
"""As `Texts`; a thread reads the pieces of an iterator that is not asynchronous."""

STREAM_HEADERS = {"Accept": "audio/pcm, application/json"}


def stream_body(text: str, options: StreamOptions) -> dict[str, JsonValue]:
    return {"input": text, **json_object(options), "stream": True, "response_format": "pcm"}
