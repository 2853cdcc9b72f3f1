"""What worker and engine host say to each other: one dataclass per message, one union per direction.

`encode_*` turns a message into a frame, `decode_*` back; both ends are of one release, and `Hello` proves it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from worker.engine.errors import (
    CheckpointError,
    EngineDied,
    EngineError,
    EngineNotInstalled,
    RequestCancelled,
    RequestRejected,
    StartError,
)
from worker.engine.interface import (
    BuiltInSpeaker,
    Conditioning,
    DesignedVoice,
    EngineInfo,
    EngineRequest,
    EngineStats,
    FinishReason,
    FramesRequest,
    InContextPrompt,
    ModelTask,
    Pcm,
    ReferenceAudio,
    SamplingParams,
    Speech,
    SpeechRequest,
    TextFrontEnd,
    TextMode,
    TokenSampling,
    Urgency,
    VoiceMode,
    VoicePrompt,
    XVectorPrompt,
)
from worker.engine.process.fields import MessageFields, ProtocolError
from worker.engine.process.framing import Array, Frame
from worker.engine.profiles import Reproducibility, ServingProfile
from worker.engine.settings import (
    EngineRole,
    EngineSettings,
    FakeEngineSettings,
    NativeEngineSettings,
    Precision,
    VllmEngineSettings,
    VllmRunner,
)

PROTOCOL_VERSION = 7


@dataclass(frozen=True, slots=True)
class Submit:
    """`call` numbers are the worker's own; answers carry them. is_streamed: samples are wanted as they are made."""

    call: int
    request: EngineRequest
    is_streamed: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    request_id: str


@dataclass(frozen=True, slots=True)
class EncodeVoice:
    call: int
    reference: ReferenceAudio


ToHost = Submit | Cancel | EncodeVoice


@dataclass(frozen=True, slots=True)
class Hello:
    """The host's first message, before it loads anything."""

    version: int


