"""Options of a command that are fields of a job: made from the contract, and told and checked by it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from generators.command_line_options import alias_text, help_text, is_option, leaves
from rhapsode.cli import job_options
from rhapsode.cli.failures import Misuse
from rhapsode.cli.job_fields import JobField, check, check_job, given_fields
from rhapsode.contract.base import DateTime
from rhapsode.contract.segments import SegmentChange


class Inner(BaseModel):
    level: float = Field(default=-18, ge=-40, le=-8, description="how loud")
    unsaid: int = 3


class Body(BaseModel):
    pace: float | None = Field(default=None, gt=0, le=2, description="how fast; absent: as the model likes")
    tone: Literal["warm", "cold"] = Field(default="warm", description="`warm` as bread, `cold` as ice")
    rate: Literal[8_000, 16_000] | None = Field(default=None, description="in Hz")
    begin: DateTime | None = Field(default=None, description="not sooner")
    words: Annotated[list[str], Field(description="`one…`")] = []
    seed: int = Field(default=1, ge=0, le=2**53 - 1, description="of chance")
    inner: Inner | None = Field(default=None, description="absent: as it is")
    parts: list[Inner] = []
    pairs: dict[str, str] = Field(default={}, description="no option can carry them")


LEAVES = {leaf.path: leaf for leaf in leaves(Body) if is_option(leaf)}


def test_what_is_described_and_fits_on_a_command_line_is_an_option() -> None:
    assert list(LEAVES) == ["pace", "tone", "rate", "begin", "words", "seed", "inner.level", "parts.level"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pace", "Up to 2: how fast; else as the model likes."),
        ("tone", "warm as bread, cold as ice; else warm."),
        ("rate", "In Hz; one of 8000, 16000."),
        ("begin", "Not sooner; 2026-12-01T08:00 is local time."),
        ("words", "one...; may be repeated."),
        ("seed", "Of chance; else 1."),
        ("inner.level", "-40 to -8: how loud; else as it is."),
    ],
)
def test_the_help_says_bounds_choices_and_what_holds_otherwise(path: str, text: str) -> None:
    assert help_text(LEAVES[path]) == text


def test_type_bounds_and_place_are_the_contracts() -> None:
    assert alias_text(LEAVES["inner.level"]) == (
        'InnerLevel = Annotated[float | None, typer.Option(help="-40 to -8: how loud; else as it is."), '
        'JobField("inner.level", wanted="between -40 and -8")]'
    )
    assert 'Literal["warm", "cold"] | None' in alias_text(LEAVES["tone"])
    assert 'JobField("begin", is_time=True)' in alias_text(LEAVES["begin"])
    assert 'is_by_hand=True, wanted="between' in alias_text(LEAVES["parts.level"])
    assert 'wanted="above 0 and at most 2"' in alias_text(LEAVES["pace"])
    assert 'wanted="one of 8000, 16000"' in alias_text(LEAVES["rate"])


@dataclass(frozen=True, slots=True)
class Group:
    """Options."""

    top_k: job_options.SamplingTopK = None
    temperature: job_options.SamplingTemperature = None
    attempts: job_options.QualityMaxAttempts = None
    begin: job_options.NotBefore = None
    voice: job_options.Voice = None
    bitrate: job_options.OutputFormatsBitrateKbps = None
    cast: Annotated[str | None, JobField("speakers", is_by_hand=True)] = None
    force: bool = False


def test_what_is_given_lies_where_the_api_has_it_and_the_rest_is_left_out() -> None:
    given = Group(top_k=5, temperature=0.5, begin="2026-12-01T08:00Z", bitrate=64, cast="A=b", force=True)

    assert given_fields(given) == {
        "sampling": {"top_k": 5, "temperature": 0.5},
        "not_before": datetime(2026, 12, 1, 8, tzinfo=UTC),
    }
    assert given_fields(Group()) == {}


def test_what_the_contract_refuses_is_told_under_the_options_name() -> None:
    for group, words in (
        (Group(top_k=1001), "--top-k: 1001 is not between 1 and 1000"),
        (Group(attempts=0), "--attempts: 0 is not between 1 and 10"),
        (Group(temperature=float("nan")), "--temperature: nan is not between 0 and 2"),
        (Group(voice="two\nlines"), "--voice: "),
    ):
        with pytest.raises(Misuse, match=words):
            check_job(given_fields(group), [Group(), group])


def test_what_a_command_says_itself_is_told_under_its_options_name_too() -> None:
    group = Group(cast="A=b", bitrate=400)

    with pytest.raises(Misuse, match="--cast: string should have at least 1 character"):
        check_job({"speakers": {"A": ""}}, [group])
    with pytest.raises(Misuse, match="--bitrate: 400 is not between 1 and 320"):
        check_job({"output": {"formats": [{"type": "mp3", "bitrate_kbps": 400}]}}, [group])


def test_what_no_option_said_is_told_under_its_name_in_the_api() -> None:
    with pytest.raises(Misuse, match=r"metadata\.title: String should have at most 512 characters"):
        check_job({"metadata": {"title": "x" * 513}}, [Group()])


def test_what_no_field_alone_is_to_blame_for_is_told_as_it_is() -> None:
    with pytest.raises(Misuse, match=r"^`voice` and `speaker` say the same; give one$"):
        check(SegmentChange, {"voice": "ada", "speaker": "Ann"}, [Group()])
