"""Endpoints, their secrets and the log of deliveries, in Redis: what the API does with them.

What workers do with deliveries is in `storage.webhooks.deliveries`. A call that ends in `StoreUnavailable` may have
taken effect; the caller repeats it and is answered as if the first answer had arrived.
"""

from __future__ import annotations

import builtins
from typing import NoReturn, cast

import redis

from rhapsode.contract.webhook_events import TEST_EVENT
from rhapsode.contract.webhooks import DeliveryState
from storage.database.functions import Clock, Functions, Reply
from storage.database.hashes import read_hashes
from storage.database.keys import WebhookKeys
from storage.database.pages import CHUNK, ListPage, scanned_page
from storage.errors import QuotaExceeded
from storage.ids import DeliveryId, EndpointId, JobId, Target, TenantId
from storage.jobs.delivery_limits import MAX_ENDPOINTS
from storage.jobs.webhook_target import endpoint_target
from storage.webhooks.errors import DeliveryBusy, DeliveryNotFound, EndpointDisabled, EndpointGone, EndpointNotFound
from storage.webhooks.record_codec import (
    changed_fields,
    created_fields,
    decode_attempt,
    decode_delivery,
    decode_endpoint,
    decode_secrets,
    encode_secrets,
)
from storage.webhooks.records import (
    DeliveryAttempt,
    DeliveryRecord,
    EndpointRecord,
    EndpointUpdate,
    NewEndpoint,
    SealedSecret,
)

TOMBSTONE_TTL_S = 7 * 24 * 3600
LIST_SCAN_LIMIT = 1_000
"""Deliveries one list call looks at before it hands the cursor back."""


