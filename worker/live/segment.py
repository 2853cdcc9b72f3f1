"""One segment of a stream, from its text to what the engine made of it. The thread of the live server alone."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field

from reading.estimates import expected_audio_ms
from worker.engine.interface import CodecFrames, Conditioning, EngineInfo, Pcm, Speech, SpeechChunk
from worker.live.edges import LeadingSilence, TrailingSilence, pause
from worker.live.gate import LiveGate
from worker.live.resuming import ResumeStart
from worker.speech.audio.samples import Samples, to_samples
from worker.speech.quality.calibration.calibration_file import SpeechBounds

AHEAD_S = 1.0
"""The next segment starts so long before the earliest usual end of the current one. A prompt and its first frame take
less. Frames that are made early play early where frames are late."""

_UNKNOWN_SHARE = 0.5
"""Of the length that is expected of any speaker, where nothing is known of this one."""

SegmentEvents = asyncio.Queue[SpeechChunk | Future[Speech]]


@dataclass(slots=True)
class LiveSegment:
    """start: of this segment, if the stream goes on in it. bounds: what is usual for the voice. text: as far as it is
    known. num_frames: that were looked at, of what the engine makes.

    events: what it has made and was not looked at. num_early: of these, those that came before the segment's turn.
    found: what is wrong with it, of speech that was judged as a whole.
    """

    index: int
    request_id: str
    conditioning: Conditioning
    start: ResumeStart
    bounds: SpeechBounds
    info: EngineInfo
    audio: LiveSegmentAudio = field(init=False)
    gate: LiveGate = field(init=False)
    text: str = ""
    is_whole: bool = False
    pause_s: float = 0.0
    num_frames: int = 0
    is_under_way: bool = False
    num_early: int = 0
    found: tuple[str, ...] = ()
    events: SegmentEvents = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        self.audio = LiveSegmentAudio(self.info, self.start)
        self.gate = LiveGate(self.bounds, self._frame_s, is_begun=self.start.is_begun)

    @property
    def _frame_s(self) -> float:
        return self.info.samples_per_frame / self.info.sample_rate_hz

    def may_end_soon(self, chunk: SpeechChunk) -> bool:
        """Whether the next one is to be begun behind this chunk; the chunk that follows may be as long again."""
        if not self.is_whole:
            return False
        num_prefix = 0 if self.start.prefix is None else len(self.start.prefix)
        num_frames = num_prefix + self.num_frames + len(chunk.frames)
        return num_frames * self._frame_s + AHEAD_S >= self._usual_s()

    def _usual_s(self) -> float:
        model = self.bounds.duration
        return model.usual_s(self.text) if model else _UNKNOWN_SHARE * expected_audio_ms(self.text) / 1000


class LiveSegmentAudio:
    """Chunks of the engine in, samples and codes of the same frames out: `take` each in order, then `pause` once."""

    def __init__(self, info: EngineInfo, start: ResumeStart) -> None:
        """start: of this segment, if the stream goes on in it."""
        self._rate = info.sample_rate_hz
        self._leading = None if start.is_begun else LeadingSilence(info.sample_rate_hz, is_start=start.prefix is None)
        self._trailing = TrailingSilence(info.sample_rate_hz)
        self._skip_frames = start.skip_frames
        self._skip_samples = start.skip_samples

    def take(self, chunk: SpeechChunk) -> tuple[Samples, CodecFrames]:
        """What is sent of the chunk."""
        heard = chunk.pcm if self._leading is None else self._leading.take(chunk.pcm)
        self._trailing.take(heard)
        frames = chunk.frames[self._skip_frames :]
        self._skip_frames -= len(chunk.frames) - len(frames)
        return self._unheard(heard), frames

    def pause(self, pause_s: float) -> Samples:
        """Silence before the next segment."""
        return self._unheard(pause(pause_s, self._rate, self._trailing))

    def _unheard(self, pcm: Pcm) -> Samples:
        samples = to_samples(pcm)
        rest = samples[self._skip_samples :]
        self._skip_samples -= len(samples) - len(rest)
        return rest
