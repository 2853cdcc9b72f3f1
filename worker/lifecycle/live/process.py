"""A process of the live server, started by `LiveProcesses` alone: `python -m worker.lifecycle.live.process`.

Jobs of hundreds of slots keep the worker's interpreter busy, and live streams would wait for seconds. This process has
another interpreter, and its own channel to the engine. It ends with the worker's channel, however the worker ends.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress

from storage.database.connections import connect_redis, open_artifacts
from storage.errors import StorageError
from storage.queue.worker_registry import REPORT_INTERVAL_S
from storage.runtime.config.file_limit import allow_files
from storage.runtime.config.settings import SettingsError
from storage.runtime.observability.metrics import REGISTRY
from storage.voices.store import VoiceStore
from worker.engine.heap import PauseMeter, freeze
from worker.lifecycle.beside import EndBeside, SessionBeside, StartBeside, serve_beside
from worker.lifecycle.live.protocol import RELEASE, IsIdle, LiveState, RefuseIfIdle, RefuseNew
from worker.lifecycle.live.server import live_server
from worker.lifecycle.preparing import LIVE_FILES, OTHER_FILES
from worker.process.children.channel import Channel
from worker.process.engine_meter import EngineMeter
from worker.process.periodic import Periodic
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED, CalibrationUnreadable
from worker.speech.quality.gate import checkpoint_calibration
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver

logger = logging.getLogger(__name__)

STATE_EVERY_S = 0.25
METRICS = "rhapsode_live_worker_"


def main() -> None:
    serve_beside(RELEASE, LiveSession, (SettingsError, StorageError, CalibrationUnreadable))


class LiveSession(SessionBeside):
    """With the server. Raises one of the errors in `main`."""

    def __init__(self, channel: Channel, door: socket.socket, start: StartBeside) -> None:
        settings = start.settings
        super().__init__(channel, door, start, "live")
        allow_files(LIVE_FILES + OTHER_FILES)
        self._meter = EngineMeter(self._engine.stats, start.info, lambda: 0)
        redis, artifacts = connect_redis(settings), open_artifacts(settings)
        measured = UNCALIBRATED
        if settings.engine != "fake":
            measured = checkpoint_calibration(settings.checkpoint, start.info.revision)
        self._server = live_server(
            settings,
            start.name,
            self._engine,
            VoiceResolver(VoiceStore(redis, settings.key_prefix), artifacts, self._engine, PromptCache()),
            artifacts,
            lambda voice, language: measured.bounds(language, voice),
            self._meter,
            settings.live_slots,
        )
        self._server.start()
        freeze()
        self._pauses = PauseMeter()

    def serve(self) -> int:
        Periodic("engine-meter", REPORT_INTERVAL_S, self._meter.look).start()
        threading.Thread(target=self._tell_states, name="live-states", daemon=True).start()
        while True:
            match self._channel.receive():
                case RefuseNew(is_leaving):
                    self._server.refuse_new(is_leaving=is_leaving)
                case RefuseIfIdle():
                    self._send(IsIdle(self._server.refuse_if_idle()))
                case EndBeside(grace_s):
                    self._server.close(grace_s)
                    return 0
                case other:
                    raise TypeError(f"{type(other).__name__} is said by no worker")

    def _tell_states(self) -> None:
        """Until the worker is gone."""
        with suppress(OSError):
            while True:
                metrics = [each for each in REGISTRY.collect() if each.name.startswith(METRICS)]
                self._send(LiveState(self._server.address(), metrics, self._pauses.longest_s))
                time.sleep(STATE_EVERY_S)


if __name__ == "__main__":
    main()
