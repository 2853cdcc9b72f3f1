"""What thousands of open WebSockets, each of which says something, do to those who listen.

    python -m benchmarks.live.crowd [--connections 10000] [--listeners 16] [--minutes 1] [--every 10]

An API of so many processes and one worker are processes of their own. The listeners hear text after text over HTTP as
fast as it goes, first alone and then beside the crowd, of which every connection has a request under way and sends a
piece of text without a word in it every so many seconds, which is acknowledged and takes no place at an engine.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.api.served_api import ServedApi, served_api
from benchmarks.live.listeners import Heard, Listening
from benchmarks.live.listening import TEXTS, add_engine, speaking_workers, speech_order, spoken_names, until_served
from tests.run_guard import guarded_run

OPENING_AT_ONCE = 50
PATH = "/v1/audio/speech/ws"
TRY_LATER = 1013


@dataclass
class Crowd:
    """open: connections whose request was taken. acknowledged: pieces of text. refused: by a status, or told to come
    later (1013) before a request was taken. lost: connections that ended otherwise.
    """

    open: int = 0
    acknowledged: int = 0
    refused: int = 0
    lost: int = 0


class _Goodbye(Exception):
    """The server closes, with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--listeners", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=1, help="of each part")
    parser.add_argument("--every", type=float, default=10, help="seconds between two pieces of text on a connection")
    parser.add_argument("--apis", type=int, default=1, help="processes of the API")
    add_engine(parser)
    arguments = parser.parse_args()
    room = str(4 * arguments.connections)
    with guarded_run() as folder, served_api(folder, arguments.apis, RHAPSODE_MAX_CONNECTIONS=room) as api:
        asyncio.run(_measure(api, folder, arguments))


async def _measure(api: ServedApi, folder: Path, arguments: argparse.Namespace) -> None:
    async with speaking_workers(api, folder, ("gpu-0",), arguments):
        model, voice = await spoken_names(api)
        orders = [speech_order(model, voice, text) for text in TEXTS]
        await until_served(api, orders[0], 1)
        _tell("alone", await _heard(api, orders, arguments), api)
        crowd = Crowd()
        gate = asyncio.Semaphore(OPENING_AT_ONCE)
        members = [
            asyncio.create_task(_belong(api, model, voice, crowd, gate, arguments.every))
            for _ in range(arguments.connections)
        ]
        while crowd.open + crowd.refused + crowd.lost < arguments.connections:
            await asyncio.sleep(0.5)
        acknowledged = crowd.acknowledged
        heard = await _heard(api, orders, arguments)
        a_second = (crowd.acknowledged - acknowledged) / (60 * arguments.minutes)
        _tell(f"beside {crowd}, {a_second:.0f} pieces a second", heard, api)
        for member in members:
            member.cancel()
        await asyncio.gather(*members, return_exceptions=True)


def _tell(what: str, heard: Heard, api: ServedApi) -> None:
    memory_mb = sum(psutil.Process(pid).memory_info().rss for pid in api.pids) >> 20
    print(f"{what}: {heard.row()}, {memory_mb} MiB of the API", flush=True)


async def _heard(api: ServedApi, orders: list[dict[str, object]], arguments: argparse.Namespace) -> Heard:
    listening = Listening(api, orders, time.monotonic() + 60 * arguments.minutes, Heard())
    await listening.run(arguments.listeners)
    return listening.heard


async def _belong(
    api: ServedApi, model: str, voice: str, crowd: Crowd, gate: asyncio.Semaphore, every_s: float
) -> None:
    """One connection over a bare socket: thousands of richer clients would measure themselves."""
    writer: asyncio.StreamWriter | None = None
    is_open = False
    try:
        async with gate:
            reader, writer = await asyncio.open_connection("127.0.0.1", api.port, limit=4096)
            if not await _shake_hands(api, reader, writer):
                crowd.refused += 1
                return
            _say(writer, {"type": "request.start", "model": model, "voice": voice})
            while (await _told(reader, writer))["type"] != "request.configured":
                pass
        crowd.open += 1
        is_open = True
        sequence = 0
        await asyncio.sleep(every_s * struct.unpack("<H", os.urandom(2))[0] / 65_536)
        while True:
            _say(writer, {"type": "input_text.append", "sequence": sequence, "text": " "})
            while (await _told(reader, writer))["type"] != "input_text.ack":
                pass
            sequence += 1
            crowd.acknowledged += 1
            await asyncio.sleep(every_s)
    except (OSError, asyncio.IncompleteReadError, _Goodbye) as error:
        if isinstance(error, _Goodbye) and error.code == TRY_LATER and not is_open:
            crowd.refused += 1
        else:
            crowd.lost += 1
            crowd.open -= is_open
    finally:
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _shake_hands(api: ServedApi, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    key = base64.b64encode(os.urandom(16)).decode()
    fields = {
        "Host": "localhost",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": "nari.speech.v1",
        "Authorization": f"Bearer {api.key}",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"GET {PATH} HTTP/1.1\r\n{lines}\r\n".encode())
    return (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")


def _say(writer: asyncio.StreamWriter, message: dict[str, object]) -> None:
    """A masked text frame of less than 64 KiB, whose mask changes nothing."""
    payload = json.dumps(message).encode()
    length = bytes((0x80 | len(payload),)) if len(payload) < 126 else b"\xfe" + struct.pack(">H", len(payload))
    writer.write(b"\x81" + length + bytes(4) + payload)


async def _told(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, str]:
    """The next event; a ping is answered. Raises `_Goodbye`."""
    kind, length = await reader.readexactly(2)
    size = struct.unpack(">H", await reader.readexactly(2))[0] if length == 126 else length
    payload = await reader.readexactly(size)
    if kind == 0x81:
        return json.loads(payload)
    if kind == 0x88:
        raise _Goodbye(*struct.unpack(">H", payload[:2]))
    if kind == 0x89:
        writer.write(b"\x8a" + bytes((0x80 | len(payload),)) + bytes(4) + payload)
    return {"type": "other"}


if __name__ == "__main__":
    main()
