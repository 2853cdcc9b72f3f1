"""What a caller of the client can say is what the contract has, and arrives as it was said."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, get_type_hints

import pytest
from pydantic import BaseModel, Field

from generators.request_options import CLASSES, Class, class_text
from rhapsode.client import request_options
from rhapsode.client.calls import ApiCall
from rhapsode.client.jobs.submission import submission_body
from rhapsode.client.plain_json import plain_json
from rhapsode.client.sync.client import Rhapsode
from rhapsode.client.sync.operations import QuotaSettings
from rhapsode.contract.base import DateTime
from rhapsode.contract.jobs.request import JobRequest

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Recorder(Rhapsode):
    """It keeps its calls and sends none."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[ApiCall[Any]] = []

    def _send(self, call: ApiCall[Any]) -> Any:
        self.sent.append(call)


class Body(BaseModel):
    """A body."""

    name: Annotated[str, Field(max_length=9)]
    tone: Literal["warm", "cold"] = Field(default="warm", description="how it sounds")
    rate: Literal[8_000, 16_000] | None = None
    at: DateTime | None = None
    parts: Annotated[list[str], Field(description="one by one")] | None = None


def test_a_field_of_the_contract_is_one_of_the_caller() -> None:
    assert (
        class_text(Class("Said", Body))
        == '''\
class Said(TypedDict, total=False):
    """A body.

    tone: how it sounds
    parts: one by one
    """

    name: Required[str]
    tone: Literal["warm", "cold"]
    rate: int
    at: datetime
    parts: Sequence[str]
'''
    )


def test_null_is_offered_where_it_says_something() -> None:
    assert "    at: datetime | None\n" in class_text(Class("Said", Body, nulls="taken back"))
    assert '    tone: Literal["warm", "cold"]\n' in class_text(Class("Said", Body, nulls="taken back"))
    assert '    tone: Literal["warm", "cold"] | None\n' in class_text(Class("Said", Body, nulls="welcome"))


def test_a_body_in_a_body_has_to_have_a_name_for_callers() -> None:
    class Outer(BaseModel):
        inner: Body

    with pytest.raises(ValueError, match=r"`CLASSES` of request_options\.py has no name for it"):
        class_text(Class("Outer", Outer))


@pytest.mark.parametrize("made", CLASSES, ids=lambda made: made.name)
def test_every_field_of_a_body_can_be_said(made: Class) -> None:
    said = get_type_hints(getattr(request_options, made.name))

    assert set(said) == set(made.body.model_fields) - set(made.without)


def test_what_is_said_in_python_arrives_as_the_contract_wants_it() -> None:
    body = submission_body(
        {"segments": ({"text": "Hello.", "pause_after_s": 1},)},
        {
            "speakers": {"Ann": "slt"},
            "speaker_embedding": b"\x00\x01",
            "consent": "I agree.",
            "pronunciation_dictionaries": ("pd_1@2",),
            "sampling": {"top_k": 20},
            "quality": {"gate": "asr"},
            "output": {"formats": [{"type": "mp3", "bitrate_kbps": 64}], "subtitles": ("srt",)},
            "not_before": NOON,
            "reuse": False,
            "deadline": None,
        },
    )

    read = JobRequest.model_validate(body)
    assert (read.not_before, read.reuse, read.quality.gate, read.sampling.top_k) == (NOON, False, "asr", 20)
    assert read.speaker_embedding == "AAE="
    assert "deadline" not in body


def test_null_goes_out_where_it_takes_something_back_and_nowhere_else() -> None:
    sent: list[ApiCall[object]] = []
    QuotaSettings(sent.append).set("ann", jobs=3, voices=None)  # pyright: ignore[reportArgumentType]
    with closing(Recorder()) as client:
        client.change("job_1", deadline=None, not_before=NOON)
        client.assemble("job_1", {"loudness": None})
        client.assemble("job_1")
    assert [each.body for each in (*sent, *client.sent)] == [
        {"jobs": 3, "voices": None},
        {"deadline": None, "not_before": "2026-12-01T12:00:00+00:00"},
        {"output": {"loudness": None}},
        {},
    ]


def test_a_time_without_a_zone_is_named_wherever_it_stands() -> None:
    with closing(Recorder()) as client, pytest.raises(ValueError, match="deadline needs a time zone"):
        client.change("job_1", deadline=datetime(2026, 12, 1, 12))  # noqa: DTZ001
    with pytest.raises(ValueError, match="at needs a time zone"):
        plain_json({"within": [{"at": datetime(2026, 12, 1, 12)}]})  # noqa: DTZ001


def test_what_json_lacks_is_named() -> None:
    with pytest.raises(TypeError, match="tags: object is nothing that JSON has"):
        plain_json({"tags": [object()]})
