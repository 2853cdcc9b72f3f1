"""Encode recordings to a checkpoint's voice prompts, several in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worker.engine.errors import RequestRejected
from worker.engine.interface import InContextPrompt, ModelTask, Pcm, ReferenceAudio, VoicePrompt, XVectorPrompt
from worker.engine.model.mel import SAMPLE_RATE_HZ
from worker.engine.requests.prompt import PromptBuilder
from worker.engine.stages.codec import CodecStage
from worker.engine.stages.speaker import SpeakerStage


@dataclass(frozen=True, slots=True)
class KnownWords:
    """The text of a recording, its token ids, and its samples in the codec's format."""

    text: str
    ids: tuple[int, ...]
    samples: Pcm


@dataclass(frozen=True, slots=True)
class PreparedVoice:
    """Samples in the speaker encoder's format, and the words if they are known."""

    samples: Pcm
    words: KnownWords | None

    @property
    def duration_s(self) -> float:
        return len(self.samples) / SAMPLE_RATE_HZ


class VoiceEncoder:
    """Any thread may call any method."""

    def __init__(
        self, task: ModelTask, speaker: SpeakerStage | None, codec: CodecStage, prompts: PromptBuilder
    ) -> None:
        """speaker: None for checkpoints that cannot clone."""
        self._task = task
        self._speaker = speaker
        self._codec = codec
        self._prompts = prompts

    def prepare(self, reference: ReferenceAudio) -> PreparedVoice:
        """Raises RequestRejected if this checkpoint cannot clone the recording."""
        speaker = self._required_speaker()
        if reference.ref_text is not None and not reference.ref_text.strip():
            raise RequestRejected("the reference text is empty; leave it out to clone from the sound alone")
        samples = speaker.prepared(reference.pcm, reference.sample_rate_hz)
        if reference.ref_text is None:
            return PreparedVoice(samples, None)
        ids = self._prompts.reference_text_ids(reference.ref_text)
        clip = self._codec.prepared(samples, SAMPLE_RATE_HZ)
        return PreparedVoice(samples, KnownWords(reference.ref_text, ids, clip))

    def encode(self, voices: Sequence[PreparedVoice]) -> list[VoicePrompt]:
        """One prompt for each voice, in order. `SpeakerStage` and `CodecStage` give the rounding of a batch."""
        embeddings = self._required_speaker().embed([voice.samples for voice in voices])
        clips = [voice.words.samples for voice in voices if voice.words is not None]
        frames = iter(self._codec.encode(clips) if clips else ())
        return [
            XVectorPrompt(embedding.copy())
            if voice.words is None
            else InContextPrompt(embedding.copy(), next(frames), voice.words.text, voice.words.ids)
            for voice, embedding in zip(voices, embeddings, strict=True)
        ]

    def _required_speaker(self) -> SpeakerStage:
        if self._speaker is None:
            raise RequestRejected(f"this {self._task} checkpoint cannot clone voices; a base checkpoint can")
        return self._speaker
