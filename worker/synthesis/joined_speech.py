"""Speech that was made in two parts, put together; and silence in the place of speech. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from worker.engine.interface import EngineInfo, FinishReason, Pcm, Speech
from worker.speech.audio.decoder_start import without_click
from worker.speech.quality.measures import measure

PAUSE_S = 0.16
"""The pause between the parts: about a comma's. Half of it belongs to each."""


def joined(parts: Sequence[Speech]) -> Speech:
    """One utterance; frames stay whole, of the samples the silence between two parts is shortened to `PAUSE_S`.

    engine_s is the sum, as of attempts that follow each other.
    """
    if len(parts) == 1:
        return parts[0]
    last = len(parts) - 1
    pieces = [_trimmed(each, at_start=number > 0, at_end=number < last) for number, each in enumerate(parts)]
    is_whole = all(each.finish_reason is FinishReason.EOS for each in parts)
    return replace(
        parts[-1],
        pcm=np.concatenate(pieces),
        frames=np.concatenate([each.frames for each in parts]),
        finish_reason=FinishReason.EOS if is_whole else FinishReason.LENGTH,
        engine_s=sum(each.engine_s for each in parts),
        guessed=tuple(dict.fromkeys(word for each in parts for word in each.guessed)),
        phones=" ".join(each.phones for each in parts).strip(),
    )


def _trimmed(speech: Speech, *, at_start: bool, at_end: bool) -> Pcm:
    measured = measure(speech)
    if not measured.speech_s:
        return speech.pcm
    first = max(0.0, measured.leading_s - PAUSE_S / 2) if at_start else 0.0
    rest = max(0.0, measured.trailing_s - PAUSE_S / 2) if at_end else 0.0
    # The start of a decoder is audible inside speech.
    pcm = without_click(speech.pcm, speech.sample_rate_hz) if at_start else speech.pcm
    return pcm[round(first * speech.sample_rate_hz) : len(pcm) - round(rest * speech.sample_rate_hz)]


def silence(seconds: float, info: EngineInfo) -> Speech:
    """Without codec frames: nothing was spoken."""
    pcm = np.zeros(round(seconds * info.sample_rate_hz), np.float32)
    frames = np.zeros((0, info.num_codebooks), np.int16)
    return Speech(pcm, frames, info.sample_rate_hz, FinishReason.EOS, 0.0)
