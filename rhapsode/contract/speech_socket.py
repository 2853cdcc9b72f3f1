"""`WS /v1/audio/speech/ws`: text in while it is written, speech out while it is made.

There are two protocols. `nari.speech.v1` comes from the public benchmark of this model family, and adds `keep_open` and
`response.cancel` for conversations. `streaming-text.v1` is vLLM-Omni's. Its clients name no subprotocol; their first
message identifies it. The options are the fields of `POST /v1/audio/speech`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import RequestBody

SOCKET_PATH = "/v1/audio/speech/ws"
STREAMING_TEXT_PATH = "/v1/audio/speech/stream"
"""Where vLLM-Omni's clients look for theirs; the same, by another name."""

NARI = "nari.speech.v1"
STREAMING_TEXT = "streaming-text.v1"
PROTOCOLS = (NARI, STREAMING_TEXT)

KEY_SUBPROTOCOL = "rhapsode.key."
"""Before an API key in base64url without padding, as a subprotocol beside the one that is spoken: pages of browsers can
send no header with a handshake."""

MAX_UTTERANCE_CHARS = 200_000
"""Of one request's text, whatever its pieces: four hours of speech, as of every live stream."""

MAX_PIECE_BYTES = 64 * 1024
"""Of a message that brings text, which so may still be whole pages."""

MAX_START_BYTES = 1024 * 1024
"""Of a message that begins a request: it may hold a recording as a data URL."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "must be text")
    return value


Piece: TypeAlias = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string"})]
"""Of a text. It may end within a character, which pydantic's own check would refuse; the next goes on there."""


class InputTextAppend(RequestBody):
    """sequence: counts the messages of one request that bring text or end it, from 0."""

    type: Literal["input_text.append"]
    sequence: Annotated[int, Field(ge=0)]
    text: Piece


class InputTextEnd(RequestBody):
    type: Literal["input_text.end"]
    sequence: Annotated[int, Field(ge=0)]


class ResponseCancel(RequestBody):
    """request_id: as `response.started` says it; absent: whichever is under way. One that has ended is not missed."""

    type: Literal["response.cancel"]
    request_id: str | None = None


class StartManner(RequestBody):
    """What `request.start` may have beside the fields of the speech.

    keep_open: after `response.done` the connection waits for the next `request.start`; it is closed otherwise.
    response_format: no other is sent in pieces here.
    """

    type: Literal["request.start"]
    keep_open: bool = False
    response_format: Literal["pcm"] = "pcm"


class SessionManner(RequestBody):
    """Fields of `session.config` beside those of the speech.

    stream_audio: binary messages of PCM while it is made; otherwise one with the whole of an utterance.
    split_granularity: without effect: speech begins with the first words, and an utterance counts as one sentence.
    """

    type: Literal["session.config"]
    stream_audio: bool = False
    split_granularity: Literal["none", "sentence", "clause"] = "none"
    word_timestamps: Literal[False] = False


class InputText(RequestBody):
    type: Literal["input.text"]
    text: Piece


class InputDone(RequestBody):
    type: Literal["input.done"]


class InputCancel(RequestBody):
    """Not in vLLM-Omni's: what is being said is broken off, and the connection goes on."""

    type: Literal["input.cancel"]


class SessionClose(RequestBody):
    type: Literal["session.close"]
