"""A tenant with endpoints, jobs that end, and a worker whose attempts the test decides."""

from __future__ import annotations

from dataclasses import replace

import httpx
import redis

from rhapsode.contract.webhook_events import FINAL_JOB_EVENTS
from rhapsode.contract.webhooks import DeliveryState
from storage.ids import JobId, TenantId, new_endpoint_id
from storage.job_store.store import JobStore
from storage.jobs.submissions import Submission
from storage.jobs.webhook_target import WebhookTarget, url_target
from storage.jobs.work_items import WorkerIdentity
from storage.runtime.egress.url_rules import origin_of
from storage.webhooks.deliveries import WebhookQueue
from storage.webhooks.records import ClaimedDelivery, DeliveryAttempt, DeliveryVerdict, EndpointRecord, NewEndpoint
from storage.webhooks.store import WebhookStore
from tests.storage.job_store.job_driver import ALICE, TEST_CLOCK, Clock, open_store, submission

HOOKS = WorkerIdentity("hooks-0", "first")
URL = "https://receiver.example/hook"


class WebhookWorld:
    """Redis' time is the clock's."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.clock = Clock()
        self.jobs: JobStore = open_store(client)
        self.store = WebhookStore(client, clock=TEST_CLOCK)
        self.queue = WebhookQueue(client, clock=TEST_CLOCK)

    def endpoint(self, events: tuple[str, ...] = ("*",), tenant: TenantId = ALICE, url: str = URL) -> EndpointRecord:
        return self.store.create(NewEndpoint(new_endpoint_id(), tenant, url, events, "sealed", "https://api.example"))

    def submit(self, tenant: TenantId = ALICE, webhook: WebhookTarget | None = None) -> Submission:
        wanted = replace(submission(tenant), webhook=webhook)
        self.jobs.submit(wanted)
        return wanted

    def end_job(self, tenant: TenantId = ALICE, webhook: WebhookTarget | None = None) -> JobId:
        """A job that is cancelled at once."""
        wanted = self.submit(tenant, webhook)
        self.jobs.cancel(tenant, wanted.id)
        return wanted.id

    def claim(self, *, with_suspects: bool = True, worker: WorkerIdentity = HOOKS) -> ClaimedDelivery | None:
        claimed = self.claim_batch(1, int(with_suspects), worker)
        return claimed[0] if claimed else None

    def claim_batch(self, most: int, most_suspects: int, worker: WorkerIdentity = HOOKS) -> tuple[ClaimedDelivery, ...]:
        return self.queue.claim(worker, self.clock.now_ms, most=most, most_suspects=most_suspects)[0]

    def take(self) -> ClaimedDelivery:
        """The next delivery, which has to be there."""
        claimed = self.claim()
        assert claimed is not None
        return claimed

    def succeed(self, claimed: ClaimedDelivery) -> DeliveryState | None:
        return self._done(claimed, self.success())

    def fail(
        self,
        claimed: ClaimedDelivery,
        retry_ms: int | None = 5_000,
        *,
        pause_ms: int = 0,
        is_gone: bool = False,
    ) -> DeliveryState | None:
        return self._done(claimed, self.failure(retry_ms, pause_ms=pause_ms, is_gone=is_gone))

    def success(self) -> DeliveryVerdict:
        return DeliveryVerdict(self._attempt(200, ""), is_delivered=True)

    def failure(self, retry_ms: int | None = 5_000, *, pause_ms: int = 0, is_gone: bool = False) -> DeliveryVerdict:
        return DeliveryVerdict(self._attempt(500, "status"), False, retry_ms, pause_ms, is_gone)

    def _done(self, claimed: ClaimedDelivery, verdict: DeliveryVerdict) -> DeliveryState | None:
        (state,) = self.queue.done([(claimed, verdict)])
        return state

    def _attempt(self, status: int, reason: str) -> DeliveryAttempt:
        return DeliveryAttempt(self.clock.now_ms, 10, status, reason)


def at_url(url: str = URL, events: tuple[str, ...] = FINAL_JOB_EVENTS, tenant: TenantId = ALICE) -> WebhookTarget:
    return WebhookTarget(url_target(tenant, origin_of(httpx.URL(url))), events, url=url, api_url="https://api.example")
