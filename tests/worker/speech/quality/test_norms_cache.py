"""What a worker remembers of the voices it spoke: each job and manner by itself, and no more than it must."""

from __future__ import annotations

from storage.database.redis_errors import StateRedis
from storage.ids import JobId
from storage.job_store.segment_reads import SegmentReader
from worker.speech.quality.norms_cache import MAX_JOBS, NormsCache, Voice
from worker.speech.quality.sound.timbre import LEAST_UTTERANCES, Timbre


def voice(job: str = "job", speaker: str = "MARY", instructions: str = "") -> Voice:
    return (JobId(job), speaker, instructions)


def test_a_voice_is_known_by_its_own_utterances_alone() -> None:
    norms = NormsCache(SegmentReader(StateRedis()), 24_000)
    low, high = Timbre(100.0, (-10.0,) * 12), Timbre(200.0, (-20.0,) * 12)

    for _ in range(LEAST_UTTERANCES):
        norms.heard(voice(), low)
        norms.heard(voice(speaker="TOM"), high)
        assert norms.timbre(voice(instructions="whisper")) is None

    mary, tom = norms.timbre(voice()), norms.timbre(voice(speaker="TOM"))
    assert mary
    assert tom
    assert (mary.pitch_hz, mary.bands_db) == (100, low.bands_db)
    assert (tom.pitch_hz, tom.bands_db) == (200, high.bands_db)
    assert norms.timbre(voice(job="another")) is None


def test_what_was_not_heard_for_the_longest_time_is_forgotten() -> None:
    norms = NormsCache(SegmentReader(StateRedis()), 24_000)

    for number in range(MAX_JOBS + 1):
        for _ in range(LEAST_UTTERANCES):
            norms.heard(voice(job=str(number)), Timbre(100.0, (-10.0,) * 12))

    assert norms.timbre(voice(job="0")) is None
    assert norms.timbre(voice(job=str(MAX_JOBS))) is not None