@dataclass(frozen=True, slots=True)
class Ready:
    info: EngineInfo


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The host is leaving, and another one would leave as well."""

    error: StartError


@dataclass(frozen=True, slots=True)
class Heartbeat:
    stats: EngineStats


@dataclass(frozen=True, slots=True)
class SpokenPart:
    """The next samples of a streamed call."""

    call: int
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class Spoken:
    """The end of a call. Of a streamed one the samples have been sent, and here are none."""

    call: int
    speech: Speech


@dataclass(frozen=True, slots=True)
class VoiceEncoded:
    call: int
    prompt: VoicePrompt


@dataclass(frozen=True, slots=True)
class Failed:
    call: int
    error: EngineError


FromHost = Hello | Ready | StartFailed | Heartbeat | SpokenPart | Spoken | VoiceEncoded | Failed

_ERRORS: dict[str, type[EngineError]] = {
    error.__name__: error for error in (EngineError, RequestRejected, RequestCancelled, EngineDied, CheckpointError)
}
_START_ERRORS: dict[str, type[StartError]] = {
    error.__name__: error for error in (StartError, CheckpointError, EngineNotInstalled)
}


def encode_to_host(message: ToHost) -> Frame:
    match message:
        case Submit():
            return _encode_submit(message)
        case Cancel(request_id):
            return Frame({"type": "cancel", "request_id": request_id})
        case EncodeVoice(call, reference):
            body = {
                "type": "encode_voice",
                "call": call,
                "sample_rate_hz": reference.sample_rate_hz,
                "ref_text": reference.ref_text,
            }
            return Frame(body, (reference.pcm,))


def decode_to_host(frame: Frame) -> ToHost:
    """Raises ProtocolError."""
    fields = MessageFields(frame.body)
    match fields.text("type"):
        case "submit":
            request = _decode_request(fields, frame.arrays)
            return Submit(fields.integer("call"), request, fields.truth("is_streamed"))
        case "submit_frames":
            handed = _decode_frames_request(fields, frame.arrays)
            return Submit(fields.integer("call"), handed, fields.truth("is_streamed"))
        case "cancel":
            return Cancel(fields.text("request_id"))
        case "encode_voice":
            (pcm,) = _floats(frame.arrays, 1)
            reference = ReferenceAudio(pcm, fields.integer("sample_rate_hz"), fields.text_or_none("ref_text"))
            return EncodeVoice(fields.integer("call"), reference)
        case other:
            raise ProtocolError(f"unknown message {other!r}")


def encode_from_host(message: FromHost) -> Frame:
    match message:
        case Hello(version):
            return Frame({"type": "hello", "version": version})
        case Ready(info):
            return Frame({"type": "ready", "info": asdict(info)})
        case StartFailed(error):
            return Frame({"type": "start_failed", "error": type(error).__name__, "detail": str(error)})
        case Heartbeat(stats):
            return Frame({"type": "heartbeat", **asdict(stats)})
        case SpokenPart(call, pcm):
            return Frame({"type": "spoken_part", "call": call}, (pcm,))
        case Spoken(call, speech):
            body = {
                "type": "spoken",
                "call": call,
                "sample_rate_hz": speech.sample_rate_hz,
                "finish_reason": speech.finish_reason,
                "engine_s": speech.engine_s,
            }
            return Frame(body, (speech.pcm, speech.frames))
        case VoiceEncoded(call, prompt):
            conditioning, arrays = _encode_conditioning(prompt)
            return Frame({"type": "voice_encoded", "call": call, "prompt": conditioning}, arrays)
        case Failed(call, error):
            kind = type(error).__name__ if type(error).__name__ in _ERRORS else EngineError.__name__
            return Frame({"type": "failed", "call": call, "error": kind, "detail": str(error)})


def decode_from_host(frame: Frame) -> FromHost:
    """Raises ProtocolError."""
    fields = MessageFields(frame.body)
    match fields.text("type"):
        case "hello":
            return Hello(fields.integer("version"))
        case "ready":
            return Ready(_decode_info(fields.section("info")))
        case "start_failed":
            return StartFailed(_decode_start_error(fields))
        case "heartbeat":
            return Heartbeat(_decode_stats(fields))
        case "spoken_part":
            return SpokenPart(fields.integer("call"), *_floats(frame.arrays, 1))
        case "spoken":
            return Spoken(fields.integer("call"), _decode_speech(fields, frame.arrays))
        case "voice_encoded":
            prompt = _decode_conditioning(fields.section("prompt"), frame.arrays)
            if not isinstance(prompt, XVectorPrompt | InContextPrompt):
                raise ProtocolError(f"{type(prompt).__name__} is not a voice prompt")
            return VoiceEncoded(fields.integer("call"), prompt)
        case "failed":
            return Failed(fields.integer("call"), _decode_error(fields))
        case other:
            raise ProtocolError(f"unknown message {other!r}")


def encode_settings(settings: EngineSettings) -> str:
    """For the host's command line."""
    match settings:
        case NativeEngineSettings():
            native = asdict(settings)
            native["checkpoint"] = str(settings.checkpoint)
            return json.dumps({"engine": "native", **native})
        case VllmEngineSettings():
            return json.dumps({"engine": "vllm", **asdict(settings), "checkpoint": str(settings.checkpoint)})
        case FakeEngineSettings():
            return json.dumps({"engine": "fake", **asdict(settings)})


