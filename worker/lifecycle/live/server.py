"""The live server of a worker: what its streams speak with, and where it listens, as its settings say."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from storage.objects.store import ArtifactStore
from storage.runtime.config.sentinel_url import is_sentinel_url, parse_sentinel_url
from storage.runtime.config.settings import SettingsError
from storage.runtime.config.tls import server_context
from worker.engine.interface import Engine
from worker.live.parts import LiveParts
from worker.live.server import LiveBinding, LiveServer
from worker.live.text_source import load_everything
from worker.process.engine_meter import EngineMeter
from worker.settings import WorkerSettings
from worker.speech.quality.calibration.calibration_file import SpeechBounds
from worker.voices.resolving import VoiceResolver

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
_REDIS_PORT = 6379


def live_server(
    settings: WorkerSettings,
    worker: str,
    engine: Engine,
    voices: VoiceResolver,
    artifacts: ArtifactStore,
    bounds: Callable[[str, str], SpeechBounds],
    meter: EngineMeter,
    num_places: int | None = None,
) -> LiveServer:
    """Not started yet; all that the first stream reads with is loaded. num_places: as of `LiveServer`.

    Raises `SettingsError`.
    """
    load_everything()
    parts = LiveParts(worker, settings.model_name, engine, voices, artifacts, bounds)
    return LiveServer(parts, live_binding(settings), lambda: _step_ms(meter), num_places)


def _step_ms(meter: EngineMeter) -> float | None:
    step_s = meter.pace.step_s
    return None if step_s is None else round(1000 * step_s, 3)


def live_binding(settings: WorkerSettings) -> LiveBinding:
    redis_url = settings.redis_url.get_secret_value()
    host = settings.live_host or address_towards(redis_url)
    tls = serving_tls(settings)
    if tls is None and redis_url.startswith("rediss:") and host != LOOPBACK:
        logger.warning("live speech is not encrypted, and Redis is: set RHAPSODE_LIVE_TLS_CERTIFICATE")
    return LiveBinding(host, settings.live_port, tls, settings.live_tls_name)


def serving_tls(settings: WorkerSettings) -> ssl.SSLContext | None:
    """None: without a certificate. Raises `SettingsError`."""
    if settings.live_tls_certificate is None:
        return None
    try:
        return server_context(settings.live_tls_certificate, settings.live_tls_key)
    except ValueError as error:
        raise SettingsError(f"RHAPSODE_LIVE_TLS_CERTIFICATE: {error}") from error


def address_towards(redis_url: str) -> str:
    """Of this machine, in the network in which it reaches Redis. Raises `SettingsError` where that is not known."""
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        return LOOPBACK
    if is_sentinel_url(redis_url):
        host, port = parse_sentinel_url(redis_url).sentinels[0]
    else:
        host, port = parts.hostname or LOOPBACK, parts.port or _REDIS_PORT
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            # Nothing is sent: the system chooses the address from which it would be.
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise SettingsError(
            f"RHAPSODE_LIVE_HOST: set it, as no way to Redis tells this host's address: {error}"
        ) from error
