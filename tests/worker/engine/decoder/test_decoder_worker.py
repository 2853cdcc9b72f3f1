"""Engines and real decoder workers over sockets: the samples of one process, whatever happens between them."""

from __future__ import annotations

import shutil
import signal
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.security.tls_servers import Authority
from tests.worker.engine.contracted_engines import (
    assert_same,
    endless,
    live_request_for,
    request_for,
    result,
    wait_until,
)
from tests.worker.engine.decoder.conftest import FRAMES, TEXT
from tests.worker.engine.decoder.decoder_worker import TOKEN, DecoderWorker, free_port
from tests.worker.engine.decoder.test_apart import assert_heard, spoken
from worker.engine.decoder import apart
from worker.engine.decoder.link import RELEASE_HEADER
from worker.engine.decoder.protocol import RELEASE
from worker.engine.errors import CheckpointError, EngineUnavailable, StartError
from worker.engine.interface import Speech, SpeechChunk
from worker.engine.native import NativeEngine
from worker.engine.settings import DecoderAddress, NativeEngineSettings
from worker.settings import SMALL_VOICE

Starts = Callable[..., DecoderWorker]


@pytest.fixture
def starts() -> Iterator[Starts]:
    """Start a decoder worker; all are killed at the end."""
    with ExitStack() as ends:

        def start(checkpoint: Path = SMALL_VOICE, **options: object) -> DecoderWorker:
            worker = DecoderWorker(checkpoint, **options)  # pyright: ignore[reportArgumentType]
            worker.start()
            ends.callback(worker.kill)
            return worker

        yield start


def engine_at(*addresses: DecoderAddress, checkpoint: Path = SMALL_VOICE, slots: int = 4) -> NativeEngine:
    return NativeEngine(NativeEngineSettings(checkpoint, slots=slots, num_threads=1, decoder_devices=addresses))


def stranger(worker: DecoderWorker, **headers: str) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{worker.port}/cpu",
        additional_headers={name.replace("_", "-"): value for name, value in headers.items()},
        proxy=None,
    )


def authorized(worker: DecoderWorker) -> ClientConnection:
    return stranger(worker, Authorization=f"Bearer {TOKEN}", **{RELEASE_HEADER: RELEASE.hex()})


def test_samples_are_those_of_one_process_for_two_engines_of_one_worker(
    together: NativeEngine, expected: Speech, starts: Starts
) -> None:
    worker = starts()
    engines = [engine_at(worker.address), engine_at(worker.address)]
    request = request_for(together, text=TEXT, frames=FRAMES)
    behind = replace(request, request_id="behind", prefix=expected.frames[:13])
    expected_behind = result(together.submit(behind))

    whole = [engine.submit(request) for engine in engines]
    for engine, future in zip(engines, whole, strict=True):
        streamed, heard = spoken(engine, behind)
        assert_same(streamed, expected_behind)
        assert_heard(heard, expected_behind)
        assert_same(result(future), expected)
        engine.close()


def test_streams_go_on_at_a_worker_that_was_killed_and_is_back(together: NativeEngine, starts: Starts) -> None:
    worker = starts()
    engine = engine_at(worker.address)
    requests = [replace(request_for(together, f"stream {n}", TEXT, FRAMES + 4 * n), seed=n) for n in range(3)]
    requests[2] = replace(requests[2], prefix=result(together.submit(requests[2])).frames[:7])
    whole = request_for(together, "whole", TEXT, FRAMES)
    expected = [result(together.submit(request)) for request in (*requests, whole)]
    heard: list[list[SpeechChunk]] = [[] for _ in requests]
    futures = [engine.submit(request, heard[number].append) for number, request in enumerate(requests)]
    futures.append(engine.submit(whole))
    wait_until(lambda: all(map(len, heard)))

    worker.kill()
    wait_until(lambda: engine.stats().lacks_decoder)
    worker.start()

    for future, speech in zip(futures, expected, strict=True):
        assert_same(result(future), speech)
    for each, speech in zip(heard, expected, strict=False):
        assert_heard(each, speech)
    assert not engine.stats().lacks_decoder
    engine.close()


