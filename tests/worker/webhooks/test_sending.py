"""Deliveries to real receivers, good and hostile: what they get, how often, and what it costs the others."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Sequence
from itertools import pairwise

import httpx
import pytest
import trustme
from standardwebhooks import Webhook, WebhookVerificationError

from rhapsode.contract.webhook_events import FINAL_JOB_EVENTS
from rhapsode.contract.webhooks import DeliveryState, DisabledReason
from rhapsode.webhooks import verify
from storage.jobs.webhook_target import WebhookTarget, url_target
from storage.runtime.egress.connecting import AttemptTimes
from storage.runtime.egress.url_rules import UrlRules, origin_of
from tests.storage.job_store.job_driver import ALICE
from tests.storage.runtime.egress.listeners import Script, answers, drips, hangs, listener
from tests.storage.webhooks.world import at_url
from tests.threads import join_in_time
from tests.worker.webhooks.receivers import QUICK, HookWorld, Request, is_signed
from worker.webhooks.lifecycle import DeliveryLoop
from worker.webhooks.retry_schedule import DELAYS_S, JITTER

OK = answers(b"", "204 No Content")

HOSTILE_URLS = (
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://[::1]:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f.1:{port}/",
    "http://0:{port}/",
    "http://127.1:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://10.0.0.1/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/_",
)
"""The sixteen of the design's SSRF check."""


def test_what_arrives_is_signed_and_three_verifiers_take_it(world: HookWorld) -> None:
    with listener(OK) as server:
        endpoint = world.receiver(f"http://127.0.0.1:{server.port}/hook?a=b")
        job = world.end_job()

        assert world.deliverer().deliver_one()

    request = Request.parse(server.requests[0])
    secret = world.secrets[endpoint.id]
    assert server.requests[0].startswith(b"POST /hook?a=b HTTP/1.1\r\n")
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == world.delivery(job).id
    assert Webhook(secret).verify(request.body, dict(request.headers))["type"] == "job.cancelled"
    assert is_signed(request, [secret])
    event = verify(request.body, request.headers, secret)
    assert (event.id, event.type) == (world.delivery(job).id, "job.cancelled")
    assert event.data["links"] == {
        "self": f"https://api.example/v1/jobs/{job}",
        "artifacts": f"https://api.example/v1/jobs/{job}/artifacts",
    }
    with pytest.raises(WebhookVerificationError):
        Webhook(world.secrets[endpoint.id][:-4] + "AAA=").verify(request.body, dict(request.headers))
    assert world.delivery(job).state is DeliveryState.DELIVERED


