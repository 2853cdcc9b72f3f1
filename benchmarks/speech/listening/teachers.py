"""The voices that the small voice learned from, as figures: what its own speech is compared with.

`python benchmarks/speech/listening/teachers.py UNPACKED` writes them anew; UNPACKED is the folder of the Debian
packages that `training/README.md` names, and their libraries must be on the loader's path.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.speech.listening.scores import Voice, voice_scores
from benchmarks.speech.listening.voice_profile import VoiceProfile, voice_profile
from worker.speech.audio.speech_edges import finish_edges
from worker.speech.judging.judges import QualityJudge, SpeakerEncoder
from worker.speech.judging.mel import Floats
from worker.speech.quality.recognisers.moonshine import MoonshineTiny

FILE = Path(__file__).with_name("teachers.json")
SENTENCES = Path(__file__).resolve().parents[3] / "tests/listening/unseen_sentences.txt"


@dataclass(frozen=True, slots=True)
class Teacher:
    """embedding: of the speaker encoder, mean over the sentences, length one."""

    made_by: str
    sentences: int
    word_error_rate: float
    quality: float
    profile: VoiceProfile
    embedding: tuple[float, ...]


_FORM = TypeAdapter(Mapping[str, Teacher])


def read_teachers() -> Mapping[str, Teacher]:
    """By the name of the built-in speaker that learned from each."""
    return _FORM.validate_json(FILE.read_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unpacked", type=Path)
    arguments = parser.parse_args()
    from training.speech.voices import FestivalSlt, FliteVoice

    texts = SENTENCES.read_text(encoding="utf-8").splitlines()
    festival = FestivalSlt(arguments.unpacked)
    flite = FliteVoice(arguments.unpacked, "rms")
    teachers: dict[str, Teacher] = {}
    for name, voice, made_by in (
        ("slt", festival, "festival 2.5.0, voice us_slt HTS (CMU ARCTIC, BSD)"),
        ("rms", flite, "flite 2.2, voice rms (CMU ARCTIC, BSD)"),
    ):
        spoken = [voice.speak(text) for text in texts]
        teachers[name] = _teacher(made_by, texts, [(one.samples, one.rate_hz) for one in spoken])
        print(name, teachers[name].word_error_rate, teachers[name].quality, teachers[name].profile)
    FILE.write_bytes(_FORM.dump_json(teachers, indent=1) + b"\n")


def _teacher(made_by: str, texts: list[str], sounds: list[tuple[Floats, int]]) -> Teacher:
    trimmed = [(finish_edges(pcm, rate_hz), rate_hz) for pcm, rate_hz in sounds]
    scores = voice_scores(Voice(tuple(texts), tuple(trimmed)), MoonshineTiny(), SpeakerEncoder(), QualityJudge())
    assert scores.quality is not None
    assert scores.embedding is not None
    return Teacher(
        made_by=made_by,
        sentences=len(texts),
        word_error_rate=round(scores.errors.rate, 4),
        quality=round(scores.quality, 3),
        profile=voice_profile(trimmed),
        embedding=tuple(round(float(value), 5) for value in scores.embedding),
    )


if __name__ == "__main__":
    main()
