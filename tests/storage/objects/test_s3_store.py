from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from storage.database.connections import open_artifacts
from storage.errors import ArtifactExists, StoreUnavailable
from storage.objects.s3_client import connect_objects, connect_s3
from storage.objects.s3_store import S3ArtifactStore
from storage.objects.store import Download
from storage.runtime.config.settings import StorageSettings
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3, store_at
from tests.threads import join_in_time

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEY = "jobs/local/job_01k/artifacts/3/narration.wav"
MIB = 1024 * 1024


class LossyProxy:
    """Forwards to a server; once armed, it drops the answer to the next request that begins and goes on as said."""

    def __init__(self, port: int, method: bytes, marker: bytes) -> None:
        self._port = port
        self._method = method
        self._marker = marker
        self._armed = False
        self._cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self) -> None:
        self._armed = True

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._port)) as server:
            up = threading.Thread(target=self._forward_requests, args=(client, server), daemon=True)
            up.start()
            with contextlib.suppress(OSError):
                while answer := server.recv(65536):
                    # "100 Continue" is not yet the answer.
                    if self._cut and b"100 Continue" not in answer:
                        self._cut = False
                        self.lost += 1
                        break
                    client.sendall(answer)
            for end in (client, server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            join_in_time(up)

    def _forward_requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while request := client.recv(65536):
                if self._armed and request.startswith(self._method) and self._marker in request:
                    self._armed = False
                    self._cut = True
                server.sendall(request)
            server.shutdown(socket.SHUT_WR)


@pytest.fixture
def deaf_client(weed: EmbeddedS3) -> Iterator[S3Client]:
    """A client whose server never sees If-None-Match, like servers that ignore it."""
    client = connect_s3(weed.endpoint_url, None, *weed.credentials)

    def strip(params: dict[str, Any], **_: Any) -> None:
        params["headers"].pop("If-None-Match", None)

    client.meta.events.register("before-call.s3.PutObject", strip)
    client.meta.events.register("before-call.s3.CompleteMultipartUpload", strip)
    yield client
    client.close()


def test_the_store_is_opened_from_settings(weed: EmbeddedS3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in weed.environment.items():
        monkeypatch.setenv(name, value)
    settings = StorageSettings(store=f"s3://{BUCKET}/opened/here", s3_endpoint_url=weed.endpoint_url)

    store = open_artifacts(settings)
    store.put(KEY, b"x")

    assert store.get(KEY) == b"x"
    assert [entry.key for entry in store.list("")] == [KEY]


def test_a_link_downloads_under_its_name_and_type(s3_store: S3ArtifactStore) -> None:
    s3_store.put(KEY, b"RIFF")

    link = s3_store.url(KEY, 60, Download('Märchen "1".wav', "audio/wav"))
    with urllib.request.urlopen(link) as response:
        body, headers = response.read(), response.headers

    assert body == b"RIFF"
    assert headers["Content-Type"] == "audio/wav"
    assert headers["Content-Disposition"] == (
        "attachment; filename=\"M_rchen _1_.wav\"; filename*=UTF-8''" + quote('Märchen "1".wav')
    )


def test_a_changed_or_old_link_is_refused(s3_store: S3ArtifactStore) -> None:
    s3_store.put(KEY, b"RIFF")
    s3_store.put("jobs/other", b"RIFF")
    link = s3_store.url(KEY, 1, Download("a.wav", "audio/wav"))
    last = "0" if not link.endswith("0") else "1"
    time.sleep(2.1)

    for url in (link, link.replace(KEY, "jobs/other"), link.partition("?")[0], link[:-1] + last):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(url)
        refusal.value.close()
        assert refusal.value.code == 403


def test_a_server_with_conditional_writes_is_recognised(s3_store: S3ArtifactStore) -> None:
    assert s3_store.has_conditional_writes


def test_a_server_without_conditional_writes_is_recognised_logged_and_asked_first(
    deaf_client: S3Client, weed: EmbeddedS3, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_at(deaf_client, "test/deaf", weed.credentials)
    store.put(KEY, b"first")

    with pytest.raises(ArtifactExists):
        store.put(KEY, b"second")
    with pytest.raises(ArtifactExists):
        store.put_stream(KEY, itertools.repeat(bytes(MIB), 9))

    assert store.get(KEY) == b"first"
    assert not store.has_conditional_writes
    assert caplog.messages.count("no conditional writes") == 1


@pytest.mark.parametrize(
    ("method", "marker", "num_mib"), [(b"PUT", b"narration.wav HTTP", 1), (b"POST", b"uploadId=", 9)]
)
def test_a_write_whose_answer_was_lost_succeeds_once(
    weed: EmbeddedS3, method: bytes, marker: bytes, num_mib: int
) -> None:
    data = [bytes([number]) * MIB for number in range(num_mib)]
    proxy = LossyProxy(int(weed.endpoint_url.rpartition(":")[2]), method, marker)
    client = connect_s3(f"http://127.0.0.1:{proxy.port}", None, *weed.credentials)
    try:
        store = store_at(client, f"test/lossy-{num_mib}", weed.credentials)
        assert store.has_conditional_writes
        proxy.arm()

        stored = store.put_stream(KEY, data)

        assert proxy.lost == 1
        assert stored.bytes == num_mib * MIB
        assert store.get(KEY) == b"".join(data)
        with pytest.raises(ArtifactExists):
            store.put_stream(KEY, data)
    finally:
        client.close()
        proxy.close()


def test_an_upload_that_was_killed_is_swept(s3_client: S3Client, weed: EmbeddedS3) -> None:
    store = store_at(s3_client, "test/swept", weed.credentials)
    store.put(KEY, b"kept")
    s3_client.create_multipart_upload(Bucket=BUCKET, Key=f"test/swept/{KEY}-2")
    s3_client.create_multipart_upload(Bucket=BUCKET, Key=f"test/other/{KEY}")

    assert store.sweep_temporary(older_than_s=3600) == 0
    assert store.sweep_temporary(older_than_s=-60) == 1
    assert store.sweep_temporary(older_than_s=-60) == 0
    assert store.get(KEY) == b"kept"


def test_prefixes_in_one_bucket_do_not_see_each_other(s3_client: S3Client, weed: EmbeddedS3) -> None:
    store_at(s3_client, "test/one", weed.credentials).put(KEY, b"x")
    other = store_at(s3_client, "test/one-more", weed.credentials)

    assert other.stat(KEY) is None
    assert list(other.list("")) == []


def test_links_are_signed_for_the_address_that_clients_know(weed: EmbeddedS3, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in weed.environment.items():
        monkeypatch.setenv(name, value)
    public = weed.endpoint_url.replace("127.0.0.1", "localhost")
    store = open_artifacts(
        StorageSettings(
            store=f"s3://{BUCKET}/test/public", s3_endpoint_url=weed.endpoint_url, s3_public_endpoint=f"{public}/"
        )
    )

    store.put(KEY, b"heard by clients")
    link = store.url(KEY, 60, Download("a.wav", "audio/wav"))
    upload = store.upload_url("uploads/local/upl_1", 60, 5)

    assert link.startswith(f"{public}/{BUCKET}/")
    assert upload.url.startswith(f"{public}/{BUCKET}/")
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"heard by clients"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(link.replace("localhost", "127.0.0.1"))


def test_a_wrong_secret_is_an_unavailable_store(weed: EmbeddedS3) -> None:
    wrong = (weed.environment["AWS_ACCESS_KEY_ID"], "wrong")
    client = connect_s3(weed.endpoint_url, None, *wrong)
    store = store_at(client, "test", wrong)

    with pytest.raises(StoreUnavailable, match="SignatureDoesNotMatch"):
        store.check()
    with pytest.raises(StoreUnavailable):
        store.get(KEY)
    client.close()


def test_a_missing_bucket_is_an_unavailable_store_and_not_a_missing_object(
    s3_client: S3Client, weed: EmbeddedS3
) -> None:
    store = store_at(s3_client, "", weed.credentials, bucket="no-such-bucket")

    with pytest.raises(StoreUnavailable, match="NoSuchBucket"):
        store.get(KEY)


@pytest.mark.parametrize(
    ("region", "keys", "is_ours"),
    [
        (None, ("key", "secret"), False),
        ("eu-west-1", (None, None), False),
        ("us-east-1", ("key", "secret"), True),
    ],
)
def test_boto3_makes_all_calls_where_a_region_or_credentials_are_missing(
    region: str | None, keys: tuple[str | None, str | None], is_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/none/such")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/none/such")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client = connect_s3(None, region, *keys)

    assert (connect_objects(client, BUCKET, *keys, region=region) is not None) is is_ours
    client.close()


def test_an_outage_is_not_taken_for_the_end_of_an_object() -> None:
    """Though the text of obstore's error, with the key and the duration, holds the digits of status 416."""
    client = connect_s3("http://127.0.0.1:1", None, "key", "secret")
    store = store_at(client, "", ("key", "secret"))

    with pytest.raises(StoreUnavailable):
        store.get_range("jobs/local/job_416416416/416.wav", 0, 416)
    client.close()


def test_a_dead_server_is_an_unavailable_store() -> None:
    client = connect_s3("http://127.0.0.1:1", None, "key", "secret")
    store = store_at(client, "", ("key", "secret"))

    for call in (lambda: store.get(KEY), lambda: store.stat(KEY), lambda: list(store.list(""))):
        with pytest.raises(StoreUnavailable):
            call()
    client.close()


def test_what_was_acknowledged_survives_kill_9_of_the_server_and_a_torn_upload_does_not(short_dir: Path) -> None:
    with EmbeddedS3(short_dir / "weed-killed") as server:
        client = connect_s3(server.endpoint_url, None, *server.credentials)
        store = store_at(client, "", server.credentials)
        for number in range(20):
            store.put(f"acked/{number:02d}", b"%d" % number * 1000)

        def torn() -> Iterator[bytes]:
            yield from itertools.repeat(bytes(MIB), 17)
            assert server.pid is not None
            os.kill(server.pid, signal.SIGKILL)
            yield from itertools.repeat(bytes(MIB), 8)

        with pytest.raises(StoreUnavailable):
            store.put_stream("torn", torn())
        server.stop()
        server.start()

        assert [store.get(f"acked/{number:02d}") for number in range(20)] == [b"%d" % n * 1000 for n in range(20)]
        assert store.stat("torn") is None
        client.close()
