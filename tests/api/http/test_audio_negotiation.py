"""Accept is read as RFC 9110 has it."""

from __future__ import annotations

import pytest

from api.http.problems.problem import HttpProblem
from api.jobs.segments.audio_routes import choose_format
from rhapsode.contract.jobs.output import AudioFormat


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (None, AudioFormat.WAV),
        ("", AudioFormat.WAV),
        ("*/*", AudioFormat.WAV),
        ("audio/*", AudioFormat.WAV),
        ("audio/mpeg", AudioFormat.MP3),
        ("AUDIO/MPEG", AudioFormat.MP3),
        ("audio/ogg; codecs=opus", AudioFormat.OPUS),
        ("audio/mpeg;q=0.5, audio/ogg;q=0.8", AudioFormat.OPUS),
        ("audio/wav;q=0, audio/*", AudioFormat.MP3),
        ("audio/webm, audio/ogg, audio/wav, audio/*;q=0.9, application/ogg;q=0.7, */*;q=0.5", AudioFormat.WAV),
        ("audio/aac, */*;q=0.1", AudioFormat.WAV),
        ("audio/mpeg;q=high, audio/wav;q=0.9", AudioFormat.MP3),
    ],
)
def test_the_best_that_both_sides_have_is_sent(accept: str | None, form: AudioFormat) -> None:
    assert choose_format(accept) is form


@pytest.mark.parametrize(
    "accept", ["text/html", "audio/aac", "*/*;q=0", "audio/wav;q=0, audio/mpeg;q=0, audio/ogg;q=0"]
)
def test_nothing_in_common_is_said(accept: str) -> None:
    with pytest.raises(HttpProblem) as refused:
        choose_format(accept)
    assert refused.value.status == 406
