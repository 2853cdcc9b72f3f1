"""The bodies of requests and answers about consents: the public contract."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from rhapsode.contract.base import Answer, Id, RequestBody
from rhapsode.contract.speakable_text import check_label, check_prose
from rhapsode.contract.voices.voices import with_files

Speaker = Annotated[str, Field(max_length=200), AfterValidator(check_label)]


class ConsentOrder(RequestBody):
    """A speaker's statement that their voice may be cloned. `speaker`: whose it is, as you call them."""

    statement: Annotated[str, Field(min_length=1, max_length=4_000), AfterValidator(check_prose)]
    speaker: Speaker = ""


class ConsentForm(RequestBody):
    """The same with the statement as it was spoken; either of the two will do.

    The file `recording` is a wav, flac, mp3 or ogg of 1 to 60 s.
    """

    model_config = ConfigDict(json_schema_extra=with_files("recording"))

    statement: Annotated[str, Field(max_length=4_000), AfterValidator(check_prose)] = ""
    speaker: Speaker = ""


class ConsentRecording(Answer):
    """What was uploaded; `url` needs the key and leads to the object."""

    media_type: str
    duration_s: float
    bytes: int
    sha256: str
    url: str


class ConsentLinks(Answer):
    self_: str = Field(validation_alias="self", serialization_alias="self")


class Consent(Answer):
    """A consent never changes.

    `statement_sha256`: of the statement in UTF-8, null if there is only a recording. `actor`: the API key that laid it
    down, or the tenant where that key has no id. `voices`: how many rest on it now.
    """

    id: Id
    object: Literal["consent"] = "consent"
    speaker: str
    statement: str
    statement_sha256: str | None
    recording: ConsentRecording | None
    actor: str
    created_at: datetime
    voices: int
    links: ConsentLinks


class ConsentList(Answer):
    data: tuple[Consent, ...]
    next_cursor: str | None
    has_more: bool
