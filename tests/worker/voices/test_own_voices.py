"""Narrations in voices that were uploaded: the worker finds the voice once and speaks every segment with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rhapsode.contract.jobs.states import JobState
from rhapsode.contract.voices.modes import CacheMode
from storage.ids import new_voice_id
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource
from storage.objects import keys
from tests.worker.studio import SPEC, TENANT, Studio
from tests.worker.voices.reference_audio.sounds import file_of, tone


def upload(studio: Studio, recording: bytes) -> VoiceReference:
    voice = new_voice_id()
    stored = studio.artifacts.put(keys.voice_source(TENANT, voice, "1"), recording)
    source = VoiceSource(SourceKind.RECORDING, stored.key, stored.sha256, stored.bytes, "audio/wav")
    return VoiceReference(voice, "Ada", 1, SPEC.model, CacheMode.IN_CONTEXT, source, "Hello there.")


def test_every_segment_of_a_narration_speaks_with_the_uploaded_voice(studio: Studio) -> None:
    ada = upload(studio, file_of(tone(1.2)))

    job = studio.submit(spec=replace(SPEC.asking(voice="Ada"), own_voice=ada))
    record = studio.drained(job)

    assert record.state is JobState.SUCCEEDED
    assert record.segments.done > 2
    stats = studio.services.voices.cache.stats()
    assert (stats.loads, stats.hits) == (1, record.segments.done - 1)


@pytest.mark.parametrize(
    ("recording", "reason"), [(file_of(np.zeros(20_000, np.float32)), "silent"), (b"no recording", "not a WAV")]
)
def test_a_voice_that_cannot_be_cloned_fails_the_job_with_its_reason(
    recording: bytes, reason: str, studio: Studio
) -> None:
    job = studio.submit(spec=replace(SPEC.asking(voice="Ada"), own_voice=upload(studio, recording)))
    record = studio.drained(job)

    assert record.state is JobState.FAILED
    assert record.error is not None
    assert reason in record.error.detail


def test_a_voice_that_was_deleted_fails_the_job(studio: Studio) -> None:
    ada = upload(studio, file_of(tone(1.2)))
    studio.artifacts.delete(ada.source.key)

    job = studio.submit(spec=replace(SPEC.asking(voice="Ada"), own_voice=ada))
    record = studio.drained(job)

    assert record.error is not None
    assert record.error.code == "voice_not_found"
