"""An API behind a proxy that takes a prefix off: every address that it gives out leads through the proxy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openai import OpenAI
from websockets.sync.client import connect

from api.settings import ApiSettings
from rhapsode import Rhapsode
from rhapsode.contract.speech_socket import NARI, SOCKET_PATH
from storage.jobs.record import JobError
from tests.api.harness import SMALL, ServedApi, finish_job, serve, start_job
from tests.settings import api_settings_of
from tests.stripping_proxy import stripping_proxy


@pytest.fixture
def public(api_settings: ApiSettings) -> Iterator[tuple[str, ServedApi]]:
    """The address that clients know, and the API behind it."""
    with stripping_proxy() as proxy, serve(api_settings_of(api_settings, public_url=proxy.url)) as api:
        proxy.upstream = api.url
        api.models.publish(SMALL)
        yield proxy.url, api


def test_every_link_of_a_job_leads_through_the_proxy(public: tuple[str, ServedApi]) -> None:
    base, api = public
    created = httpx.post(f"{base}/v1/jobs", json={"input": {"text": "Good morning."}})
    audio = b"RIFF" + bytes(range(256)) * 8
    finish_job(api, audio)
    job = httpx.get(created.headers["location"]).json()
    named = f"{job['links']['artifacts']}/narration.wav"

    redirected = httpx.get(named, follow_redirects=True)
    shared = httpx.post(f"{named}/share").json()

    assert [httpx.get(job["links"][name]).status_code for name in ("self", "artifacts")] == [200, 200]
    assert all(link is None or link.startswith(f"{base}/v1/") for link in job["links"].values())
    assert len(redirected.history) == 1
    assert [redirected.content, *(httpx.get(url).content for url in (job["artifacts"][0]["url"], shared["url"]))] == [
        audio
    ] * 3


def test_the_type_of_a_problem_leads_to_its_page(public: tuple[str, ServedApi]) -> None:
    base, api = public
    created = httpx.post(f"{base}/v1/jobs", json={"input": {"text": "Good morning."}})
    api.jobs.fail(start_job(api).lease, JobError("worker_lost", "It broke."))
    waiting = {"Prefer": "wait=5"}
    problems = [
        httpx.get(f"{base}/v1/jobs/job_none").json(),
        httpx.post(f"{base}/v1/jobs", content=b"{").json(),
        httpx.get(f"{base}/nothing", headers={"X-Long": "a" * 100_000}).json(),
        httpx.get(created.headers["location"]).json()["error"],
        httpx.get(created.headers["location"], headers=waiting).json()["error"],
    ]

    for problem in problems:
        page = httpx.get(httpx.URL(f"{base}/v1/jobs").join(problem["type"]))
        assert (page.status_code, problem["code"] in page.text) == (200, True), problem


def test_the_clients_take_an_address_with_a_prefix(public: tuple[str, ServedApi]) -> None:
    base, api = public
    with Rhapsode(base) as client, OpenAI(base_url=f"{base}/v1", api_key="none") as openai:
        job = client.submit_job("Good morning.")
        finish_job(api)

        assert client.job(job.id).state == "succeeded"
        assert [model.id for model in openai.models.list()] == ["small"]


@pytest.mark.parametrize("page", ["", "docs"])
def test_a_page_and_all_that_it_loads_come_through_the_proxy(public: tuple[str, ServedApi], page: str) -> None:
    address = httpx.URL(f"{public[0]}/{page}")
    document = httpx.get(address)
    links = re.findall(r'(?:href|src)="([^"#][^"]*)"', document.text)

    assert len(links) > 5
    assert {link: httpx.get(address.join(link)).status_code for link in links} == dict.fromkeys(links, 200)


def test_a_redirect_and_the_description_name_the_public_address(public: tuple[str, ServedApi]) -> None:
    base, _ = public

    assert httpx.get(f"{base}/live", follow_redirects=True).url == f"{base}/#/live"
    assert httpx.get(f"{base}/openapi.json").json()["servers"] == [{"url": base}]


def test_a_socket_opens_through_the_proxy_also_for_its_own_page(public: tuple[str, ServedApi]) -> None:
    base, _ = public
    origin = base.removesuffix("/tts")
    with connect(f"{base}{SOCKET_PATH}".replace("http", "ws", 1), origin=origin, subprotocols=[NARI]) as socket:  # pyright: ignore[reportArgumentType]
        created: dict[str, Any] = json.loads(socket.recv(timeout=60))

    assert created["type"] == "session.created"
