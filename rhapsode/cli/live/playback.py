"""A thread that plays speech. It buffers the chunks that a server sends faster than they are played."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from contextlib import contextmanager

from rhapsode.cli.live.players import OpenPlayer, Player
from rhapsode.client.live.chunks import AudioChunk

LOOK_S = 0.1
"""The longest delay of Ctrl-C while the rest plays."""

GOODBYE_S = 1.0
"""The longest wait for a stopped player to release its device."""


class Playback:
    """Opens its player with the first chunk."""

    def __init__(self, open_player: OpenPlayer) -> None:
        self._open_player = open_player
        self._chunks: queue.SimpleQueue[AudioChunk | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rhapsode-player", daemon=True)
        self._player: Player | None = None
        self._failure: Exception | None = None
        self._is_stopped = False
        self._thread.start()

    def write(self, chunk: AudioChunk) -> None:
        """Returns at once. Raises the player's exception."""
        self._check()
        self._chunks.put(chunk)

    def finish(self) -> None:
        """Returns when all chunks were played."""
        self._chunks.put(None)
        while self._thread.is_alive():
            self._thread.join(LOOK_S)
        self._check()

    def stop(self) -> None:
        """Stop the sound. After `finish` it does nothing."""
        if not self._thread.is_alive():
            return
        self._is_stopped = True
        self._chunks.put(None)
        if self._player is not None:
            self._player.stop()
        self._thread.join(GOODBYE_S)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while (chunk := self._chunks.get()) is not None and not self._is_stopped:
                self._player = self._player or self._open_player(chunk.sample_rate_hz)
                self._player.write(chunk.pcm)
            if self._player is not None and not self._is_stopped:
                self._player.finish()
        except Exception as error:  # noqa: BLE001 - `_check` raises it in the caller's thread
            # A stopped player may fail.
            self._failure = None if self._is_stopped else error


@contextmanager
def playback(open_player: OpenPlayer) -> Generator[Playback]:
    """It stops at the end of the block."""
    played = Playback(open_player)
    try:
        yield played
    finally:
        played.stop()
