"""The next segment of a stream is begun before the present one has ended, where a slot is free for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace

import pytest

from storage.live.messages import OpenRefused, Resume, SegmentBegins, StreamDone, StreamFailed
from tests.worker.live.caller import Caller, HeardStream, an_order, calling
from worker.engine.fake import FakeEngine
from worker.engine.interface import OnAudio, Speech, SpeechChunk, SpeechRequest
from worker.engine.settings import FakeEngineSettings
from worker.live.parts import LiveParts
from worker.live.server import LiveServer

SENTENCE = "Some rain falls softly on the quiet garden where no king has walked for number {} of the years."
TEXT = " ".join(SENTENCE.format(number) for number in range(6))
HELLO = "Hello there, my friend."


class TracedEngine(FakeEngine):
    """trace: `begun` with a request's first chunk, `ended` with its end, in the order in which they happened."""

    def __init__(self, live_slots: int, step_s: float = 0.002) -> None:
        super().__init__(FakeEngineSettings(slots=1, live_slots=live_slots, step_s=step_s))
        self.trace: list[tuple[str, str]] = []
        self.submitted: list[SpeechRequest] = []
        self._tracing = threading.Lock()

    def submit(self, request: SpeechRequest, on_audio: OnAudio | None = None) -> Future[Speech]:
        self.submitted.append(request)
        is_begun = False

        def heard(chunk: SpeechChunk) -> None:
            nonlocal is_begun
            if not is_begun:
                is_begun = True
                self._note("begun", request)
            if on_audio is not None:
                on_audio(chunk)

        future = super().submit(request, heard)
        future.add_done_callback(lambda _: self._note("ended", request))
        return future

    def _note(self, what: str, request: SpeechRequest) -> None:
        with self._tracing:
            self.trace.append((what, request.request_id.rsplit("/", 1)[1]))


Serve = Callable[..., tuple[TracedEngine, LiveServer]]


@pytest.fixture
def serve(parts: LiveParts, serve_live: Callable[..., LiveServer]) -> Iterator[Serve]:
    engines: list[TracedEngine] = []

    def start(live_slots: int, step_s: float = 0.002) -> tuple[TracedEngine, LiveServer]:
        engine = TracedEngine(live_slots, step_s)
        engines.append(engine)
        return engine, serve_live(own=replace(parts, engine=engine))

    yield start
    for engine in engines:
        engine.close()


def hear(server: LiveServer, **changed: object) -> HeardStream:
    with calling(server.address()) as caller:
        caller.open("s", an_order(TEXT, **changed))
        return caller.hear("s")


def until_ahead(caller: Caller, engine: FakeEngine, name: str) -> None:
    """The stream has sound, and two slots."""
    caller.until(lambda: len(caller.streams[name].all_samples) > 0)
    eventually(lambda: engine.stats().active == 2)


