"""Words that two packages spell each for itself, because neither may import the other, are the same."""

from __future__ import annotations

import enum

import pytest

import rhapsode.cli.audio_options
import rhapsode.resources
import rhapsode.segment_resources
import rhapsode.voice_resources
import rhapsode.webhook_resources
import storage.job_states
import storage.narrations
import storage.outputs
import storage.segment_states
import storage.service_classes
import storage.voice_reference
import storage.voices
import storage.webhooks
import worker.engine.interface
import worker.engine.profiles

PAIRS: list[tuple[type[enum.Enum], type[enum.Enum]]] = [
    (storage.job_states.JobState, rhapsode.resources.JobState),
    (storage.segment_states.SegmentState, rhapsode.segment_resources.SegmentState),
    (storage.webhooks.DeliveryState, rhapsode.webhook_resources.DeliveryState),
    (storage.outputs.SubtitleFormat, rhapsode.cli.audio_options.Subtitles),
    (storage.narrations.Reproducibility, worker.engine.profiles.Reproducibility),
    (storage.service_classes.JobClass, worker.engine.interface.Urgency),
    (storage.voice_reference.CacheMode, worker.engine.interface.VoiceMode),
]


@pytest.mark.parametrize(("stored", "other"), PAIRS)
def test_both_have_the_same_words(stored: type[enum.Enum], other: type[enum.Enum]) -> None:
    assert {each.name: each.value for each in stored} == {each.name: each.value for each in other}


def test_client_and_store_know_the_same_states_as_ends() -> None:
    ends = {state.value for state in storage.job_states.JobState if state.is_terminal}

    assert {state.value for state in rhapsode.resources.JobState if state.is_terminal} == ends


def test_a_client_also_hears_of_a_cache_whose_recording_has_changed() -> None:
    stored = {state.value for state in storage.voices.CacheState}

    assert {state.value for state in rhapsode.voice_resources.CacheState} == stored | {"stale"}
