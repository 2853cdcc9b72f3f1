"""The codec's decoder in processes apart: the samples of one process, also when a decoder is killed."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.worker.engine.contracted_engines import (
    assert_same,
    endless,
    live_request_for,
    request_for,
    result,
    wait_until,
)
from tests.worker.engine.decoder.conftest import FRAMES, TEXT, engine_with
from worker.engine.decoder.apart import ApartCodecLane
from worker.engine.decoder.protocol import StartDecoder
from worker.engine.errors import CheckpointError, EngineDied, RequestCancelled, StartError
from worker.engine.interface import Engine, InContextPrompt, Speech, SpeechChunk, SpeechRequest
from worker.engine.native import NativeEngine
from worker.engine.profiles import ServingProfile
from worker.settings import SMALL_VOICE


@pytest.fixture
def apart() -> Iterator[NativeEngine]:
    engine = engine_with(SMALL_VOICE, "cpu")
    yield engine
    engine.close()


def decoders() -> list[int]:
    """The process ids of all decoders of this process, also of those that still load."""
    found: list[int] = []
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if "worker.engine.decoder.process" in child.cmdline():
                found.append(child.pid)
    return found


def kill_decoders() -> None:
    for pid in decoders():
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.kill(pid, signal.SIGKILL)


def spoken(engine: Engine, request: SpeechRequest) -> tuple[Speech, list[SpeechChunk]]:
    heard: list[SpeechChunk] = []
    return result(engine.submit(request, heard.append)), heard


def assert_heard(heard: list[SpeechChunk], speech: Speech) -> None:
    np.testing.assert_array_equal(np.concatenate([chunk.pcm for chunk in heard]), speech.pcm)
    np.testing.assert_array_equal(np.concatenate([chunk.frames for chunk in heard]), speech.frames)


def test_samples_are_those_of_one_process(together: NativeEngine, apart: NativeEngine) -> None:
    request = request_for(together, text=TEXT, frames=FRAMES)
    expected, chunks = spoken(together, request)
    behind = replace(request, request_id="behind", prefix=expected.frames[:13])
    expected_behind, _ = spoken(together, behind)

    assert_same(result(apart.submit(request)), expected)
    streamed, heard = spoken(apart, request)
    assert_same(streamed, expected)
    assert_heard(heard, expected)
    assert [len(chunk.pcm) for chunk in heard] == [len(chunk.pcm) for chunk in chunks]
    assert_same(result(apart.submit(behind)), expected_behind)
    streamed_behind, heard_behind = spoken(apart, behind)
    assert_same(streamed_behind, expected_behind)
    assert_heard(heard_behind, expected_behind)


def test_a_cloned_voice_has_the_samples_of_one_process(checkpoints: Mapping[str, Path]) -> None:
    codes = np.random.default_rng(1).integers(0, 64, size=(9, 16), dtype=np.int16)
    speeches: list[Speech] = []
    for devices in ((), ("cpu",)):
        engine = engine_with(checkpoints["base"], *devices)
        embedding = np.linspace(-1, 1, engine.info.speaker_dim, dtype=np.float32)
        voice = InContextPrompt(ref_code=codes, speaker_embedding=embedding, ref_text="Hello.")
        request = SpeechRequest("one", "Hello there.", voice, max_frames=20, seed=3)
        speeches.append(result(engine.submit(request)))
        streamed, heard = spoken(engine, replace(request, prefix=speeches[-1].frames[:3]))
        speeches.append(streamed)
        assert_heard(heard, streamed)
        engine.close()

    assert_same(speeches[0], speeches[2])
    assert_same(speeches[1], speeches[3])


def test_a_killed_decoder_costs_its_streams_nothing(together: NativeEngine, apart: NativeEngine) -> None:
    requests = [replace(request_for(together, f"stream {n}", TEXT, FRAMES + 4 * n), seed=n) for n in range(3)]
    requests[2] = replace(requests[2], prefix=spoken(together, requests[2])[0].frames[:7])
    whole = request_for(together, "whole", TEXT, FRAMES)
    expected = [spoken(together, request)[0] for request in (*requests, whole)]
    heard: list[list[SpeechChunk]] = [[] for _ in requests]
    killed: list[int] = []

    def listen(number: int, chunk: SpeechChunk) -> None:
        heard[number].append(chunk)
        if sum(map(len, heard)) in (3, 10):
            killed.extend(decoders())
            kill_decoders()

    futures = [apart.submit(request, partial(listen, number)) for number, request in enumerate(requests)]
    futures.append(apart.submit(whole))

    for future, speech in zip(futures, expected, strict=True):
        assert_same(result(future), speech)
    for each, speech in zip(heard, expected, strict=False):
        assert_heard(each, speech)
    assert len(set(killed)) == 2


def test_another_decoder_goes_on_with_the_streams_of_a_killed_one(expected: Speech) -> None:
    engine = engine_with(SMALL_VOICE, "cpu", "cpu")
    requests = [request_for(engine, f"stream {n}", TEXT, FRAMES) for n in range(2)]
    heard: list[list[SpeechChunk]] = [[], []]
    futures = [engine.submit(request, each.append) for request, each in zip(requests, heard, strict=True)]
    wait_until(lambda: all(map(len, heard)))

    os.kill(decoders()[0], signal.SIGKILL)

    for future, each in zip(futures, heard, strict=True):
        assert_same(result(future), expected)
        assert_heard(each, expected)
    engine.close()


def test_a_decoder_that_is_late_holds_up_admission_and_drops_nothing(tiny_checkpoint: Path) -> None:
    engine = engine_with(tiny_checkpoint, "cpu", slots=8)
    (decoder,) = decoders()
    os.kill(decoder, signal.SIGSTOP)
    first = [engine.submit(endless(engine, str(number)), lambda _: None) for number in range(8)]
    wait_until(lambda: engine.stats().codec_waiting_frames > 500)
    progress = engine.stats().progress

    live = engine.submit(live_request_for(engine, "live", TEXT, 20))
    unwanted = engine.submit(request_for(engine, "unwanted"))
    written = engine.submit(replace(live_request_for(engine, "written", TEXT[:30], 40), text_is_open=True))
    engine.extend("written", TEXT[30:], is_last=True)
    engine.cancel("unwanted")

    with pytest.raises(RequestCancelled):
        result(unwanted)
    wait_until(lambda: engine.stats().progress > progress + 5)
    assert (engine.stats().active, engine.stats().waiting) == (8, 2)
    os.kill(decoder, signal.SIGCONT)
    speeches = [result(future) for future in (live, written, *first)]
    assert [len(speech.pcm) for speech in speeches] == [len(one.frames) * 1920 for one in speeches]
    whole = result(engine.submit(live_request_for(engine, "whole", TEXT, 40)))
    np.testing.assert_array_equal(speeches[1].frames, whole.frames)
    assert engine.stats().codec_waiting_frames == 0
    engine.close()


def test_what_has_left_its_slot_and_waits_for_its_audio_is_counted(tiny_checkpoint: Path) -> None:
    engine = engine_with(tiny_checkpoint, "cpu", slots=1)
    (decoder,) = decoders()
    os.kill(decoder, signal.SIGSTOP)
    whole = [engine.submit(request_for(engine, f"whole {number}")) for number in range(3)]
    stream = engine.submit(request_for(engine, "stream"), lambda _: None)

    wait_until(lambda: engine.stats().decoding == 3 and engine.stats().frames == 4 * 6)

    os.kill(decoder, signal.SIGCONT)
    for each in (*whole, stream):
        result(each)
    assert engine.stats().decoding == 0
    engine.close()


def test_a_decoder_that_ends_again_and_again_ends_the_engine(apart: NativeEngine) -> None:
    future = apart.submit(request_for(apart, text=TEXT, frames=100), lambda _: None)
    is_over = threading.Event()

    def keep_killing() -> None:
        while not is_over.wait(0.005):
            kill_decoders()

    killer = threading.Thread(target=keep_killing)
    killer.start()
    try:
        with pytest.raises(EngineDied, match="the decoder on cpu ended 3 times before it delivered anything: killed"):
            result(future)
    finally:
        is_over.set()
        killer.join()
    with pytest.raises(EngineDied, match="ended 3 times"):
        result(apart.submit(request_for(apart, "later")))


def test_a_device_that_is_not_there_is_refused_at_the_start() -> None:
    with pytest.raises(StartError, match="RHAPSODE_DECODER_DEVICE: torch cannot use the device cuda:7: "):
        engine_with(SMALL_VOICE, "cpu", "cuda:7")
    assert decoders() == []


def test_a_decoder_with_another_codec_is_refused() -> None:
    start = StartDecoder(SMALL_VOICE, "cpu", ServingProfile.BALANCED, 1)
    lane = ApartCodecLane([start], "0123456789abcdef", 1920, 24_000)

    with pytest.raises(CheckpointError, match=r"has the codec [0-9a-f]{16}; asked for: 0123456789abcdef"):
        lane.wait_ready()
    assert decoders() == []


def test_a_codec_that_has_changed_on_the_disk_ends_the_engine(tiny_checkpoint: Path, tmp_path: Path) -> None:
    checkpoint = Path(shutil.copytree(tiny_checkpoint, tmp_path / "changed"))
    engine = engine_with(checkpoint, "cpu")
    config = checkpoint / "speech_tokenizer" / "config.json"
    config.write_text(config.read_text() + "\n")
    future = engine.submit(endless(engine, "one"))

    kill_decoders()

    with pytest.raises(EngineDied, match="asked for"):
        result(future)
    engine.close()
