"""Redis, broker and S3 by TLS with an authority of one's own: everything works, and nothing unverified is spoken to."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from storage.database.connections import connect_redis, open_artifacts
from storage.database.embedded_valkey import EmbeddedRedis
from storage.errors import StoreUnavailable
from storage.jobs.tickets import Tickets
from storage.jobs.work_queues import CPU_QUEUE
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.certificates import check_certificates
from storage.runtime.config.settings import SettingsError, StorageSettings, load_settings
from tests.security.tls_servers import Authority, TlsS3, tls_front
from tests.storage.objects.embedded_s3 import BUCKET

CLI = str(Path(sys.executable).parent / "rhapsode")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made_in(tmp_path_factory.mktemp("ca") / "ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made_in(tmp_path_factory.mktemp("ca") / "a-strangers")


@pytest.fixture
def secure_url(valkey: EmbeddedRedis, authority: Authority) -> Iterator[str]:
    with tls_front(valkey, authority) as url:
        yield url


@pytest.fixture(scope="module")
def secure_s3(short_dir: Path, authority: Authority) -> Iterator[TlsS3]:
    with TlsS3(short_dir / "weed-tls", authority) as server:
        yield server


@pytest.fixture
def environment(
    secure_url: str, secure_s3: TlsS3, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Of a system whose every store is behind TLS and asks for our certificate."""
    for name in list(os.environ):
        if name.startswith("RHAPSODE_"):
            monkeypatch.delenv(name)
    mine = {
        "RHAPSODE_REDIS_URL": secure_url,
        "RHAPSODE_STORE": f"s3://{BUCKET}/tls",
        "RHAPSODE_S3_ENDPOINT_URL": secure_s3.https_url,
        "RHAPSODE_TLS_CA": str(authority.ca),
        "RHAPSODE_TLS_CERTIFICATE": str(authority.certificate),
        "RHAPSODE_TLS_KEY": str(authority.key),
        **secure_s3.environment,
    }
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    return mine


def test_state_broker_and_store_are_reached_by_tls(environment: dict[str, str]) -> None:
    settings = load_settings(StorageSettings)
    check_certificates(settings)

    with connect_redis(settings) as client:
        client.set("k", "v")
        assert client.get("k") == "v"
    tickets = TicketQueue(create_celery(settings, "tests"))
    tickets.send(Tickets({CPU_QUEUE: 3}))
    assert (tickets.waiting(CPU_QUEUE), tickets.unsent) == (3, 0)
    tickets.close()
    store = open_artifacts(settings)
    store.put("a/b", b"sound")
    assert store.get("a/b") == b"sound"


def test_a_narration_goes_through_every_process_by_tls(
    environment: dict[str, str], secure_s3: TlsS3, tmp_path: Path
) -> None:
    """Only whoever downloads has no certificate of ours, and gets links to another port."""
    (tmp_path / "story.txt").write_text("A sentence that nobody on the wire can read.")

    outcome = run_narration(tmp_path, {"RHAPSODE_S3_PUBLIC_ENDPOINT": secure_s3.endpoint_url})

    assert outcome.returncode == 0, outcome.stderr
    assert (tmp_path / "story.wav").stat().st_size > 10_000


def test_a_system_with_the_wrong_authority_ends_with_a_line_that_says_so(
    environment: dict[str, str], stranger: Authority, tmp_path: Path
) -> None:
    (tmp_path / "story.txt").write_text("Nobody will ever hear this.")

    outcome = run_narration(tmp_path, {"RHAPSODE_TLS_CA": str(stranger.ca)})

    assert outcome.returncode != 0
    assert "is not trusted" in outcome.stderr
    assert "RHAPSODE_TLS_CA" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def run_narration(folder: Path, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [CLI, "narrate", "story.txt", "-o", "story.wav", "--data-dir", str(folder / "data")]
    fake = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_SLOTS": "4"}
    return subprocess.run(
        command, cwd=folder, env=os.environ | fake | more, capture_output=True, text=True, timeout=90, check=False
    )


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"RHAPSODE_TLS_CA": "a stranger's"}, "RHAPSODE_REDIS_URL: the certificate of localhost:"),
        ({"RHAPSODE_TLS_CA": ""}, "is not trusted"),
        ({"RHAPSODE_TLS_CERTIFICATE": "", "RHAPSODE_TLS_KEY": ""}, "RHAPSODE_TLS_CERTIFICATE and RHAPSODE_TLS_KEY"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_at_start(
    environment: dict[str, str],
    stranger: Authority,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, str],
    complaint: str,
) -> None:
    for name, value in changed.items():
        if value:
            monkeypatch.setenv(name, str(stranger.ca))
        else:
            monkeypatch.delenv(name)

    with pytest.raises(SettingsError) as caught:
        check_certificates(load_settings(StorageSettings))

    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    password = environment["RHAPSODE_REDIS_URL"].split("@")[0].rpartition(":")[2]
    assert password not in str(caught.value)


def test_without_the_authority_no_client_says_a_word(
    environment: dict[str, str], stranger: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RHAPSODE_TLS_CA", str(stranger.ca))
    settings = load_settings(StorageSettings)

    with connect_redis(settings) as client, pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        client.ping()
    tickets = TicketQueue(create_celery(settings, "tests"))
    tickets.send(Tickets({CPU_QUEUE: 1}))
    assert tickets.unsent == 1
    tickets.close()
    with pytest.raises(StoreUnavailable):
        open_artifacts(settings).check()


def test_a_plain_server_is_no_tls_server(environment: dict[str, str], secure_s3: TlsS3) -> None:
    plain = secure_s3.endpoint_url.replace("http:", "https:")
    settings = load_settings(StorageSettings).model_copy(update={"s3_endpoint_url": plain})

    with pytest.raises(SettingsError, match="RHAPSODE_S3_ENDPOINT_URL: no TLS with"):
        check_certificates(settings)


def test_a_server_that_is_not_there_yet_is_waited_for_elsewhere() -> None:
    check_certificates(StorageSettings(redis_url=SecretStr("rediss://127.0.0.1:1/0"), store="s3://bucket"))


@pytest.mark.parametrize("query", ["ssl_cert_reqs=none", "ssl_cert_reqs=optional", "ssl_check_hostname=false"])
@pytest.mark.parametrize("name", ["redis_url", "broker_url"])
def test_verification_cannot_be_turned_off(name: str, query: str) -> None:
    with pytest.raises(ValueError, match="certificates are always verified"):
        StorageSettings.model_validate({name: f"rediss://h:1/2?{query}", "store": "s3://bucket"})


def test_files_that_are_none_are_refused_by_name(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    for fields, complaint in (
        ({"tls_ca": tmp_path / "no.pem"}, r"no\.pem: no certificate"),
        ({"tls_ca": tmp_path / "gone.pem"}, r"gone\.pem: No such file"),
        ({"tls_certificate": authority.certificate}, "need each other"),
        ({"tls_certificate": authority.certificate, "tls_key": tmp_path / "no.pem"}, r"no\.pem"),
    ):
        with pytest.raises(ValueError, match=complaint):
            StorageSettings.model_validate({"store": "s3://bucket", **fields})
