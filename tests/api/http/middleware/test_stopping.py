"""A server that is told to stop: who waits for a job gets an answer, not an error."""

from __future__ import annotations

import threading

import httpx

from api.settings import ApiSettings
from tests.api.harness import SMALL, serve, until_under_way


def test_answers_that_were_held_are_given_when_the_server_stops(api_settings: ApiSettings) -> None:
    answers: list[httpx.Response] = []
    with serve(api_settings, grace_s=60) as api:
        api.models.publish(SMALL)
        job = api.submit()

        def wait() -> None:
            path = f"{api.url}/v1/jobs/{job['id']}"
            answers.append(httpx.get(path, headers={"Prefer": "wait=60"}, timeout=90, trust_env=False))

        waiting = [threading.Thread(target=wait) for _ in range(8)]
        for thread in waiting:
            thread.start()
        until_under_way(api, len(waiting))
        assert answers == []
    for thread in waiting:
        thread.join()

    assert [(answer.status_code, answer.json()["state"]) for answer in answers] == [(200, "pending")] * 8
