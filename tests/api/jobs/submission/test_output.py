"""What a request may ask of its output, and what is filled in."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from api.http.problems.problem import HttpProblem
from api.jobs.control.control_routes import resolve_changed_output
from api.jobs.submission.output import resolve_output
from rhapsode.contract.jobs.output import (
    AudioFormat,
    Files,
    Loudness,
    LoudnessScope,
    Output,
    OutputChange,
    OutputFormat,
    SubtitleFormat,
    Timestamps,
)
from rhapsode.contract.jobs.presets import PRESETS, OutputPreset
from storage.narration.audio_formats import FORMATS, bitrates_kbps, default_bitrate_kbps

MODEL_RATE_HZ = 24_000


def resolve(**fields: Any) -> Output:
    return resolve_output(Output.model_validate(fields), MODEL_RATE_HZ)


def refusals(**fields: Any) -> set[tuple[str | None, str]]:
    with pytest.raises(HttpProblem) as refused:
        resolve(**fields)
    return {(violation.pointer, violation.code) for violation in refused.value.violations}


def test_without_a_word_the_output_is_one_wav_as_the_model_speaks() -> None:
    assert resolve() == Output() == Output(formats=(OutputFormat(type=AudioFormat.WAV),))


def test_defaults_are_filled_in_so_that_the_job_says_what_was_made() -> None:
    spec = resolve(
        formats=[{"type": "m4b"}, {"type": "mp3", "bitrate_kbps": 128}, {"type": "flac"}],
        loudness={"target_lufs": -20.0},
        timestamps="segment",
        subtitles=["srt", "vtt"],
        tags={"title": " A book "},
    )

    assert [(form.type.value, form.bitrate_kbps) for form in spec.formats] == [
        ("m4b", 96),
        ("mp3", 128),
        ("flac", None),
    ]
    assert spec.loudness == Loudness(target_lufs=-20.0, max_true_peak_db=-1.5, scope=LoudnessScope.JOB)
    assert (spec.timestamps, spec.subtitles) == (Timestamps.SEGMENT, (SubtitleFormat.SRT, SubtitleFormat.VTT))
    assert spec.model_dump()["tags"] == {"title": "A book"}


@pytest.mark.parametrize("form", AudioFormat)
def test_every_format_has_a_default_at_every_rate_it_takes(form: AudioFormat) -> None:
    for rate_hz in FORMATS[form].sample_rates_hz:
        chosen = default_bitrate_kbps(form, rate_hz)
        assert chosen in bitrates_kbps(form, rate_hz) if chosen is not None else not bitrates_kbps(form, rate_hz)


def test_what_a_format_does_not_take_is_refused_by_its_place() -> None:
    formats = [
        {"type": "wav", "bitrate_kbps": 128},
        {"type": "mp3", "bitrate_kbps": 192},
        {"type": "opus", "bitrate_kbps": 5},
        {"type": "mp3"},
    ]

    assert refusals(formats=formats, subtitles=["srt", "srt"]) == {
        ("/output/formats/0/bitrate_kbps", "not_supported"),
        ("/output/formats/1/bitrate_kbps", "out_of_range"),
        ("/output/formats/2/bitrate_kbps", "out_of_range"),
        ("/output/formats/3/type", "repeated"),
        ("/output/subtitles/1", "repeated"),
    }


def test_a_format_is_made_as_a_whole_and_in_chapters_and_each_once() -> None:
    both = [{"type": "mp3"}, {"type": "mp3", "files": "chapters"}]

    assert [(form.files, form.bitrate_kbps) for form in resolve(formats=both).formats] == [
        (Files.WHOLE, 96),
        (Files.CHAPTERS, 96),
    ]
    assert refusals(formats=[*both, both[1]]) == {("/output/formats/2/type", "repeated")}


def test_a_bitrate_fits_the_sample_rate_that_was_asked_for() -> None:
    assert resolve(formats=[{"type": "mp3", "bitrate_kbps": 192}], sample_rate=44_100).formats[0].bitrate_kbps == 192
    assert resolve(formats=[{"type": "mp3"}], sample_rate=8_000).formats[0].bitrate_kbps == 64


def test_the_models_own_rate_counts_where_none_is_named() -> None:
    with pytest.raises(HttpProblem, match="opus has no 44100 Hz"):
        resolve_output(Output.model_validate({"formats": [{"type": "opus"}]}), 44_100)


def test_an_output_of_before_there_was_a_choice_is_one_wav() -> None:
    assert TypeAdapter(Output).validate_python({}) == Output()


@pytest.mark.parametrize("preset", OutputPreset)
def test_a_preset_stands_for_what_is_not_said(preset: OutputPreset) -> None:
    made = resolve(preset=preset).model_dump(mode="json", exclude_none=True)

    for name, value in PRESETS[preset].output.items():
        if name != "formats":
            assert made[name] == value
    assert made["preset"] == preset


def test_what_is_said_wins_over_the_preset_part_by_part() -> None:
    made = resolve(
        preset="acx", formats=[{"type": "mp3"}, {"type": "flac"}], loudness={"target_lufs": -19}, tail_s=2.5, speed=1.1
    )

    assert made.formats == (
        OutputFormat(type=AudioFormat.MP3, bitrate_kbps=192),
        OutputFormat(type=AudioFormat.FLAC),
    )
    assert made.loudness == Loudness(target_lufs=-19, max_true_peak_db=-4, scope=LoudnessScope.CHAPTER)
    assert (made.head_s, made.tail_s, made.room_tone_db, made.speed) == (0.6, 2.5, -72, 1.1)
    assert resolve(preset="acx", loudness=None, room_tone_db=None).loudness is None
    # A rate at which the preset's bitrate is none takes the usual one.
    assert resolve(preset="acx", sample_rate=24_000).formats[0].bitrate_kbps == 96


def change(old: Output, **fields: Any) -> Output:
    return resolve_changed_output(OutputChange.model_validate(fields), old, MODEL_RATE_HZ)


def test_another_preset_takes_the_place_of_what_the_job_has_but_for_what_is_named() -> None:
    old = resolve(formats=[{"type": "opus"}], subtitles=["srt"], head_s=2, speed=1.2, loudness={"target_lufs": -30})

    made = change(old, preset="acx", tail_s=4)

    assert made == resolve(preset="acx", tail_s=4, subtitles=["srt"], speed=1.2)
    assert change(made, preset="podcast", head_s=0, tail_s=0, room_tone_db=None).loudness == Loudness(
        target_lufs=-16, max_true_peak_db=-2
    )
    assert change(made, tail_s=None).tail_s == 1.5
    assert change(made, preset=None) == made.model_copy(update={"preset": None})
    silent = resolve(preset="acx", room_tone_db=None)
    assert change(silent, speed=0.9) == silent.model_copy(update={"speed": 0.9})


def test_a_preset_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError):
        resolve(preset="netflix")
