"""From a request to its samples: phones, calls of the model, quiet edges cut off. It knows no threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from worker.engine.errors import RequestRejected
from worker.engine.interface import BuiltInSpeaker, EngineInfo, Pcm, SpeechRequest, Urgency
from worker.engine.kokoro.model import MOST_PHONES, SAMPLES_PER_FRAME, KokoroModel, ModelCall
from worker.engine.kokoro.phones import guessed_words, phones_of
from worker.engine.kokoro.voices import KokoroVoices, VoicePack, accent_of, pace_of

FIRST, SECOND = 32, 40
"""Frames of a piece, the first from the first phone. Each later one is half as long again as the one before."""
_CONTEXT = 16
"""Frames that are made before and after a piece and dropped: without them the level changes by 2 dB."""
_SEARCHED = 12
"""The last frames of a piece, the quietest of which is the first of the next: 0.3 s hold the end of a word."""
_COMPARED = 8
"""Frames on either side of a joint whose level is compared."""
_LEVELLED = 40
"""Frames in which a piece comes back to its own level."""
_FADE_SAMPLES = 240
_MOST_GAIN = 1.25

SLOWEST, FASTEST = 0.5, 2.0
"""What `SpeechRequest.speed` may be, and the model's own speed; beyond these it mumbles."""

USUAL_SPEED = 0.85
"""The model's own speed for a request's 1.0 and a voice of pace 1."""

SHORT_PHONES, LONG_PHONES = 20, 60
"""Up to the first a text has the model's own speed, from the second on `USUAL_SPEED` times the voice's pace. Slowed
short lines begin with a sound that is no word: of 155 words of one- to three-word lines 51 were misheard at 0.8, and 5
at 1.0.
"""

_NO_SOUND = frozenset(' ;:,.!?—…"()“”ˈˌː')

_QUIET = 0.004
"""Root mean square of an inaudible frame; full scale is 1."""
_KEPT_FRAMES = 2
"""Quiet frames left at either edge: 50 ms, in which speech fades."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A request that can be spoken. speed: the model's own. skipped: frames that were played already.

    lead_speed: of the silence before the first phone; stretched, it ends with a sound that is no word.
    is_awaited: a listener waits for its first sound. guessed: see `Speech`.
    """

    phones: str
    pack: VoicePack
    speed: float
    lead_speed: float
    most_frames: int | None
    skipped: int
    is_awaited: bool
    guessed: tuple[str, ...]


def utterance_of(request: SpeechRequest, info: EngineInfo, voices: KokoroVoices, model: KokoroModel) -> Utterance:
    """Raises RequestRejected for what this model can never say."""
    voice = _voice(request)
    _refuse(request, info)
    pack = voices.pack(voice)
    text, accent = request.text.strip(), accent_of(voice)
    phones = model.known(phones_of(text, accent))
    if _NO_SOUND.issuperset(phones):
        raise RequestRejected(f"there is nothing to speak in {request.text[:40]!r}: it has no phones")
    if len(phones) > MOST_PHONES:
        raise RequestRejected(f"the text has {len(phones)} phones; the model takes {MOST_PHONES}")
    skipped = 0 if request.prefix is None else len(request.prefix)
    first = re.split(r"[.!?…]", phones, maxsplit=1)[0]
    pace = pace_of(voice)
    speed, lead_speed = (
        min(max(request.speed * usual_speed(len(part), pace), SLOWEST), FASTEST) for part in (phones, first)
    )
    is_awaited = request.urgency is Urgency.LIVE and request.is_opening
    guessed = guessed_words(text, accent)
    return Utterance(phones, pack, speed, lead_speed, request.max_frames, skipped, is_awaited, guessed)


def usual_speed(num_phones: int, pace: float) -> float:
    """The model's own speed for a request's 1.0. pace: of the voice."""
    long = min(max(num_phones - SHORT_PHONES, 0) / (LONG_PHONES - SHORT_PHONES), 1)
    return 1 + long * (USUAL_SPEED * pace - 1)


def spoken_parts(said: Utterance, model: KokoroModel, call: ModelCall) -> Iterator[Pcm]:
    """The samples of each part, in whole frames; fewer if the request bounds or skips some."""
    skipped, left = said.skipped, said.most_frames
    for pcm in _parts(said, model, call):
        if left == 0:
            return
        num_frames = len(pcm) // SAMPLES_PER_FRAME
        end = num_frames if left is None else min(num_frames, left)
        yield pcm[min(skipped, end) * SAMPLES_PER_FRAME : end * SAMPLES_PER_FRAME]
        skipped = max(0, skipped - end)
        left = None if left is None else left - end


