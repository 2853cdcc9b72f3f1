"""Speakers of a cast brought to one level, and the segments of each where a loudness is asked for. Pure.

A gain stays what it was when the narration was first put together (the manifest keeps it): what is edited later changes
no sample of its neighbours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rhapsode.contract.jobs.output import Loudness, LoudnessScope
from storage.segments.results import SegmentResult
from storage.segments.timeline import Placed
from worker.speech.audio.limiter import limited
from worker.speech.audio.samples import FULL_SCALE, Samples

CEILING = FULL_SCALE * 10 ** (-1 / 20)
"""Which the peaks of what is made louder stay below."""

EVEN_LU = 1.0
"""Speakers who differ by no more are left as they are."""

MOST_DB = 12.0
"""A larger difference is intended: a character whispers, or calls from another room."""


@dataclass(frozen=True, slots=True)
class SpeakerLevel:
    """name: as the cast has it, "" for the job's own voice. loudness_lufs: of all that they say before the gain; None
    where that is too short to have one.
    """

    name: str
    voice: str
    loudness_lufs: float | None
    gain_db: float = 0.0

    @property
    def heard_lufs(self) -> float | None:
        return None if self.loudness_lufs is None else self.loudness_lufs + self.gain_db


def speaker_levels(
    placed: Iterable[Placed], voice_of: Callable[[str], str], earlier: Sequence[SpeakerLevel]
) -> tuple[SpeakerLevel, ...]:
    """Of everybody who speaks, by name. voice_of: the voice of a speaker. earlier: of an assembly before this one."""
    said: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for each in placed:
        loudness = each.result.loudness_lufs
        said[each.planned.speaker] += [] if loudness is None else [(loudness, each.result.num_samples)]
    kept = {(each.name, each.voice): each for each in earlier}
    now = [SpeakerLevel(name, voice_of(name), _mean(said[name])) for name in sorted(said)]
    known = [kept[each.name, each.voice] for each in now if (each.name, each.voice) in kept]
    level = _mean([(heard, 1) for each in known if (heard := each.heard_lufs) is not None])
    if level is None:
        level = _mean([pair for pairs in said.values() for pair in pairs]) if _differ(now) else None
    return tuple(kept.get((each.name, each.voice)) or _brought_to(level, each) for each in now)


def segment_gain_db(speaker: SpeakerLevel, target: Loudness | None, segment: SegmentResult) -> float:
    """With a target, segments come to it or to their speaker's level; one without a loudness is taken for usual."""
    if target is None:
        return speaker.gain_db
    level = target.target_lufs if target.scope is LoudnessScope.SEGMENT else speaker.heard_lufs
    own_lufs = speaker.loudness_lufs if segment.loudness_lufs is None else segment.loudness_lufs
    return 0.0 if level is None or own_lufs is None else _bounded(level - own_lufs)


def _differ(levels: Sequence[SpeakerLevel]) -> bool:
    found = [each.loudness_lufs for each in levels if each.loudness_lufs is not None]
    return len(found) > 1 and max(found) - min(found) > EVEN_LU


def _brought_to(level: float | None, speaker: SpeakerLevel) -> SpeakerLevel:
    if level is None or speaker.loudness_lufs is None:
        return speaker
    return replace(speaker, gain_db=round(_bounded(level - speaker.loudness_lufs), 1))


def _bounded(gain_db: float) -> float:
    return max(-MOST_DB, min(MOST_DB, gain_db))


def _mean(levels: Sequence[tuple[float, int]]) -> float | None:
    """Of the energy of stretches that last so long."""
    if not levels:
        return None
    energy = sum(length * 10 ** (lufs / 10) for lufs, length in levels)
    return round(10 * math.log10(energy / sum(length for _, length in levels)), 2)


def amplified(samples: Samples, gain_db: float, sample_rate_hz: int) -> Samples:
    """The same object where nothing is to be done."""
    if gain_db == 0:
        return samples
    signal = samples.astype(np.float32) * np.float32(10 ** (gain_db / 20))
    return np.rint(limited(signal, CEILING, sample_rate_hz)).astype(np.int16)
