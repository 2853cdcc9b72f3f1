"""Words that two packages spell each for itself, because neither may import the other, are the same."""

from __future__ import annotations

import enum
from typing import get_args

import pytest

import rhapsode.cli.local.check
import rhapsode.cli.narrate.audio_options
import rhapsode.contract.jobs.options
import rhapsode.contract.jobs.output
import rhapsode.contract.jobs.presets
import rhapsode.contract.jobs.states
import rhapsode.contract.voices.caches
import rhapsode.contract.voices.modes
import storage.voices.records
import worker.engine.interface
import worker.engine.profiles

PAIRS: list[tuple[type[enum.Enum], type[enum.Enum]]] = [
    (rhapsode.contract.jobs.output.SubtitleFormat, rhapsode.cli.narrate.audio_options.Subtitles),
    (rhapsode.contract.jobs.options.Reproducibility, worker.engine.profiles.EngineReproducibility),
    (rhapsode.contract.voices.modes.CacheMode, worker.engine.interface.VoiceMode),
]


@pytest.mark.parametrize(("stored", "other"), PAIRS)
def test_both_have_the_same_words(stored: type[enum.Enum], other: type[enum.Enum]) -> None:
    assert {each.name: each.value for each in stored} == {each.name: each.value for each in other}


def test_live_speech_is_as_urgent_as_no_job() -> None:
    urgencies = {each.value for each in worker.engine.interface.Urgency}

    assert urgencies == {each.value for each in rhapsode.contract.jobs.states.JobClass} | {"live"}


def test_a_client_also_hears_of_a_cache_whose_recording_has_changed() -> None:
    stored = {state.value for state in storage.voices.records.CacheState}

    assert set(get_args(rhapsode.contract.voices.caches.ShownState)) == stored | {"stale"}


def test_the_command_line_names_every_preset() -> None:
    named = get_args(rhapsode.cli.local.check.PresetName)

    assert named == tuple(rhapsode.contract.jobs.presets.PRESETS)
