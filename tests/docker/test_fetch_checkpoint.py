"""What an init container does: a checkpoint is fetched from a bucket, and every file is the one that was listed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docker.conftest import DOCKER
from tests.storage.objects.embedded_s3 import BUCKET, EmbeddedS3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SCRIPT = DOCKER / "fetch_checkpoint.py"
FILES = {"config.json": b"{}", "model.safetensors": b"weights" * 100_000, "speech_tokenizer/config.json": b"[]"}


@dataclass(frozen=True)
class Source:
    server: EmbeddedS3
    client: S3Client
    prefix: str

    def put(self, name: str, data: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=f"{self.prefix}/{name}", Body=data)

    def put_list(self, lines: dict[str, bytes]) -> str:
        """Its digest."""
        text = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in lines.items()).encode()
        self.put("SHA256SUMS", text)
        return hashlib.sha256(text).hexdigest()

    def fetch(self, folder: Path, digest: str) -> subprocess.CompletedProcess[str]:
        access_key, secret_key = self.server.credentials
        environment = os.environ | {
            "AWS_ACCESS_KEY_ID": access_key,
            "AWS_SECRET_ACCESS_KEY": secret_key,
            "RHAPSODE_S3_ENDPOINT_URL": self.server.endpoint_url,
            "RHAPSODE_S3_REGION": "us-east-1",
        }
        command = [sys.executable, SCRIPT, f"s3://{BUCKET}/{self.prefix}", folder, digest]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture
def source(weed: EmbeddedS3, s3_client: S3Client, request: pytest.FixtureRequest) -> Source:
    made = Source(weed, s3_client, f"models/{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]}")
    for name, data in FILES.items():
        made.put(name, data)
    return made


def test_every_listed_file_is_there_and_is_fetched_once(source: Source, tmp_path: Path) -> None:
    digest = source.put_list(FILES)

    first = source.fetch(tmp_path, digest)
    (tmp_path / "config.json").write_bytes(b"changed")
    again = source.fetch(tmp_path, digest)

    assert (first.returncode, first.stderr) == (0, "")
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES
    assert len(first.stdout.splitlines()) == len(FILES) + 1
    assert again.stdout.splitlines()[0] == "config.json: 2 bytes"
    assert len(again.stdout.splitlines()) == 2


def test_a_file_that_was_changed_at_the_source_never_shows(source: Source, tmp_path: Path) -> None:
    digest = source.put_list(FILES)
    source.put("model.safetensors", b"other weights")

    outcome = source.fetch(tmp_path, digest)

    assert outcome.returncode == 1
    assert "model.safetensors is not the file that SHA256SUMS lists" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["config.json"]


def test_another_list_is_not_believed(source: Source, tmp_path: Path) -> None:
    digest = source.put_list(FILES)
    source.put_list({"config.json": b"{}"})

    outcome = source.fetch(tmp_path, digest)

    assert (outcome.returncode, list(tmp_path.iterdir())) == (1, [])
    assert "SHA256SUMS is not the list that was asked for" in outcome.stderr


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "a\\evil"])
def test_a_list_leads_nowhere_else(source: Source, tmp_path: Path, name: str) -> None:
    outcome = source.fetch(tmp_path / "in", source.put_list({name: b"x"}))

    assert outcome.returncode == 1
    assert "leads out of the folder" in outcome.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["http://example.org/models", "file:///etc", "models", "s3://"])
def test_other_kinds_of_sources_are_refused(address: str, tmp_path: Path) -> None:
    command = [sys.executable, SCRIPT, address, tmp_path, "0" * 64]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (outcome.returncode, outcome.stderr.count("\n")) == (1, 1)
    assert "is neither s3://" in outcome.stderr
