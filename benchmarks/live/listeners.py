"""Listeners who hear live speech over HTTP as fast as it plays, alone, while workers are killed, or beside a crowd.

    python -m benchmarks.live.listeners [--listeners 64] [--minutes 3] [--kill-every 30] [--decoders cuda:0] [--jobs 16]
    python -m benchmarks.live.listeners --listeners 8 --crowd 10000 [--every 10]

An API and GPU workers are separate processes, on the engine without a model unless a checkpoint is given. Each listener
asks for one text after the other with the same seed, and reads no faster than it plays, with half a second of buffer.
`--kill-every`: one of two workers gets kill -9 in turn and starts again; a stream counts as wrong where its bytes are
not those that the text had before. `--decoders cuda:0,cuda:0` has the codec in processes apart; then there is one
worker, and a kill is of one of its decoders. `--jobs`: so many clients have one job after the other spoken meanwhile,
held to the same bytes. `--crowd`: so many WebSockets, each with a request under way that sends a piece of
text every so many seconds, which takes no place at an engine. Prints a line of JSON for each part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
import numpy as np
import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from api.settings import LIMITS
from benchmarks.rig import ROOT, ServedApi, as_environment, fake_engine, parser, served_api
from rhapsode.bench.server.connections import connected, read_origin
from rhapsode.bench.server.listening import BYTES_PER_SAMPLE, RequestFailed, SimulatedPlayback
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH
from rhapsode.stack import commands
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import WorkerRegistry
from tests.run_guard import guarded_run

BUFFER_S = 0.5
RATE_HZ = 24_000
START_S = 600.0
APART_S = 0.1
OPENING_AT_ONCE = 50
TRY_LATER = 1013
JOB_S = 120
DECODER = "worker.engine.decoder.process"
SENTENCES = (
    "The harbour was quiet, and nobody had lit the lamps along the wall.",
    "A boat came in with its sail half down, as if it had been told to wait.",
    "What the fishermen said to each other did not reach the window.",
    "Later there was a light on the water, and then there were two of them.",
    "She closed the book and counted the bells until they had stopped.",
)
TEXTS = tuple(" ".join((*SENTENCES[first:], *SENTENCES[:first])) for first in range(len(SENTENCES)))
Order = dict[str, object]


@dataclass
class Heard:
    """Of all listeners together.

    dry: streams in which the buffer ran empty, longest_gap_s at most. wrong: not the bytes that the text had before, by
    text. other_length: of them. largest_difference: between the samples of the others, of 32,768.
    """

    streams: int = 0
    audio_s: float = 0.0
    dry: int = 0
    longest_gap_s: float = 0.0
    wrong: dict[int, int] = field(default_factory=dict[int, int])
    other_length: int = 0
    largest_difference: int = 0
    broken: dict[str, int] = field(default_factory=dict[str, int])

    def compare(self, text: int, data: bytes, before: bytes) -> None:
        """data: whole 16-bit samples, after the head of a file or not."""
        if data == before:
            return
        self.wrong[text] = self.wrong.get(text, 0) + 1
        if len(data) != len(before):
            self.other_length += 1
        else:
            now, then = (np.frombuffer(each, "<i2").astype(np.int32) for each in (data, before))
            self.largest_difference = max(self.largest_difference, int(np.abs(now - then).max()))


@dataclass
class Crowd:
    """refused: by a status, or asked to retry later (1013). lost: connections that ended otherwise."""

    open: int = 0
    acknowledged: int = 0
    refused: int = 0
    lost: int = 0

    @property
    def settled(self) -> int:
        return self.open + self.refused + self.lost


class Worker:
    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment, self._log = environment, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            command = commands.gpu_worker()
            self._process = subprocess.Popen(command, cwd=ROOT, env=self._environment, stdout=log, stderr=log)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def decoders(self) -> list[psutil.Process]:
        """Processes of its engine that decode."""
        below = psutil.Process(self.pid).children(recursive=True)
        return [each for each in below if DECODER in each.cmdline()]


def main() -> None:
    given = _arguments()
    # A tenant holds a share of each process's connections.
    processes = max(given.apis, math.ceil(4 * given.crowd / LIMITS.connections))
    with (
        guarded_run() as folder,
        served_api(folder, processes) as api,
        _workers(api, folder, given) as workers,
    ):
        asyncio.run(_measure(api, workers, given))


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("--listeners", type=int, default=64)
    options.add_argument("--minutes", type=float, default=3, help="of each part")
    options.add_argument("--apis", type=int, default=1, help="processes of the API; more for a crowd that needs them")
    options.add_argument("--kill-every", type=float, default=0, help="seconds between two kills")
    options.add_argument("--decoders", default="", help="devices of decoder processes, with commas between")
    options.add_argument("--jobs", type=int, default=0, help="clients of jobs beside the listeners")
    options.add_argument("--crowd", type=int, default=0, help="WebSockets")
    options.add_argument("--every", type=float, default=10, help="seconds between two pieces of text on each of them")
    options.add_argument("--step-ms", type=float, default=20, help="of the engine without a model: a frame of 80 ms")
    options.add_argument("--checkpoint", type=Path, help="of a real engine")
    options.add_argument("--device", default="cpu")
    return options.parse_args()


@contextmanager
def _workers(api: ServedApi, folder: Path, given: argparse.Namespace) -> Generator[list[Worker]]:
    """Two where one is killed. Each has a place for every listener."""
    environment = fake_engine(given.step_ms / 1000) | as_environment(api.settings)
    environment |= {"RHAPSODE_SLOTS": str(given.jobs or 1), "RHAPSODE_LIVE_HOST": "127.0.0.1"}
    environment |= {"RHAPSODE_LIVE_SLOTS": str(given.listeners), "RHAPSODE_DEVICE": given.device}
    if given.checkpoint is not None:
        del environment["RHAPSODE_ENGINE"]
        environment |= {"RHAPSODE_CHECKPOINT": str(given.checkpoint.resolve()), "RHAPSODE_ENGINE_PROFILE": "latency"}
        environment |= {"RHAPSODE_ENGINE_REPRODUCIBILITY": "strict"}
    if given.decoders:
        environment |= {"RHAPSODE_DECODER_DEVICE": given.decoders}
    names = ("gpu-0", "gpu-1") if given.kill_every and not given.decoders else ("gpu-0",)
    workers = [Worker(environment | {"RHAPSODE_WORKER_NAME": name}, folder / f"{name}.log") for name in names]
    with ExitStack() as stack:
        for worker in workers:
            worker.start()
            stack.callback(worker.kill)
        yield workers


async def _measure(api: ServedApi, workers: Sequence[Worker], given: argparse.Namespace) -> None:
    model, voice = await _spoken_names(api, workers)
    orders = [_order(model, voice, text) for text in TEXTS]
    streamed = [await _whole_stream(api, order) for order in orders]
    # One sentence each: a longer text wants a worker that plans it.
    jobs = [_job(model, voice, sentence) for sentence in SENTENCES] if given.jobs else []
    wavs = [await _whole_job(api, job) for job in jobs]
    kills = asyncio.create_task(_kill(api, workers, given))
    jobs_heard = asyncio.create_task(_have_jobs_spoken(api, jobs, wavs, given))
    killed = f"while {'decoders' if given.decoders else 'workers'} are killed"
    _tell(api, killed if given.kill_every else "alone", await _listen(api, orders, streamed, given))
    _tell(api, "jobs beside them", await jobs_heard)
    print(json.dumps({"kills": await kills}), flush=True)
    if given.crowd:
        crowd, gate = Crowd(), asyncio.Semaphore(OPENING_AT_ONCE)
        members = [
            asyncio.create_task(_belong(api, {"model": model, "voice": voice}, crowd, gate, given.every))
            for _ in range(given.crowd)
        ]
        while crowd.settled < given.crowd:
            await asyncio.sleep(0.5)
        before = crowd.acknowledged
        _tell(api, "beside a crowd", await _listen(api, orders, streamed, given))
        per_s = (crowd.acknowledged - before) / (60 * given.minutes)
        print(json.dumps({**asdict(crowd), "pieces_per_s": round(per_s)}), flush=True)
        for member in members:
            member.cancel()
        await asyncio.gather(*members, return_exceptions=True)


def _tell(api: ServedApi, what: str, heard: Heard) -> None:
    memory_mib = sum(psutil.Process(pid).memory_info().rss for pid in api.pids) >> 20
    print(json.dumps({"listeners": what, **asdict(heard), "api_mib": memory_mib}), flush=True)


async def _spoken_names(api: ServedApi, workers: Sequence[Worker]) -> tuple[str, str]:
    """A model that every worker speaks, and the API has found them; and a voice of it."""
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s:
        cards = [card for card in ModelRegistry(api.state).list() if card.name != "small" and card.speakers]
        if cards and _all_speak(api, workers):
            order = _order(cards[0].name, cards[0].speakers[0], TEXTS[0])
            if isinstance(await _hear(api, order, None), bytes):
                return cards[0].name, cards[0].speakers[0]
        await asyncio.sleep(0.2)
    sys.exit("not every worker speaks")


def _all_speak(api: ServedApi, workers: Sequence[Worker]) -> bool:
    """Each of them as it was started last."""
    live = {each.report.pid for each in WorkerRegistry(api.state).list() if each.report.live is not None}
    return live.issuperset(worker.pid for worker in workers)


async def _kill(api: ServedApi, workers: Sequence[Worker], given: argparse.Namespace) -> int:
    until_s, kills = time.monotonic() + 60 * given.minutes, 0
    while given.kill_every and time.monotonic() + given.kill_every < until_s:
        await asyncio.sleep(given.kill_every)
        if given.decoders:
            kills += _killed_decoder(workers[0], kills)
        elif _all_speak(api, workers):
            worker = workers[kills % len(workers)]
            worker.kill()
            worker.start()
            kills += 1
    return kills


def _killed_decoder(worker: Worker, number: int) -> bool:
    """Of those that run, in turn."""
    decoders = worker.decoders()
    if decoders:
        decoders[number % len(decoders)].kill()
    return bool(decoders)


async def _have_jobs_spoken(
    api: ServedApi, jobs: Sequence[Order], spoken: Sequence[bytes], given: argparse.Namespace
) -> Heard:
    heard, until_s = Heard(), time.monotonic() + 60 * given.minutes

    async def client(number: int) -> None:
        while time.monotonic() < until_s:
            which = number % len(jobs)
            wav = await _whole_job(api, jobs[which])
            heard.streams += 1
            heard.audio_s += len(wav) / BYTES_PER_SAMPLE / RATE_HZ
            heard.compare(which, wav, spoken[which])
            number += 1

    await asyncio.gather(*map(client, range(given.jobs)))
    return heard


async def _listen(api: ServedApi, orders: Sequence[Order], spoken: Sequence[bytes], given: argparse.Namespace) -> Heard:
    heard, until_s = Heard(), time.monotonic() + 60 * given.minutes

    async def listener(number: int) -> None:
        await asyncio.sleep(APART_S * number)
        while time.monotonic() < until_s:
            which, playback = number % len(orders), SimulatedPlayback()
            told = await _hear(api, orders[which], playback)
            heard.streams += 1
            heard.dry += playback.buffer_s > BUFFER_S
            heard.longest_gap_s = max(heard.longest_gap_s, playback.buffer_s - BUFFER_S)
            if isinstance(told, bytes):
                heard.audio_s += playback.audio_s
                heard.compare(which, told, spoken[which])
            else:
                heard.broken[told] = heard.broken.get(told, 0) + 1
                await asyncio.sleep(0.5)
            number += 1

    await asyncio.gather(*map(listener, range(given.listeners)))
    return heard


async def _whole_stream(api: ServedApi, order: Order) -> bytes:
    """Ends the program where it was not whole."""
    told = await _hear(api, order, None)
    if isinstance(told, str):
        sys.exit(told)
    return told


def _order(model: str, voice: str, text: str) -> Order:
    """A stream of 20 s at most: random weights never end by themselves."""
    fields = {"model": model, "voice": voice, "input": text, "seed": 7, "max_new_tokens": 250}
    return {**fields, "stream": True, "response_format": "pcm", "reproducibility": "strict"}


def _job(model: str, voice: str, sentence: str) -> Order:
    """Random weights pass no gate."""
    fields = {"model": model, "voice": voice, "input": {"text": sentence}, "seed": 7, "quality": {"gate": "off"}}
    return {**fields, "sampling": {"max_new_tokens": 60}, "reproducibility": "strict", "reuse": False}


async def _whole_job(api: ServedApi, job: Order) -> bytes:
    """Its WAV. Ends the program where the job fails."""
    headers = {"Authorization": f"Bearer {api.key}", "Prefer": f"wait={JOB_S}"}
    async with httpx.AsyncClient(base_url=api.url, headers=headers, timeout=2 * JOB_S) as http:
        answer = (await http.post("/v1/jobs", json=job)).raise_for_status().json()
        if answer["state"] != "succeeded":
            sys.exit(f"a job is {answer['state']}: {answer['error']}")
        link = next(made["url"] for made in answer["artifacts"] if made["name"] == "narration.wav")
        return (await http.get(link)).raise_for_status().content


async def _hear(api: ServedApi, order: Order, playback: SimulatedPlayback | None) -> bytes | str:
    """Its bytes, read as fast as they play where there is a playback; or why it was not whole."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {api.key}"}
    whole = bytearray()
    try:
        async with connected(read_origin(api.url)) as connection:
            answer = await connection.ask("POST", "/v1/audio/speech", headers, json.dumps(order).encode())
            if not answer.is_success:
                return f"refused: {answer.status}"
            async for piece in connection.pieces():
                whole += piece
                if playback is not None:
                    now_s = time.monotonic()
                    playback.add(len(piece) / BYTES_PER_SAMPLE / RATE_HZ, now_s)
                    await asyncio.sleep(playback.audio_s - (now_s - (playback.first_s or now_s)) - BUFFER_S)
    except RequestFailed as error:
        return f"broken off: {error}"
    return bytes(whole)