def test_while_a_secret_is_rotated_both_sign(world: HookWorld) -> None:
    with listener(OK) as server:
        endpoint = world.receiver(f"http://127.0.0.1:{server.port}/")
        old, new = world.secrets[endpoint.id], "whsec_" + "bmV3" * 8
        world.store.rotate(ALICE, endpoint.id, world.sealer.seal(new, endpoint.id), 3600)
        world.end_job()

        world.deliverer().deliver_one()

    request = Request.parse(server.requests[0])
    assert len(request.headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        assert verify(request.body, request.headers, secret).type == "job.cancelled"
    assert not is_signed(request, ["whsec_" + "b2xk" * 8])


def test_urls_that_jobs_name_are_signed_with_the_tenants_secret(world: HookWorld) -> None:
    secret = "whsec_" + "b3du" * 8
    world.store.tenant_secrets(ALICE, world.sealer.seal(secret, ALICE))
    with listener(OK) as server:
        world.end_job(webhook=at_url(f"http://127.0.0.1:{server.port}/"))

        world.deliverer().deliver_one()

    request = Request.parse(server.requests[0])
    assert verify(request.body, request.headers, secret).type == "job.cancelled"


def test_row_18_attempts_follow_the_schedule_with_one_id_and_the_same_bytes(world: HookWorld) -> None:
    """A receiver that answers 500 three times and 204 half an hour of the scripts' time later."""
    arrivals_ms: list[int] = []
    is_well = False

    def script(stream: socket.socket, _: bytes) -> None:
        arrivals_ms.append(world.clock.now_ms)
        (OK if is_well else answers(b"out of order", "500 Internal Server Error"))(stream, _)

    with listener(script) as server:
        world.receiver(f"http://127.0.0.1:{server.port}/")
        job = world.end_job()
        deliverer = world.deliverer()
        for _ in range(4):
            while not deliverer.deliver_one():
                waits_ms = (world.delivery(job).next_attempt_at_ms or 0) - world.clock.now_ms
                world.clock.advance(max(waits_ms, 100) / 1000)
            is_well = len(arrivals_ms) == 3

    record = world.delivery(job)
    gaps_s = [(later - earlier) / 1000 for earlier, later in pairwise(arrivals_ms)]
    assert len(gaps_s) == 3
    for gap_s, planned_s in zip(gaps_s, DELAYS_S, strict=False):
        assert planned_s * (1 - JITTER) - 0.2 <= gap_s <= planned_s * (1 + JITTER) + 0.2
    requests = [Request.parse(raw) for raw in server.requests]
    assert {request.headers["webhook-id"] for request in requests} == {record.id}
    assert len({request.body for request in requests}) == 1
    assert record.state is DeliveryState.DELIVERED
    assert [attempt.status for attempt in world.store.delivery_with_attempts(ALICE, record.id)[1]] == [
        500,
        500,
        500,
        204,
    ]
    assert world.store.delivery_with_attempts(ALICE, record.id)[1][0].excerpt == "out of order"


def test_after_the_last_attempt_it_has_failed_and_can_be_sent_again(world: HookWorld) -> None:
    with listener(answers(b"", "500 No")) as server:
        world.receiver(f"http://127.0.0.1:{server.port}/")
        job = world.end_job()
        deliverer = world.deliverer(delays_s=(5.0, 5.0))
        while not world.delivery(job).state.has_ended:
            deliverer.deliver_one()
            world.clock.advance(6)

        assert len(server.requests) == 3
        world.store.redeliver(ALICE, world.delivery(job).id)
        world.clock.advance(60)
        assert deliverer.deliver_one()

    assert len({Request.parse(raw).body for raw in server.requests}) == 1
    assert len({Request.parse(raw).headers["webhook-id"] for raw in server.requests}) == 1


KERNELS_PATIENCE_S = 120.0
"""Linux itself gives up a connection that nobody takes after 127 s."""

HANGING: dict[str, Script] = {
    "after the connection": hangs,
    "half-way through the headers": drips(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n", 0.1),
    "in an endless body": drips(b"HTTP/1.1 500 No\r\n\r\n", b"x", 0.1),
    "in an endless body of much": drips(b"HTTP/1.1 500 No\r\n\r\n", b"x" * 65_536, 0.0),
}


@pytest.mark.parametrize("where", HANGING)
def test_row_20_a_receiver_that_hangs_costs_the_attempts_time_and_a_few_bytes(world: HookWorld, where: str) -> None:
    with listener(HANGING[where]) as server:
        world.receiver(f"http://127.0.0.1:{server.port}/")
        job = world.end_job()

        world.deliverer(times=QUICK).deliver_one()
    record = world.delivery(job)
    (attempt,) = world.store.delivery_with_attempts(ALICE, record.id)[1]
    assert record.state is DeliveryState.PENDING
    if where == "in an endless body of much":
        assert (attempt.reason, attempt.status, attempt.excerpt) == ("status", 500, "x" * 1_000)
    else:
        assert attempt.reason == "timed_out"


def test_row_20_an_endless_body_takes_no_memory(world: HookWorld) -> None:
    with listener(HANGING["in an endless body of much"]) as server:
        world.receiver(f"http://127.0.0.1:{server.port}/")
        deliverer = world.deliverer()
        world.end_job()
        deliverer.deliver_one()
        world.end_job()
        tracemalloc.start()

        deliverer.deliver_one()

        _, most_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # Of both sides: the receiver, with the pieces it sends, is in this process.
    assert most_bytes < 5 << 20


def test_row_20_a_receiver_that_hangs_at_connect(world: HookWorld) -> None:
    """Its queue of connections is full, so that nothing answers the next."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        with socket.create_connection(address):
            world.receiver(f"http://127.0.0.1:{address[1]}/")
            job = world.end_job()

            begun = time.monotonic()
            world.deliverer(times=QUICK).deliver_one()

            assert time.monotonic() - begun < KERNELS_PATIENCE_S
    assert world.delivery(job).reason == "timed_out"


def test_row_20_a_receiver_that_hangs_in_its_handshake(world: HookWorld) -> None:
    with listener(hangs) as server:
        world.receiver(f"https://127.0.0.1:{server.port}/")
        job = world.end_job()

        world.deliverer(times=QUICK).deliver_one()
    assert world.delivery(job).reason == "timed_out"


PATIENT_S = 240.0
"""For so long a receiver that hangs would hold up the others."""


def test_row_20_receivers_that_hang_delay_no_other(world: HookWorld) -> None:
    """Eight of them, twice as many as there are places for such, and one that answers."""
    arrived, over = threading.Semaphore(0), threading.Event()

    def prompt(stream: socket.socket, request: bytes) -> None:
        OK(stream, request)
        arrived.release()

    with listener(prompt) as server:
        good = f"http://127.0.0.1:{server.port}/"
        world.receiver(good, ("job.cancelled",))
        world.end_job()
        world.deliverer().deliver_one()
        with listener(lambda stream, _: _ignored(over.wait(PATIENT_S))) as hanging:
            for number in range(8):
                world.receiver(f"http://127.0.0.1:{hanging.port}/{number}", ("job.cancelled",))
            patient = AttemptTimes(connect_s=PATIENT_S, total_s=PATIENT_S)
            with world.delivering(patient, 8, lambda: not over.is_set()) as loop:
                thread = threading.Thread(target=_serve_for, args=(loop, over))
                thread.start()
                try:
                    assert arrived.acquire(timeout=PATIENT_S / 4)
                    for _ in range(10):
                        world.end_job()
                        assert arrived.acquire(timeout=PATIENT_S / 4), "one that hangs holds it up"
                        time.sleep(0.02)
                finally:
                    over.set()
                    join_in_time(thread)

    assert hanging.connections <= 4


def _ignored(_: object) -> None:
    """A script returns nothing."""


def _serve_for(loop: DeliveryLoop, over: threading.Event) -> None:
    while not over.is_set():
        loop.serve()
        time.sleep(0.01)


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect"])
def test_row_21_a_redirect_is_a_failure_and_leads_nowhere(world: HookWorld, status: str) -> None:
    with listener(OK) as trap:
        headers = f"Location: http://127.0.0.1:{trap.port}/latest/meta-data\r\n"
        with listener(answers(b"", status, headers)) as server:
            world.receiver(f"http://127.0.0.1:{server.port}/")
            job = world.end_job()

            world.deliverer().deliver_one()

        assert trap.connections == 0
    assert (world.delivery(job).state, world.delivery(job).reason) == (DeliveryState.PENDING, "redirect")


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_row_22_no_spelling_of_a_private_address_is_connected_to(world: HookWorld, url: str) -> None:
    """Even if it got past registration, and plain http on the listener's port were good enough for everybody."""
    with listener(OK) as trap:
        world.receiver(url.format(port=trap.port))
        job = world.end_job()
        rules = UrlRules(frozenset({"http", "https"}), frozenset({80, trap.port}))

        world.deliverer(rules=rules).deliver_one()

        assert trap.connections == 0
    is_http = url.startswith("http")
    assert world.delivery(job).reason == ("blocked_address" if is_http else "url_refused")


def test_row_22_a_name_that_turns_private_is_blocked_and_asked_for_once_an_attempt(world: HookWorld) -> None:
    questions: list[str] = []

    def resolver(host: str, port: int) -> Sequence[str]:
        questions.append(host)
        return ["93.184.215.14", "127.0.0.1"] if len(questions) == 1 else ["127.0.0.1"]

    with listener(OK) as trap:
        world.receiver("https://rebinding.test:443/")
        job = world.end_job()
        deliverer = world.deliverer(rules=UrlRules(), resolver=resolver)
        for attempts in (1, 2):
            deliverer.deliver_one()
            assert len(questions) == attempts
            world.clock.advance(7)

        assert trap.connections == 0
    reasons = [attempt.reason for attempt in world.store.delivery_with_attempts(ALICE, world.delivery(job).id)[1]]
    assert reasons == ["blocked_address", "blocked_address"]


def test_row_23_410_disables_the_endpoint_at_once(world: HookWorld) -> None:
    with listener(answers(b"", "410 Gone")) as server:
        endpoint = world.receiver(f"http://127.0.0.1:{server.port}/")
        job = world.end_job()
        world.end_job()

        assert world.deliverer().deliver_one()
        assert not world.deliverer().deliver_one()

    assert len(server.requests) == 1
    assert world.store.get(ALICE, endpoint.id).disabled_reason is DisabledReason.GONE
    assert world.delivery(job).state is DeliveryState.FAILED


def test_410_of_a_jobs_own_url_ends_that_delivery_alone(world: HookWorld) -> None:
    world.store.tenant_secrets(ALICE, world.sealer.seal("whsec_" + "b3du" * 8, ALICE))
    with listener(answers(b"", "410 Gone")) as server:
        url = f"http://127.0.0.1:{server.port}/"
        first = world.end_job(
            webhook=WebhookTarget(url_target(ALICE, origin_of(httpx.URL(url))), FINAL_JOB_EVENTS, url=url)
        )
        world.end_job(webhook=WebhookTarget(url_target(ALICE, origin_of(httpx.URL(url))), FINAL_JOB_EVENTS, url=url))
        deliverer = world.deliverer()

        assert deliverer.deliver_one()
        assert deliverer.deliver_one()

    assert len(server.requests) == 2
    assert world.delivery(first).state is DeliveryState.FAILED


@pytest.mark.parametrize(
    ("status", "retry_after", "least_s", "most_s"),
    [("429 Too Many", "120", 120, 121), ("503 Busy", "999999999", 86_400, 86_401), ("500 No", "120", 4, 6)],
)
def test_row_23_retry_after_is_honoured_up_to_a_day(
    world: HookWorld, status: str, retry_after: str, least_s: float, most_s: float
) -> None:
    with listener(answers(b"", status, f"Retry-After: {retry_after}\r\n")) as server:
        world.receiver(f"http://127.0.0.1:{server.port}/")
        job = world.end_job()

        world.deliverer().deliver_one()

    waits_s = ((world.delivery(job).next_attempt_at_ms or 0) - world.clock.now_ms) / 1000
    assert least_s <= waits_s <= most_s


def test_a_secret_that_does_not_open_is_a_failure_that_names_itself(world: HookWorld) -> None:
    with listener(OK) as server:
        endpoint = world.receiver(f"http://127.0.0.1:{server.port}/")
        world.store.rotate(ALICE, endpoint.id, world.sealer.seal("whsec_AAAA", "whe_of_somebody_else"), 0)
        job = world.end_job()

        world.deliverer().deliver_one()

    assert server.connections == 0
    assert world.delivery(job).reason == "secret_unreadable"


def test_a_fault_of_our_own_is_counted_and_tried_again_like_any_other(
    world: HookWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.receiver("http://127.0.0.1:9/")
    job = world.end_job()
    record = world.delivery(job)
    world.client.hset(f"{{rhapsode}}:w:delivery:{record.id}", "facts", json.dumps({"job": job}))

    world.deliverer().deliver_one()

    assert (world.delivery(job).state, world.delivery(job).reason) == (DeliveryState.PENDING, "internal")
    assert "delivery failed unexpectedly" in caplog.text


def test_a_receiver_whose_certificate_no_authority_vouches_for_gets_nothing(world: HookWorld) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("receiver.test").configure_cert(context)
    with listener(OK, context) as server:
        world.receiver(f"https://receiver.test:{server.port}/")
        job = world.end_job()

        world.deliverer(resolver=lambda host, port: ["127.0.0.1"]).deliver_one()

    assert server.requests == []
    assert world.delivery(job).reason == "connection_failed"
