"""A post-processor's own process, started by `PostProcessorPool` alone: `python -m` and this module.

A thread for each channel, so that a store that answers slowly holds up no other call. The process ends with its
lifeline, the socket whose other end the worker holds: a worker that is gone, however it went, leaves no post-processor
behind.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from contextlib import suppress

from storage.database.connections import open_artifacts
from storage.errors import StorageError
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.settings import SettingsError, StorageSettings, load_settings
from storage.runtime.observability.logs import configure_process_logging
from worker.process.children.channel import Channel
from worker.process.children.program import BROKEN_STATUS, begin_program
from worker.speech.postprocessing.in_process import InProcessPostProcessor
from worker.speech.postprocessing.interface import PostProcessor
from worker.speech.postprocessing.protocol import RELEASE, Call, answer

logger = logging.getLogger(__name__)

READY = "ready"


def main() -> None:
    """Its argument: the worker's name, for the log."""
    lifeline, *channels = begin_program(RELEASE)
    try:
        postprocessor = _open(sys.argv[1])
    except (SettingsError, StorageError) as error:
        lifeline.send(str(error))
        return
    for number, channel in enumerate(channels):
        threading.Thread(target=_serve, args=(channel, postprocessor), name=f"channel-{number}", daemon=True).start()
    lifeline.send(READY)
    with suppress(OSError):
        lifeline.receive()
    # The worker has gone, and with it all who wait for what is under way.
    os._exit(0)


def _open(worker: str) -> PostProcessor:
    settings = load_settings(StorageSettings)
    configure_process_logging(settings, role="postprocessor", worker=worker)
    check_certificates(settings)
    return InProcessPostProcessor(open_artifacts(settings))


def _serve(channel: Channel, postprocessor: PostProcessor) -> None:
    """Until the worker hangs up, which ends the process anyway."""
    try:
        while True:
            call = channel.receive()
            assert isinstance(call, Call)  # noqa: S101  (the worker's own code wrote it)
            channel.send(answer(call, postprocessor))
    except OSError:
        return
    except Exception:
        # Without this thread its caller would wait without end. The pool starts another process.
        logger.exception("a channel to the worker failed")
        os._exit(BROKEN_STATUS)


if __name__ == "__main__":
    main()
