"""`rhapsode narrate` through everything there is (command line, API, Valkey, Celery, workers, engine, store, join), and
a recogniser at the end of it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from rhapsode.stack.stack import Stack
from tests.environment import without_settings
from tests.listening.conftest import HERE
from tests.worker.speech.quality.sentence_faults import sentence_faults
from worker.speech.quality.recognisers.moonshine import MoonshineTiny
from worker.speech.quality.words.word_errors import word_errors

CLI = str(Path(sys.executable).parent / "rhapsode")
MAX_WER_OF_EXCERPT = 0.2
"""Of about a hundred words."""

MAX_WER = 0.12
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”]?\s+|\n\s*\n")


def story() -> str:
    return (HERE / "narration.txt").read_text(encoding="utf-8")


def narrated(text: str, stack: Stack, folder: Path, recogniser: MoonshineTiny) -> str:
    """What a listener hears of the finished file."""
    source, target = folder / "story.txt", folder / "story.wav"
    source.write_text(text, encoding="utf-8")
    environment = without_settings(os.environ)
    done = subprocess.run(
        [CLI, "narrate", str(source), "-o", str(target), "--server", stack.url],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pcm, rate_hz = soundfile.read(target, dtype="float32")
    return recogniser.transcribe(np.asarray(pcm, np.float32), rate_hz)


def test_a_narration_says_its_text_once_and_whole(stack: Stack, tmp_path: Path, recogniser: MoonshineTiny) -> None:
    text = "\n\n".join(story().split("\n\n")[:2])

    heard = narrated(text, stack, tmp_path, recogniser)

    faults = sentence_faults(_SENTENCE_END.split(text), heard)
    assert word_errors(text, heard).rate < MAX_WER_OF_EXCERPT
    assert faults.lost == faults.repeated == ()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_six_hundred_words_are_said_once_and_whole(stack: Stack, tmp_path: Path, recogniser: MoonshineTiny) -> None:
    text = story()

    heard = narrated(text, stack, tmp_path, recogniser)

    faults = sentence_faults(_SENTENCE_END.split(text), heard)
    assert word_errors(text, heard).rate <= MAX_WER
    assert faults.lost == faults.repeated == ()
