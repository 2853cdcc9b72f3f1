"""Ended utterances to samples, beside the talker: what every decoder lane is, and the one that decodes one by one.

A lane knows frames and samples. Futures, tickets and what a request may still want are the engine's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Protocol

from worker.engine.interface import CodecFrames, FinishReason, Pcm
from worker.engine.native.request_state import RequestState
from worker.engine.native.stages.codec import CodecStage
from worker.engine.native.warm_references import WarmReferences

# An utterance is decoded in small passes that do not fill a second core, so two at a time.
_DECODERS = 2


@dataclass(frozen=True, slots=True)
class Utterance:
    """The frames (T, Q) of a request whose speech has ended."""

    request: RequestState
    frames: CodecFrames
    finish_reason: FinishReason

    @property
    def reference(self) -> CodecFrames | None:
        """Frames (R, Q) that the utterance goes on from: the decoder hears them first, their samples are dropped."""
        placed = self.request.prompt.reference
        return None if placed is None else placed.codes


class DecoderClient(Protocol):
    """The engine as a lane sees it. Any thread may call any method."""

    def is_wanted(self, utterance: Utterance) -> bool:
        """False once the request was cancelled: no need to decode."""
        ...

    def deliver(self, utterance: Utterance, pcm: Pcm) -> None:
        """The samples (T · samples_per_frame,) of the utterance, without those of its reference."""
        ...

    @property
    def num_in_flight(self) -> int:
        """Requests that wait, speak or are being decoded."""
        ...

    def run_guarded(self, work: Callable[[], None]) -> None:
        """The outermost frame of a thread of the lane: an error that nobody foresaw ends the engine."""
        ...


@dataclass(frozen=True, slots=True)
class LaneCounters:
    """Passes since start that replayed a captured graph, and passes that a plan of graphs did not foresee."""

    graph_passes: int = 0
    fallbacks: int = 0


class DecoderLane(Protocol):
    """Decodes beside the talker, in any order; every utterance that is still wanted is delivered once.

    `start` before `put`. `put` never waits for audio. `close` lets the threads end after what they are decoding and
    may be called from any thread, several times; `join` waits for them.
    """

    def start(self, client: DecoderClient) -> None: ...

    def put(self, utterance: Utterance) -> None: ...

    @property
    def counters(self) -> LaneCounters: ...

    def close(self) -> None: ...

    def join(self) -> None: ...


class ThreadedDecoderLane:
    """One utterance at a time on each of a few threads; references are heard once and then kept."""

    def __init__(self, codec: CodecStage) -> None:
        self._codec = codec
        self._references = WarmReferences(codec)
        self._utterances: SimpleQueue[Utterance | None] = SimpleQueue()
        self._threads: tuple[threading.Thread, ...] = ()

    def start(self, client: DecoderClient) -> None:
        def decode() -> None:
            client.run_guarded(lambda: self._run(client))

        self._threads = tuple(
            threading.Thread(target=decode, name=f"codec-decoder-{n}", daemon=True) for n in range(_DECODERS)
        )
        for thread in self._threads:
            thread.start()

    def put(self, utterance: Utterance) -> None:
        self._utterances.put(utterance)

    @property
    def counters(self) -> LaneCounters:
        """There is no plan of graphs here."""
        return LaneCounters()

    def close(self) -> None:
        for _ in self._threads:
            self._utterances.put(None)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _run(self, client: DecoderClient) -> None:
        while (utterance := self._utterances.get()) is not None:
            if client.is_wanted(utterance):
                client.deliver(utterance, self._samples(utterance))

    def _samples(self, utterance: Utterance) -> Pcm:
        if utterance.reference is None:
            return self._codec.decode(utterance.frames)
        return self._references.stream_after(utterance.reference).push(utterance.frames)
