"""A server that is told to stop: who waits for a job gets an answer, not an error."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from api.server import ANSWER_S, DrainingServer, server_config
from api.settings import ApiSettings
from tests.api.harness import SMALL, serve, until_under_way
from tests.threads import join_in_time


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
    join_in_time(*waiting)

    assert [(answer.status_code, answer.json()["state"]) for answer in answers] == [(200, "pending")] * 8


def test_a_server_that_stops_has_time_for_the_answer_of_each_request(
    api_settings: ApiSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, answer_s = 200, 0.001
    # A machine that does ten things beside this one needs more for each; without any all of them would be cut off.
    monkeypatch.setattr("api.server.ANSWER_S", 20 * ANSWER_S)
    order, stopping = asyncio.Lock(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await stopping.wait()
        async with order:
            await asyncio.sleep(answer_s)
        await PlainTextResponse("given")(scope, receive, send)

    async def get(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer

    async def story() -> list[bytes]:
        options: dict[str, Any] = {"timeout_graceful_shutdown": 0, "lifespan": "off", "interface": "asgi3"}
        server = DrainingServer(server_config(app, api_settings, **options))
        with socket.create_server(("127.0.0.1", 0), backlog=requests) as listener:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            asking = [asyncio.create_task(get(listener.getsockname()[1])) for _ in range(requests)]
            while len(server.server_state.tasks) < requests:
                await asyncio.sleep(0.01)
            server.should_exit = True
            stopping.set()
            answers = await asyncio.gather(*asking)
            await serving
            return answers

    assert [answer[-5:] for answer in asyncio.run(story())] == [b"given"] * requests
