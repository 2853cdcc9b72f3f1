"""What a speech engine is: one request value in, one speech value out.

Everything that runs the model (native, fake, later vLLM) implements `Engine`, and everything that wants
speech talks to `Engine`. This module knows numpy and the profiles' names: no jobs, no Redis, no store, no torch.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.engine.profiles import EngineReproducibility

Pcm = NDArray[np.float32]
"""Mono samples in [-1, 1], shape (num_samples,)."""

CodecFrames = NDArray[np.int16]
"""Codec frames, shape (T, Q): T frames of `EngineInfo.samples_per_frame`, Q codebooks, codebook 0 first."""


class TextMode(enum.StrEnum):
    """How the target text enters the talker."""

    WHOLE = "whole"
    """All text rows stand in the prompt (upstream: `non_streaming_mode=True`). Steadier pacing; our default."""

    PER_FRAME = "per_frame"
    """One text row is added to each generated frame (upstream: `non_streaming_mode=False`)."""


class ModelTask(enum.StrEnum):
    """What a checkpoint was trained to condition on; the published `tts_model_type`."""

    CUSTOM_VOICE = "custom_voice"
    VOICE_DESIGN = "voice_design"
    BASE = "base"


class VoiceMode(enum.StrEnum):
    """How a checkpoint speaks in a voice that was recorded."""

    X_VECTOR = "x_vector"
    """From the speaker embedding alone: `XVectorPrompt`."""

    IN_CONTEXT = "in_context"
    """From the recording and its words: `InContextPrompt`."""


@dataclass(frozen=True, slots=True, eq=False)
class SpeechChunk:
    """The next part of an utterance that is being made: at least one frame.

    pcm (n * samples_per_frame,) are the samples of frames (n, Q), which are all that is needed to go on behind them.
    """

    pcm: Pcm
    frames: CodecFrames


OnAudio = Callable[[SpeechChunk], None]
"""Takes the next chunk. See `Engine.submit`."""


class TextFrontEnd(enum.StrEnum):
    """How a text is written down for the model: it belongs to the checkpoint, which learned to read it so."""

    WORDS = "words"
    """Numbers, money, dates and units as words, where there are rules for the language."""

    RAW = "raw"
    """As it is: the model reads numbers itself."""


class SegmentStyle(enum.StrEnum):
    """What the checkpoint is best given in one request: it knows how it was trained."""

    SENTENCE = "sentence"
    PACKED = "packed"
    """Several sentences: one that hears those before speaks on in their manner."""


class FinishReason(enum.StrEnum):
    EOS = "eos"
    LENGTH = "length"


class Urgency(enum.StrEnum):
    """Who goes first where there is not room for all: see `serving.admission_queue`.

    The classes of jobs, as `rhapsode.contract.jobs.states.JobClass` names them, which the engine, a library, does not
    import, and live speech, which is no job.
    """

    LIVE = "live"
    """It is live, and has separate slots."""

    INTERACTIVE = "interactive"
    """A listener waits for it."""

    BULK = "bulk"


@dataclass(frozen=True, slots=True)
class TokenSampling:
    """How one categorical draw is made. `temperature == 0` takes the most likely entry."""

    temperature: float = 0.9
    top_k: int = 50
    top_p: float = 1.0


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling of codebook 0 (talker) and of the residual codebooks (code predictor).

    The repetition penalty applies to codebook 0 only, once per distinct id of the utterance.
    """

    talker: TokenSampling = field(default_factory=TokenSampling)
    predictor: TokenSampling = field(default_factory=TokenSampling)
    repetition_penalty: float = 1.05


@dataclass(frozen=True, slots=True)
class BuiltInSpeaker:
    """A speaker row of a CustomVoice checkpoint, with an optional style instruction."""

    name: str
    instruction: str = ""


@dataclass(frozen=True, slots=True)
class DesignedVoice:
    """A voice described in words, for a VoiceDesign checkpoint."""

    description: str


@dataclass(frozen=True, slots=True)
class XVectorPrompt:
    """Cloning from the speaker embedding alone: float32 (D,), D the talker's hidden size."""

    speaker_embedding: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class InContextPrompt:
    """Cloning with the reference in context: embedding (D,), ref_code (T, Q), and what the reference says.

    ref_text_ids: the checkpoint's ids of `ref_text`, as `encode_voice` returns them; empty has them made again.
    """

    speaker_embedding: NDArray[np.float32]
    ref_code: CodecFrames
    ref_text: str
    ref_text_ids: tuple[int, ...] = ()


VoicePrompt = XVectorPrompt | InContextPrompt
Conditioning = BuiltInSpeaker | DesignedVoice | XVectorPrompt | InContextPrompt


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """One segment of text to speak.

    request_id: unique among the requests in flight; the handle for `cancel`.
    language: a name from `EngineInfo.languages`, or "auto".
    seed: keys the counter-based noise; the same request with the same seed draws the same codes in any batch.
    max_frames: upper bound on codec frames, those of the prefix with them; None derives it from the length of the text.
    prefix: frames (P, Q) of this very utterance that were made elsewhere: speech goes on behind them, and chunks and
        `Speech` hold what follows. The text is the whole text all the same. Where an engine rounds passes over several
        frames otherwise than single ones, what follows may not be what the engine before would have said.
    text_is_open: more of the text may come by `Engine.extend`; a request whose next frame needs text that is not there
        yet stands still. In `TextMode.PER_FRAME`, and where `EngineInfo.takes_open_text`.
    """

    request_id: str
    text: str
    conditioning: Conditioning
    language: str = "auto"
    text_mode: TextMode = TextMode.WHOLE
    sampling: SamplingParams = field(default_factory=SamplingParams)
    seed: int = 0
    max_frames: int | None = None
    urgency: Urgency = Urgency.BULK
    is_opening: bool = False
    """Its job's listener begins with it: before others of its urgency."""
    prefix: CodecFrames | None = None
    text_is_open: bool = False
    speed: float = 1.0
    """How fast it is spoken, where `EngineInfo.has_speed`; ignored elsewhere."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What one request became, behind its prefix. `pcm` holds `frames.shape[0] * samples_per_frame` samples."""

    pcm: Pcm
    frames: CodecFrames
    sample_rate_hz: int
    finish_reason: FinishReason
    engine_s: float
    """Wall seconds from admission into a slot to the last sample."""
    guessed: tuple[str, ...] = ()
    """Words of the text whose sound was guessed from their spelling, each once. An engine may not know any."""
    phones: str = ""
    """What all of `pcm` was to say, in Kokoro's alphabet; "" where the engine knows none."""