def test_another_worker_goes_on_with_the_streams_of_a_killed_one(expected: Speech, starts: Starts) -> None:
    workers = [starts(), starts()]
    engine = engine_at(*(worker.address for worker in workers))
    requests = [request_for(engine, f"stream {n}", TEXT, FRAMES) for n in range(2)]
    heard: list[list[SpeechChunk]] = [[], []]
    futures = [engine.submit(request, each.append) for request, each in zip(requests, heard, strict=True)]
    wait_until(lambda: all(map(len, heard)))

    workers[0].kill()

    for future, each in zip(futures, heard, strict=True):
        assert_same(result(future), expected)
        assert_heard(each, expected)
    assert not engine.stats().lacks_decoder
    engine.close()


def test_a_connection_that_is_cut_again_and_again_costs_no_sample(expected: Speech, starts: Starts) -> None:
    """A proxy cuts it in the middle of messages."""
    worker = starts()
    with CuttingProxy(worker.port) as proxy:
        engine = engine_at(DecoderAddress.parse(replace(worker, port=proxy.port).device))
        request = request_for(engine, text=TEXT, frames=FRAMES)
        heard: list[SpeechChunk] = []

        def listen(chunk: SpeechChunk) -> None:
            heard.append(chunk)
            if len(heard) in (2, 4, 5):
                proxy.cut()

        assert_same(result(engine.submit(request, listen)), expected)
        assert_heard(heard, expected)
        assert proxy.num_connections >= 3
        engine.close()


def test_a_worker_that_is_late_holds_up_admission_and_drops_nothing(tiny_checkpoint: Path, starts: Starts) -> None:
    worker = starts(tiny_checkpoint)
    engine = engine_at(worker.address, checkpoint=tiny_checkpoint, slots=8)
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    first = [engine.submit(endless(engine, str(number)), lambda _: None) for number in range(8)]
    wait_until(lambda: engine.stats().codec_waiting_frames > 500)

    live = engine.submit(live_request_for(engine, "live", TEXT, 20))
    progress = engine.stats().progress
    wait_until(lambda: engine.stats().progress > progress + 5)
    assert (engine.stats().active, engine.stats().waiting) == (8, 1)
    # Silent for too long, it counts as away.
    wait_until(lambda: engine.stats().lacks_decoder)
    worker.process.send_signal(signal.SIGCONT)

    speeches = [result(future) for future in (live, *first)]
    assert [len(speech.pcm) for speech in speeches] == [len(one.frames) * 1920 for one in speeches]
    assert engine.stats().codec_waiting_frames == 0
    engine.close()


