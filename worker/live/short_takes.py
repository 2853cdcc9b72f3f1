"""A short text is drawn whole and judged before its first sample is sent, where that is over at once.

A word alone is what small models say wrong most often, and what is said again soonest. What takes longer is sent while
it is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace

import numpy as np

from rhapsode.contract.jobs.quality import Gate
from worker.engine.interface import Speech, SpeechChunk
from worker.live.segment import LiveSegment
from worker.speech.quality.verdict import JudgedUtterance, Verdict, measured_verdict
from worker.synthesis.manners import Manner

SHORT_S = 2.0
PATIENCE_S = 0.2
MOST_TAKES = 3

Heard = list[SpeechChunk | Future[Speech]]
"""In their order; a future is the end."""


def is_short(spoken: LiveSegment) -> bool:
    """Whether all of its text is known, nothing of it was played, and it takes no more than two seconds."""
    model, start = spoken.bounds.duration, spoken.start
    is_new = start.prefix is None and not start.skip_frames and not start.skip_samples
    return spoken.is_whole and is_new and model is not None and model.expected_s(spoken.text) <= SHORT_S


async def first_events(spoken: LiveSegment, others: Iterator[Manner], speak: Callable[[Manner], None]) -> Heard:
    """What the engine has made so far; of a segment that ends in time, its best take.

    others: takes that are made while none passes. speak: asks the engine for one.
    """
    heard: Heard = [await spoken.events.get()]
    if not is_short(spoken):
        return heard
    try:
        async with asyncio.timeout(PATIENCE_S):
            await _hear_out(spoken, heard)
    except TimeoutError:
        return heard
    takes = [await _take(spoken, heard)]
    for manner in others:
        if takes[-1][0].passed or len(takes) == MOST_TAKES:
            break
        speak(manner)
        takes.append(await _take(spoken, await _hear_out(spoken, [])))
    verdict, best = min(takes, key=lambda take: take[0].badness())
    spoken.found = verdict.flags
    return best


async def _hear_out(spoken: LiveSegment, heard: Heard) -> Heard:
    while not (heard and isinstance(heard[-1], Future)):
        heard.append(await spoken.events.get())
    return heard


async def _take(spoken: LiveSegment, heard: Heard) -> tuple[Verdict, Heard]:
    """In one piece, so that no listener gets only a part of it. Raises what the engine does."""
    end = heard[-1]
    assert isinstance(end, Future)  # noqa: S101  (`_hear_out` has waited for it)
    speech = end.result()
    chunks = [each for each in heard if isinstance(each, SpeechChunk)]
    pcm, frames = np.concatenate([each.pcm for each in chunks]), np.concatenate([each.frames for each in chunks])
    whole = JudgedUtterance(replace(speech, pcm=pcm, frames=frames), spoken.text, "", "")
    verdict = await asyncio.to_thread(measured_verdict, whole, Gate.BASIC, spoken.bounds, None)
    return verdict, [SpeechChunk(pcm, frames), end]