async def _belong(api: ServedApi, named: Order, crowd: Crowd, gate: asyncio.Semaphore, every_s: float) -> None:
    """One connection of the crowd."""
    is_open = False
    try:
        async with gate:
            connection = await connect(
                api.url.replace("http", "ws") + SOCKET_PATH,
                subprotocols=[NARI],  # pyright: ignore[reportArgumentType] - a NewType of theirs
                additional_headers={"Authorization": f"Bearer {api.key}"},
                compression=None,
                ping_interval=None,
                open_timeout=None,
                proxy=None,
            )
            await _say(connection, {"type": "request.start", **named}, "request.configured")
        crowd.open, is_open = crowd.open + 1, True
        await asyncio.sleep(every_s * random.random())
        for sequence in range(sys.maxsize):
            await _say(connection, {"type": "input_text.append", "sequence": sequence, "text": " "}, "input_text.ack")
            crowd.acknowledged += 1
            await asyncio.sleep(every_s)
    except InvalidStatus:
        crowd.refused += 1
    except (OSError, WebSocketException) as error:
        came_too_early = isinstance(error, ConnectionClosed) and error.rcvd is not None and error.rcvd.code == TRY_LATER
        if came_too_early and not is_open:
            crowd.refused += 1
        else:
            crowd.lost, crowd.open = crowd.lost + 1, crowd.open - is_open


async def _say(connection: ClientConnection, message: Order, answer: str) -> None:
    """Until the event of that type has come."""
    await connection.send(json.dumps(message))
    while json.loads(await connection.recv())["type"] != answer:
        pass


if __name__ == "__main__":
    main()
