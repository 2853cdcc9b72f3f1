# Made from rhapsode/client/aio/consents.py by `make generated`; change that file, not this one.
"""`client.consents`: that speakers agree to be cloned, laid down once for all of their voices.

agreed = client.consents.add(recording="ada-agrees.wav", speaker="Ada Example")
client.voices.add("Ada", "ada.wav", consent=agreed.id)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rhapsode.client.sync.sending import Send, each_of
from rhapsode.client.voices import consent_calls
from rhapsode.contract.voices.consents import Consent


class Consents:
    """Where a consent is named, its record or its id (con_...) will do."""

    def __init__(self, send: Send) -> None:
        self._send = send

    def add(self, statement: str = "", recording: str | Path | None = None, *, speaker: str = "") -> Consent:
        """Lay down a statement, a recording of it (wav, flac, mp3 or ogg; 1 to 60 s; at most 10 MiB), or both.

        speaker: whose voice it is about, as you call them. Raises `InvalidRequest` for a recording that is none.
        """
        call = consent_calls.add_consent(statement, _path(recording), speaker)
        return self._send(call)

    def get(self, consent: str) -> Consent:
        """Raises `NotFound`."""
        return self._send(consent_calls.get_consent(consent))

    def list(self) -> Iterator[Consent]:
        """The newest first, fetched page by page."""
        return each_of(self._send, consent_calls.list_consents)

    def recording(self, consent: Consent | str) -> bytes:
        """What was uploaded, byte by byte. Raises `NotFound` for a consent that nobody recorded."""
        return self._send(consent_calls.get_recording(_id(consent)))

    def delete(self, consent: Consent | str) -> None:
        """With its recording. Raises `Conflict` while a voice rests on it."""
        self._send(consent_calls.delete_consent(_id(consent)))


def _path(recording: str | Path | None) -> Path | None:
    return None if recording is None else Path(recording)


def _id(consent: Consent | str) -> str:
    return consent if isinstance(consent, str) else consent.id