def test_without_a_worker_for_too_long_the_engine_hands_its_requests_back(
    starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_AWAY_S", 2.0)
    worker = starts()
    engine = engine_at(worker.address)
    heard = threading.Event()
    future = engine.submit(request_for(engine, text=TEXT, frames=FRAMES), lambda _: heard.set())
    assert heard.wait(60)

    worker.kill()

    with pytest.raises(EngineUnavailable, match=rf"no decoder is in reach: ws://127.0.0.1:{worker.port}/cpu: "):
        result(future)
    engine.close()


def test_a_worker_that_is_not_there_is_refused_at_the_start_by_name(starts: Starts) -> None:
    missing = DecoderWorker(SMALL_VOICE)
    with pytest.raises(
        EngineUnavailable, match=rf"no decoder is in reach: ws://127.0.0.1:{missing.port}/cpu: .*Connect call failed"
    ):
        engine_at(missing.address, starts().address)


def test_another_decoder_than_asked_is_refused_at_the_start_by_name(
    tiny_checkpoint: Path, starts: Starts, tmp_path: Path
) -> None:
    worker = starts()
    there = f"ws://127.0.0.1:{worker.port}"
    for address, complaint in (
        (worker.device_with("u" * 40), f"RHAPSODE_DECODER_DEVICE: {there}/cpu: it needs another token"),
        (worker.device_with(TOKEN, "cuda"), f"RHAPSODE_DECODER_DEVICE: {there}/cuda: it decodes on cpu"),
    ):
        with pytest.raises(StartError) as refused:
            engine_at(DecoderAddress.parse(address))
        assert str(refused.value) == complaint
        assert TOKEN not in complaint

    with pytest.raises(CheckpointError, match=rf"the decoder on {there}/cpu has the codec \w+; asked for: \w+"):
        engine_at(worker.address, checkpoint=tiny_checkpoint)
    settings = NativeEngineSettings(SMALL_VOICE, slots=1, num_threads=2, decoder_devices=(worker.address,))
    with pytest.raises(StartError, match="has profile balanced and 1 RHAPSODE_ENGINE_THREADS; asked for: balanced, 2"):
        NativeEngine(settings)


def test_a_worker_that_comes_back_with_another_codec_is_not_used(
    expected: Speech, starts: Starts, tmp_path: Path
) -> None:
    worker, other = starts(), starts()
    engine = engine_at(worker.address, other.address)
    worker.kill()
    changed = Path(shutil.copytree(SMALL_VOICE, tmp_path / "changed"))
    config = changed / "speech_tokenizer" / "config.json"
    config.write_text(config.read_text() + "\n")
    starts(changed, port=worker.port)

    assert_same(result(engine.submit(request_for(engine, text=TEXT, frames=FRAMES))), expected)
    engine.close()


def test_tls_is_verified_by_authority_and_name(expected: Speech, starts: Starts, tmp_path: Path) -> None:
    authority = Authority.made_in(tmp_path / "ours")
    other = Authority.made_in(tmp_path / "others")
    worker = starts(
        scheme="wss",
        environment={
            "LIVE_TLS_CERTIFICATE": str(authority.certificate),
            "LIVE_TLS_KEY": str(authority.key),
        },
    )
    engine = engine_at(DecoderAddress.parse(worker.device, authority.ca))
    assert_same(result(engine.submit(request_for(engine, text=TEXT, frames=FRAMES))), expected)
    engine.close()

    for authorities in (other.ca, None):
        with pytest.raises(StartError, match=r"its certificate is not accepted: .*RHAPSODE_TLS_CA"):
            engine_at(DecoderAddress.parse(worker.device, authorities))
    plain = DecoderAddress.parse(worker.device.replace("wss:", "ws:"))
    with pytest.raises(EngineUnavailable, match="no decoder is in reach"):
        engine_at(plain)


def test_a_stranger_gets_nothing_and_costs_nothing(expected: Speech, starts: Starts) -> None:
    metrics = free_port()
    worker = starts(environment={"METRICS_PORT": str(metrics)})
    engine = engine_at(worker.address)
    silent = [socket.create_connection(("127.0.0.1", worker.port)) for _ in range(200)]
    loud = socket.create_connection(("127.0.0.1", worker.port))
    with loud, suppress(ConnectionError):
        loud.sendall(b"x" * 64 * 1024 * 1024)
        assert b"101 Switching" not in loud.recv(4096)
    for headers in ({}, {"Authorization": "Bearer " + "u" * 40}, {"Authorization": "Basic " + TOKEN}):
        with pytest.raises(InvalidStatus, match="401"):
            stranger(worker, **headers)
    with pytest.raises(InvalidStatus, match="426"):
        stranger(worker, Authorization=f"Bearer {TOKEN}")

    assert_same(result(engine.submit(request_for(engine, text=TEXT, frames=FRAMES))), expected)
    assert measured(metrics) == {"rhapsode_decoder_waiting_frames": 0.0}
    # They are shown the door after the time of a handshake.
    for each in silent:
        each.settimeout(60)
        assert each.recv(4096) == b""
        each.close()
    engine.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\xff\xff\xff\xff",
        "a text",
        b'\x08\x00\x00\x00["None"]',
        b'\x20\x00\x00\x00["DropSpeech", 1.5]               ',
        b'\x2c\x00\x00\x00["EndFrames", 1, ["<i2", [1048576, 1048576]]] ',
        b"\x00" * (4 * 1024 * 1024 + 1),
    ],
)
def test_what_is_no_message_ends_its_own_connection_alone(tiny_checkpoint: Path, sent: bytes | str) -> None:
    worker = DecoderWorker.of_this_run(tiny_checkpoint)
    with authorized(worker) as connection, authorized(worker) as other:
        connection.send(sent)
        with suppress(ConnectionClosed):
            for said in connection:
                assert isinstance(said, bytes)
        assert connection.close_code in (1009, 1000, 1011)
        assert isinstance(other.recv(timeout=60), bytes)
        assert other.ping().wait(60)