@dataclass(frozen=True, slots=True)
class ReferenceAudio:
    """A recording to clone. `ref_text` None asks for an `XVectorPrompt`, else an `InContextPrompt`."""

    pcm: Pcm
    sample_rate_hz: int
    ref_text: str | None = None


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """Facts about the loaded checkpoint that callers validate against."""

    model: str
    revision: str
    """Digest of the checkpoint's weights and configuration."""
    task: ModelTask
    speakers: tuple[str, ...]
    languages: tuple[str, ...]
    sample_rate_hz: int
    samples_per_frame: int
    num_codebooks: int
    """0 for an engine without codes: its frames are empty and count the samples alone."""
    codebook_size: int
    speaker_dim: int
    slots: int
    live_slots: int
    """Beside `slots`, for requests of `Urgency.LIVE` alone."""
    takes_open_text: bool
    """Whether a request may begin before all of its text is known."""
    max_text_tokens: int
    """The longest text that fits a slot. Four tokens of an instruction take at most the room of one of these."""
    max_text_chars: int
    """The longest text that the checkpoint was made for, in speech units; what is longer it may say twice, or not."""
    text_front_end: TextFrontEnd
    segmentation: SegmentStyle
    accepts_instructions: bool
    """Whether a request may say how to speak, or what the voice is like; if not, one that does is rejected."""
    voice_modes: tuple[VoiceMode, ...]
    """What `encode_voice` can make here; empty for a checkpoint that cannot clone."""
    default_sampling: SamplingParams
    """The checkpoint's own `generation_config.json`; requests override single fields of it."""
    speaker_embeddings: tuple[tuple[float, ...], ...] = ()
    """What conditions the talker in the place of each of `speakers`, (D,) in 32-bit floats, so that voices can be made
    between them; empty where the checkpoint speaks with no embedding."""
    has_speed: bool = False
    """Whether `SpeechRequest.speed` counts. Such an engine draws nothing: speed or another cut changes its speech."""
    blends_speakers: bool = False
    """Whether speakers can be joined by name, as in `one(2)+other`."""
    notice: str = ""
    """A sentence the user should see about this checkpoint (for instance: a prototype), else empty."""
    config_sha256: str = ""
    """Of how the engine was set up, see `configuration`; empty before it is known."""
    reproducibility: EngineReproducibility = EngineReproducibility.BEST_EFFORT

    @property
    def is_strict(self) -> bool:
        """Whether a request has equal codes in every batch."""
        return self.reproducibility is EngineReproducibility.STRICT


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Counters since start. `progress` grows while any request is active that has text to speak: the watchdog reads it.

    steps: each makes the next frame of all active requests; 0 for an engine without frames. beats: other progress.
    standing: those of `active` that wait for more of their text.
    codec_graph_passes, codec_fallbacks: codec passes on a GPU that replayed a captured graph, and that did not.
    codec_waiting_frames: frames that the talker has handed on and that are not decoded yet.
    decoding: requests without `on_audio` that have left their slots, and whose samples are not complete.
    longest_pause_s: for which the garbage collector of the engine's own process has stopped it.
    lacks_decoder: no decoder is in reach, so nothing is decoded now.
    """

    steps: int
    frames: int
    active: int
    waiting: int
    finished: int
    beats: int = 0
    codec_graph_passes: int = 0
    codec_fallbacks: int = 0
    codec_waiting_frames: int = 0
    decoding: int = 0
    standing: int = 0
    longest_pause_s: float = 0.0
    lacks_decoder: bool = False

    @property
    def progress(self) -> int:
        return self.steps + self.beats


class Engine(Protocol):
    """A batch of slots behind futures. Thread-safe: any thread may call any method.

    A future fails with `RequestRejected` (this request can never work), `RequestCancelled`, or
    `EngineDied` (the process or its loop is gone; the request itself may be innocent).
    """

    @property
    def info(self) -> EngineInfo: ...

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        """`on_audio` gets each chunk as soon as it is made, one at a time and in order, before the future has a result.

        Joined, the chunks are the samples of that `Speech`, bit for bit. They come from a thread that makes the audio
        of others as well: `on_audio` keeps them and returns; it neither waits nor raises.
        """
        ...

    def extend(self, request_id: str, text: str, *, is_last: bool) -> None:
        """More of an open request's text, in pieces of any shape: what is said depends on all of them joined alone.

        Unknown and finished ids are ignored, as is what comes behind the last piece. The future fails with
        `RequestRejected` where the text grows too long for a slot, or ends with nothing to speak.
        """
        ...

    def cancel(self, request_id: str) -> None:
        """Free the request's slot at the next frame. Unknown and finished ids are ignored."""
        ...

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]: ...

    def stats(self) -> EngineStats: ...

    def close(self) -> None:
        """Stop the loop; requests in flight fail with `EngineDied`. Idempotent."""
        ...
