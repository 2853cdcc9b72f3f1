"""From a request to its samples: phones, calls of the model, quiet edges cut off. It knows no threads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from worker.engine.errors import RequestRejected
from worker.engine.interface import BuiltInSpeaker, EngineInfo, Pcm, SpeechRequest, Urgency
from worker.engine.kokoro.model import MOST_PHONES, SAMPLES_PER_FRAME, KokoroModel, ModelCall
from worker.engine.kokoro.phones import phones_of
from worker.engine.kokoro.pieces import FIRST, in_pieces
from worker.engine.kokoro.voices import KokoroVoices, VoicePack, accent_of, pace_of

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
    is_awaited: a listener waits for its first sound.
    """

    phones: str
    pack: VoicePack
    speed: float
    lead_speed: float
    most_frames: int | None
    skipped: int
    is_awaited: bool


def utterance_of(request: SpeechRequest, info: EngineInfo, voices: KokoroVoices, model: KokoroModel) -> Utterance:
    """Raises RequestRejected for what this model can never say."""
    voice = _voice(request)
    _refuse(request, info)
    pack = voices.pack(voice)
    phones = model.known(phones_of(request.text.strip(), accent_of(voice)).symbols)
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
    return Utterance(phones, pack, speed, lead_speed, request.max_frames, skipped, is_awaited)


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