def decode_settings(text: str) -> EngineSettings:
    """Raises ProtocolError."""
    try:
        parsed: object = json.loads(text)
    except ValueError as error:
        raise ProtocolError(f"engine settings are not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise ProtocolError("engine settings should be an object")
    fields = MessageFields(cast("dict[str, object]", parsed))
    match fields.text("engine"):
        case "native":
            return NativeEngineSettings(
                checkpoint=Path(fields.text("checkpoint")),
                slots=fields.integer("slots"),
                device=fields.text("device"),
                num_threads=fields.integer("num_threads"),
                profile=fields.member("profile", ServingProfile),
                reproducibility=fields.member("reproducibility", Reproducibility),
                role=fields.member("role", EngineRole),
                kv_precision=fields.member("kv_precision", Precision),
                mlp_precision=fields.member("mlp_precision", Precision),
            )
        case "vllm":
            return VllmEngineSettings(
                checkpoint=Path(fields.text("checkpoint")),
                slots=fields.integer("slots"),
                device=fields.text("device"),
                num_threads=fields.integer("num_threads"),
                profile=fields.member("profile", ServingProfile),
                max_step_tokens=fields.integer("max_step_tokens"),
                runner=fields.member("runner", VllmRunner),
            )
        case "fake":
            return FakeEngineSettings(slots=fields.integer("slots"), step_s=fields.number("step_s"))
        case other:
            raise ProtocolError(f"unknown engine {other!r}")


def _encode_submit(message: Submit) -> Frame:
    request = message.request
    common: dict[str, object] = {
        "call": message.call,
        "is_streamed": message.is_streamed,
        "request_id": request.request_id,
        "urgency": request.urgency,
    }
    if isinstance(request, FramesRequest):
        arrays = (request.frames,) if request.reference is None else (request.frames, request.reference)
        return Frame({"type": "submit_frames", **common}, arrays)
    conditioning, arrays = _encode_conditioning(request.conditioning)
    body = {
        "type": "submit",
        **common,
        "text": request.text,
        "conditioning": conditioning,
        "language": request.language,
        "text_mode": request.text_mode,
        "sampling": _sampling_fields(request.sampling),
        "seed": request.seed,
        "max_frames": request.max_frames,
        "is_opening": request.is_opening,
    }
    return Frame(body, arrays)


@lru_cache(maxsize=64)
def _sampling_fields(sampling: SamplingParams) -> dict[str, object]:
    """Shared by all requests that are sampled alike: not to be written to."""
    return asdict(sampling)


def _decode_request(fields: MessageFields, arrays: tuple[Array, ...]) -> SpeechRequest:
    return SpeechRequest(
        request_id=fields.text("request_id"),
        text=fields.text("text"),
        conditioning=_decode_conditioning(fields.section("conditioning"), arrays),
        language=fields.text("language"),
        text_mode=fields.member("text_mode", TextMode),
        sampling=_decode_sampling(fields.section("sampling")),
        seed=fields.integer("seed"),
        max_frames=fields.integer_or_none("max_frames"),
        urgency=fields.member("urgency", Urgency),
        is_opening=fields.truth("is_opening"),
    )


def _decode_frames_request(fields: MessageFields, arrays: tuple[Array, ...]) -> FramesRequest:
    if not 1 <= len(arrays) <= 2 or any(array.dtype != np.int16 for array in arrays):
        raise ProtocolError(f"expected frames of int16, got {[array.dtype.name for array in arrays]}")
    frames, *reference = (cast("NDArray[np.int16]", array) for array in arrays)
    return FramesRequest(
        fields.text("request_id"), frames, reference[0] if reference else None, fields.member("urgency", Urgency)
    )


def _encode_conditioning(conditioning: Conditioning) -> tuple[dict[str, object], tuple[Array, ...]]:
    match conditioning:
        case BuiltInSpeaker(name, instruction):
            return {"kind": "built_in", "name": name, "instruction": instruction}, ()
        case DesignedVoice(description):
            return {"kind": "designed", "description": description}, ()
        case XVectorPrompt(embedding):
            return {"kind": "x_vector"}, (embedding,)
        case InContextPrompt(embedding, ref_code, ref_text, ids):
            return {"kind": "in_context", "ref_text": ref_text, "ref_text_ids": ids}, (embedding, ref_code)


def _decode_conditioning(fields: MessageFields, arrays: tuple[Array, ...]) -> Conditioning:
    match fields.text("kind"):
        case "built_in":
            return BuiltInSpeaker(fields.text("name"), fields.text("instruction"))
        case "designed":
            return DesignedVoice(fields.text("description"))
        case "x_vector":
            return XVectorPrompt(*_floats(arrays, 1))
        case "in_context":
            embedding, ref_code = _floats_and_codes(arrays)
            return InContextPrompt(embedding, ref_code, fields.text("ref_text"), fields.integers("ref_text_ids"))
        case other:
            raise ProtocolError(f"unknown conditioning {other!r}")


def _decode_sampling(fields: MessageFields) -> SamplingParams:
    return SamplingParams(
        talker=_decode_token_sampling(fields.section("talker")),
        predictor=_decode_token_sampling(fields.section("predictor")),
        repetition_penalty=fields.number("repetition_penalty"),
    )


def _decode_token_sampling(fields: MessageFields) -> TokenSampling:
    return TokenSampling(fields.number("temperature"), fields.integer("top_k"), fields.number("top_p"))


def _decode_speech(fields: MessageFields, arrays: tuple[Array, ...]) -> Speech:
    pcm, frames = _floats_and_codes(arrays)
    return Speech(
        pcm=pcm,
        frames=frames,
        sample_rate_hz=fields.integer("sample_rate_hz"),
        finish_reason=fields.member("finish_reason", FinishReason),
        engine_s=fields.number("engine_s"),
    )


def _decode_info(fields: MessageFields) -> EngineInfo:
    return EngineInfo(
        model=fields.text("model"),
        revision=fields.text("revision"),
        task=fields.member("task", ModelTask),
        speakers=fields.texts("speakers"),
        speaker_embeddings=fields.vectors("speaker_embeddings"),
        languages=fields.texts("languages"),
        sample_rate_hz=fields.integer("sample_rate_hz"),
        samples_per_frame=fields.integer("samples_per_frame"),
        num_codebooks=fields.integer("num_codebooks"),
        codebook_size=fields.integer("codebook_size"),
        speaker_dim=fields.integer("speaker_dim"),
        slots=fields.integer("slots"),
        max_text_tokens=fields.integer("max_text_tokens"),
        max_text_chars=fields.integer("max_text_chars"),
        text_front_end=fields.member("text_front_end", TextFrontEnd),
        accepts_instructions=fields.truth("accepts_instructions"),
        voice_modes=fields.members("voice_modes", VoiceMode),
        default_sampling=_decode_sampling(fields.section("default_sampling")),
        notice=fields.text("notice"),
        config_sha256=fields.text("config_sha256"),
        reproducibility=fields.member("reproducibility", Reproducibility),
    )


def _decode_stats(fields: MessageFields) -> EngineStats:
    return EngineStats(
        steps=fields.integer("steps"),
        frames=fields.integer("frames"),
        active=fields.integer("active"),
        waiting=fields.integer("waiting"),
        finished=fields.integer("finished"),
        codec_graph_passes=fields.integer("codec_graph_passes"),
        codec_fallbacks=fields.integer("codec_fallbacks"),
    )


def _decode_error(fields: MessageFields) -> EngineError:
    kind = fields.text("error")
    if kind not in _ERRORS:
        raise ProtocolError(f"unknown error {kind!r}")
    return _ERRORS[kind](fields.text("detail"))


def _decode_start_error(fields: MessageFields) -> StartError:
    kind = fields.text("error")
    if kind not in _START_ERRORS:
        raise ProtocolError(f"unknown reason not to start {kind!r}")
    return _START_ERRORS[kind](fields.text("detail"))


def _floats(arrays: tuple[Array, ...], count: int) -> tuple[NDArray[np.float32], ...]:
    floats = tuple(cast("NDArray[np.float32]", array) for array in arrays if array.dtype == np.float32)
    if len(arrays) != count or len(floats) != count:
        raise ProtocolError(f"expected {count} arrays of float32, got {[array.dtype.name for array in arrays]}")
    return floats


def _floats_and_codes(arrays: tuple[Array, ...]) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    if [array.dtype.name for array in arrays] != ["float32", "int16"]:
        raise ProtocolError(f"expected float32 and int16, got {[array.dtype.name for array in arrays]}")
    return cast("NDArray[np.float32]", arrays[0]), cast("NDArray[np.int16]", arrays[1])
