"""How each speaker sounds in each chapter, against all chapters, from what the quality gate measured. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from reading.drafting.warnings import TextWarning
from storage.jobs.warnings import VOICE_DRIFT
from storage.segments.file import SegmentHeader
from storage.segments.timeline import Placed
from worker.speech.quality.sound.semitones import semitones_between
from worker.speech.quality.sound.timbre import LEAST_S

LEAST_SEGMENTS = 8
"""Of a speaker in a chapter: fewer do not tell."""
MOST_SEMITONES, MOST_AWAY_DB = 2.0, 1.0
"""Of four voices of Kokoro, 28 utterances each, 12,000 draws of eight were at most 1.0 semitones and 0.6 dB off. Eight
of another voice were at least 2.1 dB off.
"""
MOST_TOLD = 5
"""Chapters of a speaker that the warning names."""


@dataclass(frozen=True, slots=True)
class ChapterVoice:
    """segments: of a speaker in a chapter, as long as `LEAST_S` and with the speaker's own instructions.

    semitones: their median pitch against that of all chapters. away_db: how much farther they are from the speaker's
    voice than in all chapters, in dB a band. None: not measured.
    """

    chapter: int
    segments: int
    semitones: float | None
    away_db: float | None

    @property
    def drifts(self) -> bool:
        """Whether it sounds like another voice."""
        return self.segments >= LEAST_SEGMENTS and (
            abs(self.semitones or 0) > MOST_SEMITONES or (self.away_db or 0) > MOST_AWAY_DB
        )


def chapter_voices(placed: Sequence[Placed], headers: Sequence[SegmentHeader]) -> dict[str, tuple[ChapterVoice, ...]]:
    """By speaker, for those who speak in several chapters."""
    heard: defaultdict[str, defaultdict[int, list[Mapping[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for each, header in zip(placed, headers, strict=True):
        if header.checks.get("speech_s", 0) >= LEAST_S and each.planned.instructions is None:
            heard[each.planned.speaker][each.planned.chapter].append(header.checks)
    return {name: tuple(_compared(chapters)) for name, chapters in heard.items() if len(chapters) > 1}


def _compared(chapters: Mapping[int, Sequence[Mapping[str, float]]]) -> Iterator[ChapterVoice]:
    everything = [checks for chapter in chapters.values() for checks in chapter]
    pitches, distances = _values(everything, "pitch_hz"), _values(everything, "voice_db")
    for chapter, said in chapters.items():
        own, away = _values(said, "pitch_hz"), _values(said, "voice_db")
        semitones = round(semitones_between(median(own), median(pitches)), 2) if own else None
        yield ChapterVoice(chapter, len(said), semitones, round(median(away) - median(distances), 2) if away else None)


def _values(measured: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [checks[name] for checks in measured if name in checks]


def drift_warnings(voices: Mapping[str, Sequence[ChapterVoice]]) -> Iterator[TextWarning]:
    for name, chapters in voices.items():
        if found := [each for each in chapters if each.drifts]:
            told = ", ".join(
                f"{each.chapter + 1} ({each.semitones or 0:+.1f} semitones, {each.away_db or 0:+.1f} dB a band)"
                for each in found[:MOST_TOLD]
            )
            yield TextWarning(VOICE_DRIFT, f"{name or 'the narrator'} may sound like another voice in chapter {told}")
