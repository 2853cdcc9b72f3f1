"""The journal of accepted jobs: what goes in comes out, and a store that is away loses nothing of it."""

from __future__ import annotations

import pytest

from storage.errors import StoreUnavailable
from storage.jobs.submissions import IdempotencyKey
from storage.objects.local_store import LocalArtifactStore
from storage.recovery.journal import PREFIX, Journal, JournalUnreadable, decode_lines, journal_keys
from tests.storage.job_store.job_driver import submission
from tests.worker.failing_store import FailingStore


def test_what_was_accepted_is_read_back_as_it_was(local_store: LocalArtifactStore) -> None:
    given = [submission(), submission(idempotency=IdempotencyKey("key", "f" * 64), metadata={"book": "42"})]
    journal = Journal(local_store, "rhapsode")
    for each in given:
        journal.add(each)

    journal.close()

    (key,) = journal_keys(local_store, "rhapsode", None)
    assert list(decode_lines(key, local_store.get(key))) == given
    assert list(journal_keys(local_store, "rhapsode", key)) == []


def test_a_store_that_is_away_gets_it_later(local_store: LocalArtifactStore) -> None:
    def refuse(_: str) -> None:
        raise StoreUnavailable("the store is away")

    away = FailingStore(local_store)
    away.before_put = refuse
    journal = Journal(away, "rhapsode")
    journal.add(submission())
    journal.write_now()
    assert list(local_store.list(PREFIX)) == []

    away.before_put = lambda _: None
    journal.close()

    assert len(list(local_store.list(PREFIX))) == 1


def test_a_damaged_object_is_named() -> None:
    with pytest.raises(JournalUnreadable, match="2026-01-01"):
        decode_lines("journal/2026-01-01/x.jsonl", b'{"id": 3}')
