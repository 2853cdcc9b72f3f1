"""The whole OpenAPI description against the API: schemathesis asks what it allows, and what it does not.

No answer may be a server error, have a status, a content type, a header or a body that is not documented, accept what
the description forbids, or show again what was deleted. Operations that hold their answer until a job has ended are
asked in the long run only, where workers end it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from api.settings import ApiSettings
from rhapsode.stack.options import StackOptions
from rhapsode.stack.stack import Stack
from storage.database.embedded_valkey import EmbeddedRedis
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.voices.voices import BASE
from tests.settings import PATIENT

CONFIG = Path(__file__).with_name("schemathesis.toml")
SCHEMATHESIS = str(Path(sys.executable).parent / "schemathesis")

FOLLOW_THEIR_JOB = ("hear_job", "follow_job")


@pytest.fixture(scope="module")
def workless(valkey_server: EmbeddedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    """An API without workers: every job waits."""
    settings = ApiSettings(
        redis_url=SecretStr(valkey_server.url),
        broker_url=SecretStr(valkey_server.broker_url),
        store=f"file://{tmp_path_factory.mktemp('store')}",
        url_secret=SecretStr("a-secret-for-tests-only"),
        webhook_key=SecretStr("a-sealing-key-for-tests"),
        max_text_chars=100_000,
    )
    with serve(settings, limits=replace(PATIENT, body_bytes=400_000)) as served:
        served.redis.flushall()
        served.models.publish(SMALL)
        served.models.publish(BASE)
        yield served


def ask(url: str, folder: Path, *options: str) -> str:
    """What schemathesis says of the API at this address. Fails the test if it finds anything."""
    # Schemathesis itself waits ten seconds for a description.
    description = folder / "openapi.json"
    description.write_bytes(httpx.get(f"{url}/openapi.json").raise_for_status().content)
    outcome = subprocess.run(
        [
            *(SCHEMATHESIS, "--config-file", str(CONFIG), "run", str(description), "--url", url, "--no-color"),
            # The same requests in every run, as far as the answers allow.
            *("--generation-deterministic", "--continue-on-failure", "--no-shrink"),
            # A slow machine is no finding. Some calls hold their answer for two minutes.
            *("--suppress-health-check", "all", "--request-timeout", "180", "--warnings", "off", *options),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


def test_the_api_keeps_its_contract(workless: ServedApi, tmp_path: Path) -> None:
    without = [option for name in FOLLOW_THEIR_JOB for option in ("--exclude-operation-id", name)]

    said = ask(workless.url, tmp_path, *without, "--phases", "examples,fuzzing,stateful", "-n", "2")

    assert "No issues found" in said


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_whole_system_keeps_its_contract_in_thousands_of_requests(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"RHAPSODE_ENGINE": "fake", "RHAPSODE_SLOTS": "4"}
    with Stack(StackOptions(run_dir / "contract"), environment, lambda event: None) as stack:
        stack.wait_ready()

        said = ask(stack.url, tmp_path, "-n", "40")

    with capsys.disabled():
        sys.stdout.write(said[said.index("SUMMARY") :])
