"""Voices in memory: bounded, loaded once, found without asking anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from storage.errors import StoreUnavailable
from storage.ids import ContentKey
from tests.threads import BoundedExecutor
from worker.engine.interface import InContextPrompt, VoicePrompt, XVectorPrompt
from worker.voices.cache import PromptCache
from worker.voices.voice_files import memory_bytes


def prompt(width: int = 256) -> VoicePrompt:
    return XVectorPrompt(np.ones(width, np.float32))


def never() -> VoicePrompt:
    raise AssertionError("loaded again")


A, B, C = ContentKey("a"), ContentKey("b"), ContentKey("c")
SIZE = memory_bytes(prompt())


def test_a_voice_is_loaded_once_and_then_found() -> None:
    cache = PromptCache(10 * SIZE)
    loaded = cache.get(A, prompt)

    assert cache.get(A, never) is loaded
    stats = cache.stats()
    assert (stats.hits, stats.misses, stats.loads, stats.voices, stats.bytes) == (1, 1, 1, 1, SIZE)


def test_the_least_recently_used_voice_makes_room() -> None:
    cache = PromptCache(2 * SIZE)
    cache.get(A, prompt)
    cache.get(B, prompt)
    cache.get(A, never)

    cache.get(C, prompt)

    cache.get(A, never)
    with pytest.raises(AssertionError, match="loaded again"):
        cache.get(B, never)
    assert cache.stats().evictions == 1
    assert cache.stats().bytes == 2 * SIZE


def test_a_voice_larger_than_the_whole_cache_is_kept_until_the_next() -> None:
    cache = PromptCache(SIZE // 2)
    cache.get(A, prompt)
    cache.get(A, never)

    cache.get(B, prompt)

    assert cache.stats().voices == 1


def test_many_voices_take_no_more_than_the_bound() -> None:
    cache = PromptCache(20 * SIZE)

    for index in range(500):
        cache.get(ContentKey(str(index)), prompt)

    assert cache.stats().bytes <= 20 * SIZE


def test_however_many_ask_one_loads() -> None:
    cache = PromptCache(10 * SIZE)
    begun, go_on = threading.Event(), threading.Event()
    loads: list[int] = []

    def slowly() -> VoicePrompt:
        loads.append(1)
        begun.set()
        assert go_on.wait(30)
        return prompt()

    with BoundedExecutor(8) as threads:
        first = threads.submit(cache.get, A, slowly)
        assert begun.wait(30)
        others = [threads.submit(cache.get, A, slowly) for _ in range(7)]
        go_on.set()
        voices = {id(one.result(30)) for one in (first, *others)}

    assert len(loads) == 1
    assert len(voices) == 1


def test_a_load_that_fails_is_its_callers_alone_and_the_next_in_line_tries() -> None:
    cache = PromptCache(10 * SIZE)
    begun, go_on = threading.Event(), threading.Event()

    def fail() -> VoicePrompt:
        begun.set()
        assert go_on.wait(30)
        raise StoreUnavailable("the lease was lost")

    with BoundedExecutor(2) as threads:
        unlucky = threads.submit(cache.get, A, fail)
        assert begun.wait(30)
        waiting = threads.submit(cache.get, A, prompt)
        go_on.set()

        with pytest.raises(StoreUnavailable):
            unlucky.result(30)
        assert isinstance(waiting.result(30), XVectorPrompt)
    assert cache.stats().loads == 1


def test_what_is_not_wanted_any_more_stops_waiting() -> None:
    cache = PromptCache(10 * SIZE)
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> VoicePrompt:
        begun.set()
        assert go_on.wait(30)
        return prompt()

    def dropped() -> None:
        raise InterruptedError

    with BoundedExecutor(2) as threads:
        first = threads.submit(cache.get, A, slowly)
        assert begun.wait(30)
        try:
            with pytest.raises(InterruptedError):
                cache.get(A, never, dropped)
        finally:
            go_on.set()
        first.result(30)


@pytest.mark.parametrize("make", [prompt, lambda: in_context(1), lambda: in_context(750)])
def test_the_size_of_a_voice_counts_everything_that_grows(make: Callable[[], VoicePrompt]) -> None:
    voice = make()
    arrays = [voice.speaker_embedding] + ([voice.ref_code] if isinstance(voice, InContextPrompt) else [])

    assert sum(array.nbytes for array in arrays) < memory_bytes(voice)


def in_context(num_frames: int) -> VoicePrompt:
    codes = np.zeros((num_frames, 16), np.int16)
    return InContextPrompt(np.ones(1024, np.float32), codes, "Hello.", (1, 2, 3))
