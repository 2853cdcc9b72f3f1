"""The judge of recordings, as `rhapsode bench --quality` starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import soundfile

from worker.speech.judging.messages import Recording

SAMPLES = Path(__file__).resolve().parents[4] / "worker/small_voice/samples"
RATE_HZ = 24_000


def judged(recordings: list[Recording]) -> list[dict[str, object]]:
    lines = "".join(json.dumps(asdict(each)) + "\n" for each in recordings)
    outcome = subprocess.run(
        [sys.executable, "-m", "worker.speech.judging"], input=lines, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_words_are_counted_of_english_and_sound_is_measured_of_all(tmp_path: Path) -> None:
    pytest.importorskip("moonshine_voice")
    sample = str(sorted(SAMPLES.glob("*.wav"))[0])
    buzz = tmp_path / "buzz.wav"
    times = np.arange(2 * RATE_HZ) / RATE_HZ
    tone = np.clip(1.5 * np.sin(2 * np.pi * 200 * times), -1, 1)
    quiet = np.zeros(RATE_HZ // 2)
    soundfile.write(buzz, np.concatenate([quiet, tone, quiet, quiet, tone]), RATE_HZ, subtype="PCM_16")

    spoken, other, buzzed = judged(
        [
            Recording(sample, "Nothing of this is said there at all.", is_english=True),
            Recording(sample, "Nothing of this is said there at all.", is_english=False),
            Recording(str(buzz), "", is_english=False),
        ]
    )

    assert spoken["words"] == 8
    assert isinstance(errors := spoken["errors"], int)
    assert errors >= 6
    assert spoken["heard"]
    assert (other["words"], other["heard"], other["words_per_s"]) == (None, None, None)
    assert other["loudness_db"] == spoken["loudness_db"]
    assert isinstance(clipped := buzzed["clipped_share"], float)
    assert clipped > 0.3
    assert buzzed["leading_s"] == pytest.approx(0.5, abs=0.03)
    assert buzzed["longest_pause_s"] == pytest.approx(1.0, abs=0.05)


def test_what_is_said_as_it_is_written_has_no_errors(tmp_path: Path) -> None:
    pytest.importorskip("moonshine_voice")
    sample = str(sorted(SAMPLES.glob("*.wav"))[0])
    (first,) = judged([Recording(sample, "", is_english=True)])

    (again,) = judged([Recording(sample, str(first["heard"]), is_english=True)])

    assert again["errors"] == 0
    assert again["words"] != 0
