"""One segment on its way to the listener: chunks of the engine in, samples and codes of the same frames out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from worker.engine.interface import CodecFrames, EngineInfo, Pcm, SpeechChunk
from worker.live.edges import LeadingSilence, TrailingSilence, pause
from worker.live.resuming import ResumeStart
from worker.speech.audio.samples import Samples, to_samples


@dataclass(frozen=True, slots=True)
class SentAudio:
    """What is sent of a chunk."""

    samples: Samples
    frames: CodecFrames

    @property
    def is_nothing(self) -> bool:
        return not len(self.samples) and not len(self.frames)


class LiveSegmentAudio:
    """`take` every chunk in order, then `pause` once."""

    def __init__(self, info: EngineInfo, start: ResumeStart) -> None:
        """start: of this segment, if the stream goes on in it."""
        self._rate = info.sample_rate_hz
        self._leading = None if start.is_begun else LeadingSilence(info.sample_rate_hz, is_start=start.prefix is None)
        self._trailing = TrailingSilence(info.sample_rate_hz)
        self._skip_frames = start.skip_frames
        self._skip_samples = start.skip_samples

    def take(self, chunk: SpeechChunk) -> SentAudio:
        heard = chunk.pcm if self._leading is None else self._leading.take(chunk.pcm)
        self._trailing.take(heard)
        frames = chunk.frames[self._skip_frames :]
        self._skip_frames -= len(chunk.frames) - len(frames)
        return SentAudio(self._unheard(heard), frames)

    def pause(self, pause_s: float) -> Samples:
        """Silence before the next segment."""
        return self._unheard(pause(pause_s, self._rate, self._trailing))

    def _unheard(self, pcm: Pcm) -> Samples:
        samples = to_samples(pcm)
        rest = samples[self._skip_samples :]
        self._skip_samples -= len(samples) - len(rest)
        return rest