def eventually(holds: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up_s
        time.sleep(0.001)


@pytest.mark.parametrize("mode", ["per_frame", "whole"])
def test_each_segment_has_sound_before_the_one_in_front_of_it_has_ended(serve: Serve, mode: str) -> None:
    engine, server = serve(live_slots=2)

    stream = hear(server, text_mode=mode)

    assert isinstance(stream.end, StreamDone)
    assert len(stream.texts) >= 3
    for index in range(1, len(stream.texts)):
        assert engine.trace.index(("begun", str(index))) < engine.trace.index(("ended", str(index - 1)))


@pytest.mark.parametrize("mode", ["per_frame", "whole"])
def test_what_is_heard_is_the_same_with_a_slot_for_it_and_without(serve: Serve, mode: str) -> None:
    alone, lone_server = serve(live_slots=1)
    _, server = serve(live_slots=2)

    without, ahead = hear(lone_server, text_mode=mode), hear(server, text_mode=mode)

    assert alone.trace.index(("ended", "0")) < alone.trace.index(("begun", "1"))
    assert ahead.all_samples == without.all_samples
    assert ahead.all_codes == without.all_codes
    heads = [[head for head in each.heads if isinstance(head, SegmentBegins)] for each in (ahead, without)]
    assert heads[0] == heads[1]
    assert ahead.spoken == without.spoken


def test_never_more_than_one_segment_is_ahead(serve: Serve) -> None:
    engine, server = serve(live_slots=4)

    hear(server)

    under_way = most = 0
    for what, _ in engine.trace:
        under_way += 1 if what == "begun" else -1
        most = max(most, under_way)
    assert most == 2


def test_a_stream_that_comes_has_the_slot_at_once(serve: Serve) -> None:
    engine, server = serve(live_slots=2)
    whole = hear(server)
    with calling(server.address()) as caller:
        caller.open("long", an_order(TEXT))
        until_ahead(caller, engine, "long")
        assert server.address().free == 1
        caller.open("other", an_order(HELLO))
        other = caller.hear("other")
        again = caller.hear("long")

    assert isinstance(other.end, StreamDone)
    assert not any(isinstance(head, OpenRefused | StreamFailed) for head in other.heads)
    assert again.all_samples == whole.all_samples


def test_a_stream_that_is_cancelled_leaves_both_slots(serve: Serve) -> None:
    engine, server = serve(live_slots=2)
    with calling(server.address()) as caller:
        caller.open("s", an_order(TEXT))
        until_ahead(caller, engine, "s")
        caller.cancel("s")
        eventually(lambda: engine.stats().active == 0 and server.num_streams == 0)
        for name in ("one", "two"):
            caller.open(name, an_order(HELLO))
        assert all(isinstance(caller.hear(name).end, StreamDone) for name in ("one", "two"))


def test_a_stream_whose_worker_is_gone_begins_the_next_segment_anew(serve: Serve) -> None:
    engine, server = serve(live_slots=2)
    other_engine, other = serve(live_slots=2)
    whole = hear(other)
    other_engine.submitted.clear()
    with calling(server.address()) as caller:
        caller.open("s", an_order(TEXT))
        until_ahead(caller, engine, "s")
        caller.drop()
        part = caller.streams["s"]
    segment = max(part.codes)
    codes = part.codes[segment]
    heard = len(part.samples[segment]) // 2

    with calling(other.address()) as caller:
        caller.open("again", an_order(TEXT), Resume(segment=segment, num_samples_heard=heard), codes)
        rest = caller.hear("again")

    assert codes + rest.codes[segment] == whole.codes[segment]
    assert all(rest.codes[later] == whole.codes[later] for later in whole.codes if later > segment)
    prefixes = [0 if each.prefix is None else len(each.prefix) for each in other_engine.submitted]
    assert prefixes == [len(codes) // 32, *[0] * (len(whole.codes) - segment - 1)]


def test_a_listener_who_takes_nothing_has_no_segment_begun_for_him(serve: Serve) -> None:
    engine, server = serve(live_slots=2, step_s=0.0005)
    with calling(server.address()) as caller:
        caller.open("s", an_order(TEXT * 4))
        stream = caller.streams["s"]
        caller.until(lambda: len(stream.all_samples) / 2 / 24_000 > 8)
        eventually(lambda: engine.stats().active == 0)
        num_submitted = len(engine.submitted)
        caller.open("other", an_order(HELLO))
        caller.hear("other")

        assert len(engine.submitted) == num_submitted + 1
        assert stream.end is None


def test_text_that_is_still_being_written_is_not_run_ahead_of(serve: Serve) -> None:
    engine, server = serve(live_slots=2)
    first, second = SENTENCE.format(1), SENTENCE.format(2)
    with calling(server.address()) as caller:
        caller.open("s", an_order(f"{first} {second[:30]}", text_is_open=True))
        stream = caller.streams["s"]
        caller.until(lambda: 0 in stream.spoken)
        eventually(lambda: engine.stats().standing == 1)
        assert engine.trace[:2] == [("begun", "0"), ("ended", "0")]
        assert len(engine.submitted) == 2
        caller.extend("s", second[30:], is_last=True)
        assert isinstance(caller.hear("s").end, StreamDone)
