"""Redis and S3 behind TLS: a front before the real Valkey, which is built without, and weed's own https port."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import trustme

from storage.database.embedded_valkey import EmbeddedRedis
from tests.storage.objects.embedded_s3 import EmbeddedS3, free_ports
from tests.threads import join_in_time

PIECE_BYTES = 65_536


@dataclass(frozen=True)
class Authority:
    """A certificate authority of the test's own, and what it issued, as PEM files."""

    ca: Path
    certificate: Path
    key: Path

    @classmethod
    def made_in(cls, folder: Path) -> Authority:
        folder.mkdir()
        authority = trustme.CA()
        issued = authority.issue_cert("localhost", "127.0.0.1")
        files = cls(folder / "ca.pem", folder / "certificate.pem", folder / "key.pem")
        authority.cert_pem.write_to_path(files.ca)
        issued.private_key_pem.write_to_path(files.key)
        files.certificate.write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
        return files

    def server_context(self) -> ssl.SSLContext:
        """Presents the certificate and asks for one of the same authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(self.ca)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


@contextmanager
def tls_front(server: EmbeddedRedis, authority: Authority) -> Generator[str]:
    """The rediss:// URL of a server that listens on a Unix socket: bytes pass through a thread of this process."""
    behind = urlsplit(server.url)
    socket = unquote(behind.path)
    loop = asyncio.new_event_loop()
    ports: list[int] = []
    listening, over = threading.Event(), asyncio.Event()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await reader.read(PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_unix_connection(socket)
        await asyncio.gather(pass_on(reader, up_writer), pass_on(up_reader, writer))

    async def serve() -> None:
        front = await asyncio.start_server(connect, "127.0.0.1", 0, ssl=authority.server_context())
        ports.append(front.sockets[0].getsockname()[1])
        listening.set()
        await over.wait()
        front.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    listening.wait()
    yield f"rediss://:{behind.password}@localhost:{ports[0]}/0"
    loop.call_soon_threadsafe(over.set)
    join_in_time(thread)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


class TlsS3(EmbeddedS3):
    """The server of the other tests with an https port beside the plain one; it asks for a certificate there."""

    def __init__(self, data_dir: Path, authority: Authority) -> None:
        super().__init__(data_dir)
        self._authority = authority
        (self._port,) = free_ports(1)

    @property
    def https_url(self) -> str:
        return f"https://localhost:{self._port}"

    def command(self) -> list[str]:
        return [
            *super().command(),
            f"-s3.port.https={self._port}",
            f"-s3.cert.file={self._authority.certificate}",
            f"-s3.key.file={self._authority.key}",
            f"-s3.cacert.file={self._authority.ca}",
            "-s3.tlsVerifyClientCert",
        ]
