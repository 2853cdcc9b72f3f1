"""The decoder's own process: `python -m worker.engine.decoder.process`, started by an engine and by nothing else.

The main thread takes frames from the channel and puts them into the lane of its device. The sender writes samples and
heartbeats. The process ends with its channel.
"""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from functools import partial
from typing import NoReturn

from worker.engine.decoder.device_lane import load_codec
from worker.engine.decoder.protocol import RELEASE, DecoderBeat, DecoderStartFailed, FromDecoder, StartDecoder
from worker.engine.decoder.sessions import BEAT_S, DecoderSession, SharedLane
from worker.engine.errors import StartError
from worker.engine.heap import freeze
from worker.process.children.channel import Channel
from worker.process.children.program import begin_program, end_with

Outbox = queue.SimpleQueue[FromDecoder]


def main() -> None:
    (channel,) = begin_program(RELEASE)
    end_with(partial(_serve, channel))


def _serve(channel: Channel) -> NoReturn:
    shared = SharedLane()
    outbox: Outbox = queue.SimpleQueue()
    send = partial(_send_all, channel, outbox, shared)
    threading.Thread(target=end_with, args=(send,), name="decoder-sender", daemon=True).start()
    start = channel.receive()
    assert isinstance(start, StartDecoder)  # noqa: S101  (of the same release)
    assert isinstance(start.device, str)  # noqa: S101  (a decoder worker gets no such message)
    try:
        lane, ready, _ = load_codec(start.checkpoint, start.device, start.profile, start.num_threads)
    except StartError as error:
        outbox.put(DecoderStartFailed(error))
        channel.receive()  # waits until the engine has read that, and hangs up
        raise
    outbox.put(ready)
    freeze()
    shared.begin(lane)
    session = DecoderSession(outbox.put, shared)
    while True:
        session.act_on(channel.receive())


def _send_all(channel: Channel, outbox: Outbox, shared: SharedLane) -> NoReturn:
    next_beat_s = time.monotonic()
    while True:
        if time.monotonic() >= next_beat_s:
            channel.send(DecoderBeat(shared.counters))
            next_beat_s = time.monotonic() + BEAT_S
        with suppress(queue.Empty):
            channel.send(outbox.get(timeout=max(0.01, next_beat_s - time.monotonic())))


if __name__ == "__main__":
    main()
