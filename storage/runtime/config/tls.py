"""TLS to Redis, the broker and the object store: whom to trust, and who we are. Nothing turns verification off."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. ca: authorities trusted in place of the system's. certificate, key: ours, for servers that ask."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Raises `ValueError` naming the file that is not what it should be."""
        context = self._trusting()
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key)
            except OSError as error:
                raise ValueError(
                    f"RHAPSODE_TLS_CERTIFICATE: {self.certificate} with {self.key}: {tls_reason(error)}"
                ) from error
        return context

    def redis_url(self, url: str) -> str:
        """A rediss:// URL that asks for verification by these files; what it says itself goes before them.

        redis-py and kombu both read these parameters; kombu takes a URL without any for "do not verify".
        """
        parts = urlsplit(url)
        if parts.scheme != "rediss":
            return url
        chosen = {"ssl_ca_certs": self.ca, "ssl_certfile": self.certificate, "ssl_keyfile": self.key}
        defaults = {name: str(path) for name, path in chosen.items() if path is not None}
        query = {"ssl_cert_reqs": "required"} | defaults | dict(parse_qsl(parts.query))
        return urlunsplit(parts._replace(query=urlencode(query)))

    def _trusting(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            raise ValueError(f"RHAPSODE_TLS_CA: {self.ca}: {tls_reason(error)}") from error


def server_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """To serve with. Raises `ValueError` naming the file that is not what it should be."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise ValueError(f"{certificate} with {key}: {tls_reason(error)}") from error
    return context


SYSTEM_TRUST = TlsFiles()


def check_verified(redis_url: str) -> None:
    """Raises `ValueError` for a rediss:// URL that asks for less than a verified certificate."""
    query = dict(parse_qsl(urlsplit(redis_url).query))
    if query.get("ssl_cert_reqs", "required") != "required" or "ssl_check_hostname" in query:
        raise ValueError("certificates are always verified; RHAPSODE_TLS_CA names an authority of your own")


def tls_reason(error: OSError) -> str:
    """What went wrong, in a few words and without our values."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no TLS").lower().replace("_", " ")
    return error.strerror or str(error)
