"""A job's own webhook in requests and answers: the public contract."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Answer, Id, Name, RequestBody
from rhapsode.contract.speakable_text import check_label
from rhapsode.contract.webhook_events import EVERY_EVENT, FINAL_JOB_EVENTS, JOB_EVENTS


def _known_job_events(names: list[str]) -> list[str]:
    return among(names, JOB_EVENTS)


def among(names: list[str], known: tuple[str, ...]) -> list[str]:
    for name in names:
        if name not in known:
            raise PydanticCustomError(
                "not_allowed", "{name} is none of {known}", {"name": repr(name[:64]), "known": ", ".join(known)}
            )
    if EVERY_EVENT in names and len(names) > 1:
        raise PydanticCustomError("not_allowed", "`*` is every event; say nothing else beside it")
    return list(dict.fromkeys(names))


MAX_URL_CHARS = 2_048

ReceiverUrl = Annotated[str, Field(min_length=1, max_length=MAX_URL_CHARS), AfterValidator(check_label)]

JobEvents = Annotated[list[str], Field(min_length=1, max_length=len(JOB_EVENTS)), AfterValidator(_known_job_events)]


class JobWebhookRequest(RequestBody):
    """A receiver for this job, besides the endpoints. The secret of `/v1/webhook-secret` signs deliveries to `url`."""

    url: ReceiverUrl | None = None
    endpoint_id: Name | None = None
    events: JobEvents = Field(default=list(FINAL_JOB_EVENTS))

    @model_validator(mode="after")
    def _one_receiver(self) -> Self:
        if (self.url is None) == (self.endpoint_id is None):
            raise PydanticCustomError("not_allowed", "say one of `url` and `endpoint_id`")
        return self


class JobReceiver(Answer):
    """As `JobWebhookRequest`, with its events filled in."""

    url: str | None
    endpoint_id: Id | None
    events: tuple[str, ...]
