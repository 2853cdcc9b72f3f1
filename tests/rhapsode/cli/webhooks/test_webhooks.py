"""Webhooks from end to end: a running stack, both clients, the command line, and receivers on this machine."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time

import pytest

from rhapsode import AsyncRhapsode, JobState, Rhapsode
from rhapsode.cli.webhooks.listen import Listener, listening
from rhapsode.client.calls import JobFilter
from rhapsode.contract.webhooks import DeliveryState
from rhapsode.errors import Conflict, Gone, InvalidRequest
from rhapsode.stack.stack import Stack
from tests.rhapsode.conftest import CLI, RunCli, clean_environment

TEXT = "The sparrow carried the letter over the harbour."


@pytest.fixture(autouse=True)
def nothing_else_ends(client: Rhapsode) -> None:
    """Jobs of the tests before would be told of as well."""
    for job in client.jobs(JobFilter(frozenset({JobState.PENDING, JobState.RUNNING, JobState.PAUSED}))):
        try:
            client.cancel(job)
        except Conflict:
            continue  # it has ended meanwhile
    for job in client.jobs(JobFilter(frozenset({JobState.CANCELLING}))):
        client.wait(job, timeout_s=120)


def next_event(listener: Listener) -> tuple[str, str]:
    """Type and id of the next webhook, which has to be verified."""
    received = listener.received.get(timeout=120)
    assert received.event is not None, received.reason
    return received.event.type, received.event.id


def test_a_receiver_is_told_of_a_job_and_the_log_says_so(client: Rhapsode) -> None:
    with listening(0) as listener:
        endpoint = client.webhooks.create(f"http://127.0.0.1:{listener.port}/", ["job.succeeded"])
        listener.secret = endpoint.secret

        job = client.wait(client.submit_job(TEXT), timeout_s=120)
        kind, delivery = next_event(listener)
        again = client.webhooks.redeliver(_settled(client, delivery))

        assert next_event(listener) == (kind, delivery) == ("job.succeeded", again.id)
    detail = client.webhooks.delivery(delivery)
    assert (detail.job, detail.endpoint_id) == (job.id, endpoint.id)
    assert [each.id for each in client.webhooks.deliveries(endpoint)] == [delivery]
    assert [each.id for each in client.webhooks.job_deliveries(job)] == [delivery]
    client.webhooks.delete(endpoint)
    with pytest.raises(Gone):
        client.webhooks.get(endpoint.id)


def _settled(client: Rhapsode, delivery: str) -> str:
    """The receiver has it a moment before the server knows that."""
    while client.webhooks.delivery(delivery).state is not DeliveryState.DELIVERED:
        time.sleep(0.02)
    return delivery


def test_a_job_tells_its_own_url(client: Rhapsode) -> None:
    with listening(0) as listener:
        listener.secret = client.webhooks.job_secret().secret

        client.submit_job(TEXT, webhook={"url": f"http://127.0.0.1:{listener.port}/", "events": ["job.created"]})

        assert next_event(listener)[0] == "job.created"


def test_the_asyncio_client_does_the_same(stack: Stack) -> None:
    async def use() -> None:
        async with AsyncRhapsode(stack.url) as client:
            endpoint = await client.webhooks.create(f"http://127.0.0.1:{listener.port}/")
            listener.secret = (await client.webhooks.rotate_secret(endpoint)).secret
            changed = await client.webhooks.change(endpoint, description="new", metadata={"a": "b"})
            sent = await client.webhooks.send_test(endpoint)
            assert await asyncio.to_thread(next_event, listener) == ("webhook_endpoint.test", sent.id)
            assert (await client.webhooks.get(endpoint.id)).description == changed.description == "new"
            assert endpoint.id in {each.id for each in await client.webhooks.list()}
            assert [each.id async for each in client.webhooks.deliveries(endpoint)] == [sent.id]
            assert (await client.webhooks.disable(endpoint)).state == "disabled"
            assert (await client.webhooks.enable(endpoint)).state == "enabled"
            await client.webhooks.delete(endpoint)

    with listening(0) as listener:
        asyncio.run(use())


def test_a_private_receiver_is_refused(client: Rhapsode) -> None:
    with pytest.raises(InvalidRequest, match="is not a public address"):
        client.webhooks.create("https://10.0.0.1/")


def test_the_command_line_listens_registers_and_tests(stack: Stack, client: Rhapsode, run_cli: RunCli) -> None:
    command = [CLI, "webhooks", "listen", "--server", stack.url, "--count", "1", "--event", "job.expired"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    ) as listen:
        try:
            assert listen.stderr is not None
            endpoint = re.search(r"whe_\w+", listen.stderr.readline())
            assert endpoint is not None

            tested = run_cli("webhooks", "test", endpoint.group(), "--server", stack.url)
            said, _ = listen.communicate(timeout=120)
        finally:
            listen.kill()

    assert (tested.returncode, tested.stdout.startswith("delivered: 204")) == (0, True)
    assert "webhook_endpoint.test" in said
    assert listen.returncode == 0
    assert endpoint.group() not in {each.id for each in client.webhooks.list()}


def _failed(client: Rhapsode, endpoint: str) -> list[str]:
    """What was given up for the endpoint, once something was."""
    client.webhooks.redeliver(next(client.webhooks.deliveries(endpoint)))
    while not (found := [each.id for each in client.webhooks.deliveries(endpoint, (DeliveryState.FAILED,))]):
        time.sleep(0.05)
    return found


def test_a_receiver_that_takes_nothing_is_status_1(stack: Stack, client: Rhapsode, run_cli: RunCli) -> None:
    endpoint = client.webhooks.create("http://127.0.0.1:9/")

    tested = run_cli("webhooks", "test", endpoint.id, "--server", stack.url)
    refused = run_cli("webhooks", "add", "https://10.0.0.1/", "--server", stack.url)
    client.webhooks.disable(endpoint)
    (given_up,) = _failed(client, endpoint.id)
    client.webhooks.enable(endpoint)
    again = run_cli("webhooks", "redeliver", endpoint.id, "--server", stack.url)

    assert again.stdout.startswith(f"{given_up}\tpending\twebhook_endpoint.test")
    assert (tested.returncode, tested.stdout.startswith("refused: connection_failed")) == (1, True)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "is not a public address" in refused.stderr
    client.webhooks.delete(endpoint)
