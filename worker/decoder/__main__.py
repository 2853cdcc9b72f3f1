"""The decoder worker's process: `python -m worker.decoder`. It decodes for the engines of other hosts.

It needs a checkpoint and its address. It knows no jobs, so it uses neither Redis nor the store.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl

from storage.runtime.config.settings import SettingsError, describe, load_settings, refusal, settings_refused_by
from storage.runtime.observability.logs import configure_process_logging
from storage.runtime.observability.metrics import export
from worker.engine.decoder.device_lane import load_codec
from worker.engine.decoder.server import DecoderServer
from worker.engine.decoder.sessions import SharedLane
from worker.engine.errors import StartError
from worker.engine.heap import freeze
from worker.engine.settings import DecoderAddress
from worker.lifecycle.live.server import serving_tls
from worker.process.metrics_server import serve_metrics
from worker.settings import DecoderSettings

logger = logging.getLogger("worker.decoder")


def main() -> None:
    with settings_refused_by("decoder worker"):
        settings = load_settings(DecoderSettings)
        settings.require_checkpoints()
        (address,) = settings.decoders
        assert isinstance(address, DecoderAddress)  # noqa: S101  (validated)
        tls = serving_tls(settings) if address.url.startswith("wss:") else None
        if address.url.startswith("wss:") and tls is None:
            raise SettingsError("RHAPSODE_DECODER_DEVICE: wss:// needs RHAPSODE_LIVE_TLS_CERTIFICATE")
        serve_metrics(settings.metrics_port)
    configure_process_logging(settings, role="decoder")
    logger.info("settings", extra={"values": " ".join(describe(settings))})
    shared = SharedLane()
    export(lambda snapshot: snapshot.add("rhapsode_decoder_waiting_frames", shared.waiting_frames))
    profile = settings.engine_profile
    try:
        lane, ready, codebooks = load_codec(settings.checkpoint, settings.device, profile, settings.engine_threads)
        freeze()
        shared.begin(lane)
        asyncio.run(_serve(DecoderServer(address, shared, ready, codebooks), tls))
    except (StartError, OSError) as error:
        raise refusal("the decoder worker cannot start", error) from error
    # The lane's threads may be in a pass, which the interpreter must not be taken from.
    os._exit(0)


async def _serve(server: DecoderServer, tls: ssl.SSLContext | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.serve(tls, stop)


if __name__ == "__main__":
    main()
