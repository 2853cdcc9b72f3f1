"""A finisher's own process, started by `FinisherPool` alone: `python -m worker.speech.postprocessing.process`.

A thread for each line, so that a store that answers slowly holds up nobody else. The process ends with its leash, the
socket whose other end the worker holds: a worker that is gone, however it went, leaves no finisher behind.
"""

from __future__ import annotations

import argparse
import os
import socket
import threading
from contextlib import suppress

from storage.database.connections import open_artifacts
from storage.errors import StorageError
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.settings import SettingsError, StorageSettings, load_settings
from storage.runtime.observability.logs import configure_process_logging
from worker.engine.process.parent_death import belong_to
from worker.speech.postprocessing.channel import Line
from worker.speech.postprocessing.in_process import OwnFinisher
from worker.speech.postprocessing.interface import Finisher
from worker.speech.postprocessing.protocol import Call, answer

READY = "ready"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--leash", type=int, required=True, help="the socket this process ends with")
    parser.add_argument("--lines", type=_descriptors, required=True, help="the sockets that calls come by")
    parser.add_argument("--parent", type=int, required=True, help="process id of the worker")
    parser.add_argument("--worker", required=True, help="its name, for the log")
    arguments = parser.parse_args()
    belong_to(arguments.parent)
    leash = Line(socket.socket(fileno=arguments.leash))
    try:
        finisher = _open(arguments.worker)
    except (SettingsError, StorageError) as error:
        leash.send(str(error))
        return
    for number, descriptor in enumerate(arguments.lines):
        line = Line(socket.socket(fileno=descriptor))
        threading.Thread(target=_serve, args=(line, finisher), name=f"line-{number}", daemon=True).start()
    leash.send(READY)
    _wait_for_end(leash)
    # Nobody waits for what is still under way.
    os._exit(0)


def _descriptors(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _open(worker: str) -> Finisher:
    settings = load_settings(StorageSettings)
    configure_process_logging(settings, role="finisher", worker=worker)
    check_certificates(settings)
    return OwnFinisher(open_artifacts(settings))


def _serve(line: Line, finisher: Finisher) -> None:
    """Until the worker hangs up, which ends the process anyway."""
    with suppress(OSError):
        while True:
            call = line.receive()
            assert isinstance(call, Call)  # noqa: S101  (the worker's own code wrote it)
            line.send(answer(call, finisher))


def _wait_for_end(leash: Line) -> None:
    with suppress(OSError):
        leash.receive()


if __name__ == "__main__":
    main()
