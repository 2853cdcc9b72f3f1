"""Every request about consents as a value. No I/O: both clients send these.

Laying one down is the call whose repeat makes a second one if the first arrived and its answer did not; nothing rests
on that one, and it can be deleted.
"""

from __future__ import annotations

from pathlib import Path

import httpx
from pydantic import JsonValue

from rhapsode.client.calls import Call, Upload, nothing, resource
from rhapsode.contract.voices.consents import Consent, ConsentList

PATH = "/v1/consents"

_DECODING_S = 30.0
"""The server decodes the whole recording before it answers."""


def add_consent(statement: str, recording: Path | None, speaker: str) -> Call[Consent]:
    """Raises OSError when the recording cannot be read."""
    if recording is None:
        body: dict[str, JsonValue] = {"statement": statement, "speaker": speaker}
        return Call("POST", PATH, resource(Consent), body=body)
    upload = Upload({"statement": statement, "speaker": speaker}, "recording", recording.read_bytes())
    return Call("POST", PATH, resource(Consent), upload=upload, hold_s=_DECODING_S)


def get_consent(consent: str) -> Call[Consent]:
    return Call("GET", f"{PATH}/{consent}", resource(Consent))


def list_consents(cursor: str | None) -> Call[ConsentList]:
    params = (("limit", "100"), *((("cursor", cursor),) if cursor else ()))
    return Call("GET", PATH, resource(ConsentList), params=params)


def get_recording(consent: str) -> Call[bytes]:
    return Call("GET", f"{PATH}/{consent}/recording", _content, headers={"Accept": "application/octet-stream"})


def delete_consent(consent: str) -> Call[None]:
    return Call("DELETE", f"{PATH}/{consent}", nothing)


def _content(response: httpx.Response) -> bytes:
    return response.content
