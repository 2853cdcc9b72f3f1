"""Streams of a worker's live server over the real socket, spoken by the fake engine, whose every sample is known."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from reading.languages.names import AUTO_LANGUAGE
from reading.spelling.rules import PronunciationRule, encode_rules
from rhapsode.contract.voices.modes import CacheMode
from storage.live.messages import (
    MAX_MESSAGE_BYTES,
    RESUMABLE,
    Opened,
    OpenRefused,
    Resume,
    SegmentBegins,
    StreamDone,
    StreamFailed,
)
from storage.objects.local_store import LocalArtifactStore
from storage.runtime.config.tls import TlsFiles, server_context
from tests.security.tls_servers import Authority
from tests.threads import join_in_time
from tests.waiting import until
from tests.worker.live.caller import TEXT, HeardStream, an_order, calling, last_by_tls
from tests.worker.live.conftest import LIVE_SLOTS
from tests.worker.voices.voice_studio import VoiceStudio
from worker.engine.fake import FakeEngine, fake_speech, fake_streamed_speech
from worker.engine.interface import EngineStats
from worker.engine.settings import FakeEngineSettings
from worker.live.parts import LiveParts
from worker.live.server import LiveBinding, LiveServer

HELLO = "Hello there, my friend."
LONG = "It is a sentence of a text that goes on for a while. " * 40


def heard(server: LiveServer, text: str = TEXT, **changed: object) -> HeardStream:
    with calling(server.address()) as caller:
        caller.open("s", an_order(text, **changed))
        return caller.hear("s")


def test_an_utterance_comes_with_its_samples_and_codes(server: LiveServer) -> None:
    stream = heard(server, HELLO)

    _, frames = fake_streamed_speech(HELLO, 7)
    assert isinstance(stream.heads[0], Opened)
    assert isinstance(stream.heads[1], SegmentBegins)
    assert stream.texts == {0: HELLO}
    assert stream.codes[0] == frames.astype("<i2").tobytes()
    assert isinstance(stream.end, StreamDone)
    assert (stream.end.findings, stream.end.segments) == ((), 1)
    assert stream.end.num_samples == len(stream.all_samples) // 2 > 0


def test_text_that_stands_in_the_prompt_is_spoken_as_jobs_do(server: LiveServer) -> None:
    stream = heard(server, HELLO, text_mode="whole")

    assert stream.codes[0] == fake_speech(HELLO, 7)[1].astype("<i2").tobytes()


@pytest.mark.parametrize("mode", ["per_frame", "whole"])
def test_a_text_is_spoken_segment_after_segment(server: LiveServer, mode: str) -> None:
    stream = heard(server, text_mode=mode)

    assert isinstance(stream.end, StreamDone)
    assert " ".join(stream.texts.values()) == " ".join(TEXT.split())
    assert stream.spoken == list(stream.texts)
    assert stream.end.segments == len(stream.texts) >= 2


def test_silence_before_speech_is_left_out_and_the_rest_is_the_engines(server: LiveServer) -> None:
    samples = np.frombuffer(heard(server, HELLO).all_samples, "<i2")

    pcm, _ = fake_streamed_speech(HELLO, 7)
    made = np.rint(pcm * 32767).astype(np.int16)[len(pcm) - len(samples) :]
    assert len(samples) < len(pcm)
    assert np.abs(samples[:1_500]).max() > 100
    np.testing.assert_array_equal(samples[2_000:], made[2_000:])


def test_pauses_are_as_long_as_the_order_says(server: LiveServer) -> None:
    def lasts_s(pause_s: float) -> float:
        pauses = {"sentence_s": pause_s, "paragraph_s": pause_s}
        return len(heard(server, pauses=pauses).all_samples) / 2 / 24_000

    # Two pauses; what ends in silence is part of them.
    assert lasts_s(2.0) - lasts_s(1.0) == pytest.approx(2.0, abs=0.001)


def test_text_in_any_pieces_gives_the_codes_of_the_whole(server: LiveServer) -> None:
    whole = heard(server)
    with calling(server.address()) as caller:
        caller.open("s", an_order(TEXT[:1], text_is_open=True))
        for at in range(1, len(TEXT)):
            caller.extend("s", TEXT[at])
        caller.extend("s", "", is_last=True)
        written = caller.hear("s")

    assert written.all_codes == whole.all_codes
    assert written.all_samples == whole.all_samples


def test_speech_begins_with_the_first_words_and_stands_still_where_text_is_late(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order("", text_is_open=True))
        caller.extend("s", "It has been raining for ")
        stream = caller.streams["s"]
        caller.until(lambda: len(stream.all_samples) > 0)
        caller.extend("s", "days.", is_last=True)
        caller.hear("s")

    assert stream.codes[0] == fake_streamed_speech("It has been raining for days.", 7)[1].astype("<i2").tobytes()


def test_an_open_stream_that_is_closed_without_a_word_is_done(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order("", text_is_open=True))
        caller.extend("s", " \n", is_last=True)
        end = caller.hear("s").end

    assert isinstance(end, StreamDone)
    assert (end.segments, end.num_samples) == (0, 0)


def test_a_text_that_nobody_writes_on_ends_its_stream_and_frees_its_place(
    serve_live: Callable[..., LiveServer], parts: LiveParts, engine: FakeEngine
) -> None:
    server = serve_live(own=replace(parts, text_patience_s=0.3))
    with calling(server.address()) as caller:
        caller.open("idle", an_order("It has been ", text_is_open=True))
        caller.until(lambda: bool(caller.streams["idle"].heads))
        caller.extend("idle", "")
        end = caller.hear("idle").end
        caller.until(lambda: caller.loads[-1].free == LIVE_SLOTS)
        # One that is whole takes as long as it takes.
        caller.open("whole", an_order(HELLO))
        assert isinstance(caller.hear("whole").end, StreamDone)

    assert isinstance(end, StreamFailed)
    assert end.code == "input_timeout"
    assert end.code not in RESUMABLE
    assert engine.stats().active == 0


def test_many_streams_of_one_connection_do_not_mix(server: LiveServer) -> None:
    texts = {f"s{number}": f"This is the stream of number {number}." for number in range(LIVE_SLOTS)}
    with calling(server.address()) as caller:
        for name, text in texts.items():
            caller.open(name, an_order(text))
        streams = {name: caller.hear(name) for name in texts}

    for name, text in texts.items():
        assert streams[name].codes[0] == fake_streamed_speech(text, 7)[1].astype("<i2").tobytes()


# ---------------------------------------------------------------------------------------------- going on elsewhere


def _parts_of(stream: HeardStream, segment: int, num_frames: int) -> tuple[Resume, bytes]:
    """As if only so many frames of the segment had come, with the samples that came with them."""
    pcm_before = 0
    codes = stream.codes[segment][: num_frames * 32]
    total_frames = len(stream.codes[segment]) // 32
    lead = total_frames * 1_920 - _speech_samples(stream, segment)
    pcm_before = max(0, num_frames * 1_920 - lead)
    return Resume(segment=segment, num_samples_heard=pcm_before), codes


def _speech_samples(stream: HeardStream, segment: int) -> int:
    return sum(
        head.num_samples
        for head in stream.heads
        if head.type == "audio" and head.segment == segment and head.num_frames
    )


@pytest.mark.parametrize("reproducibility", ["strict", "best_effort"])
@pytest.mark.parametrize(("segment", "num_frames"), [(0, 0), (0, 5), (1, 1), (1, 9), (2, 3)])
def test_a_stream_goes_on_where_another_worker_stopped(
    server: LiveServer, reproducibility: str, segment: int, num_frames: int
) -> None:
    order = an_order(reproducibility=reproducibility)
    whole = heard(server, reproducibility=reproducibility)
    resume, codes = _parts_of(whole, segment, num_frames)
    with calling(server.address()) as caller:
        caller.open("again", order, resume, codes)
        rest = caller.hear("again")

    assert isinstance(rest.end, StreamDone)
    assert codes + rest.codes[segment] == whole.codes[segment]
    assert rest.spoken == [each for each in whole.spoken if each >= segment]
    assert rest.samples[segment] == whole.samples[segment][2 * resume.num_samples_heard :]
    assert all(rest.samples[later] == whole.samples[later] for later in rest.samples if later > segment)


def test_a_stream_is_refused_for_now_while_no_decoder_is_in_reach(
    parts: LiveParts, serve_live: Callable[..., LiveServer]
) -> None:
    class Undecoded(FakeEngine):
        def stats(self) -> EngineStats:
            return replace(super().stats(), lacks_decoder=True)

    engine = Undecoded(FakeEngineSettings(slots=1, live_slots=LIVE_SLOTS))
    end = heard(serve_live(own=replace(parts, engine=engine)), HELLO).end
    engine.close()

    assert isinstance(end, OpenRefused)
    assert end.code in RESUMABLE
    assert end.retry_after_s is not None


def test_codes_that_are_none_of_the_model_are_refused(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        for number, codes in enumerate((b"x", struct.pack("<16h", *[5_000] * 16), struct.pack("<16h", *[-1] * 16))):
            caller.open(f"s{number}", an_order(), Resume(segment=0, num_samples_heard=1), codes)
            end = caller.hear(f"s{number}").end
            assert isinstance(end, OpenRefused)
            assert end.code == "invalid_request"


# ---------------------------------------------------------------------------------------------- voices, dictionaries


def test_a_voice_of_the_callers_speaks(server: LiveServer, voices: VoiceStudio) -> None:
    own = voices.upload(mode=CacheMode.X_VECTOR)

    stream = heard(server, HELLO, voice=own.name, own_voice=own)

    assert isinstance(stream.end, StreamDone)
    assert voices.resolver.cache.stats().voices == 1


def test_a_voice_that_was_deleted_is_refused(server: LiveServer, voices: VoiceStudio) -> None:
    own = voices.upload()
    voices.artifacts.delete(own.source.key)

    end = heard(server, HELLO, voice=own.name, own_voice=own).end

    assert isinstance(end, OpenRefused)
    assert end.code == "voice_not_found"


@pytest.mark.parametrize("mode", ["per_frame", "whole"])
def test_dictionaries_and_rules_for_numbers_are_heard(
    server: LiveServer, local_store: LocalArtifactStore, mode: str
) -> None:
    local_store.put("rules", encode_rules([PronunciationRule("kubectl", "cube control")]))

    stream = heard(server, "Call kubectl 3 times a day.", normalization="basic", dictionaries=["rules"], text_mode=mode)

    assert stream.texts == {0: "Call cube control three times a day."}


# ---------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"model": "another"}, "model_not_found"),
        ({"voice": "nobody"}, "voice_not_found"),
        ({"language": "klingon"}, "unsupported_language"),
        ({"text_is_open": True, "text_mode": "whole"}, "invalid_request"),
        ({"dictionaries": ["not/there"]}, "not_found"),
        ({"text": "* * *", "text_mode": "whole"}, "invalid_request"),
        ({"text": "\u0413\u0434\u0435 \u0442\u044b \u0431\u044b\u043b?"}, "unsupported_language"),
    ],
)
def test_what_cannot_be_spoken_is_refused_before_the_first_sample(
    server: LiveServer, changed: dict[str, object], code: str
) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order(**{"text": TEXT, **changed}))
        stream = caller.hear("s")

    assert isinstance(stream.end, OpenRefused)
    assert stream.end.code == code
    assert server.num_streams == 0


def test_letters_of_no_language_end_a_stream_whose_text_is_being_written(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order("So it was ", text_is_open=True))
        caller.extend("s", "\u0413\u0434\u0435 \u0442\u044b \u0431\u044b\u043b?")
        end = caller.hear("s").end

    assert isinstance(end, StreamFailed)
    assert end.code == "unsupported_language"


def test_a_full_worker_says_so_at_once_and_a_place_is_free_when_a_stream_is_over(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        for number in range(LIVE_SLOTS):
            caller.open(f"s{number}", an_order("", text_is_open=True))
        caller.open("more", an_order())
        refused = caller.hear("more").end
        assert isinstance(refused, OpenRefused)
        assert (refused.code, refused.retry_after_s) == ("full", 0.5)
        assert server.address().free == 0
        # The load before the last place was taken may come late.
        caller.until(lambda: caller.loads[-1].free == 0)
        caller.cancel("s0")
        caller.until(lambda: caller.loads[-1].free == 1)
        caller.open("again", an_order(HELLO))
        assert isinstance(caller.hear("again").end, StreamDone)


# ---------------------------------------------------------------------------------------------- ending


def test_a_cancelled_stream_leaves_the_engine_and_says_nothing_more(server: LiveServer, engine: FakeEngine) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order(LONG))
        stream = caller.streams["s"]
        caller.until(lambda: len(stream.all_samples) > 0)
        caller.cancel("s")
        until(lambda: engine.stats().active == 0 and server.num_streams == 0)
        num_heads = len(stream.heads)
        caller.open("next", an_order(HELLO))
        caller.hear("next")

    # What was on its way when it was cancelled, and no end.
    assert stream.end is None
    assert len(stream.heads) - num_heads < 20


def test_streams_of_a_caller_that_is_gone_leave_the_engine(server: LiveServer, engine: FakeEngine) -> None:
    with contextlib.suppress(ConnectionClosed, OSError), calling(server.address()) as caller:
        for number in range(LIVE_SLOTS):
            caller.open(f"s{number}", an_order(LONG))
        caller.until(lambda: engine.stats().active == LIVE_SLOTS)
        caller.drop()
    until(lambda: engine.stats().active == 0 and server.num_streams == 0)

    assert server.address().free == LIVE_SLOTS


def test_a_listener_who_takes_nothing_holds_its_stream_up_and_no_other(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        caller.open("slow", an_order(LONG))
        caller.open("quick", an_order(LONG))
        quick = caller.hear("quick")
        slow = caller.streams["slow"]
        waiting_s = len(slow.all_samples) / 2 / 24_000

        assert slow.end is None
        assert isinstance(quick.end, StreamDone)
        assert 8 < waiting_s < 8 + 4
        assert caller.hear("slow").all_samples == quick.all_samples


def test_a_leaving_worker_refuses_new_streams_and_ends_those_it_has(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        server.refuse_new(is_leaving=True)
        caller.until(lambda: caller.loads[-1].free == 0)
        caller.open("new", an_order(HELLO))
        refused = caller.hear("new").end
        assert isinstance(refused, OpenRefused)
        assert refused.code in RESUMABLE
        assert isinstance(caller.hear("s").end, StreamDone)
        assert server.address().free == 0
        server.refuse_new(is_leaving=False)
        caller.until(lambda: caller.loads[-1].free > 0)


def test_streams_that_outlast_the_grace_are_handed_over(server: LiveServer, engine: FakeEngine) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order("It has been ", text_is_open=True))
        caller.until(lambda: len(caller.streams["s"].heads) > 0)
        closing = threading.Thread(target=server.close, args=(0.2,))
        closing.start()
        end = caller.hear("s").end
        join_in_time(closing)

    assert isinstance(end, StreamFailed)
    assert end.code == "worker_leaving"
    assert engine.stats().active == 0


def test_an_engine_that_died_has_its_streams_go_on_elsewhere(
    serve_live: Callable[..., LiveServer], parts: LiveParts
) -> None:
    engine = FakeEngine(FakeEngineSettings(live_slots=2, step_s=0.001))
    server = serve_live(own=replace(parts, engine=engine))
    with calling(server.address()) as caller:
        caller.open("s", an_order(LONG))
        caller.until(lambda: len(caller.streams["s"].all_samples) > 0)
        engine.close()
        end = caller.hear("s").end

    assert isinstance(end, StreamFailed)
    assert end.code in RESUMABLE


# ---------------------------------------------------------------------------------------------- strangers


@pytest.mark.parametrize("token", ["", "wrong", "Bearer", "\u00e4"])
def test_without_the_token_nothing_is_said(server: LiveServer, token: str) -> None:
    with pytest.raises(InvalidStatus) as refused, calling(replace(server.address(), token=token)):
        pass

    assert refused.value.response.status_code == 401
    assert server.address().token not in str(refused.value.response)


def test_tokens_are_of_one_start(serve_live: Callable[..., LiveServer]) -> None:
    first, second = serve_live(), serve_live()

    assert first.address().token != second.address().token
    with pytest.raises(InvalidStatus), calling(replace(first.address(), token=second.address().token)):
        pass


def test_a_worker_with_a_certificate_is_verified_by_its_name(
    serve_live: Callable[..., LiveServer], tmp_path: Path
) -> None:
    authority = Authority.made_in(tmp_path / "tls")
    tls = server_context(authority.certificate, authority.key)
    address = serve_live(LiveBinding(tls=tls, server_name="localhost")).address()
    trusting = TlsFiles(authority.ca).context()

    assert address.url.startswith("wss://127.0.0.1:")
    assert isinstance(asyncio.run(last_by_tls(address, trusting, an_order(HELLO))), StreamDone)
    for tls_of_caller, name in ((trusting, "elsewhere.example"), (TlsFiles().context(), "localhost")):
        with pytest.raises(ssl.SSLCertVerificationError):
            asyncio.run(last_by_tls(replace(address, server_name=name), tls_of_caller, an_order(HELLO)))


def _raw(head: object, payload: bytes = b"") -> bytes:
    said = json.dumps(head).encode()
    return struct.pack("<I", len(said)) + said + payload


@pytest.mark.parametrize(
    "message",
    ["text", b"", b"garbage", _raw({"type": "drop_all"}), _raw([[[]]]), bytes(MAX_MESSAGE_BYTES + 1)],
    ids=["text", "empty", "garbage", "unknown", "list", "oversize"],
)
def test_what_breaks_the_protocol_ends_its_connection_alone(server: LiveServer, message: str | bytes) -> None:
    with calling(server.address()) as bystander:
        bystander.open("s", an_order(LONG))
        bystander.until(lambda: len(bystander.streams["s"].all_samples) > 0)
        with contextlib.suppress(ConnectionClosed), calling(server.address()) as caller:
            caller.open("mine", an_order(LONG))
            caller.send_raw(message)
            caller.read_to_close()
        assert isinstance(bystander.hear("s").end, StreamDone)
    until(lambda: server.num_streams == 0)


def test_messages_for_streams_that_are_not_there_change_nothing(server: LiveServer) -> None:
    with calling(server.address()) as caller, calling(server.address()) as other:
        other.open("s", an_order(LONG))
        other.until(lambda: len(other.streams["s"].all_samples) > 0)
        caller.cancel("s")
        caller.extend("s", "more", is_last=True)
        caller.open("mine", an_order(HELLO))
        assert isinstance(caller.hear("mine").end, StreamDone)
        assert isinstance(other.hear("s").end, StreamDone)


def test_connections_that_say_nothing_do_not_keep_others_out(server: LiveServer) -> None:
    """A thousand; each is ended when it has not said in time who it is."""
    address = server.address().url.removeprefix("ws://")
    host, _, port = address.rpartition(":")
    with contextlib.ExitStack() as silent:
        for _ in range(1_000):
            silent.enter_context(socket.create_connection((host, int(port))))
        assert isinstance(heard(server, HELLO).end, StreamDone)


def test_garbage_instead_of_a_handshake_is_no_trouble(server: LiveServer) -> None:
    host, _, port = server.address().url.removeprefix("ws://").rpartition(":")
    for said in (
        b"\0" * 100,
        b"GET / HTTP/1.1\r\n\r\n",
        b"A" * 100_000,
        b"GET / HTTP/1.1\r\nAuthorization: Bearer\r\n\r\n",
    ):
        with socket.create_connection((host, int(port))) as connection, contextlib.suppress(OSError):
            connection.sendall(said)
            connection.settimeout(60)
            while connection.recv(1_000):
                pass

    assert isinstance(heard(server, HELLO, language=AUTO_LANGUAGE).end, StreamDone)


def test_a_server_that_would_leave_refuses_streams_only_if_none_is_under_way(server: LiveServer) -> None:
    with calling(server.address()) as caller:
        caller.open("s", an_order("", text_is_open=True))
        stream = caller.streams["s"]
        caller.until(lambda: bool(stream.heads))
        was_refused = server.refuse_if_idle()
        caller.extend("s", HELLO, is_last=True)
        ended = caller.hear("s")
        # Its place is free a moment after its last word.
        deadline = time.monotonic() + 60
        while server.num_streams and time.monotonic() < deadline:
            time.sleep(0.01)
        is_refusing = server.refuse_if_idle()
        caller.open("late", an_order(HELLO))
        late = caller.hear("late")

    assert (was_refused, is_refusing) == (False, True)
    assert isinstance(ended.end, StreamDone)
    assert isinstance(late.end, OpenRefused)