class WebhookStore:
    """Safe to share between threads, as the client is. `clock` as of `JobStore`."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._redis = redis
        self._keys = WebhookKeys(key_prefix)
        self._call = Functions(redis, key_prefix, clock).call

    # Endpoints

    def create(self, endpoint: NewEndpoint) -> EndpointRecord:
        """Raises `QuotaExceeded` when the tenant has as many endpoints as it may."""
        reply = self._call(
            "webhook_endpoint_create",
            endpoint=endpoint.id,
            tenant=endpoint.tenant,
            events=",".join(endpoint.events),
            secrets=encode_secrets([SealedSecret(endpoint.sealed_secret)]),
            fields=created_fields(endpoint),
        )
        if reply.status == "refused":
            raise QuotaExceeded("tenant_webhook_endpoints", MAX_ENDPOINTS, MAX_ENDPOINTS)
        return self._record(reply.hash("record"))

    def get(self, tenant: TenantId, endpoint: EndpointId) -> EndpointRecord:
        """Raises `EndpointNotFound` (also for another tenant's) or `EndpointGone`."""
        fields = cast("dict[str, str]", self._redis.hgetall(self._keys.of("endpoint", endpoint)))
        if fields.get("tenant") != tenant:
            self._raise_missing(tenant, endpoint)
        return self._record(fields)

    def list(self, tenant: TenantId) -> builtins.list[EndpointRecord]:
        """All of them, the newest first: a tenant has few."""
        ids = cast("list[EndpointId]", self._redis.zrevrange(self._keys.of("endpoints", tenant), 0, -1))
        rows = read_hashes(self._redis, (self._keys.of("endpoint", each) for each in ids))
        # One may have been deleted meanwhile.
        return [self._record(row) for row in rows if row]

    def update(self, tenant: TenantId, endpoint: EndpointId, changes: EndpointUpdate) -> EndpointRecord:
        """Raises `EndpointNotFound` or `EndpointGone`. Enabling forgives every failure of before."""
        state, fields = changes.state or "", changed_fields(changes)
        reply = self._call("webhook_endpoint_update", endpoint=endpoint, tenant=tenant, state=state, fields=fields)
        if reply.status == "missing":
            self._raise_missing(tenant, endpoint)
        return self._record(reply.hash("record"))

    def delete(self, tenant: TenantId, endpoint: EndpointId) -> None:
        """What waits for it is not sent any more. Repeating it is no error."""
        reply = self._call("webhook_endpoint_delete", endpoint=endpoint, tenant=tenant, tombstone_ttl_s=TOMBSTONE_TTL_S)
        if reply.status == "missing":
            self._raise_missing(tenant, endpoint)

    # Secrets

    def rotate(self, tenant: TenantId, endpoint: EndpointId, sealed: str, overlap_s: int) -> tuple[SealedSecret, ...]:
        """Sign with another secret from now on, and for `overlap_s` with the old ones, too.

        Raises `EndpointNotFound` or `EndpointGone`.
        """
        reply = self._rotate(tenant, endpoint, sealed, overlap_s)
        if reply.status == "missing":
            self._raise_missing(tenant, endpoint)
        return decode_secrets(reply.text("secrets"))

    def tenant_secrets(self, tenant: TenantId, sealed: str) -> tuple[SealedSecret, ...]:
        """What signs for the URLs that the tenant's jobs name, the current one first; `sealed` if there was none."""
        return decode_secrets(self._rotate(tenant, "", sealed, None).text("secrets"))

    def rotate_tenant(self, tenant: TenantId, sealed: str, overlap_s: int) -> tuple[SealedSecret, ...]:
        return decode_secrets(self._rotate(tenant, "", sealed, overlap_s).text("secrets"))

    # Deliveries

    def send_test(self, tenant: TenantId, endpoint: EndpointId, call: str) -> DeliveryRecord:
        """A delivery that says nothing but that it arrived. call: an id of this request, so that it can be repeated.

        Raises `EndpointNotFound`, `EndpointGone` or `EndpointDisabled`.
        """
        reply = self._call("webhook_test", endpoint=endpoint, tenant=tenant, call=call, event=TEST_EVENT)
        if reply.status == "missing":
            self._raise_missing(tenant, endpoint)
        if reply.status == "disabled":
            raise EndpointDisabled(f"{endpoint} is disabled; enable it first")
        return decode_delivery(reply.hash("record"))

    def redeliver(self, tenant: TenantId, delivery: DeliveryId) -> DeliveryRecord:
        """Send it again, now, with the same id and bytes, and the whole schedule before it is given up.

        Raises `DeliveryNotFound`, or `DeliveryBusy` while an attempt is under way.
        """
        reply = self._call("webhook_redeliver", delivery=delivery, tenant=tenant)
        if reply.status == "missing":
            raise _no_delivery(delivery)
        if reply.status == "conflict":
            raise DeliveryBusy(f"an attempt at {delivery} is under way")
        return decode_delivery(reply.hash("record"))

    def delivery(self, tenant: TenantId, delivery: DeliveryId) -> DeliveryRecord:
        """Raises `DeliveryNotFound`, also for one that is too old to be remembered."""
        fields = cast("dict[str, str]", self._redis.hgetall(self._keys.of("delivery", delivery)))
        if fields.get("tenant") != tenant:
            raise _no_delivery(delivery)
        return decode_delivery(fields)

    def delivery_with_attempts(
        self, tenant: TenantId, delivery: DeliveryId
    ) -> tuple[DeliveryRecord, builtins.list[DeliveryAttempt]]:
        """Both of one moment: an attempt that ends meanwhile is in the state and in the list, or in neither.

        Raises `DeliveryNotFound` as `delivery` does.
        """
        with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hgetall(self._keys.of("delivery", delivery))
            pipeline.lrange(self._keys.of("attempts", delivery), 0, -1)
            fields, rows = cast("tuple[dict[str, str], list[str]]", tuple(pipeline.execute()))
        if fields.get("tenant") != tenant:
            raise _no_delivery(delivery)
        return decode_delivery(fields), [decode_attempt(row) for row in rows]

    def list_deliveries(
        self,
        tenant: TenantId,
        endpoint: EndpointId,
        states: frozenset[DeliveryState],
        after: DeliveryId | None,
        limit: int,
    ) -> ListPage[DeliveryId, DeliveryRecord]:
        """One page of an endpoint's deliveries, newest first. Raises `EndpointNotFound` or `EndpointGone`."""
        self.get(tenant, endpoint)
        return self._page(self._keys.of("log", endpoint_target(endpoint)), tenant, states, after, limit)

    def job_deliveries(self, tenant: TenantId, job: JobId) -> builtins.list[DeliveryRecord]:
        """Every delivery that tells of the job, newest first, up to a hundred."""
        page = self._page(self._keys.of("of_job", job), tenant, frozenset(), None, CHUNK)
        return list(page.entries)

    def _rotate(self, tenant: TenantId, endpoint: str, sealed: str, overlap_s: int | None) -> Reply:
        return self._call("webhook_secret", tenant=tenant, endpoint=endpoint, sealed=sealed, overlap_s=overlap_s)

    def _page(
        self, key: str, tenant: TenantId, states: frozenset[DeliveryState], after: DeliveryId | None, limit: int
    ) -> ListPage[DeliveryId, DeliveryRecord]:
        start = self._rank_after(key, after)
        begins = range(start, start + LIST_SCAN_LIMIT, CHUNK)
        return scanned_page((self._chunk(key, begin, tenant, states) for begin in begins), limit)

    def _rank_after(self, key: str, after: DeliveryId | None) -> int:
        """A delivery that is forgotten meanwhile was among the oldest: nothing comes after it."""
        if after is None:
            return 0
        rank = cast("int | None", self._redis.zrevrank(key, after))
        return self._redis.zcard(key) if rank is None else rank + 1

    def _chunk(
        self, key: str, begin: int, tenant: TenantId, states: frozenset[DeliveryState]
    ) -> builtins.list[tuple[DeliveryId, DeliveryRecord | None]]:
        ids = cast("list[DeliveryId]", self._redis.zrevrange(key, begin, begin + CHUNK - 1))
        rows = read_hashes(self._redis, (self._keys.of("delivery", each) for each in ids))
        # A delivery expires by time. The log is bounded by count and may still name it.
        records = (decode_delivery(row) if row.get("tenant") == tenant else None for row in rows)
        wanted = (each if each and (not states or each.state in states) else None for each in records)
        return [*zip(ids, wanted, strict=True)]

    def _record(self, fields: dict[str, str]) -> EndpointRecord:
        target: Target = endpoint_target(EndpointId(fields["id"]))
        health = cast("list[str | None]", self._redis.hmget(self._keys.of("target", target), ["failing_since_ms"]))
        waiting = self._redis.zcard(self._keys.of("waiting", target))
        return decode_endpoint(fields, health, waiting)

    def _raise_missing(self, tenant: TenantId, endpoint: EndpointId) -> NoReturn:
        tombstone = cast("str | None", self._redis.get(self._keys.of("gone", endpoint)))
        if tombstone == tenant:
            raise EndpointGone(f"{endpoint} was deleted")
        raise EndpointNotFound(f"there is no webhook endpoint {endpoint}")


def _no_delivery(delivery: DeliveryId) -> DeliveryNotFound:
    return DeliveryNotFound(f"there is no delivery {delivery}, or it is forgotten")