def _parts(said: Utterance, model: KokoroModel, call: ModelCall) -> Iterator[Pcm]:
    plan = model.plan(said.phones, said.pack[len(said.phones) - 1], said.speed, said.lead_speed, call)
    first = plan.lead + FIRST if said.is_awaited else plan.num_frames
    num_made = 0
    for pcm in in_pieces(lambda start, end: model.sound(plan, start, end, call), plan.num_frames, first):
        is_first, num_made = not num_made, num_made + len(pcm) // SAMPLES_PER_FRAME
        yield without_edges(pcm, at_start=is_first, at_end=num_made == plan.num_frames)


def without_edges(pcm: Pcm, *, at_start: bool = True, at_end: bool = True) -> Pcm:
    """The frames from the first to the last audible one, and a little around them."""
    levels = np.sqrt(np.square(pcm.reshape(-1, SAMPLES_PER_FRAME)).mean(axis=1))
    heard = np.flatnonzero(levels > _QUIET)
    if not len(heard):
        return pcm
    first = max(0, heard[0] - _KEPT_FRAMES) if at_start else 0
    last = min(len(levels), heard[-1] + 1 + _KEPT_FRAMES) if at_end else len(levels)
    return np.clip(pcm[first * SAMPLES_PER_FRAME : last * SAMPLES_PER_FRAME], -1, 1)


def _voice(request: SpeechRequest) -> str:
    match request.conditioning:
        case BuiltInSpeaker(name, ""):
            return name
        case BuiltInSpeaker():
            raise RequestRejected("Kokoro takes no instructions")
        case _:
            raise RequestRejected("Kokoro speaks in its own voices and cannot clone")


def _refuse(request: SpeechRequest, info: EngineInfo) -> None:
    if request.text_is_open:
        raise RequestRejected("Kokoro speaks whole sentences: a text that is still being written is sent when it ends")
    if request.language not in ("auto", *info.languages):
        raise RequestRejected(f"unknown language {request.language!r}; Kokoro speaks {', '.join(info.languages)}")
    if not SLOWEST <= request.speed <= FASTEST:
        raise RequestRejected(f"speed should be from {SLOWEST} to {FASTEST}, not {request.speed}")
    if request.max_frames is not None and request.max_frames < 1:
        raise RequestRejected(f"max_frames should be at least 1, is {request.max_frames}")
    prefix = request.prefix
    if prefix is not None and (prefix.ndim != 2 or prefix.shape[1]):
        raise RequestRejected(f"the prefix has shape {prefix.shape}, not (P, 0)")
    if prefix is not None and request.max_frames is not None and len(prefix) >= request.max_frames:
        raise RequestRejected(f"the prefix has {len(prefix)} frames, and the request ends after {request.max_frames}")


def in_pieces(sound: Callable[[int, int], Pcm], num_frames: int, first: int) -> Iterator[Pcm]:
    """sound: of the frames between two numbers. first: frames of the first piece, at least `FIRST`."""
    start, size, behind = 0, first, None
    while start < num_frames:
        begin, goal = max(0, start - _CONTEXT), start + size
        is_last = goal + 2 * _CONTEXT >= num_frames
        until = num_frames if is_last else goal + _CONTEXT
        made = sound(begin, until).reshape(until - begin, -1)
        if behind is not None:
            _join(behind, made[start - begin - _COMPARED :])
        end = num_frames if is_last else goal - _SEARCHED + _quietest(made[goal - _SEARCHED - begin : goal - begin])
        yield made[start - begin : end - begin].reshape(-1)
        start, size, behind = end, size * 3 // 2 if start else SECOND, made[end - begin - _COMPARED :]


def _join(last: Pcm, made: Pcm) -> None:
    """`made` continues `last`; both (frames, samples) begin `_COMPARED` frames before the joint."""
    levels = [float(np.sqrt(np.square(each[: 2 * _COMPARED]).mean())) for each in (last, made)]
    gain = min(max(levels[0] / max(levels[1], 1e-6), 1 / _MOST_GAIN), _MOST_GAIN)
    heard = made[_COMPARED:]
    back = np.linspace(gain, 1, min(_LEVELLED, len(heard)) * heard.shape[1], dtype=np.float32)
    heard[:_LEVELLED] *= back.reshape(-1, heard.shape[1])
    rise = np.linspace(0, 1, _FADE_SAMPLES, dtype=np.float32)
    heard[0, :_FADE_SAMPLES] *= rise
    heard[0, :_FADE_SAMPLES] += (1 - rise) * last[_COMPARED, :_FADE_SAMPLES]


def _quietest(frames: Pcm) -> int:
    return int(np.argmin(np.square(frames).sum(axis=1)))
