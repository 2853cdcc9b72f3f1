"""A look at every server's certificate when a process starts.

A certificate that no known authority signed is a configuration error. It ends the process with one line, unlike a store
that is temporarily unavailable.
"""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from storage.runtime.config.settings import SettingsError, StorageSettings
from storage.runtime.config.tls import TlsFiles, tls_reason

HANDSHAKE_TIMEOUT_S = 3.0

_REDIS_PING = b"PING\r\n"
_HTTP_PING = b"OPTIONS * HTTP/1.0\r\n\r\n"


def check_certificates(settings: StorageSettings) -> None:
    """Shake hands with every server that is reached by TLS.

    Raises `SettingsError` if one of them is not trusted, does not trust us or speaks no TLS. A server that does not
    answer passes: it may come later, and then the clients verify it as strictly.
    """
    files = settings.tls_files
    for name, url in (("REDIS_URL", settings.redis_url), ("BROKER_URL", settings.broker_url)):
        full = files.redis_url(url.get_secret_value())
        if full.startswith("rediss:"):
            _check(f"RHAPSODE_{name}", full, 6379, _REDIS_PING, _files_of(full))
    endpoint = settings.s3_endpoint_url or ""
    if endpoint.startswith("https:"):
        _check("RHAPSODE_S3_ENDPOINT_URL", endpoint, 443, _HTTP_PING, files)


def _files_of(redis_url: str) -> TlsFiles:
    query = dict(parse_qsl(urlsplit(redis_url).query))
    ca, certificate, key = (
        Path(query[name]) if name in query else None for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
    )
    return TlsFiles(ca, certificate, key)


def _check(setting: str, url: str, default_port: int, ping: bytes, files: TlsFiles) -> None:
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or default_port
    try:
        context = files.context()
    except ValueError as error:
        raise SettingsError(f"{setting}: {error}") from error
    try:
        with (
            socket.create_connection((host, port), HANDSHAKE_TIMEOUT_S) as plain,
            context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            # TLS 1.3 tells of a refused certificate of ours only with the first answer.
            connection.sendall(ping)
            connection.recv(1)
    except ssl.SSLCertVerificationError as error:
        raise SettingsError(
            f"{setting}: the certificate of {host}:{port} is not trusted ({error.verify_message}); "
            "RHAPSODE_TLS_CA names the authorities to trust"
        ) from error
    except ssl.SSLEOFError:
        # It went away in the middle, as a server does that is being restarted.
        return
    except ssl.SSLError as error:
        raise SettingsError(
            f"{setting}: no TLS with {host}:{port} ({tls_reason(error)}); a server that asks for a certificate gets "
            "RHAPSODE_TLS_CERTIFICATE and RHAPSODE_TLS_KEY"
        ) from error
    except OSError:
        # Not there, or not yet: the process that needs it says so, again and again, and starts when it is.
        return
