"""Words that two packages spell each for itself, because neither may import the other, are the same."""

from __future__ import annotations

import enum

import pytest

import rhapsode.cli.narrate.audio_options
import rhapsode.client.jobs.segment_resources
import rhapsode.client.resources
import rhapsode.client.voices.resources
import rhapsode.client.webhooks.resources
import storage.job_store.segment_reads
import storage.jobs.service_classes
import storage.jobs.states
import storage.narration.outputs
import storage.narration.spec
import storage.narration.voice_reference
import storage.voices.records
import storage.webhooks.records
import worker.engine.interface
import worker.engine.profiles

PAIRS: list[tuple[type[enum.Enum], type[enum.Enum]]] = [
    (storage.jobs.states.JobState, rhapsode.client.resources.JobState),
    (storage.job_store.segment_reads.SegmentState, rhapsode.client.jobs.segment_resources.SegmentState),
    (storage.webhooks.records.DeliveryState, rhapsode.client.webhooks.resources.DeliveryState),
    (storage.narration.outputs.SubtitleFormat, rhapsode.cli.narrate.audio_options.Subtitles),
    (storage.narration.spec.Reproducibility, worker.engine.profiles.Reproducibility),
    (storage.jobs.service_classes.JobClass, worker.engine.interface.Urgency),
    (storage.narration.voice_reference.CacheMode, worker.engine.interface.VoiceMode),
]


@pytest.mark.parametrize(("stored", "other"), PAIRS)
def test_both_have_the_same_words(stored: type[enum.Enum], other: type[enum.Enum]) -> None:
    assert {each.name: each.value for each in stored} == {each.name: each.value for each in other}


def test_client_and_store_know_the_same_states_as_ends() -> None:
    ends = {state.value for state in storage.jobs.states.JobState if state.is_terminal}

    assert {state.value for state in rhapsode.client.resources.JobState if state.is_terminal} == ends


def test_a_client_also_hears_of_a_cache_whose_recording_has_changed() -> None:
    stored = {state.value for state in storage.voices.records.CacheState}

    assert {state.value for state in rhapsode.client.voices.resources.CacheState} == stored | {"stale"}
