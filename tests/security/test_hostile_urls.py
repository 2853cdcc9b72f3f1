"""Row 22 at registration: an address that only we can reach is refused before anybody connects to it. So is one that a
request for speech names for its recording."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.runtime.config.settings import StorageSettings
from tests.api.harness import SMALL, ServedApi, serve
from tests.api.voices.voices import BASE
from tests.settings import api_settings_of
from tests.storage.runtime.egress.listeners import answers, listener
from tests.worker.webhooks.test_sending import HOSTILE_URLS


@pytest.fixture
def guarded(storage_settings: StorageSettings) -> Iterator[ServedApi]:
    """Without networks of one's own."""
    with serve(api_settings_of(storage_settings, webhook_key="a-sealing-key-for-tests")) as api:
        api.models.publish(SMALL)
        yield api


def test_row_22_no_hostile_address_is_registered(guarded: ServedApi) -> None:
    accepted: list[str] = []
    with listener(answers(b"secret")) as trap:
        for spelled in HOSTILE_URLS:
            http = spelled.format(port=trap.port)
            https = http.replace("http:", "https:")
            for url in (http, https, https.replace(f":{trap.port}", "")):
                endpoint = guarded.http.post("/v1/webhook-endpoints", json={"url": url})
                job = guarded.http.post("/v1/jobs", json={"input": {"text": "A."}, "webhook": {"url": url}})
                accepted += [f"{each.status_code} {url}" for each in (endpoint, job) if each.status_code != 422]

        assert accepted == []
        assert trap.connections == 0


def test_no_hostile_address_is_asked_for_a_recording(guarded: ServedApi) -> None:
    guarded.models.publish(BASE)
    fetched: list[str] = []
    with listener(answers(b"secret")) as trap:
        for spelled in HOSTILE_URLS:
            http = spelled.format(port=trap.port)
            https = http.replace("http:", "https:")
            for url in (http, https, https.replace(f":{trap.port}", "")):
                order = {"input": "A.", "task_type": "Base", "ref_audio": url, "consent": "I agree.", "stream": True}
                answer = guarded.http.post("/v1/audio/speech", json={**order, "x_vector_only_mode": True})
                refusal = answer.json()["error"]
                if (answer.status_code, refusal["param"]) != (422, "ref_audio"):
                    fetched.append(f"{answer.status_code} {url} {refusal}")

        assert fetched == []
        assert trap.connections == 0