def test_it_ends_at_once_when_asked_and_engines_wait_for_the_next(expected: Speech, starts: Starts) -> None:
    worker = starts(program=("rhapsode", "run", "decoder-worker"))
    engine = engine_at(worker.address)
    heard: list[SpeechChunk] = []
    future = engine.submit(request_for(engine, text=TEXT, frames=FRAMES), heard.append)
    wait_until(lambda: bool(heard))

    status, said = worker.terminate()
    worker.start()

    assert status == 0
    assert "Traceback" not in said
    assert_same(result(future), expected)
    assert_heard(heard, expected)
    engine.close()


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"DECODER_DEVICE": "cpu"}, "a decoder worker has one address, ws://:TOKEN@HOST:PORT/cpu"),
        ({"DECODER_DEVICE": "ws://:short@127.0.0.1:1/cpu"}, "must be ws://:TOKEN@HOST:PORT/KIND"),
        ({"DECODER_DEVICE": f"ws://:{TOKEN}@127.0.0.1:1/cuda"}, "a decoder worker has one address"),
        ({"DECODER_DEVICE": f"wss://:{TOKEN}@127.0.0.1:1/cpu"}, "wss:// needs RHAPSODE_LIVE_TLS_CERTIFICATE"),
        ({"DECODER_DEVICE": f"ws://:{TOKEN}@203.0.113.7:7777/cpu"}, "the decoder worker cannot start: "),
        ({"CHECKPOINT": "/nowhere"}, "RHAPSODE_CHECKPOINT: there is no folder /nowhere"),
    ],
)
def test_a_worker_that_cannot_start_says_why_in_one_line(environment: dict[str, str], complaint: str) -> None:
    process = DecoderWorker(SMALL_VOICE, environment).begin()
    _, said = process.communicate(timeout=60)

    assert process.returncode in (1, 2)
    assert complaint in said.splitlines()[-1]
    assert "Traceback" not in said
    assert TOKEN not in said


def measured(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {
        name: float(value) for name, value in (line.split() for line in lines if line.startswith("rhapsode_decoder"))
    }


class CuttingProxy:
    """Passes bytes on until it is told to cut what is open."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.num_connections = 0
        self._open: list[socket.socket] = []

    def __enter__(self) -> CuttingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        ends, self._open = self._open, []
        for end in ends:
            with suppress(OSError):  # it has ended by itself
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                front, _ = self._listener.accept()
            except OSError:
                return
            behind = socket.create_connection(("127.0.0.1", self._behind))
            self.num_connections += 1
            self._open += (front, behind)
            threading.Thread(target=_pass_both_ways, args=(front, behind), daemon=True).start()


def _pass_both_ways(front: socket.socket, behind: socket.socket) -> None:
    with front, behind:
        back = threading.Thread(target=_pass_on, args=(behind, front), daemon=True)
        back.start()
        _pass_on(front, behind)
        back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1000):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
