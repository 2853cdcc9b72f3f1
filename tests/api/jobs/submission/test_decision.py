"""What a request comes to, from facts alone: no Redis, no store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.http.problems.problem import HttpProblem
from api.jobs.submission.cast import roles_of
from api.jobs.submission.decision import Decision, decide
from api.jobs.submission.facts import Facts, model_of
from api.jobs.submission.input import prepare_input
from api.voices.matching import OwnVoice
from rhapsode.contract.jobs.request import JobRequest
from storage.errors import VoiceGone
from storage.ids import JobId, TenantId, VoiceId
from storage.narration.voice_reference import SourceKind, VoiceSource
from storage.queue.model_registry import ModelCard
from storage.voices.records import Consent, VoiceRecord
from tests.api.harness import SMALL
from tests.api.voices.voices import BASE

TENANT, JOB = TenantId("local"), JobId("job_01j00000000000000000000000")
CARDS = (SMALL, BASE)
SOURCE = VoiceSource(SourceKind.RECORDING, "voices/ada", "0" * 64, 1_000, "audio/wav", duration_s=2.0)
ADA = VoiceRecord(
    VoiceId("voc_ada"), TENANT, "Ada", 1, SOURCE, "Good day.", "auto", "", Consent("yes", "local", 1), 1, 1
)


def decided(
    fields: dict[str, Any], voices: Mapping[str, OwnVoice] | None = None, cards: tuple[ModelCard, ...] = (SMALL,)
) -> Decision:
    request = JobRequest.model_validate({"input": {"text": "Good morning."}} | fields)
    prepared = prepare_input(request.input, 1_000, 28_000)
    roles = roles_of(request, prepared)
    card = model_of(request, TENANT, roles, cards)
    return decide(Facts(request, TENANT, JOB, prepared, roles, card, cards, voices or {}))


def refused(
    fields: dict[str, Any], voices: Mapping[str, OwnVoice] | None = None, cards: tuple[ModelCard, ...] = (SMALL,)
) -> tuple[int, str, str | None]:
    with pytest.raises(HttpProblem) as caught:
        decided(fields, voices, cards)
    problem = caught.value
    return problem.status, problem.code, problem.violations[0].pointer if problem.violations else None


def test_a_text_comes_to_a_submission_with_every_default_filled_in() -> None:
    decision = decided({"seed": 7})

    assert decision.input == b"Good morning."
    assert decision.spec.request.voice == "Alice"
    assert (decision.submission.id, decision.submission.tenant) == (JOB, TENANT)
    assert decision.submission.input_chars == 13
    assert decision.submission.estimated_audio_ms > 0
    assert decided({"seed": 7}) == decision


def test_a_document_has_no_input_before_its_upload_is_taken() -> None:
    document = {"upload_id": "upl_01j00000000000000000000000", "format": "epub"}

    decision = decided({"input": {"document": document}})

    assert decision.input is None
    assert decision.submission.estimated_audio_ms == 2_000_000


def test_a_name_that_was_found_is_a_voice_of_the_callers() -> None:
    """And the model is one that can speak with it."""
    decision = decided({"voice": "Ada"}, {"Ada": ADA}, CARDS)

    assert decision.cast.lead.card == BASE
    assert decision.spec.own_voice is not None
    assert decision.spec.own_voice.voice == ADA.id


def test_a_name_that_was_not_found_is_refused_where_it_stands() -> None:
    assert refused({"voice": "Ada"}) == (404, "voice_not_found", "/voice")
    assert refused({"speakers": {"Narrator": "Ada"}}) == (404, "voice_not_found", "/speakers/Narrator")
    assert refused({"speakers": {"A": "Bob", "B": "voc_x"}}, {"voc_x": VoiceGone("deleted")}) == (
        404,
        "voice_not_found",
        "/speakers/B",
    )


def test_an_id_that_was_deleted_is_told_as_the_store_tells_it() -> None:
    with pytest.raises(VoiceGone):
        decided({"voice": "voc_x"}, {"voc_x": VoiceGone("deleted")})


def test_without_a_model_nothing_can_be_decided() -> None:
    assert refused({}, cards=()) == (503, "model_not_available", None)
    assert refused({"model": "large"}) == (404, "model_not_available", "/model")


def test_a_start_after_the_deadline_is_refused() -> None:
    deadline = datetime.now(UTC) + timedelta(hours=1)
    late = {"deadline": deadline.isoformat(), "not_before": (deadline + timedelta(hours=1)).isoformat()}

    assert refused(late) == (422, "invalid_request", "/not_before")
    assert refused({"not_before": late["not_before"], "validate_only": True}) == (422, "invalid_request", "/not_before")


def test_a_recording_that_comes_along_needs_consent() -> None:
    assert refused({"ref_audio": "upl_x"}, cards=CARDS) == (422, "invalid_request", "/consent")
