"""Uploads as the janitor leaves them: old files gone, and counted what lies there."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import redis
from ulid import ULID

from storage.ids import UploadId, new_upload_id
from storage.objects import keys
from storage.objects.local_store import LocalArtifactStore
from storage.objects.uploads import LIFETIME_S, UNUSED_S
from storage.recovery.audit_log import AuditLog
from storage.tenants.quotas import Quotas, QuotaStore
from storage.tenants.stored_bytes_audit import StoredBytesAudit
from storage.tenants.upload_ledger import UploadLedger
from tests.worker.studio import TENANT, Studio
from worker.janitor.sweeper import Janitor
from worker.janitor.uploads import UploadJanitor


@pytest.fixture
def ledger(redis_client: redis.Redis) -> UploadLedger:
    return UploadLedger(redis_client)


@pytest.fixture
def janitor(ledger: UploadLedger, local_store: LocalArtifactStore) -> UploadJanitor:
    return UploadJanitor(ledger, local_store)


def ordered(ledger: UploadLedger, age_s: float, num_bytes: int = 100) -> UploadId:
    upload = UploadId(f"upl_{str(ULID.from_datetime(datetime.fromtimestamp(time.time() - age_s, UTC))).lower()}")
    ledger.order(TENANT, upload, num_bytes)
    return upload


def held(client: redis.Redis) -> int:
    return QuotaStore(client, Quotas(1, 1, 1, None)).held(TENANT).stored_bytes


def test_a_link_that_brought_nothing_counts_no_more_once_nothing_can_come(
    ledger: UploadLedger, janitor: UploadJanitor, redis_client: redis.Redis
) -> None:
    for age_s in (UNUSED_S + 60, UNUSED_S - 60):
        ordered(ledger, age_s)

    janitor.sweep_uploads()

    assert held(redis_client) == 100


def test_a_file_counts_as_it_lies_there_until_its_day_is_over(
    ledger: UploadLedger,
    janitor: UploadJanitor,
    local_store: LocalArtifactStore,
    tmp_path: Path,
    redis_client: redis.Redis,
) -> None:
    old, unheard_of = ordered(ledger, UNUSED_S + 60), new_upload_id()
    for upload, size in ((old, 100), (unheard_of, 30)):
        local_store.put(keys.upload(TENANT, upload), b"x" * size)

    janitor.sweep_uploads()
    before = held(redis_client)
    long_ago_s = time.time() - LIFETIME_S - 60
    for path in (tmp_path / "store").rglob(old):
        os.utime(path, (long_ago_s, long_ago_s))
    janitor.sweep_uploads()

    assert (before, held(redis_client)) == (130, 30)
    assert [entry.key for entry in local_store.list(keys.UPLOADS)] == [keys.upload(TENANT, unheard_of)]
    assert StoredBytesAudit(redis_client).audit().differences == ()


def test_wrong_bytes_stay_in_the_last_audit_until_they_are_audited(
    studio: Studio, redis_client: redis.Redis, ledger: UploadLedger
) -> None:
    audits = AuditLog(redis_client)
    tickets = studio.services.tickets
    janitor = Janitor(studio.jobs, audits, StoredBytesAudit(redis_client), studio.artifacts, tickets, ticket_cap=8)
    ordered(ledger, 0)
    redis_client.hincrby(f"{{rhapsode}}:stored:{TENANT}", "uploads", 5)

    janitor.audit_stored()
    janitor.audit()
    janitor.audit()

    last = audits.last()
    assert last is not None
    assert [(each.name, each.expected, each.actual) for each in last.differences] == [
        (f"stored_bytes:uploads:{TENANT}", 100, 105)
    ]
